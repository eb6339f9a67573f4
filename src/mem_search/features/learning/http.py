"""``/api/learned``: what the ranking has learned from what was opened, in this store alone."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from functools import partial
from typing import Any, cast

from aiohttp import web

from mem_search.features.learning import service
from mem_search.http.core.replies import json_reply
from mem_search.http.core.routing import Call, Route
from mem_search.renderers.schema import Count, Time, schema
from mem_search.search.pipeline import SearchPipeline
from mem_search.search.stages.learned import FEATURES, read_file
from mem_search.search.state import Stage


@schema
class LearnedFigures:
    """Mean reciprocal ranks of what was opened, on `held_out` questions that took no part: `before`
    and `after`; `better` and `worse` count the questions that moved. `weights` were tried.
    """

    kept: bool
    reason: str
    training: Count
    held_out: Count
    before: float | None
    after: float | None
    better: Count
    worse: Count
    weights: dict[str, float] | None


@schema
class Learned:
    """`weights` are in force, null for the ranking as it is measured; `clicks` are those noted.

    `on`: openings after searches are noted. `last` is what came of learning.
    """

    on: bool
    clicks: Count
    weights: dict[str, float] | None
    learned_at: Time | None
    last: LearnedFigures | None


async def learn(call: Call) -> web.StreamResponse:
    """Learn from what was opened after searches; keep it only where it wins on held-out clicks."""
    runtime = call.runtime
    await runtime.search.service.log.flush()
    clicks = await runtime.store.search_log.clicks()
    outcome = await service.learn(partial(_pipeline, call), clicks, runtime.settings.home)
    if outcome.kept:
        runtime.search.service.pipeline = _pipeline(call)
    return json_reply(await _learned(call, LearnedFigures(**cast(Any, asdict(outcome)))))


async def undo(call: Call) -> web.StreamResponse:
    """Take back what was learned last."""
    await asyncio.to_thread(service.undo, call.runtime.settings.home)
    call.runtime.search.service.pipeline = _pipeline(call)
    return json_reply(await _learned(call))


async def show(call: Call) -> web.StreamResponse:
    """Show what was learned, and from how much it could be."""
    return json_reply(await _learned(call))


async def _learned(call: Call, last: LearnedFigures | None = None) -> Learned:
    log = call.runtime.search.service.log
    await log.flush()
    kept = await asyncio.to_thread(read_file, call.runtime.settings.home)
    if kept and last is None:
        last = LearnedFigures(**kept["outcome"])
    return Learned(
        on=log.notes_clicks,
        clicks=len(await call.runtime.store.search_log.clicks()),
        weights=dict(zip(FEATURES, kept["weights"], strict=True)) if kept else None,
        learned_at=kept["learned_at"] if kept else None,
        last=last,
    )


def _pipeline(call: Call, *extra: Stage) -> SearchPipeline:
    """A pipeline with what is in the file now."""
    runtime, search = call.runtime, call.runtime.search
    return search.space.pipeline(search.store, runtime.model.embedder, runtime.index, *extra)


# fmt: off
ROUTES = (
    Route("GET", "/api/learned", show, "Show what the ranking learned from what was opened", "suggest", response=Learned, private=True),
    Route("POST", "/api/learned", learn, "Learn from what was opened after searches", "suggest", write=True, response=Learned),
    Route("DELETE", "/api/learned", undo, "Take back what was learned last", "suggest", write=True, response=Learned),
)
