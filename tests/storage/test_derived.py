"""What is derived from the records is made again where it is damaged, and searches answer alike."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import drafts
from mem_search.model import SearchRequest
from mem_search.storage.sqlite.copies import examine
from mem_search.storage.sqlite.database import Database
from mem_search.wiring import Runtime, open_runtime
from runtimes import fill, settled, small

DERIVED: dict[str, str] = {
    "column_blocks": "content",
    "sketches": "sketch",
    "vectors": "vector",
    "passages_fts_data": "block",
    "passages_fts_idx": "pgno",
    "passages_fts_docsize": "sz",
    "passages_fts_config": "v",
    "words_fts_data": "block",
    "words_fts_config": "v",
    "people_fts_data": "block",
    "people_fts_config": "v",
}
"""Table → the column that is damaged."""

ASKED = ("lighthouse", "oil keeper", "boat harbour", "lighthous", "*ghthouse", "author:ann")
RECORDS = (
    *(
        drafts.draft(f"l{n}", f"The lighthouse number{n} burns oil for its keeper. " * 3)
        for n in range(60)
    ),
    drafts.draft("twin", "The lighthouse number7 burns oil for its keeper. " * 3, title="twin"),
    drafts.draft("b", "A boat in the harbour.", project="sea", metadata={"author": "Ann Lee"}),
)


def cut(value: bytes) -> bytes:
    return value[: len(value) // 2]


def flipped(value: bytes) -> bytes:
    middle = len(value) // 2
    return value[:middle] + bytes([value[middle] ^ 0x55]) + value[middle + 1 :] if value else b"x"


def garbage(value: bytes) -> bytes:
    return b"not what was written \xff\x00" * 3


def empty(value: bytes) -> bytes:
    return b""


def words(value: bytes) -> str:
    return "words"


Damage = Callable[[sqlite3.Connection], None]


def rewritten(table: str, change: Callable[[Any, Any], object]) -> Damage:
    """Each value becomes what ``change`` makes of it and of the value of the row before it."""

    def damage(connection: sqlite3.Connection) -> None:
        column = DERIVED[table]
        keys = [row[1] for row in connection.execute(f"pragma table_info({table})") if row[5]]
        rows = connection.execute(f"select {column}, {', '.join(keys)} from {table}").fetchall()
        condition = " and ".join(f"{key} = ?" for key in keys)
        for (before, *_), (value, *key) in pairwise([*rows[:1], *rows]):
            connection.execute(
                f"update {table} set {column} = ? where {condition}", (change(value, before), *key)
            )

    return damage


def changed(table: str, change: Callable[[bytes], object]) -> Damage:
    return rewritten(
        table,
        lambda value, _: change(value if isinstance(value, bytes) else str(value).encode()),
    )


def doubled(table: str) -> Damage:
    """Each row has the content of the row before it."""
    return rewritten(table, lambda _, before: before)


def gone(table: str) -> Damage:
    def damage(connection: sqlite3.Connection) -> None:
        connection.execute(f"delete from {table}")

    return damage


DAMAGES = {
    f"{table} {how}": damage
    for table in DERIVED
    for how, damage in {
        **{each.__name__: changed(table, each) for each in (cut, flipped, garbage, empty, words)},
        "doubled": doubled(table),
        "gone": gone(table),
    }.items()
}
UNSEEN = {"vectors gone"}
"""What no look can tell from passages that were never embedded. ``index audit`` finds it."""

SILENT = {
    "passages_fts_data empty",
    "passages_fts_data flipped",
    "passages_fts_docsize flipped",
    "passages_fts_docsize doubled",
    "words_fts_data empty",
}
"""What no search meets as an error. The look after a start finds it."""

COMPARED = {"words_fts_data doubled", "people_fts_data doubled", "people_fts_data empty"}
"""What only the comparison with all texts finds: ``mem-search index audit``."""


async def answers(runtime: Runtime) -> list[Any]:
    found: list[Any] = []
    for text in ASKED:
        for mode in ("keyword", "hybrid"):
            request = SearchRequest(text=text, mode=mode, limit=20)  # type: ignore[arg-type]
            page = await runtime.search.service.search(request, "http")
            refs = [(each.record.source_id, round(each.score, 4)) for each in page.results]
            found.append((text, mode, page.total, refs))
    return found


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, list[Any]]:
    """A closed store with all that is derived, and what it answers."""
    home = tmp_path_factory.mktemp("whole")

    async def made() -> list[Any]:
        async with open_runtime(small(home, store="")) as runtime:
            await fill(runtime, *RECORDS)
            await answers(runtime)
        async with open_runtime(small(home, store="")) as runtime:
            return await answers(runtime)

    before = asyncio.run(made())
    return (home / "mem-search.db").read_bytes(), before


@pytest.fixture
def home(whole: tuple[bytes, list[Any]], tmp_path: Path) -> Path:
    """A home with a copy of that store."""
    (tmp_path / "mem-search.db").write_bytes(whole[0])
    return tmp_path


@pytest.mark.parametrize("damage", DAMAGES)
async def test_a_search_of_a_store_whose_derived_rows_are_damaged_answers_as_before(
    whole: tuple[bytes, list[Any]], home: Path, damage: str
) -> None:
    with closing(sqlite3.connect(home / "mem-search.db")) as connection, connection:
        DAMAGES[damage](connection)
    async with open_runtime(small(home, store=""), background=False) as runtime:
        found = await answers(runtime)
    if damage not in SILENT | COMPARED | UNSEEN and not damage.startswith("vectors"):
        assert found == whole[1]
    async with open_runtime(small(home, store="")) as runtime:
        await runtime.store.mend(deep=damage in COMPARED)
        await settled(runtime)
        found = await answers(runtime)
    if damage not in UNSEEN:
        assert found == whole[1]
    database = await Database.open(home / "mem-search.db")
    assert await database.mend(deep=True) == ()
    await database.close()


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_is_derived_is_no_damage_of_the_file(home: Path, damage: str) -> None:
    """From 3.44 on SQLite itself looks through the words of FTS5, too."""
    with closing(sqlite3.connect(home / "mem-search.db")) as connection, connection:
        DAMAGES[damage](connection)
    assert examine(home / "mem-search.db") == len(RECORDS)


async def test_the_search_that_met_the_damage_says_so(home: Path) -> None:
    async with open_runtime(small(home, store=""), background=False) as runtime:
        request = SearchRequest(text="lighthouse", limit=5)
        page = await runtime.search.service.search(request, "http")
        assert not any("damaged" in each for each in page.report.notices)
        with closing(sqlite3.connect(home / "mem-search.db")) as connection, connection:
            connection.execute("update passages_fts_data set block = randomblob(20) where id > 9")
        request = SearchRequest(text="keeper", limit=5)
        page = await runtime.search.service.search(request, "http")
        assert page.total == 61
        assert any("words index was damaged" in each for each in page.report.notices)
        page = await runtime.search.service.search(request, "http")
        assert not any("damaged" in each for each in page.report.notices)


async def test_a_search_that_meets_a_vector_of_another_passage_has_it_embedded_again(
    whole: tuple[bytes, list[Any]], home: Path
) -> None:
    with closing(sqlite3.connect(home / "mem-search.db")) as connection, connection:
        connection.execute("update vectors set vector = (select max(vector) from vectors)")
    async with open_runtime(small(home, store=""), background=False) as runtime:
        request = SearchRequest(text="lighthouse", mode="vector", limit=5)
        page = await runtime.search.service.search(request, "http")
        assert any("stored vectors was damaged" in each for each in page.report.notices)
    async with open_runtime(small(home, store="")) as runtime:
        await settled(runtime)
        assert await answers(runtime) == whole[1]
