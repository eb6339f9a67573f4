"""The files that somebody works on are those that git would name, and git does not run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_repositories import Repository
from mem_search.git.changes import changed_files
from patience import PATIENCE


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    made = Repository(tmp_path / "engine")
    made.commit("one", "a.txt", "src/b.txt", "src/ü c.txt", "d.txt")
    return made


def changed(path: Path) -> list[str]:
    return sorted(changed_files(str(path), PATIENCE))


def as_git_says(repo: Repository) -> list[str]:
    listed = repo.run("diff", "--name-only", "-z", "HEAD")
    return sorted(name for name in listed.split("\0") if name)


def alter(repo: Repository) -> None:
    path = repo.path
    (path / "a.txt").write_text("2")  # of the same size
    (path / "src" / "ü c.txt").unlink()
    (path / "d.txt").chmod(0o755)
    (path / "d.txt").write_text("d")
    (path / "new.txt").write_text("n")
    (path / "untracked.txt").write_text("u")
    repo.run("add", "new.txt")


@pytest.mark.parametrize("version", ["2", "3", "4"])
def test_what_is_changed_staged_new_or_gone_is_found(repo: Repository, version: str) -> None:
    assert changed(repo.path) == []
    alter(repo)
    repo.run("update-index", "--index-version", version)
    expected = ["a.txt", "d.txt", "new.txt", "src/ü c.txt"]
    assert changed(repo.path) == as_git_says(repo) == expected
    assert changed(repo.path / "src") == expected
    repo.run("add", "--all")
    # A file that was removed, and whose removal was staged, is in no list any more.
    staged = ["a.txt", "d.txt", "new.txt", "untracked.txt"]
    assert changed(repo.path) == staged
    assert as_git_says(repo) == sorted([*staged, "src/ü c.txt"])
    repo.run("commit", "-m", "two")
    assert changed(repo.path) == as_git_says(repo) == []


def test_a_file_that_was_only_touched_is_not_changed(repo: Repository) -> None:
    os.utime(repo.path / "a.txt")
    assert changed(repo.path) == []


def test_a_fresh_clone_has_no_changes(repo: Repository, tmp_path: Path) -> None:
    repo.run("clone", str(repo.path), str(tmp_path / "copy"))
    assert changed(tmp_path / "copy") == []


def test_a_linked_worktree_has_its_own_changes(repo: Repository, tmp_path: Path) -> None:
    repo.run("worktree", "add", "-b", "topic", str(tmp_path / "wt"))
    (tmp_path / "wt" / "a.txt").write_text("other")
    assert changed(tmp_path / "wt") == ["a.txt"]
    assert changed(repo.path) == []


def test_a_conflict_is_at_hand(repo: Repository) -> None:
    repo.run("checkout", "-b", "topic")
    repo.commit("theirs", "a.txt")
    repo.run("checkout", "main")
    repo.commit("ours", "a.txt")
    with pytest.raises(Exception, match="merge"):
        repo.run("merge", "topic")
    assert changed(repo.path) == ["a.txt"]


def test_a_repository_of_long_hashes_is_read(tmp_path: Path) -> None:
    (tmp_path / "long").mkdir()
    repo = Repository(tmp_path / "engine")
    repo.run("init", "--object-format=sha256", "-b", "main", str(tmp_path / "long"))
    repo.path = tmp_path / "long"
    repo.commit("one", "a.txt")
    assert changed(repo.path) == []
    (repo.path / "a.txt").write_text("changed")
    assert changed(repo.path) == ["a.txt"]


def test_names_behind_a_link_or_above_the_folder_are_not_looked_at(
    repo: Repository, tmp_path: Path
) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "b.txt").write_text("not ours")
    (repo.path / "src" / "b.txt").unlink()
    (repo.path / "src" / "ü c.txt").unlink()
    (repo.path / "src").rmdir()
    (repo.path / "src").symlink_to(tmp_path / "outside")
    index = repo.path / ".git" / "index"
    index.write_bytes(index.read_bytes().replace(b"a.txt\0", b"../ab\0"))
    assert changed(repo.path) == []


def test_nothing_is_at_hand_outside_a_repository_or_before_its_first_commit(tmp_path: Path) -> None:
    assert changed(tmp_path) == changed(tmp_path / "gone") == []
    assert changed(Repository(tmp_path / "empty").path) == []


@pytest.fixture(scope="module")
def committed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    repo = Repository(tmp_path_factory.mktemp("broken") / "engine")
    repo.commit("one", "a.txt", "src/b.txt")
    return repo.path


@given(st.data())
def test_any_broken_index_gives_an_answer(committed: Path, data: st.DataObject) -> None:
    whole = committed.with_name("index")
    index = committed / ".git" / "index"
    if not whole.exists():
        whole.write_bytes(index.read_bytes())
    content = bytearray(whole.read_bytes())
    content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    index.write_bytes(content[: data.draw(st.integers(0, len(content)))])
    changed(committed)
