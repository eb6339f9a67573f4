"""Scopes as demands: what the text ``scope:work``, or the name ``work``, means at this moment.

A scope is written in the query language, of fields alone: what it lets through is decided the
same way for every search, and nothing in it ranks. Scopes do not contain each other.
"""

from __future__ import annotations

from datetime import datetime

from mem_search.errors import InputError
from mem_search.model import Demand
from mem_search.storage.sqlite import scopes
from mem_search.storage.sqlite.database import Database
from mem_search.text import query as language
from mem_search.text.query.fields import KindOf

LONGEST_FILTER = 2_000


async def named(database: Database, text: str, now: datetime, kind_of: KindOf) -> dict[str, Demand]:
    """The scopes that a question may name, lower-case; none are looked up for most questions."""
    if "scope:" not in text.lower():
        return {}
    return {
        scope.name.lower(): demand_of(scope.filter, now, kind_of)
        for scope in await database.read(scopes.listed)
    }


async def scope(database: Database, name: str, now: datetime, kind_of: KindOf) -> Demand:
    """What a record in the scope ``name`` has to be. Raises InputError listing the scopes."""
    found = await database.read(scopes.get, name.strip())
    if found is not None:
        return demand_of(found.filter, now, kind_of)
    known = [each.name for each in await database.read(scopes.listed)]
    names = ", ".join(known) or "none yet; make one: mem-search scope add"
    raise InputError(f"no scope is called {name[:60]!r}; known are {names}", field="scope")


def demand_of(text: str, now: datetime, kind_of: KindOf) -> Demand:
    """A scope's filter as a demand. Raises InputError for what is not made of fields alone."""
    if len(text) > LONGEST_FILTER:
        raise InputError(f"is longer than {LONGEST_FILTER} characters", field="filter")
    reading = language.read(text, now=now, kind_of=kind_of)
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
