from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_repositories import Repository
from mem_search.contracts import Machine
from mem_search.errors import SourceError
from mem_search.git import session
from mem_search.git.commits import parse
from mem_search.git.places import find
from mem_search.git.references import references_of
from mem_search.model import Batch, Draft, Location
from mem_search.records.observation import Commit as CommitKind
from mem_search.sources import base
from mem_search.sources.git import Commit, Git, draft_of, type_of


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "engine")


def batches(path: Path | Repository, cursor: dict[str, Any] | None = None) -> list[Batch]:
    place = path.path if isinstance(path, Repository) else path
    return list(Git().read(Location("git", str(place)), cursor or {}))


def drafts(path: Path | Repository, cursor: dict[str, Any] | None = None) -> list[Draft]:
    return [draft for batch in batches(path, cursor) for draft in batch.drafts]


def titles(path: Path | Repository, cursor: dict[str, Any] | None = None) -> list[str]:
    return [draft.title for draft in drafts(path, cursor)]


def test_a_commit_becomes_an_observation(repo: Repository) -> None:
    sha = repo.commit("fix: close the file\n\nIt stayed open.\n", "src/a.py", "d/ü b.txt")
    (draft,) = drafts(repo)
    assert draft == Draft(
        kind="observation",
        source="git",
        source_id=sha,
        title="fix: close the file",
        text="It stayed open.\n\nFiles: d/ü b.txt, src/a.py",
        created_at=1772359260000,
        project="engine",
        metadata={
            "type": "bugfix",
            "files_modified": ["d/ü b.txt", "src/a.py"],
            "author": "Ada Lovelace",
            "commit": sha,
            "branch": "main",
            "insertions": 2,
            "deletions": 0,
        },
    )


def test_a_commit_has_its_address_on_the_forge_of_its_remote(repo: Repository) -> None:
    repo.run("remote", "add", "origin", "https://ada:s3cret@github.com/ada/engine.git")
    sha = repo.commit("one", "a")
    (draft,) = drafts(repo)
    assert draft.url == f"https://github.com/ada/engine/commit/{sha}"
    assert "s3cret" not in repr(draft)


def own(repo: Repository) -> dict[str, bool]:
    return {draft.title: draft.metadata.get("own", False) for draft in drafts(repo)}


def test_commits_are_ones_own_by_the_addresses_of_the_users_settings(
    repo: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    for name in ("XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)
    for name in ("me", "work", "here", "other"):
        repo.commit(name, name)
        repo.run("commit", "--amend", "--no-edit", f"--author=N <{name.title()}@x.example>")
    assert own(repo) == dict.fromkeys(("me", "work", "here", "other"), False)
    (home / ".gitconfig").write_text(
        '[user]\nemail = me@x.example\n[includeIf "gitdir:~/work/"]\npath = ~/.work\n'
    )
    (home / ".work").write_text("[user]\nemail = WORK@x.example\n")
    assert own(repo) == {"me": True, "work": True, "here": False, "other": False}
    repo.run("config", "user.email", "here@x.example")
    assert own(repo) == {"me": True, "work": True, "here": True, "other": False}
    assert "x.example" not in repr(drafts(repo))


def test_a_pipe_among_the_included_settings_is_not_read(
    repo: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / ".gitconfig").write_text('[includeIf "gitdir:~/w/"]\npath = ~/pipe\n')
    repo.commit("one", "a")
    assert own(repo) == {"one": False}


def test_lines_of_what_is_no_text_do_not_count(repo: Repository) -> None:
    (repo.path / "image").write_bytes(b"\0\1" * 50)
    repo.run("add", "image")
    repo.commit("image", "a")
    (draft,) = drafts(repo)
    assert set(draft.metadata["files_modified"]) == {"a", "image"}
    assert draft.metadata["insertions"] == 1


def test_a_long_history_has_names_alone(repo: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.commit("one", "a")
    repo.commit("two", "1\t2\tb")
    monkeypatch.setattr(session, "MAX_COUNTED_COMMITS", 1)
    opened = session.Session()
    place = find(repo.path)
    assert place is not None
    with TemporaryDirectory() as folder:
        asked = session.Opening(str(repo.path), folder, place, references_of(place), ())
        assert isinstance(opened(asked), session.Opened)
        found = opened(None)
    assert isinstance(found, list)
    assert [each.files for _, each in found] == [["a"], ["1\t2\tb"]]
    assert found[1][1].insertions is None


def test_what_older_rules_read_is_read_again_once(repo: Repository) -> None:
    sha = repo.commit("one", "a")
    assert titles(repo, {"tips": [sha]}) == ["one"]
    *_, last = batches(repo, {"tips": [sha]})
    assert batches(repo, dict(last.cursor)) == []


def test_commits_of_head_and_all_branches_come_oldest_first(repo: Repository) -> None:
    repo.commit("one", "a")
    repo.run("checkout", "-b", "topic")
    repo.commit("two", "b")
    repo.run("checkout", "--detach", "main")
    repo.commit("three", "c")
    assert titles(repo) == ["one", "two", "three"]


def branches(repo: Repository, cursor: dict[str, Any] | None = None) -> dict[str, str]:
    return {draft.title: draft.metadata.get("branch", "") for draft in drafts(repo, cursor)}


def test_a_commit_has_the_branch_that_it_was_first_read_on(repo: Repository) -> None:
    repo.commit("one", "a")
    repo.run("checkout", "-b", "a/topic")
    repo.commit("two", "b")
    repo.run("checkout", "main")
    repo.commit("three", "c")
    repo.run("checkout", "--detach", "a/topic")
    repo.commit("four", "d")
    repo.run("branch", "same", "a/topic")
    (first,) = batches(repo)
    assert branches(repo) == {"one": "main", "three": "main", "two": "a/topic", "four": ""}
    repo.run("checkout", "main")
    repo.run("merge", "--no-ff", "-m", "Bring the topic home", "a/topic")
    repo.run("checkout", "-b", "next")
    repo.commit("five", "e")
    new = branches(repo, dict(first.cursor))
    assert new == {"Bring the topic home": "main", "five": "next"}


def test_the_branch_that_a_clone_was_made_from_comes_first(
    repo: Repository, tmp_path: Path
) -> None:
    repo.run("branch", "--move", "trunk")
    repo.commit("one", "a")
    clone = Repository(tmp_path / "clone")
    clone.run("remote", "add", "origin", str(repo.path))
    clone.run("fetch", "origin")
    clone.run("remote", "set-head", "origin", "--auto")
    clone.run("checkout", "trunk")
    clone.run("branch", "main")
    assert branches(clone) == {"one": "trunk"}
    clone.run("remote", "remove", "origin")
    assert branches(clone) == {"one": "main"}
    clone.run("branch", "--delete", "main")
    assert branches(clone) == {"one": "trunk"}


def test_a_second_read_gives_only_what_is_new(repo: Repository) -> None:
    repo.commit("one", "a")
    (first,) = batches(repo)
    assert batches(repo, dict(first.cursor)) == []
    old, new = repo.run("rev-parse", "HEAD"), repo.commit("two", "b")
    (second,) = batches(repo, dict(first.cursor))
    assert [draft.title for draft in second.drafts] == ["two"]
    assert (second.done, second.total) == (1, 1)
    (entry,) = second.ledger
    assert (entry.item, entry.outcome, entry.records) == (f"{old[:10]}..{new[:10]}", "taken", 1)


def test_reading_can_be_left_after_any_batch(
    repo: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "BATCH_SIZE", 1)
    repo.commit("root", "a")
    for branch in ("left", "right"):
        repo.run("checkout", "-b", branch, "main")
        repo.commit(f"{branch} 1", branch)
        repo.commit(f"{branch} 2", branch)
    repo.run("merge", "--no-ff", "left", "-m", "Merge branch 'left'\n\nBoth sides agree.")
    repo.commit("last", "z")

    seen: list[str] = []
    cursor: dict[str, Any] = {}
    for _ in range(20):
        reading: Iterator[Batch] = Git().read(Location("git", str(repo.path)), cursor)
        batch = next(reading, None)
        if batch is None:
            break
        reading.close()  # type: ignore[attr-defined]
        seen += [draft.title for draft in batch.drafts]
        cursor = dict(batch.cursor)
    assert sorted(seen) == sorted(titles(repo))
    assert len(seen) == 7


def test_a_clone_gives_the_same_records(repo: Repository, tmp_path: Path) -> None:
    repo.commit("one", "a")
    repo.commit("two", "a")
    repo.run("clone", str(repo.path), str(tmp_path / "copy"))
    ids = [draft.source_id for draft in drafts(repo)]
    assert [draft.source_id for draft in drafts(tmp_path / "copy")] == ids


def test_a_worktree_without_a_branch_is_read_as_well(repo: Repository, tmp_path: Path) -> None:
    repo.commit("one", "a")
    repo.run("worktree", "add", "--detach", str(tmp_path / "wt"))
    (tmp_path / "wt" / "b").write_text("b")
    repo.run("-C", str(tmp_path / "wt"), "add", "b")
    repo.run("-C", str(tmp_path / "wt"), "commit", "-m", "two")
    assert branches(repo) == {"one": "main", "two": ""}


def test_a_worktree_or_a_folder_means_the_repository(repo: Repository, tmp_path: Path) -> None:
    repo.commit("one", "src/a")
    repo.run("worktree", "add", "-b", "topic", str(tmp_path / "wt"))
    here = Location("git", str(repo.path), "engine")
    for path in (repo.path, repo.path / "src", tmp_path / "wt", tmp_path / "wt" / "src"):
        assert Git().locate(str(path)) == here
    assert Git().locate(str(tmp_path)) == Location("git", str(tmp_path))


def test_after_a_rewrite_everything_is_read_again(repo: Repository) -> None:
    repo.commit("one", "a")
    repo.commit("two", "b")
    cursor = dict(batches(repo)[-1].cursor)
    repo.run("commit", "--amend", "-m", "two, better")
    assert titles(repo, cursor) == ["two, better"]
    repo.run("reflog", "expire", "--expire=now", "--all")
    repo.run("gc", "--prune=now")
    assert titles(repo, cursor) == ["one", "two, better"]


def test_a_merge_without_words_of_its_own_is_left_and_counted(repo: Repository) -> None:
    repo.commit("one", "a")
    repo.run("checkout", "-b", "topic")
    repo.commit("two", "b")
    repo.run("checkout", "main")
    repo.commit("three", "c")
    repo.run("merge", "--no-ff", "topic", "-m", "Merge branch 'topic'")
    (batch,) = batches(repo)
    assert [draft.title for draft in batch.drafts] == ["one", "two", "three"]
    taken, left = batch.ledger
    assert (taken.outcome, taken.records) == ("taken", 3)
    assert left.outcome == "left"
    assert left.reason.startswith("empty commits: 1 ")
    assert left.item != taken.item


def test_the_repository_around_the_current_directory_is_discovered(
    repo: Repository, tmp_path: Path
) -> None:
    repo.commit("one", "src/a")
    found = Git().discover(Machine(tmp_path, repo.path / "src", {}))
    assert list(found) == [Location("git", str(repo.path), "engine")]
    (tmp_path / "plain").mkdir()
    assert list(Git().discover(Machine(tmp_path, tmp_path / "plain", {}))) == []


def test_worktrees_are_one_project(repo: Repository, tmp_path: Path) -> None:
    repo.commit("one", "a")
    repo.run("worktree", "add", "-b", "topic", str(tmp_path / "wt"))
    assert [draft.project for draft in drafts(tmp_path / "wt")] == ["engine"]
    found = list(Git().discover(Machine(tmp_path, tmp_path / "wt", {})))
    assert [location.path for location in found] == [str(repo.path)]


def test_a_repository_without_commits_gives_nothing(repo: Repository) -> None:
    assert batches(repo) == []


def test_a_directory_without_repository_is_refused_by_name(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "gone"):
        with pytest.raises(SourceError, match=f"{place} is not a git repository"):
            batches(place)


def test_a_shallow_clone_is_refused_with_the_next_step(repo: Repository, tmp_path: Path) -> None:
    repo.commit("one", "a")
    repo.commit("two", "a")
    repo.run("clone", "--depth=1", f"file://{repo.path}", str(tmp_path / "copy"))
    with pytest.raises(SourceError, match="fetch --unshallow"):
        batches(tmp_path / "copy")


def test_without_git_the_error_says_to_install_it(
    repo: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.commit("one", "a")
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(SourceError, match="install it"):
        batches(repo)


def test_a_repository_of_somebody_else_is_refused_until_the_user_trusts_it(
    repo: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.commit("one", "a")
    owner = repo.path.stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("GIT_CONFIG_GLOBAL", raising=False)
    with pytest.raises(SourceError, match=r"safe\.directory"):
        batches(repo)
    (tmp_path / ".gitconfig").write_text(f"[safe]\n\tdirectory = {repo.path}\n")
    assert titles(repo) == ["one"]


def test_a_damaged_history_keeps_what_was_read_and_says_why(repo: Repository) -> None:
    repo.commit("one", "a")
    tree = repo.run("rev-parse", "HEAD^{tree}")
    repo.commit("two", "b")
    repo.commit("three", "b")
    stored = repo.path / ".git" / "objects" / tree[:2] / tree[2:]
    content = stored.read_bytes()
    stored.unlink()
    reading = Git().read(Location("git", str(repo.path)), {})
    batch = next(reading)
    (entry,) = batch.ledger
    assert entry.outcome == "failed"
    assert len(batch.drafts) == entry.records < 3
    with pytest.raises(SourceError, match="git cannot read"):
        next(reading)
    stored.write_bytes(content)
    (mended,) = batches(repo, dict(batch.cursor))
    assert len(batch.drafts) + len(mended.drafts) == 3
    assert mended.outdated == (entry.item,)
    assert "failed" not in mended.cursor


def test_commits_before_the_damage_are_stored(repo: Repository) -> None:
    for number in range(300):
        repo.run("commit", "--allow-empty", "-m", f"commit {number}")
    repo.commit("broken", "b")
    tree = repo.run("rev-parse", "HEAD^{tree}")
    repo.run("commit", "--allow-empty", "-m", "after it")
    (repo.path / ".git" / "objects" / tree[:2] / tree[2:]).unlink()
    reading = Git().read(Location("git", str(repo.path)), {})
    first, second = next(reading), next(reading)
    with pytest.raises(SourceError, match="git cannot read"):
        next(reading)
    found = [draft.title for batch in (first, second) for draft in batch.drafts]
    # Whether the last one before the damage was read whole, nobody knows.
    assert found == [f"commit {number}" for number in range(299)]


def test_the_environment_of_a_git_hook_does_not_mislead(
    repo: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.commit("one", "a")
    other = Repository(tmp_path / "other")
    other.commit("elsewhere", "a")
    monkeypatch.setenv("GIT_DIR", str(other.path / ".git"))
    assert titles(repo) == ["one"]


def test_the_repository_is_not_changed_by_reading(repo: Repository) -> None:
    repo.commit("one", "a")
    before = sorted((str(p), p.stat().st_mtime_ns) for p in repo.path.rglob("*"))
    batches(repo)
    assert sorted((str(p), p.stat().st_mtime_ns) for p in repo.path.rglob("*")) == before


def test_the_names_of_authors_are_those_of_the_mailmap(repo: Repository, tmp_path: Path) -> None:
    repo.commit("one", "a")
    (repo.path / ".mailmap").write_text("Ada King <ada@example.org>\n")
    authors = [draft.metadata["author"] for draft in drafts(repo)]
    assert authors == ["Ada King"]
    repo.run("clone", "--bare", str(repo.path), str(tmp_path / "bare.git"))
    assert drafts(tmp_path / "bare.git")[0].metadata["author"] == "Ada Lovelace"
    repo.commit("two")  # now it is in the history, where that of a bare repository is read
    repo.run("push", str(tmp_path / "bare.git"), "main")
    authors = [draft.metadata["author"] for draft in drafts(tmp_path / "bare.git")]
    assert authors == ["Ada King", "Ada King"]


def test_a_history_of_long_hashes_is_read(repo: Repository, tmp_path: Path) -> None:
    (tmp_path / "long").mkdir()
    repo.run("init", "--object-format=sha256", "-b", "main", str(tmp_path / "long"))
    repo.path = tmp_path / "long"
    sha = repo.commit("one", "a")
    assert len(sha) == 64
    assert [draft.source_id for draft in drafts(repo)] == [sha]


def test_packed_and_symbolic_branches_are_read(repo: Repository) -> None:
    repo.commit("one", "a")
    repo.run("branch", "topic/deep")
    repo.run("pack-refs", "--all", "--prune")
    repo.run("symbolic-ref", "refs/heads/alias", "refs/heads/topic/deep")
    repo.run("checkout", "topic/deep")
    repo.commit("two", "b")
    assert branches(repo) == {"one": "main", "two": "topic/deep"}  # it is checked out


def test_references_in_tables_are_read_where_git_knows_them(repo: Repository) -> None:
    path = repo.path.with_name("tables")
    try:
        repo.run("init", "--ref-format=reftable", "-b", "main", str(path))
    except subprocess.CalledProcessError:
        pytest.skip("this git has no reftables")
    repo.path = path
    repo.commit("one", "a")
    repo.run("checkout", "-b", "topic")
    repo.commit("two", "b")
    (batch,) = batches(repo)
    assert branches(repo) == {"one": "main", "two": "topic"}
    assert batches(repo, dict(batch.cursor)) == []


def test_settings_of_the_repository_do_not_change_the_answer(repo: Repository) -> None:
    repo.commit("one", "a")
    repo.run("mv", "a", "b")
    repo.commit("two")
    plain = drafts(repo)
    for name, value in (
        ("log.showSignature", "true"),
        ("log.showRoot", "false"),
        ("diff.renames", "copies"),
        ("color.ui", "always"),
        ("format.pretty", "oneline"),
        ("i18n.logOutputEncoding", "latin-1"),
    ):
        repo.run("config", name, value)
    assert drafts(repo) == plain
    assert plain[1].metadata["files_modified"] == ["a", "b"]


def test_reading_abandoned_midway_leaves_no_git_behind(
    repo: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "BATCH_SIZE", 1)
    repo.commit("one", "a")
    repo.commit("two", "a")
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    before = children.read_text() if children.exists() else ""  # of other tests
    reading = Git().read(Location("git", str(repo.path)), {})
    next(reading)
    reading.close()  # type: ignore[attr-defined]
    assert before == (children.read_text() if children.exists() else "")


def commit(subject: str = "Do it", body: str = "", **others: Any) -> Commit:
    return Commit("c" * 40, others.pop("parents", []), 0, "Ada", subject, body, **others)


def draft(value: Commit) -> Draft | None:
    return draft_of(value, project="p")


def test_trailers_that_only_name_people_are_dropped() -> None:
    body = (
        "Why.\n\nFixes: #12\nSigned-off-by: A <a@b.c>\nco-authored-by: B <b@c.d>\nChange-Id: I1\n"
    )
    kept = draft(commit(body=body))
    assert kept is not None
    assert kept.text == "Why.\n\nFixes: #12"


def test_who_is_named_as_a_co_author_is_an_author_too() -> None:
    body = (
        "Why.\n\nCo-authored-by: Grace Hopper <grace@example.org>\n"
        "co-authored-by: <linus@example.org>\nCo-Authored-By: Ada <ada@example.org>\n"
        "Co-authored-by: Éva Nagy\r\nCo-authored-by: Grace Hopper <1+g@users.noreply.github.com>\n"
        "Co-Authored-By: Some Agent <noreply@agent.example>\n"
        "Co-authored-by: updates[bot] <7+updates[bot]@users.noreply.github.com>\n"
        "Co-authored-by: https://x:s3cretw0rd9@example.org/ <>\n"
    )
    kept = draft(commit(body=body))
    assert kept is not None
    assert kept.text == "Why."
    assert kept.metadata["author"] == "Ada"
    assert kept.metadata["authors"][:3] == ["Grace Hopper", "linus", "Éva Nagy"]
    assert "example.org" not in repr(kept)
    assert "s3cretw0rd9" not in repr(kept)
    facets = {value for name, value in CommitKind().facets(kept) if name == "author"}
    assert {"Ada", "Grace Hopper", "linus", "Éva Nagy"} <= facets


def test_an_address_given_as_the_name_is_not_kept() -> None:
    value = commit()
    value.author = "ada@example.org"
    kept = draft(value)
    assert kept is not None
    assert kept.metadata["author"] == "ada"


def test_many_files_are_counted_not_listed() -> None:
    names = [f"f{n}" for n in range(60)]
    kept = draft(commit(files=names, file_count=70))
    assert kept is not None
    assert kept.text.endswith("f49, and 20 more")
    assert kept.metadata["files_modified"] == names


def test_a_commit_with_neither_message_nor_files_says_nothing() -> None:
    assert draft(commit(subject="")) is None


@pytest.mark.parametrize(
    "body",
    [
        "",
        "Conflicts:\n\tsrc/a.py\n",
        "# Conflicts:\n#\tsrc/a.py\n",
        "* topic: (12 commits)\n  one\n  two\n",
        "Signed-off-by: A <a@b>",
    ],
)
def test_what_git_writes_into_a_merge_is_not_a_message(body: str) -> None:
    assert draft(commit("Merge branch 'topic'", body, parents=["a", "b"])) is None


def test_a_merge_with_words_of_its_own_is_kept() -> None:
    kept = draft(commit("Merge pull request #3 from x/y", "Faster start", parents=["a", "b"]))
    assert kept is not None
    assert kept.text == "Faster start"
    assert draft(commit("Release 2.0", parents=["a", "b"])) is not None


@pytest.mark.parametrize(
    ("subject", "expected"),
    [
        ("feat(search)!: rank by date", "feature"),
        ("FIX: typo", "bugfix"),
        ("refactor: split", "refactor"),
        ("docs: fix a typo", "change"),
        ("Fixed #123 -- close it", "bugfix"),
        ("ignore: fix the glob", "bugfix"),
        ("[3.12] Fix a leak", "bugfix"),
        ("Add a viewer", "feature"),
        ("cli: add --json", "feature"),
        ("Rename the thing", "refactor"),
        ('Revert "Fix a leak"', "change"),
        ("Address the review", "change"),
        ("Prefix the names", "change"),
        ("", "change"),
    ],
)
def test_the_type_follows_from_the_subject(subject: str, expected: str) -> None:
    assert type_of(subject) == expected


words = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))


@given(
    st.lists(st.tuples(words, words, words, st.lists(words.filter(bool), max_size=4))),
    st.booleans(),
)
def test_any_messages_and_names_come_back_as_they_were(
    commits: list[tuple[str, str, str, list[str]]], counted: bool
) -> None:
    tokens: list[str] = []
    for author, subject, body, files in commits:
        tokens += ["", "a" * 40, "b c", "-5", author, "a@b\nA@B", subject, body, ""]
        lines = "2\t1\t" if counted else ""
        tokens += [("\n" if n == 0 else "") + lines + name for n, name in enumerate(files)]
    found = [*parse(iter(tokens), counted=counted)]
    assert [(c.author, c.subject, c.body, c.files) for c in found] == commits
    for each, (*_, files) in zip(found, commits, strict=True):
        changed = (2 * len(files), len(files)) if counted and files else (None, None)
        assert (each.insertions, each.deletions) == changed
        assert each.emails == ("a@b", "a@b")


def test_a_url_with_a_password_as_the_name_of_an_author_is_not_taken_apart() -> None:
    secret = "q7Wz" + "81mLw9x"
    value = commit()
    value.author = f"https://bob:{secret}@git.acme.io/a.git"
    assert secret not in repr(draft(value))
