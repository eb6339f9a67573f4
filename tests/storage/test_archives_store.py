"""Citations and archives in the store: contexts, late arrivals, the migration."""

from __future__ import annotations

from pathlib import Path

from drafts import draft, store
from mem_search.features.archives.model import Archive
from mem_search.features.archives.sql import ArchiveStore
from mem_search.model import Ref
from mem_search.storage.sqlite.records import RecordWriter
from mem_search.storage.sqlite.store import SqliteStore

TEXT = """Rents rose. [1] Wages [did not](https://a.org/wages).

[1] https://www.a.org/rents/ - Rents
"""


async def test_what_a_report_cites_is_empty_until_it_arrives_and_after_it_has_left(
    tmp_path: Path,
) -> None:
    opened = await SqliteStore.open(tmp_path / "store.db")
    try:
        page = draft("p", "Rents.", kind="website", url="http://m.a.org/rents#now")
        report = draft("r", TEXT, kind="report", project="a")
        (stored,) = await opened.database.write(store, report)
        number = stored.number
        first, second = await opened.part(ArchiveStore).references([number], 10)
        assert (first.target, first.cited, first.confidence) == (
            "https://www.a.org/rents/",
            None,
            1,
        )
        assert [(place.form, place.context) for place in first.places] == [
            ("marker", "Rents rose. [1]"),
            ("entry", "[1] https://www.a.org/rents/ - Rents"),
        ]
        assert (
            TEXT[second.places[0].start : second.places[0].end] == "[did not](https://a.org/wages)"
        )
        (arrived,) = await opened.database.write(store, page)
        assert await opened.part(ArchiveStore).citation_counts("a") == (2, 1)
        (cited,) = await opened.part(ArchiveStore).citations([arrived.number], 10)
        assert (cited.citing, cited.cited) == (
            Ref("report", number),
            Ref("website", arrived.number),
        )
        await opened.database.write(
            lambda c: RecordWriter(c).remove([arrived.number], forget=False)
        )
        assert await opened.part(ArchiveStore).citation_counts("a") == (2, 0)
        await opened.database.write(lambda c: RecordWriter(c).remove([number], forget=False))
        assert await opened.part(ArchiveStore).references([number], 10) == []
        rows = await opened.database.read(lambda c: c.execute("select * from cites").fetchall())
        assert rows == []
    finally:
        await opened.close()


async def test_archives_are_stored_by_name(tmp_path: Path) -> None:
    opened = await SqliteStore.open(tmp_path / "store.db")
    try:
        archives = opened.part(ArchiveStore)
        one = Archive("one", "/r", "/p", "0 4 * * *", watch=True, next_at=5)
        await archives.put(one)
        await archives.put(Archive("a", "/a"))
        assert [each.name for each in await archives.listed()] == ["a", "one"]
        await archives.note_run("one", 7, {"new": 3})
        await archives.set_next("one", 9)
        found = await archives.get("one")
        assert found is not None
        assert (found.next_at, found.indexed_at, found.statistics) == (9, 7, {"new": 3})
        assert await archives.remove("one")
        assert not await archives.remove("one")
        assert await archives.get("one") is None
    finally:
        await opened.close()
