"""A step of research comes out the same whatever became of the vector index since."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import drafts
from mem_search.search.universal import SearchType, UniversalQuery
from mem_search.wiring import open_runtime
from runtimes import fill, settled, small

TYPES: tuple[SearchType, ...] = ("hybrid", "semantic")


async def test_a_step_is_identical_when_the_index_is_away(tmp_path: Path) -> None:
    steps: list[str] = []
    async with open_runtime(small(tmp_path, chroma_url="")) as runtime:
        await runtime.index.ready(30)
        many = [drafts.draft(f"n{n}", f"login form fixed, take {n}") for n in range(1600)]
        await fill(runtime, *many)
        await settled(runtime)
        for search_type in TYPES:
            query = UniversalQuery("login form", mode="deep_research", search_type=search_type)
            page = await runtime.research.operations.search(
                query, "http", asked_at=datetime.now(UTC)
            )
            steps.append(page.beside["operations"][0]["id"])
    async with open_runtime(small(tmp_path, chroma_url="off")) as runtime:
        for step in steps:
            replay = await runtime.research.replays.replay(await runtime.research.replays.get(step))
            assert replay.is_same_index
            assert replay.is_identical, replay.drift
