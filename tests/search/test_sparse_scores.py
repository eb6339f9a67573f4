"""The third score, by sparse vectors, in a whole runtime with the model that mem-search brings.

1. It fills itself, after the dense vectors, also in a store from before; documents get no vector.
2. A search uses it, says so, and a record without a vector yet is named.
3. A model that is missing or wrong is named, and the other legs answer.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from drafts import draft, forget
from mem_search.embedders.bundled import BundledSparse
from mem_search.model import LegReport, SearchPage, SearchRequest
from mem_search.search.sparse import SPARSE, SparseScores, weights
from mem_search.search.stages import scoring
from mem_search.wiring import Runtime, open_runtime
from patience import becomes
from ranking_states import state
from runtimes import fill, small

STORED = (
    draft("walk", "We went for a stroll along the canal.", kind="session_summary"),
    draft("panic", "The consumer crashes when the broker closes.", kind="session_summary"),
    draft("bread", "Sourdough rests overnight in the fridge.", kind="session_summary"),
    draft("paper", "A paper about strolling in cities.", kind="note"),
)


class Counting:
    """The model, and the questions whose vectors it made."""

    def __init__(self) -> None:
        self._model = BundledSparse()
        self.asked: list[str] = []

    def of_passage(self, text: str) -> bytes:
        return self._model.of_passage(text)

    def of_question(self, text: str) -> bytes:
        self.asked.append(text)
        return self._model.of_question(text)


async def filled(runtime: Runtime) -> None:
    await becomes(runtime.ingest.filling.counts, lambda counts: counts[0] == counts[1] > 0)


async def asked(runtime: Runtime, text: str) -> SearchPage:
    return await runtime.search.pipeline.search(SearchRequest(text))


def sparse_leg(page: SearchPage) -> LegReport | None:
    return next((leg for leg in page.report.legs if leg.name == "sparse"), None)


async def test_passages_get_vectors_by_themselves_and_documents_none(tmp_path: Path) -> None:
    async with open_runtime(small(tmp_path / "home", sparse=True)) as runtime:
        await fill(runtime, *STORED)
        await filled(runtime)
        assert await runtime.ingest.filling.counts() == (3, 3)
        page = await asked(runtime, "walking by the canal")
    assert sparse_leg(page) == LegReport("sparse", "ok", 3)
    scores = {each.record.source_id: each.scores for each in page.results}
    assert scores["walk"]["sparse"] != 0
    assert "sparse" not in scores.get("paper", {})


async def test_a_store_from_before_fills_itself(tmp_path: Path) -> None:
    async with open_runtime(small(tmp_path / "home")) as runtime:
        await fill(runtime, *STORED)
        assert await runtime.ingest.filling.counts() == (0, 3)
        assert sparse_leg(await asked(runtime, "walking by the canal")) is None
    async with open_runtime(small(tmp_path / "home", sparse=True)) as runtime:
        await filled(runtime)
        assert sparse_leg(await asked(runtime, "walking by the canal")) is not None


async def test_vectors_that_are_dropped_during_a_look_are_made_again(tmp_path: Path) -> None:
    async with open_runtime(small(tmp_path / "home", sparse=True, store="")) as runtime:
        await fill(runtime, *STORED)
        await filled(runtime)
    async with open_runtime(
        small(tmp_path / "home", sparse=True, store=""), background=False
    ) as runtime:
        filling = runtime.ingest.filling
        stored = filling._store
        looks = 0

        async def without_sparse(*asked: object) -> object:
            nonlocal looks
            seen = await stored.without_sparse(*asked)  # type: ignore[arg-type]
            looks += 1
            if looks == 1:
                await runtime.store.database.write(  # type: ignore[attr-defined]
                    lambda c: c.execute("delete from sparse_vectors where passage_id = 1")
                )
                filling.begin_again()
            return seen

        filling._store = SimpleNamespace(  # type: ignore[assignment]
            without_sparse=without_sparse,
            many_wait=stored.many_wait,
            add_sparse=stored.add_sparse,
            sparse_counts=stored.sparse_counts,
        )
        await filling._fill(BundledSparse())
        assert await filling.counts() == (3, 3)


async def test_a_question_has_no_vector_where_nothing_is_compared_with_it(tmp_path: Path) -> None:
    model = Counting()
    async with open_runtime(small(tmp_path / "home", sparse=True)) as runtime:
        runtime.search.pipeline._sparse = model
        await fill(runtime, *STORED[3:])
        await asked(runtime, "strolling in cities")
        model.asked.clear()
        for _ in range(2):
            page = await asked(runtime, "a paper about cities")
        assert (sparse_leg(page), model.asked) == (None, [])
        await fill(runtime, *STORED[:3])
        await filled(runtime)
        for _ in range(2):
            page = await asked(runtime, "walking by the canal")
        assert sparse_leg(page) == LegReport("sparse", "ok", 3)
        assert model.asked


async def test_what_is_forgotten_has_no_vector(tmp_path: Path) -> None:
    async with open_runtime(small(tmp_path / "home", sparse=True)) as runtime:
        await fill(runtime, *STORED)
        await filled(runtime)
        page = await asked(runtime, "stroll along the canal")
        assert await forget(runtime.store, page.results[0].record.number) == 1
        assert await runtime.ingest.filling.counts() == (2, 2)


@pytest.mark.parametrize("content", [None, b"no model"])
async def test_a_model_that_is_no_good_is_named_and_words_and_meaning_answer(
    tmp_path: Path, content: bytes | None
) -> None:
    file = tmp_path / "model.onnx"
    if content is not None:
        file.write_bytes(content)
    async with open_runtime(small(tmp_path / "home", sparse=True)) as runtime:
        runtime.search.pipeline._sparse = BundledSparse(file)
        await fill(runtime, *STORED)
        page = await asked(runtime, "stroll along the canal")
    leg = sparse_leg(page)
    assert leg is not None
    assert (leg.state, leg.count) == ("off", 0)
    assert str(file) in leg.detail
    assert page.results[0].record.source_id == "walk"
    assert any(str(file) in notice for notice in page.report.notices)


async def test_a_damaged_vector_is_no_score_and_is_made_again(tmp_path: Path) -> None:
    settings = small(tmp_path / "home", sparse=True, store="")
    async with open_runtime(settings) as runtime:
        await fill(runtime, *STORED)
        await filled(runtime)
        before = await asked(runtime, "walking by the canal")
    with closing(sqlite3.connect(settings.database)) as connection, connection:
        connection.execute(
            "update sparse_vectors set vector = vector || x'00' where passage_id = 1"
        )
    async with open_runtime(settings, background=False) as runtime:
        leg = sparse_leg(await asked(runtime, "walking by the canal"))
        assert leg is not None
        assert (leg.state, leg.count) == ("degraded", 2)
    async with open_runtime(settings) as runtime:
        await becomes(lambda: asked(runtime, "walking by the canal"), same_as(before))


async def test_a_backup_has_the_vectors_and_one_without_vectors_fills_itself(
    tmp_path: Path,
) -> None:
    settings = small(tmp_path / "home", sparse=True, store="")
    counts = {}
    async with open_runtime(settings) as runtime:
        await fill(runtime, *STORED)
        await filled(runtime)
        for vectors in (True, False):
            file = tmp_path / f"copy-{vectors}.db"
            await runtime.store.copy(file, vectors=vectors)
            with closing(sqlite3.connect(file)) as connection:
                (counts[vectors],) = connection.execute(
                    "select count(*) from sparse_vectors"
                ).fetchone()
    assert counts == {True: 3, False: 0}


def same_as(before: SearchPage) -> Callable[[SearchPage], bool]:
    def same(page: SearchPage) -> bool:
        return [(each.record.source_id, each.score) for each in page.results] == [
            (each.record.source_id, each.score) for each in before.results
        ] and sparse_leg(page) == sparse_leg(before)

    return same


def added(
    values: list[float], kinds: list[str], sessions: list[int] | None = None
) -> tuple[list[float] | None, LegReport]:
    """What the stage adds to records whose legs' score is 1, and what it says."""
    numbers = np.array(sessions or [1] * len(values))
    before = state(
        len(values), kinds=kinds, parts={"fused": [1.0] * len(values)}, conversations=numbers
    )
    counts = weights(before.union, numbers, before.traits)
    found = {SPARSE: SparseScores(np.array(values), counts)}
    after = scoring.sparse(replace(before, stored=replace(before.stored, values=found)))
    part = after.parts.get("sparse")
    return (None if part is None else [round(each, 3) for each in part.tolist()]), after.reports[0]


def test_the_score_is_moved_a_third_of_the_way_to_what_the_vectors_say() -> None:
    assert added([3.0, 1.0], ["session_summary"] * 2)[0] == [0.333, -1.0]  # (2 z - 1) / 3


def test_documents_keep_their_score_and_are_not_compared() -> None:
    part, report = added([3.0, 1.0, 9.0], ["session_summary", "session_summary", "note"])
    assert part == [0.333, -1.0, 0.0]
    assert report == LegReport("sparse", "ok", 2)


def test_observations_are_moved_by_less() -> None:
    assert added([3.0, 1.0], ["observation"] * 2)[0] == [0.2, -0.6]  # (2 z - 1) / 5


def test_observations_outside_of_a_session_keep_their_score() -> None:
    part, report = added([3.0, 1.0, 9.0], ["observation"] * 3, [1, 1, 0])
    assert part == [0.2, -0.6, 0.0]
    assert report == LegReport("sparse", "ok", 2)


def test_a_record_without_a_vector_keeps_its_score_and_is_counted() -> None:
    part, report = added([2.0] * 5 + [1.0] * 5 + [math.nan], ["session_summary"] * 11)
    assert part is not None
    assert part[-1] == 0
    assert part[0] > 0
    assert (report.state, report.detail) == (
        "degraded",
        "10 of 11 candidates have a sparse vector so far",
    )


def test_with_vectors_of_few_candidates_the_score_is_not_used() -> None:
    part, report = added([2.0, 1.0, math.nan, math.nan], ["session_summary"] * 4)
    assert part is None
    assert report.state == "degraded"
