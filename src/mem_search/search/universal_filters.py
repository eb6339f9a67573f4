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
    SearchQuery,
)
from mem_search.search.universal import SearchType, UniversalQuery
from mem_search.storage.sqlite import facets
from mem_search.storage.sqlite.database import Database

SCRATCHPAD = "scratchpad"
"""The folder of notes that nobody means to find; its name in whatever case."""

_MODES: dict[SearchType, Mode] = {"keyword": "keyword", "semantic": "vector", "hybrid": "hybrid"}


class Scratchpad:
    """The notes of the store's scratchpad, looked up when it has changed.

    Known by their numbers, because a search that asks the store which notes these are takes
    twice as long as one that knows; and mostly there are none.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._notes: tuple[int, ...] = ()
        self._stale = True

    def changed(self) -> None:
        """The store is not what it was."""
        self._stale = True

    async def notes(self) -> tuple[int, ...]:
        """Their numbers."""
        if self._stale:
            self._stale = False
            try:
                self._notes = await self._database.read(
                    facets.records_with, "note", "folder", SCRATCHPAD
                )
            except BaseException:
                self._stale = True
                raise
        return self._notes


def search_query(
    query: UniversalQuery,
    *,
    scratchpad: tuple[int, ...] = (),
    asked_at: datetime | None = None,
    scope: Demand | None = None,
) -> SearchQuery:
    """What the engine is asked; the notes of the ``scratchpad`` are hidden where they are to be.

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
    return SearchQuery(
        text=query.text,
        filters=filters,
        mode=_MODES[query.search_type],
        limit=query.limit,
        offset=query.offset,
        boosts=query.boosts,
        asked_at=asked_at,
        snippet_length=query.snippet_length,
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
