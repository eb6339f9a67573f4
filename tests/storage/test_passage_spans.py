"""A passage with its neighbours is one span of the record's text."""

from __future__ import annotations

from pathlib import Path

from mem_search.model import Draft
from mem_search.model.rankings import PassageContext
from mem_search.wiring import open_runtime
from runtimes import fill, small

TEXT = " ".join(f"word{i} stands at its own place." for i in range(400))


async def test_neighbours_are_counted_on_both_sides_and_stop_at_the_ends(tmp_path: Path) -> None:
    async with open_runtime(small(tmp_path)) as runtime:
        await fill(
            runtime, Draft("file", "test", "long", TEXT), Draft("note", "test", "s", "Short")
        )
        rows = await runtime.store.database.read(
            lambda connection: connection.execute(
                "select id, span_start, span_end from passages where record_id = 1 and ordinal >= 0"
                " order by ordinal"
            ).fetchall()
        )
        assert len(rows) > 5
        passage = rows[2][0]

        async def spans(passage: int | None, reach: int) -> PassageContext:
            contexts = await runtime.search.store.read(
                lambda snapshot: snapshot.passage_contexts({1: passage}, reach)
            )
            return contexts[1]

        assert await spans(passage, 0) == PassageContext(2, len(rows), *rows[2][1:])
        assert await spans(passage, 1) == PassageContext(2, len(rows), rows[1][1], rows[3][2])
        assert await spans(passage, 20) == PassageContext(2, len(rows), 0, len(TEXT))
        assert await spans(None, 0) == PassageContext(0, len(rows), *rows[0][1:])
        assert await spans(999_999, 1) == PassageContext(0, len(rows), 0, rows[1][2])
        short = await runtime.search.store.read(
            lambda snapshot: snapshot.passage_contexts({2: None, 99: None}, 3)
        )
        assert short == {2: PassageContext(0, 1, 0, 5)}
