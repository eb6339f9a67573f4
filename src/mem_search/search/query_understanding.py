"""The text of a search as the legs get it: read once, the same for every leg.

What the query language leaves open is settled here by asking the store: which words a prefix or
a misspelling stands for, and whether quoted words stand together anywhere at all.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from mem_search.contracts import Question
from mem_search.model import AllOf, Analyzed, Demand, SearchRequest
from mem_search.search.scopes import named
from mem_search.storage.sqlite import filters as sql_filters
from mem_search.storage.sqlite import vocabulary
from mem_search.storage.sqlite.database import Database
from mem_search.text import query as language
from mem_search.text.query.fields import KnownKinds


async def understand_query(
    database: Database, asked: SearchRequest, kinds: KnownKinds
) -> tuple[Question, Analyzed]:
    """The question, and the account of how its text was read.

    Its text is empty when there is nothing to look for but only filters to pass.
    """
    now = asked.asked_at or datetime.now().astimezone()
    if now.tzinfo is None:
        now = now.astimezone()
    scopes = await named(database, asked.text, now, kinds)
    reading = language.read(asked.text, now=now, kinds=kinds, scopes=scopes)
    near = await database.read(vocabulary.expand, reading.wild) if reading.wild else {}
    nowhere = [
        term
        for term in reading.quoted
        if not await database.read(
            sql_filters.is_met,
            replace(asked.filters, demand=_both(asked.filters.demand, term)),
        )
    ]
    if near or nowhere:
        reading = language.read(
            asked.text,
            now=now,
            kinds=kinds,
            near=near,
            demand_quotes=not nowhere,
            scopes=scopes,
        )
    analyzed = reading.analyzed
    if nowhere:
        said = ", ".join(f"“{' '.join(term.words)}”" for term in nowhere)
        where = " within the filters" if asked.filters else ""
        warning = f"no record{where} has the phrase {said}; its words are looked for instead"
        analyzed = replace(analyzed, warnings=(*analyzed.warnings, warning))
    filters = replace(asked.filters, demand=_both(asked.filters.demand, reading.demand))
    return Question(reading.text, reading.words, filters, asked.is_research), analyzed


def _both(one: Demand | None, other: Demand | None) -> Demand | None:
    return AllOf((one, other)) if one is not None and other is not None else one or other
