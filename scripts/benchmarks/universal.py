"""What a cited page costs beside the bare pipeline: log, suggestions, citations and spans.

Both run in this process, query by query in turns. Each query runs once before, so its vector is
cached and the time of embedding does not hide the difference.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from figures import Bar, median

import questions
from mem_search.http.universal_requests import BASE
from mem_search.search.citations import cite
from mem_search.settings import Settings
from mem_search.wiring import Runtime, open_runtime

QUESTIONS = 150
_WARM = 40
_TURNS = 6
"""A search varies by some milliseconds, and what is looked for is less than one."""
LIMITS = (20, 50)
SURFACE = "bench"


def measure(home: Path, embedder: str) -> tuple[dict[str, Any], list[Bar]]:
    """Added milliseconds, the median over the queries, for the store in ``home``."""
    asked = questions.draw(home, _WARM + QUESTIONS * len(LIMITS))
    added, base = asyncio.run(_added(Settings(home=home, embedder=embedder, follow=0), asked))
    figures = {
        f"limit {limit}": {"engine p50 ms": base[limit], "added, median ms": added[limit]}
        for limit in LIMITS
    }
    return figures, [Bar("universal: added to the bare engine, ms", max(added.values()), 1.0)]


async def _added(settings: Settings, asked: list[str]) -> tuple[dict[int, float], dict[int, float]]:
    async with open_runtime(settings) as runtime:
        await runtime.index.ready(60)
        for text in asked[:_WARM]:
            await _both(runtime, text, LIMITS[0], first=True)
        added: dict[int, float] = {}
        base: dict[int, float] = {}
        for place, limit in enumerate(LIMITS):
            start = _WARM + place * QUESTIONS
            pairs = [
                await _both(runtime, text, limit, first=bool(turn % 2))
                for turn in range(_TURNS)
                for text in asked[start : start + QUESTIONS]
            ]
            base[limit] = median([engine for engine, _ in pairs])
            added[limit] = median([universal - engine for engine, universal in pairs])
        return added, base


async def _both(runtime: Runtime, text: str, limit: int, *, first: bool) -> tuple[float, float]:
    """Milliseconds of the pipeline and of the cited page, for a query that both have cached."""
    request = replace(BASE, text=text, limit=limit)
    await runtime.search.pipeline.search(request)

    async def engine() -> object:
        return await runtime.search.pipeline.search(request)

    async def universal() -> object:
        return cite(await runtime.search.service.search(request, SURFACE))

    if first:
        return await _timed(engine), await _timed(universal)
    other = await _timed(universal)
    return await _timed(engine), other


async def _timed(call: Callable[[], Awaitable[object]]) -> float:
    started = time.perf_counter()
    await call()
    return (time.perf_counter() - started) * 1000
