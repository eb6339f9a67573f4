"""A universal query as the search that the engine knows: its mode and its filters.

A folder narrows notes and a domain narrows websites; records of other kinds pass, as in seed
000. Notes of the scratchpad are left out unless that folder is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

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
    """Whether the store has notes in its scratchpad, looked up when it has changed.

    Without any, nothing has to be left out: a search with a filter costs more than one without.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._is_used = False
        self._stale = True

    def changed(self) -> None:
        """The store is not what it was."""
        self._stale = True

    async def is_used(self) -> bool:
        if self._stale:
            self._stale = False
            try:
                self._is_used = await self._database.read(facets.exists, "folder", SCRATCHPAD)
            except BaseException:
                self._stale = True
                raise
        return self._is_used


def search_query(
    query: UniversalQuery, *, hide_scratchpad: bool, asked_at: datetime | None = None
) -> SearchQuery:
    """What the engine is asked; ``hide_scratchpad`` when there is something to hide."""
    demands = tuple(_demands(query, hide_scratchpad=hide_scratchpad))
    kinds = () if set(query.kinds) >= set(KINDS) else query.kinds
    return SearchQuery(
        text=query.text,
        filters=Filters(
            kinds=kinds,
            created=query.created,
            updated=query.updated,
            archived=query.archived,
            demand=AllOf(demands) if demands else None,
        ),
        mode=_MODES[query.search_type],
        limit=query.limit,
        offset=query.offset,
        asked_at=asked_at,
        snippet_length=query.snippet_length,
    )


def _demands(query: UniversalQuery, *, hide_scratchpad: bool) -> Iterator[Demand]:
    def asks_for(kind: Kind) -> bool:
        return not query.kinds or kind in query.kinds

    if query.folder and asks_for("note"):
        yield _only_of("note", "folder", query.folder)
    elif hide_scratchpad and asks_for("note"):
        yield Not(_has("note", "folder", SCRATCHPAD))
    if query.domain and asks_for("website"):
        domain = query.domain.lower().removeprefix("www.")
        yield _only_of("website", "domain", domain, f"www.{domain}")


def _only_of(kind: Kind, facet: str, *values: str) -> Demand:
    """A record of ``kind`` has one of the values; others need not."""
    others = Not(Condition(f"kind:{kind}", (Filters(kinds=(kind,)),)))
    return AnyOf((others, _has(kind, facet, *values)))


def _has(kind: Kind, facet: str, *values: str) -> Demand:
    alternatives = tuple((facet, value) for value in values)
    return Condition(f"{facet}:{values[0]}", (Filters(kinds=(kind,), any_facets=alternatives),))
