"""What git's own files say is read in time and memory that do not depend on who wrote them."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from growth import check_growth
from mem_search.git import places, references
from mem_search.git.changes import changed_files
from mem_search.projects import identify
from patience import PATIENCE

SIZES = (10_000, 100_000, 1_000_000)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """What git needs to see a repository, and nothing in it."""
    gitdir = tmp_path / "engine" / ".git"
    (gitdir / "objects").mkdir(parents=True)
    (gitdir / "refs" / "heads").mkdir(parents=True)
    (gitdir / "HEAD").write_text("ref: refs/heads/main\n")
    (gitdir / "config").write_text("[core]\n\tbare = false\n")
    return gitdir.parent


CONFIGS: dict[str, Callable[[int], str]] = {
    "blanks before what is no comment": lambda size: f"[core]\nx = a{' ' * size}y\n",
    "many short runs of blanks": lambda size: "[core]\nx = a" + "  b" * (size // 3),
    "a section that does not end": lambda size: f"[core{' ' * size}y\n",
    "a long name of a section": lambda size: f"[{'c' * size}",
    "a subsection that does not end": lambda size: f'[core "{"x" * size}\n',
    "blanks after a subsection": lambda size: f'[core "x"{" " * size}y\n',
    "quotes": lambda size: f"[core {''.join(chr(34) for _ in range(size))}\n",
    "a long name": lambda size: f"[core]\n{'x' * size}",
    "blanks after a name": lambda size: f"[core]\nx{' ' * size}y",
    "comments": lambda size: "[core]\nx = a" + " #" * (size // 2),
    "sections": lambda size: "[a]" * (size // 3),
    "lines": lambda size: "[core]\n" + "x = a \n" * (size // 7),
    "long lines": lambda size: "[core]\n" + f"x = a{' ' * 60_000}y\n" * (size // 60_000),
}


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("any_line", [False, True])
def test_settings_are_read_in_time_proportional_to_their_length(
    repo: Path, name: str, any_line: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if any_line:  # the expressions by themselves, without the limit of a line
        monkeypatch.setattr(places, "MAX_LINE_CHARS", 2**30)
    config = repo / ".git" / "config"

    def settings(text: str) -> None:
        config.write_text(text)
        try:
            places.settings_of(repo / ".git")
        except places.Refused:
            return

    check_growth(name, settings, CONFIGS[name], SIZES, 30.0, 0.1)


def test_a_line_of_settings_that_is_too_long_is_refused(repo: Path) -> None:
    (repo / ".git" / "config").write_text(f"[core]\nx = a{' ' * 1_000_000}y\n")
    with pytest.raises(places.Refused, match="config has a line of more than 65,536 characters"):
        places.settings_of(repo / ".git")
    index(repo, 2, entry(b"gone"))
    assert changed_files(str(repo), PATIENCE) == ()
    assert identify(repo).name == "engine"


def test_comments_and_sections_are_told_apart_from_values(repo: Path) -> None:
    (repo / ".git" / "config").write_text(
        '[ Core ] first = a#b ; no\n\tx = "c d"\t# no\nflag\n[core "sub"]\nx = no\n'
        '[a.b]  y=1 #\n[core"x"] z = no\n'
    )
    assert places.settings_of(repo / ".git") == {
        "core.first": "a#b", "core.x": "c d", "core.flag": "true", "a.b.y": "1",
    }  # fmt: skip


def chain(folder: Path, end: str) -> str:
    """The first of 3,000 links, each to the next."""
    for number in range(3000):
        (folder / f"l{number}").symlink_to(f"l{number + 1}")
    (folder / "l3000").symlink_to(end)
    return f"{folder}/l0"


POINTERS: dict[str, Callable[[Path], str]] = {
    "NUL": lambda _: "a\0b",
    "a chain of links": lambda folder: chain(folder, "nowhere"),
    "too long a path": lambda _: "a/" * 30_000,
    "too long a name": lambda _: "a" * 3_000,
    "a path that is long from here": lambda _: "a/" * 2_040,
    "no UTF-8": lambda _: "\udcff\udc00/x",
}


@pytest.mark.parametrize("kind", POINTERS)
@pytest.mark.parametrize("file", [".git", "commondir", "core.worktree", "gitdir"])
def test_a_pointer_to_anything_raises_nothing(
    repo: Path, tmp_path: Path, kind: str, file: str
) -> None:
    (links := tmp_path / "links").mkdir()
    path = os.fsencode(POINTERS[kind](links).replace("\udc00", "\udcfe"))
    here, gitdir = repo, repo / ".git"
    if file == "commondir":
        (gitdir / "commondir").write_bytes(path)
    else:
        (here := tmp_path / "other").mkdir()
        pointed = path if file == ".git" else os.fsencode(gitdir)
        (here / ".git").write_bytes(b"gitdir: " + pointed)
        if file == "core.worktree":
            (gitdir / "config").write_bytes(b"[core]\nworktree = " + path)
        else:
            (gitdir / "gitdir").write_bytes(path)
    found = places.find(here)
    assert found is not None
    if kind in ("NUL", "too long a path"):
        why = "NUL character" if kind == "NUL" else "more than 4,096 bytes"
        assert why in found.refused
    assert identify(here).name
    assert isinstance(changed_files(str(here), PATIENCE), tuple)


@pytest.mark.parametrize("kind", POINTERS)
def test_a_directory_may_be_any_text(tmp_path: Path, kind: str) -> None:
    directory = str(tmp_path / POINTERS[kind](tmp_path))
    assert identify(directory).name
    assert changed_files(directory, PATIENCE) == ()


def entry(name: bytes, flags: int = 0, version: int = 2) -> bytes:
    written = struct.pack(">10I", 0, 0, 0, 0, 0, 0, 0o100644, 0, 0, 5)
    written += b"\1" * 20 + struct.pack(">H", flags) + name
    return written if version == 4 else written + b"\0" * (8 - len(written) % 8)


def index(repo: Path, version: int, *entries: bytes) -> None:
    head = struct.pack(">4sII", b"DIRC", version, len(entries))
    (repo / ".git" / "index").write_bytes(head + b"".join(entries))


SKIPPED = 0x8000


NO_NAMES: dict[str, Callable[[int], bytes]] = {
    "a name without an end": lambda length: b"\0" + b"n" * length + b"\0",
    "a number without an end": lambda length: b"\x80" * length + b"\0x\0",
    "more is removed than there is": lambda _: b"\x01x\0",
}


@pytest.mark.parametrize("name", NO_NAMES)
def test_a_name_that_no_file_can_have_refuses_the_index(repo: Path, name: str) -> None:
    def read(text: str) -> None:
        first = NO_NAMES[name](len(text))
        index(repo, 4, entry(first, 0, 4), *[entry(b"\0\0", 0, 4)] * (len(text) // 1000))
        assert changed_files(str(repo), PATIENCE) == ()

    check_growth(name, read, "x".__mul__, SIZES, 30.0, 0.5)


def test_a_long_name_in_an_older_version_refuses_the_index(repo: Path) -> None:
    index(repo, 2, entry(b"gone"), entry(b"n" * 5000), entry(b"gone too"))
    assert changed_files(str(repo), PATIENCE) == ("gone",)


def test_skipped_files_do_not_go_on_after_the_time(repo: Path) -> None:
    index(repo, 2, *[entry(b"x", SKIPPED)] * 1000, entry(b"gone"))
    assert changed_files(str(repo), PATIENCE) == ("gone",)
    assert changed_files(str(repo), -1.0) == ()


def test_a_file_below_many_folders_is_looked_at(repo: Path) -> None:
    deep, link = "a/" * 2_000 + "x", repo / "link"
    link.symlink_to("/")
    names = (b"link/etc/gone", deep.encode(), b".git/x", b"b/../x", b"b/c", b"b/d")
    index(repo, 2, *map(entry, names))
    assert set(changed_files(str(repo), PATIENCE)) <= {deep, "b/c", "b/d"}
    assert {"b/c", "b/d"} <= set(changed_files(str(repo), PATIENCE))


@pytest.mark.parametrize("folder", ["refs/heads", "refs"])
def test_references_outside_the_repository_are_left_out_and_the_others_read(
    repo: Path, tmp_path: Path, folder: str
) -> None:
    (tmp_path / "outside" / "heads").mkdir(parents=True)
    (tmp_path / "outside" / "heads" / "theirs").write_text("1" * 40)
    (repo / ".git" / "packed-refs").write_text(f"{'2' * 40} refs/heads/main\n")
    place = repo / ".git" / folder
    if place.exists():
        place.rename(tmp_path / "before")
    place.symlink_to(tmp_path / "outside")
    found = places.find(repo)
    assert found is not None
    read = references.references_of(found)
    assert read.heads == [("main", "2" * 40)]
    assert "out of the repository" in read.left["refs/heads"]


def test_work_trees_outside_the_repository_are_left_out(repo: Path, tmp_path: Path) -> None:
    (repo / ".git" / "worktrees").symlink_to(tmp_path)
    found = places.find(repo)
    assert found is not None
    assert "out of the repository" in references.references_of(found).left["worktrees"]


def test_references_are_counted_while_they_are_listed(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(4):
        (repo / ".git" / "refs" / "heads" / f"b{number}").write_text("0" * 40)
    found = places.find(repo)
    assert found is not None
    assert len(references.references_of(found).heads) == 4
    monkeypatch.setattr(references, "MAX_REFERENCES", 3)
    with pytest.raises(references.Refused, match="more than 3 files"):
        references.references_of(found)
    monkeypatch.undo()
    monkeypatch.setattr(references, "MAX_LOOK_SECONDS", -1.0)
    with pytest.raises(references.Refused, match="not read within"):
        references.references_of(found)
