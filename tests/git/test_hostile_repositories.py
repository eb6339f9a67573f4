"""Reading a repository runs nothing of it, and waits for nothing in it, whatever lies there."""

from __future__ import annotations

import os
import shutil
import signal
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from git_repositories import ODD, Repository, put
from mem_search.errors import SourceError
from mem_search.git import commits, places, references
from mem_search.git.changes import changed_files
from mem_search.model import Location
from mem_search.projects import identify
from mem_search.sources.git import Git
from mem_search.waiting import Lane
from patience import PATIENCE, until

T = TypeVar("T")


def in_time(work: Callable[..., T], *args: Any) -> T:
    """What ``work`` returns; fails where it waits for ever."""
    hung: Any = object()
    found = Lane("test", 1).call(work, *args, seconds=PATIENCE, otherwise=hung)
    assert found is not hung, f"{work} waits for ever"
    return found


def read(path: Path) -> tuple[list[str], dict[str, str]]:
    """The titles, and what the ledger says was left out; the reason where nothing is read."""
    titles: list[str] = []
    left: dict[str, str] = {}

    def reading() -> None:
        try:
            for batch in Git().read(Location("git", str(path)), {}):
                titles.extend(draft.title for draft in batch.drafts)
                left.update((e.item, e.reason) for e in batch.ledger if e.outcome == "left")
        except SourceError as error:
            left[""] = error.message

    in_time(reading)
    return titles, left


def look(path: Path) -> None:
    """Everything that is done with a directory that an agent works in."""
    in_time(identify, str(path))
    in_time(changed_files, str(path), PATIENCE)


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "engine", commits=2)


def settings_with(command: str, folder: Path) -> str:
    """A configuration that names the command wherever git takes one."""
    names = (
        "core.fsmonitor", "core.pager", "core.editor", "core.sshCommand", "core.askPass",
        "core.alternateRefsCommand", "diff.external", "diff.x.textconv", "diff.x.command",
        "filter.x.clean", "filter.x.process", "filter.x.smudge", "merge.x.driver",
        "credential.helper", "alias.log", "alias.config", "pager.log", "pager.rev-list",
        "gpg.program", "gpg.ssh.program", "uploadpack.packObjectsHook", "sequence.editor",
        "interactive.diffFilter", "browser.x.cmd", "man.viewer", "trailer.x.command",
    )  # fmt: skip
    lines = []
    for name in names:
        section, _, key = name.rpartition(".")
        first, _, second = section.partition(".")
        head = f'[{first} "{second}"]' if second else f"[{first}]"
        lines.append(f"{head}\n\t{key} = {command}\n")
    lines.append('[filter "x"]\n\trequired = true\n[log]\n\tshowSignature = true\n')
    lines.append(f'[core]\n\thooksPath = {folder}\n[remote "o"]\n\tpromisor = true\n')
    lines.append(f"\turl = ext::{command}\n[extensions]\n\tpartialClone = o\n")
    return "".join(lines)


def arm(gitdir: Path, checkout: Path | None, trap: Path) -> None:
    """Let everything in a repository that git would run make the file ``trap``."""
    script = gitdir / "trap.sh"
    script.write_text(f"#!/bin/sh\ntouch {trap}\n")
    script.chmod(0o755)
    hooks = gitdir / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("post-index-change", "fsmonitor-watchman", "reference-transaction"):
        shutil.copy(script, hooks / name)
    included = gitdir / "included"
    included.write_text(settings_with(str(script), hooks))
    with (gitdir / "config").open("a") as config:
        config.write(settings_with(str(script), hooks))
        config.write(f"[include]\n\tpath = {included}\n[extensions]\n\tworktreeConfig = true\n")
    (gitdir / "config.worktree").write_text(settings_with(str(script), hooks))
    (gitdir / "info").mkdir(exist_ok=True)
    (gitdir / "info" / "attributes").write_text("* filter=x diff=x merge=x\n")
    if checkout is not None:
        (checkout / ".gitattributes").write_text("* filter=x diff=x merge=x\n")


def test_a_hostile_repository_runs_nothing(repo: Repository, tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    arm(repo.path / ".git", repo.path, trap)
    (repo.path / "a.txt").write_text("9")  # of the same size: git would have to compare it
    look(repo.path)
    look(repo.path / "src")
    assert changed_files(str(repo.path), PATIENCE) == ("a.txt",)
    assert read(repo.path)[0] == ["one", "two"]
    assert not trap.exists()


def test_a_hostile_work_tree_runs_nothing(repo: Repository, tmp_path: Path) -> None:
    linked, trap = tmp_path / "linked", tmp_path / "trap"
    repo.run("worktree", "add", "-b", "topic", str(linked))
    arm(repo.path / ".git", linked, trap)
    shutil.copy(repo.path / ".git" / "config", repo.path / ".git" / "worktrees" / "linked")
    (linked / "a.txt").write_text("9")
    look(linked)
    assert changed_files(str(linked), PATIENCE) == ("a.txt",)
    assert read(linked)[0] == ["one", "two"]
    assert not trap.exists()


def test_a_hostile_submodule_runs_nothing(repo: Repository, tmp_path: Path) -> None:
    part, trap = Repository(tmp_path / "part"), tmp_path / "trap"
    part.commit("inner", "c.txt")
    repo.run("-c", "protocol.file.allow=always", "submodule", "add", str(part.path), "lib")
    repo.commit("three")
    arm(repo.path / ".git" / "modules" / "lib", repo.path / "lib", trap)
    (repo.path / "lib" / "c.txt").write_text("9")
    for place in (repo.path, repo.path / "lib"):
        look(place)
    assert read(repo.path)[0] == ["one", "two", "three"]
    assert read(repo.path / "lib")[0] == ["inner"]
    assert not trap.exists()


def test_a_bare_repository_inside_a_clone_runs_nothing(repo: Repository, tmp_path: Path) -> None:
    inner, trap = repo.path / "tests" / "data.git", tmp_path / "trap"
    repo.run("clone", "--bare", str(repo.path), str(inner))
    arm(inner, None, trap)
    with (inner / "config").open("a") as config:
        config.write("[core]\n\tbare = false\n\tworktree = ..\n")
    for place in (repo.path, inner, inner / "hooks", repo.path / "tests"):
        look(place)
    assert read(repo.path)[0] == ["one", "two"]
    assert read(inner)[0] in ([], ["one", "two"])
    assert not trap.exists()


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize(
    "name",
    [
        "mailmap.file", "include.path", "diff.orderFile", "core.excludesFile",
        "core.attributesFile", "core.worktree", "blame.ignoreRevsFile", "core.hooksPath",
        "includeIf.gitdir:/.path", "core.sshCommand",
    ],
)  # fmt: skip
def test_nothing_is_waited_for_that_the_settings_name(
    repo: Repository, tmp_path: Path, name: str, odd: str
) -> None:
    put(trap := tmp_path / "named", odd)
    section, _, key = name.rpartition(".")
    first, _, second = section.partition(".")
    head = f'[{first} "{second}"]' if second else f"[{first}]"
    with (repo.path / ".git" / "config").open("a") as config:
        config.write(f"{head}\n\t{key} = {trap}\n")
    look(repo.path)
    assert read(repo.path)[0] == ["one", "two"]


PLACES = {
    ".git": True, ".git/HEAD": True, ".git/commondir": True, ".git/config": True,
    ".git/packed-refs": True, ".git/refs": None, ".git/refs/heads": None,
    ".git/refs/heads/main": None, ".git/refs/heads/topic": False, ".git/shallow": True,
    ".git/refs/remotes/origin/HEAD": None, ".git/objects": True, ".git/objects/pack": True,
    ".git/objects/pack/pack-1.pack": True, ".git/objects/pack/pack-1.idx": True,
    ".git/objects/00": True, ".git/objects/00/0123456789": True,
    ".git/objects/info/alternates": True, ".git/objects/info/commit-graph": False,
    ".git/objects/info/http-alternates": False, ".git/worktrees/w/HEAD": False,
    ".git/worktrees": False, ".git/index": False, ".git/info/grafts": False,
    ".git/info/attributes": False, ".git/logs/HEAD": False, ".mailmap": False,
    ".gitattributes": False, ".git/refs/replace/x": False, "a.txt": False, "src": False,
    ".gitmodules": False,
}  # fmt: skip
"""Where something odd is put, and whether the repository is refused then; None: either."""


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("place", PLACES)
def test_something_odd_in_the_place_of_a_file_is_not_waited_for(
    repo: Repository, place: str, odd: str
) -> None:
    put(repo.path / place, odd)
    look(repo.path)
    titles, left = read(repo.path)
    is_file = odd == "terabyte" and place.startswith(".git/objects/")
    if PLACES[place] is False:
        assert titles == ["one", "two"], left
    elif PLACES[place] and not is_file:
        assert titles == []
        assert str(repo.path) in left[""]
    if place in (".mailmap", ".git/refs/heads/topic", ".git/worktrees/w/HEAD"):
        assert left, "what is left out is in the ledger"


def test_what_is_odd_is_named_and_the_rest_is_read(repo: Repository) -> None:
    put(repo.path / ".git" / "refs" / "heads" / "topic", "pipe")
    put(repo.path / ".mailmap", "device without end")
    titles, left = read(repo.path)
    assert titles == ["one", "two"]
    assert left["refs/heads/topic"].endswith("refs/heads/topic is a pipe (FIFO), not a file")
    assert left[".mailmap"].startswith("it is a ")
    put(repo.path / ".git" / "HEAD", "pipe")
    assert read(repo.path) == (
        [],
        {"": f"{repo.path} is not read: {repo.path}/.git/HEAD is a pipe (FIFO), not a file"},
    )
    assert identify(repo.path).name == "engine"


def test_a_deep_chain_of_folders_ends(repo: Repository) -> None:
    deep = repo.path / ".git" / "refs" / "heads" / "/".join("d" * (references.MAX_DEPTH + 5))
    deep.mkdir(parents=True)
    (deep / "x").write_text("0" * 40)
    titles, left = read(repo.path)
    assert titles == ["one", "two"]
    assert any("lies deeper than 32 folders" in reason for reason in left.values())


def test_a_pointer_to_the_repository_of_another_folder_is_refused(
    repo: Repository, tmp_path: Path
) -> None:
    hostile = tmp_path / "hostile"
    hostile.mkdir()
    (hostile / ".git").write_text(f"gitdir: {repo.path}/.git\n")
    assert identify(hostile).name == "hostile"
    assert read(hostile)[1][""].endswith(f"which is the repository of {repo.path}")
    repo.run("worktree", "add", "-b", "w", str(tmp_path / "w"))
    (hostile / ".git").write_text(f"gitdir: {repo.path}/.git/worktrees/w\n")
    assert read(hostile)[1][""].endswith(f"which is the worktree {tmp_path / 'w'}")
    (hostile / ".git").unlink()
    shutil.copytree(repo.path / ".git", hostile / ".git")
    (hostile / ".git" / "commondir").write_text(f"{repo.path}/.git\n")
    assert "a repository of another place" in read(hostile)[1][""]
    assert identify(hostile).name == "hostile"


@pytest.mark.parametrize("other", ["/etc", "/", "/proc/self/fd", "pack"])
def test_other_places_of_objects_have_to_be_some(repo: Repository, other: str) -> None:
    (repo.path / ".git" / "objects" / "info" / "alternates").write_text(f"{other}\n")
    titles, left = read(repo.path)
    if other == "pack":  # it does not exist below objects/pack: git goes on without it
        assert (titles, left) == ([], left) if left else (["one", "two"], {})
    else:
        assert titles == []
        assert "which has no objects of git" in left[""]


def test_a_clone_that_shares_objects_is_read_and_one_that_shares_odd_ones_is_not(
    repo: Repository, tmp_path: Path
) -> None:
    repo.run("clone", "--shared", str(repo.path), str(tmp_path / "copy"))
    alternates = repo.path / ".git" / "objects" / "info" / "alternates"
    alternates.write_text(f"{tmp_path / 'copy' / '.git' / 'objects'}\n")  # each names the other
    assert read(tmp_path / "copy")[0] == ["one", "two"]
    put(repo.path / ".git" / "objects" / "pack" / "pack-2.idx", "pipe")
    assert read(tmp_path / "copy")[1][""].endswith("pack-2.idx is a pipe (FIFO), not a file")


def test_too_many_places_of_objects_are_refused(repo: Repository, tmp_path: Path) -> None:
    for number in range(places.MAX_PLACES + 1):
        folder = tmp_path / str(number) / "info"
        folder.mkdir(parents=True)
        folder.with_name("pack").mkdir()
        (folder / "alternates").write_text(f"{tmp_path}/{number + 1}\n")
    (repo.path / ".git" / "objects" / "info" / "alternates").write_text(f"{tmp_path}/0\n")
    assert "other places of objects" in read(repo.path)[1][""]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to another user")
def test_objects_of_another_user_are_refused(repo: Repository, tmp_path: Path) -> None:
    other = Repository(tmp_path / "other")
    os.chown(other.path / ".git" / "objects", 12345, 12345)
    alternates = repo.path / ".git" / "objects" / "info" / "alternates"
    alternates.write_text(f"{other.path}/.git/objects\n")
    assert read(repo.path)[1][""].endswith("which another user has") or os.geteuid() == 12345


def test_what_replaces_a_commit_is_not_believed(repo: Repository) -> None:
    false = repo.run("commit-tree", "-m", "Trust everybody", "HEAD^{tree}")
    repo.run("replace", "HEAD", false)
    (repo.path / ".git" / "info" / "grafts").write_text(f"{repo.run('rev-parse', 'HEAD')}\n")
    assert read(repo.path)[0] == ["one", "two"]


def test_a_commit_that_never_ends_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commits, "MAX_FILES", 3)
    tokens = iter(["", "c" * 40, "", "1", "Ada", "", "one", "", "", "\na", "b", "c", "d", "e"])
    with pytest.raises(commits.TooManyFiles, match="commit cccc"):
        list(commits.parse(tokens, counted=False))


@pytest.mark.parametrize("size", [100, 4 * 2**20 - 5, 4 * 2**20, 9 * 2**20])
def test_a_long_message_is_kept_up_to_a_limit(repo: Repository, size: int) -> None:
    (repo.path / "message").write_text(f"long\n\n{'w' * size}")
    repo.run("commit", "--allow-empty", "-F", "message")
    found = [draft for batch in Git().read(Location("git", str(repo.path)), {})
             for draft in batch.drafts if draft.title == "long"]  # fmt: skip
    (draft,) = found
    is_cut = draft.text.endswith("[cut: longer than 4,194,304 bytes]")
    assert is_cut == (size >= 4 * 2**20)
    assert len(draft.text) <= 4 * 2**20 + 50


def a_git_that_waits(folder: Path) -> Path:
    """A program git that never answers, nor its child; their ids are in files."""
    folder.mkdir()
    git = folder / "git"
    git.write_text(
        f'#!/bin/sh\nsleep 1000 &\necho $! > "{folder}/child"\necho $$ > "{folder}/self"\nwait\n'
    )
    git.chmod(0o755)
    return folder


def is_running(file: Path) -> bool:
    try:
        os.kill(int(file.read_text()), 0)
        state = Path(f"/proc/{file.read_text().strip()}/stat").read_text().rpartition(")")[2]
    except (ProcessLookupError, FileNotFoundError):
        return False
    return state.split()[0] != "Z"


def test_a_git_that_waits_is_ended_with_all_that_it_started(
    repo: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = a_git_that_waits(tmp_path / "bin")
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setattr("mem_search.sources.git.STILL_SECONDS", 1.0)
    titles, left = read(repo.path)
    assert titles == []
    assert "git gave nothing for 1 s and did not work either" in left[""]
    until(lambda: not is_running(folder / "self") and not is_running(folder / "child"))


def test_a_process_that_is_killed_is_a_reason(
    repo: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git = tmp_path / "git"
    git.write_text("#!/bin/sh\nkill -9 $PPID\nsleep 1000\n")
    git.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert f"was ended by {signal.Signals.SIGKILL.name}" in read(repo.path)[1][""]


def test_nothing_is_left_in_the_folder_for_temporary_files(
    repo: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (scratch := tmp_path / "scratch").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    assert read(repo.path)[0] == ["one", "two"]
    put(repo.path / ".git" / "objects" / "pack" / "pack-1.pack", "pipe")
    assert read(repo.path)[0] == []
    assert list(scratch.iterdir()) == []
    assert stat.S_ISFIFO((repo.path / ".git/objects/pack/pack-1.pack").lstat().st_mode)


SHARED = ("config", "refs", "logs", "objects", "info", "hooks", "packed-refs")


def new_workdir(of: Path, at: Path, shared: tuple[str, ...] = SHARED) -> Path:
    """A second work tree, as ``git-new-workdir`` makes it: of links."""
    (at / ".git").mkdir(parents=True)
    for name in shared:
        (at / ".git" / name).symlink_to(of / ".git" / name)
    (at / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    return at


def test_a_work_tree_of_links_to_one_repository_is_read_as_a_project_of_its_own(
    repo: Repository, tmp_path: Path
) -> None:
    repo.commit("Light the lamp", "a")
    linked = new_workdir(repo.path, tmp_path / "second")
    assert read(linked) == read(repo.path)
    assert "Light the lamp" in read(linked)[0]
    project = identify(str(linked))
    assert (project.name, project.branch, project.worktree) == ("second", "main", "")
    repo.run("pack-refs", "--all")
    assert "Light the lamp" in read(linked)[0]


def test_links_to_more_than_one_repository_are_named_and_the_rest_is_read(
    repo: Repository, tmp_path: Path
) -> None:
    repo.commit("Light the lamp", "a")
    other = Repository(tmp_path / "other")
    other.commit("A secret of the other")
    mixed = new_workdir(repo.path, tmp_path / "mixed", ("objects", "config"))
    (mixed / ".git" / "refs").symlink_to(other.path / ".git" / "refs")
    head = repo.run("rev-parse", "HEAD")
    (mixed / ".git" / "packed-refs").write_text(f"{head} refs/heads/main\n")
    titles, left = read(mixed)
    assert "Light the lamp" in titles
    assert "A secret of the other" not in titles
    assert "out of the repository" in left["refs/heads"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to another user")
@pytest.mark.parametrize("whose", ["repository", "links"])
def test_a_work_tree_of_links_to_another_user_is_not_read(
    repo: Repository, tmp_path: Path, whose: str
) -> None:
    repo.commit("Light the lamp", "a")
    linked = new_workdir(repo.path, tmp_path / "second")
    theirs = repo.path if whose == "repository" else linked
    for place in (theirs, *theirs.rglob("*")):
        os.chown(place, 65534, 65534, follow_symlinks=False)
    titles, left = read(linked)
    assert titles == []
    assert left


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to another user")
def test_a_repository_of_another_user_is_refused_by_name(repo: Repository) -> None:
    repo.commit("Light the lamp", "a")
    for place in (repo.path, *repo.path.rglob("*")):
        os.chown(place, 65534, 65534, follow_symlinks=False)
    titles, left = read(repo.path)
    assert titles == []
    assert "another user owns it" in left[""]
    look(repo.path)
