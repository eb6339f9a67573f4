"""Asking the search with given weights as whoever called: from their moment, and noted."""

from __future__ import annotations

from dataclasses import replace

from mem_search.http.routing import Call
from mem_search.search.weights import WeightedPage, WeightedQuery


async def ask(call: Call, query: WeightedQuery) -> WeightedPage:
    """As ``WeightedSearch.search``; the log of searches has it afterwards."""
    page = await call.runtime.weighted.search(replace(query, asked_at=call.now))
    call.runtime.front.log.note_weighted(query, page, call.surface)
    return page
