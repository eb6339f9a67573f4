"""Reading locations into the store: cursors, failures, one reader at a time, following."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import threading
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import drafts
from mem_search import sources
from mem_search.contracts import Machine
from mem_search.errors import InputError, SourceError
from mem_search.ingest.crash_mark import CrashMark
from mem_search.ingest.writer import IngestWriter
from mem_search.jobs.following import Pauses, follow
from mem_search.jobs.queue import Report
from mem_search.jobs.reader import LocationReader, find_locations
from mem_search.jobs.tasks import ImportJob, SyncJob
from mem_search.model import Batch, Filters, Location
from mem_search.model.ingest import IngestCounts
from mem_search.storage.sqlite.store import SqliteStore
from mem_search.text.redaction import Redaction
from mem_search.wiring import Runtime
from patience import PATIENCE, comes_true
from secret_shapes import SHAPES


class Shelf:
    """A source of numbered batches: the path says how many, and what goes wrong where."""

    name = "shelf"
    follows = True
    file_format = None

    def __init__(self) -> None:
        self.cursors: list[dict[str, Any]] = []
        self.inside = 0
        self.most_inside = 0
        self.lock = threading.Lock()

    def discover(self, machine: Machine) -> Iterable[Location]:
        return [Location("shelf", "2"), Location("shelf", "3 fail 1"), Location("shelf", "1")]

    def locate(self, path: str) -> Location:
        return Location(self.name, path)

    def read(self, location: Location, cursor: Mapping[str, Any]) -> Iterator[Batch]:
        self.cursors.append(dict(cursor))
        count, _, fault = location.path.partition(" ")
        with self.lock:
            self.inside += 1
            self.most_inside = max(self.most_inside, self.inside)
        try:
            for n in range(cursor.get("next", 0), int(count)):
                if fault == f"fail {n}":
                    raise SourceError("torn page; mend it")
                if fault == f"break {n}":
                    raise KeyError("a bug")
                pages = 50 if fault == f"thick {n}" else 1
                made = (f"{location.path}/{n}{'+' * page}" for page in range(pages))
                yield Batch(
                    drafts=tuple(drafts.draft(i, f"page {n}", source="shelf") for i in made),
                    cursor={"next": n + 1}, done=n + 1, total=int(count),
                )  # fmt: skip
        finally:
            with self.lock:
                self.inside -= 1


@pytest.fixture
def shelf(monkeypatch: pytest.MonkeyPatch) -> Shelf:
    shelf = Shelf()
    monkeypatch.setattr(sources, "installed", lambda: (shelf, *sources.built_in()))
    return shelf


@pytest.fixture
def reader(store: SqliteStore, tmp_path: Path) -> LocationReader:
    writer = IngestWriter(store.ingest, stored=lambda: None)
    return LocationReader(store.ingest, writer, CrashMark(tmp_path / "reading.json"))


async def nothing(done: int, total: int, message: str, *, begins: bool = False) -> None: ...


async def cursor_of(store: SqliteStore, path: str) -> dict[str, Any]:
    return await store.ingest.cursor(Location("shelf", path))


async def errors(store: SqliteStore) -> dict[str, str]:
    return {f.location.path: f.error for f in await store.ingest.locations()}


async def test_each_batch_is_stored_with_the_cursor_from_which_reading_continues(
    store: SqliteStore, reader: LocationReader, shelf: Shelf
) -> None:
    seen: list[tuple[int, int, str]] = []

    async def report(done: int, total: int, message: str, *, begins: bool = False) -> None:
        assert await cursor_of(store, "3") == ({"next": done} if total else {})
        seen.append((done, total, message))

    taken = await reader.read(Location("shelf", "3"), report)
    assert taken.new == 3
    assert seen[0] == (0, 0, "shelf 3: looking for what is new")
    assert seen[-1] == (3, 3, "shelf 3: 3 new")
    again = await reader.read(Location("shelf", "3"))
    assert (again.new, again.unchanged) == (0, 0)
    whole = await reader.read(Location("shelf", "3"), again=True)
    assert (whole.new, whole.unchanged) == (0, 3)
    assert shelf.cursors == [{}, {"next": 3}, {}]


async def test_a_large_batch_gives_way_to_searches(
    store: SqliteStore, tmp_path: Path, shelf: Shelf
) -> None:
    stored: list[int] = []

    async def give_way() -> None:
        stored.append(sum((await store.statistics.totals()).records.values()))

    writer = IngestWriter(store.ingest, stored=lambda: None)
    mark = CrashMark(tmp_path / "reading.json")
    await LocationReader(store.ingest, writer, mark, give_way=give_way).read(
        Location("shelf", "3 thick 1")
    )
    assert stored == [51]


@pytest.mark.parametrize("again", [False, True])
async def test_a_job_that_goes_on_after_a_kill_counts_what_it_had_read_before(
    store: SqliteStore, reader: LocationReader, shelf: Shelf, again: bool
) -> None:
    await store.jobs.create("j", "sync", {})
    job = (await store.jobs.claim(["sync"])).id  # type: ignore[union-attr]
    where, told = Location("shelf", "5"), [""]

    def killed_at(end: int) -> Report:
        async def report(done: int, total: int, message: str, *, begins: bool = False) -> None:
            told[0] = message
            if done == end:
                raise asyncio.CancelledError

        return report

    for end in (2, 3):
        with pytest.raises(asyncio.CancelledError):
            await reader.read(where, killed_at(end), again=again, job=job)
    assert await reader.read(where, killed_at(9), again=again, job=job) == IngestCounts(new=5)
    assert told == ["shelf 5: 5 new"]
    assert (await reader.read(where, job=job)).new == 5  # nothing is new, and the job read five
    assert await reader.read(where) == IngestCounts()


@pytest.mark.parametrize("fault", ["fail", "break"])
async def test_what_was_stored_before_a_failure_stays_and_the_reason_is_kept(
    store: SqliteStore, reader: LocationReader, shelf: Shelf, fault: str
) -> None:
    path = f"3 {fault} 2"
    with pytest.raises(SourceError, match=r"torn page|internal error in source shelf: KeyError"):
        await reader.read(Location("shelf", path, options={"deep": "yes"}))
    assert await cursor_of(store, path) == {"next": 2}
    (known,) = await store.ingest.locations()
    assert known.location.options == {"deep": "yes"}
    assert known.error
    shelf.read = lambda location, cursor: iter([Batch(cursor={"next": 9})])  # type: ignore[method-assign]
    await reader.read(known.location)
    assert await errors(store) == {path: ""}


async def test_a_location_is_read_by_one_at_a_time(reader: LocationReader, shelf: Shelf) -> None:
    taken = await asyncio.gather(*(reader.read(Location("shelf", "4")) for _ in range(3)))
    assert sum(one.new for one in taken) == 4
    assert shelf.most_inside == 1


async def test_sync_names_the_location_that_fails_and_reads_the_others(
    reader: LocationReader, shelf: Shelf
) -> None:
    result = await SyncJob(reader).run({"source": "shelf"}, nothing)
    first, second, third = result["locations"]
    assert (first["new"], third["new"]) == (2, 1)
    assert second["error"] == "torn page; mend it"
    assert result["errors"] == ["shelf 3 fail 1: torn page; mend it"]


async def test_sync_fails_when_every_location_does(
    reader: LocationReader, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shelf, "discover", lambda machine: [Location("shelf", "1 fail 0")])
    with pytest.raises(SourceError, match="shelf 1 fail 0: torn page"):
        await SyncJob(reader).run({"source": "shelf"}, nothing)


@pytest.mark.parametrize("below", ["", "-code-lamps"])
def test_a_folder_that_an_agent_keeps_has_no_documents(tmp_path: Path, below: str) -> None:
    kept = tmp_path / ".claude" / "projects" / "-code-lamps"
    kept.mkdir(parents=True)
    (kept / "one.jsonl").write_text("{}\n")
    machine = Machine(home=tmp_path, cwd=tmp_path, environ={})
    folder = kept.parent / below
    (one,) = find_locations(machine, path=str(folder))
    assert (one.source, one.path) == ("claude-code", str(folder))


async def test_a_path_without_a_source_is_for_all_that_read_something_there(
    tmp_path: Path,
) -> None:
    machine = Machine(tmp_path, tmp_path, {})
    (tmp_path / "sub").mkdir()
    for name in ("lease.txt", "sub/lease.eml", "sub/copy.eml"):
        (tmp_path / name).write_text("words")
    found = [(each.source, each.path) for each in find_locations(machine, path=str(tmp_path))]
    assert found == [("files", str(tmp_path)), ("mail", str(tmp_path))]
    for name, source in (("lease.txt", "files"), ("sub/lease.eml", "mail")):
        (one,) = find_locations(machine, path=str(tmp_path / name))
        assert one.source == source


async def test_a_source_needs_its_name(tmp_path: Path) -> None:
    machine = Machine(tmp_path, tmp_path, {})
    with pytest.raises(InputError, match="'attic' is not a source"):
        find_locations(machine, "attic")


async def test_what_is_imported_is_read_whole_and_not_followed(
    store: SqliteStore, reader: LocationReader, shelf: Shelf, tmp_path: Path
) -> None:
    file = tmp_path / "records.jsonl"
    lines = [{"kind": "note", "text": "one"}, {"kind": "note"}, {"kind": "note", "text": "two"}]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    params = {"source": "jsonl", "path": str(file)}
    result = await ImportJob(reader, store, tmp_path).run(params, nothing)
    assert result["locations"][0]["new"] == 2
    result = await ImportJob(reader, store, tmp_path).run(params, nothing)
    assert result["locations"][0]["unchanged"] == 2
    ledger = await store.ingest.ledger("jsonl", "", 9, 0)
    assert sorted(entry.outcome for entry in ledger) == ["failed", "taken"]

    await reader.read(Location("shelf", "1"), follow=False)
    assert [known.followed for known in await store.ingest.locations()] == [
        False,
        False,
    ]
    await reader.read(Location("shelf", "1"))
    assert [known.followed for known in await store.ingest.locations()] == [
        False,
        True,
    ]


def git(folder: Path, *arguments: str) -> None:
    person = {"NAME": "Ada", "EMAIL": "ada@example.org", "DATE": "2026-03-01T10:00:00Z"}
    known = {
        f"GIT_{role}_{key}": v for role in ("AUTHOR", "COMMITTER") for key, v in person.items()
    }
    nowhere = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    subprocess.run(
        ["git", *arguments], cwd=folder, env=environment | known | nowhere, check=True,
        capture_output=True,
    )  # fmt: skip


async def test_commits_stay_with_the_clone_that_they_were_first_read_in(
    store: SqliteStore, reader: LocationReader, tmp_path: Path
) -> None:
    web, clone, same = tmp_path / "web", tmp_path / "clone", tmp_path / "other" / "web"
    web.mkdir()
    git(web, "init", "-q", "-b", "trunk")
    git(web, "commit", "-q", "--allow-empty", "-m", "one")
    git(web, "checkout", "-q", "-b", "topic")
    git(web, "commit", "-q", "--allow-empty", "-m", "two")
    git(tmp_path, "clone", "-q", str(web), str(clone))
    git(clone, "commit", "-q", "--allow-empty", "-m", "three")
    git(tmp_path, "clone", "-q", str(web), str(same))
    git(same, "checkout", "-q", "-b", "else")
    machine = Machine(tmp_path, tmp_path, {})

    async def read(folder: Path, **how: bool) -> IngestCounts:
        (place,) = find_locations(machine, "git", str(folder))
        return await reader.read(place, **how)

    async def stored() -> set[tuple[str, str, str]]:
        query = "select title, project, json_extract(data, '$.branch') from records"
        return await store.database.read(lambda c: set(c.execute(query).fetchall()))

    assert await read(web) == IngestCounts(new=2)
    assert await read(clone) == IngestCounts(new=1, unchanged=2)
    assert await read(same) == IngestCounts(unchanged=2)
    # What makes another root the oldest, or the main branch another one.
    git(web, "checkout", "-q", "--orphan", "main")
    git(web, "commit", "-q", "--allow-empty", "-m", "zero", "--date", "2001-01-01T00:00:00Z")
    assert await read(web) == IngestCounts(new=1)
    for folder in (clone, web, same):
        assert (await read(folder, again=True)).changed == 0
    first = {("one", "web", "topic"), ("two", "web", "topic"), ("zero", "web", "main")}
    found = await stored()
    assert {(title, project) for title, project, _ in found} == {
        ("one", "web"), ("two", "web"), ("zero", "web"), ("three", "web"),
    }  # fmt: skip
    assert {branch for title, _, branch in found if title in ("zero", "three")} == {"main", "topic"}
    assert len(found) == len(first) + 1
    web.rename(tmp_path / "gone")
    same.rename(tmp_path / "gone too")
    assert (await read(clone, again=True)).changed == 0
    assert {project for _, project, _ in await stored()} == {"web"}  # a clone is its project


async def test_a_look_that_finds_nothing_new_clears_the_old_error(
    store: SqliteStore, reader: LocationReader, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SourceError):
        await reader.read(Location("shelf", "2 fail 1"))
    monkeypatch.setattr(shelf, "read", lambda location, cursor: iter(()))
    for path in ("2 fail 1", "empty"):
        await reader.read(Location("shelf", path))
    assert await errors(store) == {"2 fail 1": "", "empty": ""}
    assert await cursor_of(store, "2 fail 1") == {"next": 1}
    assert all(known.followed for known in await store.ingest.locations())


def test_a_location_with_a_pause_is_read_less_often_and_after_failures_even_less() -> None:
    pauses = Pauses()
    server, folder = Location("mail", "imaps://ada@mail.example.org/"), Location("mail", "/mail")
    gone = Location("telepathy", "/x")
    for place in (server, folder, gone):
        assert pauses.is_due(place, 1000.0)
        pauses.begin(place, 1000.0, failed=False)
    assert [pauses.is_due(place, 1059.0) for place in (server, folder, gone)] == [False, True, True]
    assert pauses.is_due(server, 1060.0)
    due, waits = 2000.0, []
    for _ in range(8):
        pauses.begin(server, due, failed=True)
        wait = next(n for n in range(0, 4000, 20) if pauses.is_due(server, due + n))
        waits.append(wait)
        due += wait
    assert waits == [120, 240, 480, 960, 1920, 3600, 3600, 3600]
    pauses.begin(server, due, failed=False)
    assert pauses.is_due(server, due + 60)


async def test_following_looks_again_and_outlives_a_location_that_fails(
    store: SqliteStore, reader: LocationReader, shelf: Shelf
) -> None:
    await reader.read(Location("shelf", "1"))
    with pytest.raises(SourceError):
        await reader.read(Location("shelf", "1 break 0"))
    shelf.cursors.clear()
    following = asyncio.create_task(follow(store.ingest, reader, 0.01))
    await comes_true(lambda: len(shelf.cursors) >= 6)
    assert {"next": 1} in shelf.cursors
    following.cancel()
    with pytest.raises(asyncio.CancelledError):
        await following
    await follow(store.ingest, reader, 0)  # never looks


async def test_a_pipe_is_refused_and_not_waited_for(reader: LocationReader, tmp_path: Path) -> None:
    pipe = tmp_path / "letters.jsonl"
    os.mkfifo(pipe)
    with pytest.raises(SourceError, match=r"letters.jsonl is neither a file nor a folder; save"):
        await asyncio.wait_for(reader.read(Location("jsonl", str(pipe))), PATIENCE)


async def test_a_location_is_redacted_once_however_many_batches_it_has(
    shelf: Shelf, runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = SHAPES["github pat"].secret
    looked_at: list[str] = []
    name = Redaction.name

    def counted(redaction: Redaction, text: str) -> str:
        looked_at.append(text)
        return name(redaction, text)

    monkeypatch.setattr(Redaction, "name", counted)
    place = Location("shelf", f"5 {secret}", "a label of its own")
    await runtime.ingest.reader.read(place)
    assert len(shelf.cursors) == 1
    assert looked_at.count(place.path) == 1
    assert looked_at.count(place.label) == 1

    monkeypatch.undo()
    (known,) = await runtime.store.ingest.locations()
    assert secret not in known.location.path
    assert runtime.redaction.name(place.path) == known.location.path
    assert not known.followed  # nobody could read it again
    assert await runtime.ingest.reader.forget_cursor(place)


async def test_a_file_with_a_secret_in_its_name_stays_stored_until_it_is_gone(
    runtime: Runtime, tmp_path: Path
) -> None:
    secret, other = SHAPES["github pat"].secret, SHAPES["github pat"].secret[:-1] + "0"
    place = tmp_path / "papers"
    (place / secret).mkdir(parents=True)
    for name in (f"{secret}.txt", f"{other}.txt", f"{secret}/lamp.txt", "plain.txt"):
        (place / name).write_text(f"The lamp of {len(name)}.")
    (place / f"{secret}.ics").write_text(
        "BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:e1\nSUMMARY:Launch\nDTSTART:20230320T100000Z\n"
        "END:VEVENT\nEND:VCALENDAR\n"
    )
    (place / f"{secret}.eml").write_text("From: a@x\nSubject: Lamp\nMessage-ID: <1@x>\n\nOil.\n")
    counts = IngestCounts()
    for source in ("files", "calendar", "mail"):
        counts += await runtime.ingest.reader.read(Location(source, str(place)))
    assert (counts.new, counts.failed) == (6, 0)
    for _ in range(2):
        for source in ("files", "calendar", "mail"):
            again = await runtime.ingest.reader.read(Location(source, str(place)))
            assert (again.new, again.changed, again.deleted) == (0, 0, 0), source
    page, _ = await runtime.store.records.page(Filters(), "date_asc", 100, 0)
    assert sorted(record.number for record, _ in page) == [*range(1, 7)]
    (place / f"{other}.txt").unlink()
    gone = await runtime.ingest.reader.read(Location("files", str(place)))
    assert (gone.new, gone.deleted) == (0, 1)
    cursor = await runtime.store.ingest.cursor(Location("files", str(place)))
    assert secret not in json.dumps(cursor)
