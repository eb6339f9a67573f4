"""Filters of a request beside its words: scopes, folder, domain, and the hidden scratchpad.

A scope is written in the query language, of fields alone: it filters the same way in every
search, and nothing in it ranks. Scopes do not contain each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import Final

from mem_search.errors import InputError, MissingField
from mem_search.model import (
    AllOf,
    AnyOf,
    Condition,
    Demand,
    Filters,
    Kind,
    Not,
    SearchRequest,
)
from mem_search.storage.ports.search import SearchStore
from mem_search.text import query as language
from mem_search.text.query.fields import KnownKinds

LONGEST_FILTER = 2_000

SCRATCHPAD: Final = Filters(kinds=("note",), facets=(("folder", "scratchpad"),))
"""Notes that are working papers: hidden where a request says so (names of folders fold case)."""


async def filters_of(store: SearchStore, request: SearchRequest, kinds: KnownKinds) -> Filters:
    """All filters of ``request`` as one value.

    Raises InputError for an unknown scope, MissingField when there is neither a question nor a
    filter: that the scratchpad is hidden counts as none.
    """
    filters = request.filters
    if set(filters.kinds) >= set(kinds.names):
        filters = replace(filters, kinds=())
    demands = [*([filters.demand] if filters.demand is not None else []), *_narrowings(request)]
    if request.scope:
        now = request.asked_at or datetime.now().astimezone()
        demands.append(await scope(store, request.scope, now, kinds))
    if demands:
        filters = replace(filters, demand=AllOf(tuple(demands)) if demands[1:] else demands[0])
    if not (filters or request.filters or request.text.strip()):
        raise MissingField("give a query, or at least one filter", field="query")
    if request.hide_scratchpad and not request.folder and _asks_for(request, "note"):
        # By their numbers: mostly there are none, and then nothing is filtered.
        filters = replace(filters, without=await store.matching(SCRATCHPAD))
    return filters


def _narrowings(request: SearchRequest) -> Iterator[Demand]:
    if request.folder and _asks_for(request, "note"):
        yield _only_of("note", "folder", request.folder)
    if request.domain and _asks_for(request, "website"):
        domain = request.domain.lower().removeprefix("www.")
        yield _only_of("website", "domain", domain, f"www.{domain}")


def _asks_for(request: SearchRequest, kind: Kind) -> bool:
    return not request.filters.kinds or kind in request.filters.kinds


def _only_of(kind: Kind, facet: str, *values: str) -> Demand:
    """A record of ``kind`` has one of the values; records of other kinds need not."""
    others = Not(Condition(f"kind:{kind}", (Filters(kinds=(kind,)),)))
    alternatives = tuple((facet, value) for value in values)
    own = Filters(kinds=(kind,), any_facets=alternatives)
    return AnyOf((others, Condition(f"{facet}:{values[0]}", (own,))))


async def named(
    store: SearchStore, text: str, now: datetime, kinds: KnownKinds
) -> dict[str, Demand]:
    """The scopes that a question may name, lower-case; none are looked up for most questions."""
    if "scope:" not in text.lower():
        return {}
    return {
        scope.name.lower(): demand_of(scope.filter, now, kinds)
        for scope in await store.read(lambda snapshot: snapshot.scopes())
    }


async def scope(store: SearchStore, name: str, now: datetime, kinds: KnownKinds) -> Demand:
    """What a record in the scope ``name`` has to be. Raises InputError listing the scopes."""
    scopes = {
        scope.name.lower(): scope for scope in await store.read(lambda snapshot: snapshot.scopes())
    }
    found = scopes.get(name.strip().lower())
    if found is not None:
        return demand_of(found.filter, now, kinds)
    known = ", ".join(scope.name for scope in scopes.values())
    names = known or "none yet; make one: mem-search scope add"
    raise InputError(f"no scope is called {name[:60]!r}; known are {names}", field="scope")


def demand_of(text: str, now: datetime, kinds: KnownKinds) -> Demand:
    """A scope's filter as a demand. Raises InputError for what is not made of fields alone."""
    if len(text) > LONGEST_FILTER:
        raise InputError(f"is longer than {LONGEST_FILTER} characters", field="filter")
    reading = language.read(text, now=now, kinds=kinds)
    plain = reading.text.strip()
    why = [*reading.analyzed.warnings, *([f"“{plain[:60]}” is none"] if plain else [])]
    if reading.demand is None or reading.wild or why:
        raise InputError(
            "; ".join(
                [
                    "a scope is made of fields only, such as project:web -tag:draft"
                    " (docs/query-language.md)",
                    *why,
                ]
            ),
            field="filter",
        )
    return reading.demand
