"""The contract of projects: told apart by their repository, then by their path, as seen first."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from contracts.test_stores import STORES, fill
from drafts import draft, forget
from mem_search.errors import Conflict, InputError, NotFound
from mem_search.features.projects.sql import StoredProjects
from mem_search.ingest.writer import IngestWriter
from mem_search.model import Batch, Draft, Filters, Location
from mem_search.model.projects import KnownProject
from mem_search.projects import identify
from mem_search.storage.store import Store

Seen = Callable[[Path], Awaitable[KnownProject]]


@pytest.fixture(params=STORES)
async def store(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Store]:
    monkeypatch.setenv("HOME", str(tmp_path / "ada"))
    store = await STORES[request.param](tmp_path)
    yield store
    await store.close()


@pytest.fixture
def seen(store: Store) -> Seen:
    async def look(directory: Path) -> KnownProject:
        place = identify(directory).place
        assert place is not None
        return (await store.ingest.projects_at([place]))[0]

    return look


def git(directory: Path, *arguments: str) -> None:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")} | {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
        # The first commits of all repositories here are the same one.
        "GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z",
        "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z",
    }
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    subprocess.run(
        ["git", *identity, *arguments], cwd=directory, env=environment, check=True,
        capture_output=True,
    )  # fmt: skip


def repository(directory: Path, remote: str = "") -> Path:
    directory.mkdir(parents=True)
    git(directory, "init", "-b", "main")
    if remote:
        git(directory, "remote", "add", "origin", remote)
    git(directory, "commit", "--allow-empty", "-m", "start")
    return directory


async def take(store: Store, project: KnownProject, *names: str) -> None:
    made = [draft(each, project=project.name, project_id=project.number) for each in names]
    await fill(store, *made)


async def ids(store: Store, project: str) -> list[str]:
    page, _ = await store.records.page(Filters(project=project), "date_asc", 99, 0)
    return sorted(record.source_id for record, _ in page)


async def test_two_repositories_of_one_folder_name_are_two_projects(
    store: Store, seen: Seen, tmp_path: Path
) -> None:
    work, play = repository(tmp_path / "work" / "api"), repository(tmp_path / "play" / "api")
    first = await seen(work / "src")
    assert first.name == "api"
    await take(store, first, "a")
    second = await seen(play)
    await take(store, second, "b")
    assert [(await seen(work)).name, second.name] == ["api (work/api)", "api (play/api)"]
    assert await ids(store, "api (work/api)") == ["a"]
    assert await ids(store, "API (play/api)") == ["b"]
    assert await ids(store, "api") == ["a", "b"]
    assert await ids(store, "=api") == []


@pytest.mark.parametrize("remote", ["", "git@forge.example:Acme/api.git"])
async def test_a_moved_repository_keeps_its_project(
    seen: Seen, tmp_path: Path, remote: str
) -> None:
    before = repository(tmp_path / "api", remote)
    project = await seen(before)
    after = before.rename(tmp_path / "harbour")
    assert await seen(after) == project
    assert await seen(before) == project


async def test_clones_of_one_remote_are_one_project_in_whatever_spelling(
    seen: Seen, tmp_path: Path
) -> None:
    first = repository(tmp_path / "api", "git@forge.example:acme/api.git")
    other = repository(tmp_path / "api-2", "https://ada:pw@forge.example/acme/api")
    assert await seen(first) == await seen(other)
    different = repository(tmp_path / "x" / "api", "https://forge.example/ada/api")
    assert (await seen(different)).number != (await seen(first)).number


async def test_a_removed_work_tree_and_a_removed_repository_keep_their_project(
    seen: Seen, tmp_path: Path
) -> None:
    root, tree = repository(tmp_path / "api"), tmp_path / "trees" / "fix"
    git(root, "worktree", "add", str(tree))
    (tree / "src").mkdir()
    project = await seen(root)
    assert await seen(tree) == project
    for gone in (tree, root):
        shutil.rmtree(gone)
        assert [await seen(gone), await seen(gone / "src")] == [project, project]


async def test_another_repository_at_the_same_path_is_another_project(
    seen: Seen, tmp_path: Path
) -> None:
    path = repository(tmp_path / "work" / "api", "https://forge.example/acme/api")
    project = await seen(path)
    shutil.rmtree(path)
    other = repository(path, "https://forge.example/other/api")
    found = await seen(other)
    assert found.number != project.number
    assert found == await seen(other)
    assert found.name != "api"


async def test_a_remote_that_was_renamed_changes_nothing(seen: Seen, tmp_path: Path) -> None:
    path = repository(tmp_path / "api", "https://forge.example/acme/api")
    project = await seen(path)
    git(path, "remote", "set-url", "origin", "https://forge.example/new-name/api")
    assert await seen(path) == project


async def test_a_folder_that_becomes_a_repository_is_the_same_project(
    seen: Seen, tmp_path: Path
) -> None:
    (tmp_path / "notes").mkdir()
    project = await seen(tmp_path / "notes")
    git(tmp_path / "notes", "init")
    assert await seen(tmp_path / "notes") == project


async def test_records_that_only_had_a_name_go_to_their_project_when_they_are_read_again(
    store: Store, seen: Seen, tmp_path: Path
) -> None:
    places = {
        name: identify(repository(tmp_path / name / "api")).place for name in ("work", "play")
    }
    old = [draft(name, project="api", title=name) for name in ("work", "play", "unknown")]
    await fill(store, *old)
    writer, here = IngestWriter(store.ingest, lambda: None), Location("test", "/there")
    again: list[Draft] = [
        draft(name, project="api", title=name, place=places[name]) for name in places
    ]
    taken = await writer.take(here, Batch(drafts=tuple(again)))
    assert (taken.changed, taken.unchanged) == (0, 2)
    assert await ids(store, "api (work/api)") == ["work"]
    assert await ids(store, "api (play/api)") == ["play"]
    assert await ids(store, "=api") == ["unknown"]


async def test_merging_is_taken_back_with_what_was_read_meanwhile(
    store: Store, seen: Seen, tmp_path: Path
) -> None:
    web, api = repository(tmp_path / "web"), repository(tmp_path / "api")
    await take(store, await seen(web), "a")
    await take(store, await seen(api), "b")
    changes = store.part(StoredProjects)
    done = await changes.merge("web", "api")
    assert (done.before, done.after, done.records) == ("web", "api", 1)
    assert (await seen(web)).name == "api"
    await take(store, await seen(web), "c")
    assert await ids(store, "api") == ["a", "b", "c"]
    undone = await changes.undo()
    assert (undone.before, undone.undone) == ("web", True)
    assert (await ids(store, "web"), await ids(store, "api")) == (["a", "c"], ["b"])


async def test_renaming_is_taken_back_and_an_unknown_or_taken_name_refused(
    store: Store, seen: Seen, tmp_path: Path
) -> None:
    await take(store, await seen(repository(tmp_path / "web")), "a")
    await fill(store, draft("b", project="named only"))
    changes = store.part(StoredProjects)
    await changes.rename("web", "harbour")
    await changes.rename("Named Only", "lighthouse")
    assert (await seen(tmp_path / "web")).name == "harbour"
    assert (await ids(store, "harbour"), await ids(store, "lighthouse")) == (["a"], ["b"])
    with pytest.raises(Conflict, match="--merge 'harbour' 'lighthouse'"):
        await changes.rename("harbour", "lighthouse")
    with pytest.raises(NotFound, match="mem-search projects"):
        await changes.rename("web", "x")
    with pytest.raises(InputError, match="one project"):
        await changes.merge("harbour", "harbour")
    await changes.undo()
    await changes.undo()
    assert (await ids(store, "web"), await ids(store, "named only")) == (["a"], ["b"])
    with pytest.raises(NotFound, match="no change"):
        await changes.undo()


async def test_the_spelling_that_sorts_first_names_a_project_that_only_records_name(
    store: Store,
) -> None:
    await fill(store, *(draft(name, project=name) for name in ("äpfel", "Äpfel", "ÄPFEL")))
    with pytest.raises(Conflict, match="--merge 'ÄPFEL' 'Äpfel'"):
        await store.part(StoredProjects).rename("äpfel", "Äpfel")


async def test_a_project_goes_with_its_last_record(
    store: Store, seen: Seen, tmp_path: Path
) -> None:
    project = await seen(repository(tmp_path / "secret-plan"))
    await take(store, project, "a")
    page, _ = await store.records.page(Filters(), "date_asc", 9, 0)
    assert await store.part(StoredProjects).paths() == {
        "secret-plan": str(tmp_path / "secret-plan")
    }
    await forget(store, page[0][0].number)
    assert await store.part(StoredProjects).paths() == {}
