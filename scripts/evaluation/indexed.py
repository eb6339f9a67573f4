"""Waits until a store has all that it gets in the background: a figure is of the whole search."""

from __future__ import annotations

import asyncio

from mem_search.errors import ModelUnavailable
from mem_search.wiring import Runtime


async def indexed(runtime: Runtime) -> None:
    """Until every passage has its vectors, the sparse one too.

    Raises ModelUnavailable where none of these are made.
    """
    while sum((await runtime.store.indexing.outbox_counts()).values()):  # noqa: ASYNC110
        await asyncio.sleep(0.2)
    filling = runtime.ingest.filling
    while runtime.model.sparse and int.__lt__(*await filling.counts()):
        if filling.error:
            raise ModelUnavailable(filling.error)
        await asyncio.sleep(0.5)
