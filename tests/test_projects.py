from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mem_search.projects import Project, identify, named_after, repository


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "ada"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    return home


def git(directory: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")} | {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
    }
    subprocess.run(
        ["git", *identity, "-c", "protocol.file.allow=always", *arguments],
        cwd=directory,
        env=environment,
        check=True,
        capture_output=True,
    )


def make_repository(directory: Path) -> Path:
    directory.mkdir(parents=True)
    git(directory, "init", "-b", "main")
    git(directory, "commit", "--allow-empty", "-m", "start")
    return directory


def test_a_repository_is_named_after_its_directory(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "engine")
    assert identify(root) == Project("engine", str(root), branch="main")


def test_a_subdirectory_belongs_to_its_repository(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "engine")
    deep = root / "src" / "deep"
    deep.mkdir(parents=True)
    assert identify(str(deep)) == identify(root)
    assert identify(root / ".git" / "hooks") == identify(root)


def test_every_worktree_is_the_same_project_with_its_own_branch(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "engine")
    git(root, "worktree", "add", "-b", "topic/x", str(tmp_path / "elsewhere" / "wt"))
    project = identify(tmp_path / "elsewhere" / "wt")
    assert project == Project("engine", str(root), branch="topic/x", worktree="wt")


def test_a_worktree_whose_git_files_were_pruned_keeps_its_project(tmp_path: Path) -> None:
    worktree = tmp_path / "wt"
    worktree.mkdir()
    (worktree / ".git").write_text(f"gitdir: {tmp_path}/engine/.git/worktrees/wt\n")
    assert identify(worktree) == Project("engine", str(tmp_path / "engine"), worktree="wt")


def test_a_removed_directory_inside_a_repository_is_still_its_project(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "engine")
    assert identify(root / ".claude" / "worktrees" / "gone").name == "engine"


def test_a_bare_repository_is_named_without_its_suffix(tmp_path: Path) -> None:
    bare = tmp_path / "engine.git"
    bare.mkdir()
    git(bare, "init", "--bare", "-b", "main")
    assert identify(bare) == Project("engine", str(bare), branch="main")


def test_worktrees_around_a_hidden_bare_repository_share_the_outer_name(tmp_path: Path) -> None:
    seed = make_repository(tmp_path / "seed")
    outer = tmp_path / "engine"
    outer.mkdir()
    git(outer, "clone", "--bare", str(seed), ".bare")
    (outer / ".git").write_text("gitdir: ./.bare\n")
    git(outer, "worktree", "add", "feature")
    assert identify(outer).name == "engine"
    assert identify(outer / "feature") == Project(
        "engine", str(outer), branch="feature", worktree="feature"
    )


def test_a_submodule_is_a_project_of_its_own(tmp_path: Path) -> None:
    part = make_repository(tmp_path / "part")
    root = make_repository(tmp_path / "engine")
    git(root, "submodule", "add", str(part), "lib/piece")
    assert identify(root / "lib" / "piece").name == "piece"
    git(root / "lib" / "piece", "worktree", "add", str(tmp_path / "wt"))
    assert identify(tmp_path / "wt").name == "piece"


def test_a_detached_head_has_no_branch(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "engine")
    git(root, "checkout", "--detach")
    assert identify(root).branch == ""


def test_a_link_to_a_repository_is_that_repository(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "engine")
    (tmp_path / "link").symlink_to(root)
    assert identify(tmp_path / "link") == identify(root)


def test_an_empty_git_directory_is_not_a_repository(tmp_path: Path) -> None:
    (tmp_path / "notes" / ".git").mkdir(parents=True)
    assert repository(tmp_path / "notes") is None
    assert identify(tmp_path / "notes").name == "notes"


def test_a_directory_outside_git_gives_its_name_even_when_it_is_deleted(tmp_path: Path) -> None:
    gone = tmp_path / "once" / "here"
    assert identify(gone) == Project("here", str(gone))


def test_home_and_the_root_have_names(home: Path) -> None:
    assert identify(home).name == "home"
    assert identify("~").name == "home"
    assert identify("/").name == "root"


def test_nothing_is_not_the_current_directory() -> None:
    assert identify("") == Project("", "")


def test_a_windows_path_is_named_after_its_last_part() -> None:
    assert identify(r"C:\Users\ada\engine") == Project("engine", r"C:\Users\ada\engine")


def test_a_directory_of_another_machine_is_only_named(tmp_path: Path) -> None:
    inside = make_repository(tmp_path / "engine") / "docs"
    assert identify(inside).name == "engine"
    assert named_after(inside) == Project("docs", str(inside))
    assert named_after("C:\\work\\web").name == "web"
    assert named_after("") == Project("", "")


def test_a_loop_of_links_still_has_a_name(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert identify(tmp_path / "loop").name == "loop"


@given(st.text(min_size=1))
def test_any_text_has_a_project(text: str) -> None:
    assert isinstance(identify(text).name, str)
