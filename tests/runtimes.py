"""A whole runtime over a temporary home; fill it and wait for it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import chosen_store
from mem_search.jobs.queue import JobQueue
from mem_search.model import Batch, Draft, Location, SearchPage, SearchRequest
from mem_search.model.ingest import IngestCounts
from mem_search.model.jobs import ENDED, JobState
from mem_search.search.pipeline import SearchPipeline
from mem_search.settings import Settings
from mem_search.wiring import Runtime
from patience import PATIENCE, becomes

THERE = Location("test", "/there")


def small(home: Path, **values: Any) -> Settings:
    """No model, no Chroma, no following: what a search needs, and nothing that takes time."""
    chosen = {"embedder": "hashing", "chroma_url": "off", "follow": 0, "sparse": False}
    chosen |= chosen_store.of_home(home) | values
    return Settings(home=home, port=0, **chosen)


async def fill(runtime: Runtime, *drafts: Draft) -> IngestCounts:
    """Take the drafts in and wait until they are indexed."""
    taken = await runtime.ingest.writer.take(THERE, Batch(drafts=drafts))
    await settled(runtime)
    return taken


async def settled(runtime: Runtime, seconds: float = PATIENCE) -> None:
    """Return once nothing waits for the indexer."""
    async with asyncio.timeout(seconds):
        await becomes(runtime.store.indexing.outbox_counts, lambda waiting: not waiting)


async def ended(jobs: JobQueue, job: str) -> JobState:
    """The job, once it has ended."""
    return await becomes(lambda: jobs.get(job), lambda state: state.state in ENDED)


async def pages(pipeline: SearchPipeline, query: SearchRequest) -> list[SearchPage]:
    """Page after page, one beyond the last."""
    found = [await pipeline.search(query)]
    while found[-1].results:
        query = replace(query, offset=query.offset + query.limit)
        found.append(await pipeline.search(query))
    return found
