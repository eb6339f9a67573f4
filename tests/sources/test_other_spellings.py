"""A file system of macOS has a place under other spellings of its name, too: other capitals, and
accents as signs of their own. It is one place, and what is excluded stays excluded.
"""

from __future__ import annotations

import fcntl
import os
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mem_search import platform, projects
from mem_search.jobs.reader import find_locations, machine_from
from mem_search.model import Location
from mem_search.sources import exclusions
from mem_search.sources.files import Files

STORED = unicodedata.normalize("NFD", "Büro")
_GETPATH = 50


@pytest.fixture
def spellings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Path, str], Path]:
    """Gives a folder another spelling. A link finds it by that, ``realpath`` keeps what was asked,
    and F_GETPATH says what its folder has: as macOS does.
    """
    if not platform.IS_LINUX:
        pytest.skip("macOS has the real thing, and /proc is needed to play it")
    control = fcntl.fcntl

    def answered(handle: int, command: int, argument: Any = 0) -> Any:
        if command != _GETPATH:
            return control(handle, command, argument)
        return os.fsencode(os.readlink(f"/proc/self/fd/{handle}")) + b"\0"  # noqa: PTH115

    monkeypatch.setattr(platform, "IS_LINUX", False)
    monkeypatch.setattr(platform, "IS_MACOS", True)
    monkeypatch.setattr(exclusions, "IS_MACOS", True)
    monkeypatch.setattr(fcntl, "fcntl", answered)
    asked = os.path.abspath
    monkeypatch.setattr(os.path, "realpath", lambda path, strict=False: asked(path))

    def also(folder: Path, name: str) -> Path:
        other = folder.with_name(name)
        other.symlink_to(folder)
        return other

    return also


@pytest.mark.parametrize("name", ["büro", "BÜRO", "Büro"])
def test_a_folder_is_read_once_whichever_way_it_is_spelled(
    spellings: Callable[[Path, str], Path], tmp_path: Path, name: str
) -> None:
    folder = tmp_path / STORED
    folder.mkdir()
    (folder / "lamp.txt").write_text("words")
    asked = spellings(folder, name)
    machine = machine_from({"cwd": str(tmp_path)}, {"HOME": str(tmp_path)})
    found = find_locations(machine, "files", str(asked))
    assert found == find_locations(machine, "files", str(folder))
    assert [location.path for location in found] == [str(folder)]
    # A location of an earlier version has the spelling that was asked.
    for location in (*found, Location("files", str(asked))):
        batches = list(Files().read(location, {}))
        assert [draft.title for batch in batches for draft in batch.drafts] == ["lamp"]


def test_a_project_is_one_whichever_way_its_folder_is_spelled(
    spellings: Callable[[Path, str], Path], tmp_path: Path
) -> None:
    folder = tmp_path / "Tern"
    (folder / ".git").mkdir(parents=True)
    assert projects.identify(spellings(folder, "tern")) == projects.identify(folder)


@pytest.mark.parametrize("line", ["büro/", "Büro/", unicodedata.normalize("NFD", "büro/")])
def test_what_is_excluded_is_excluded_in_every_spelling(
    spellings: Callable[[Path, str], Path], tmp_path: Path, line: str
) -> None:
    (tmp_path / ".memsearchignore").write_text(f"{line}\n")
    assert "excluded" in exclusions.Exclusions(tmp_path).why(f"{STORED}/")


def test_an_accent_is_one_on_every_system(tmp_path: Path) -> None:
    """Archives and disks come from a Mac, too."""
    (tmp_path / ".memsearchignore").write_text("Büro/\n")
    excluded = exclusions.Exclusions(tmp_path)
    assert "excluded" in excluded.why(f"{STORED}/")
    assert (excluded.why("büro/") == "") is not platform.IS_MACOS
