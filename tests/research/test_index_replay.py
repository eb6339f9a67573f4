"""A research step gives the same result, whatever happened to the vector index since."""

from __future__ import annotations

from pathlib import Path

import drafts
from mem_search.wiring import open_runtime
from patience import PATIENCE
from runtimes import fill, settled, small
from search_requests import universal


async def test_a_step_is_identical_when_the_index_is_away(tmp_path: Path) -> None:
    steps: list[str] = []
    async with open_runtime(small(tmp_path, chroma_url="")) as runtime:
        await runtime.index.ready(PATIENCE)
        many = [drafts.draft(f"n{n}", f"login form fixed, take {n}") for n in range(1600)]
        await fill(runtime, *many)
        await settled(runtime)
        for search in ("hybrid", "vector"):
            request = universal("login form", mode="deep_research", search=search)
            _, step = await runtime.research.operations.search(request, "http")
            assert step is not None
            steps.append(step.id)
    async with open_runtime(small(tmp_path, chroma_url="off")) as runtime:
        for number in steps:
            done = await runtime.research.replays.get(number)
            replay = await runtime.research.replays.replay(done)
            assert replay.is_same_index
            assert replay.is_identical, replay.drift
