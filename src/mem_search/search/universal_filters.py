"""A universal query as the search that the engine knows: its mode and its filters.

A folder narrows notes and a domain narrows websites; records of other kinds pass, as in seed
000. Notes of the scratchpad are left out unless that folder is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

from mem_search.errors import MissingField
from mem_search.model import (
    KINDS,
    AllOf,
    AnyOf,
    Condition,
    Demand,
    Filters,
    Kind,
    Mode,
    Not,
    SearchRequest,
)
from mem_search.search.universal import SearchType, UniversalQuery

SCRATCHPAD = Filters(kinds=("note",), facets=(("folder", "scratchpad"),))
"""The notes that nobody means to find; the name of their folder in whatever case."""

_MODES: dict[SearchType, Mode] = {"keyword": "keyword", "semantic": "vector", "hybrid": "hybrid"}


def search_query(
    query: UniversalQuery,
    *,
    scratchpad: tuple[int, ...] = (),
    asked_at: datetime | None = None,
    scope: Demand | None = None,
) -> SearchRequest:
    """What the engine is asked; the notes of the ``scratchpad`` are hidden where they are to be.

    They are known by their numbers: mostly there are none, and then nothing is filtered.
    ``scope`` is what the query's scope demands. Raises MissingField when there is neither a
    question nor a filter: that something is hidden is none.
    """
    demands = (*_narrowings(query), *((scope,) if scope is not None else ()))
    filters = Filters(
        kinds=() if set(query.kinds) >= set(KINDS) else query.kinds,
        created=query.created,
        updated=query.updated,
        stored=query.stored,
        archived=query.archived,
        demand=AllOf(demands) if demands else None,
    )
    if not query.text.strip() and not filters:
        raise MissingField("give a query, or at least one filter", field="query")
    if scratchpad and not query.folder and _asks_for(query, "note"):
        filters = replace(filters, without=scratchpad)
    return SearchRequest(
        text=query.text,
        filters=filters,
        mode=_MODES[query.search_type],
        limit=query.limit,
        offset=query.offset,
        boosts=query.boosts,
        asked_at=asked_at,
        snippet_length=query.snippet_length,
        # A graph of neighbours is another one after each start: a replay would tell of it.
        exact=query.mode == "deep_research",
        fold=False,  # whoever pages to the total, or waits for what is new, gets every match
    )


def _narrowings(query: UniversalQuery) -> Iterator[Demand]:
    if query.folder and _asks_for(query, "note"):
        yield _only_of("note", "folder", query.folder)
    if query.domain and _asks_for(query, "website"):
        domain = query.domain.lower().removeprefix("www.")
        yield _only_of("website", "domain", domain, f"www.{domain}")


def _asks_for(query: UniversalQuery, kind: Kind) -> bool:
    return not query.kinds or kind in query.kinds


def _only_of(kind: Kind, facet: str, *values: str) -> Demand:
    """A record of ``kind`` has one of the values; others need not."""
    others = Not(Condition(f"kind:{kind}", (Filters(kinds=(kind,)),)))
    alternatives = tuple((facet, value) for value in values)
    own = Filters(kinds=(kind,), any_facets=alternatives)
    return AnyOf((others, Condition(f"{facet}:{values[0]}", (own,))))
