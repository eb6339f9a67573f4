"""Hydration: hits become results, each with its record and the span that shows why.

Two reads whatever the number of hits; the order is that of the hits.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from mem_search.model import Hit, Result, Snippet
from mem_search.storage.sqlite import places, records
from mem_search.storage.sqlite.database import Database
from mem_search.text import snippets


async def hydrate(
    database: Database,
    hits: Sequence[Hit],
    words: Sequence[str],
    *,
    length: int | None = None,
) -> tuple[Result, ...]:
    """The results of ``hits``; a record deleted since it was ranked is left out.

    Snippets are at most ``length`` characters around ``words``, out of the passage that matched.
    """
    passages = [hit.passage for hit in hits if hit.passage is not None]
    found, spans = await asyncio.gather(
        database.read(records.fetch, [hit.number for hit in hits]),
        database.read(places.spans, passages),
    )
    results = []
    for hit in hits:
        record = found.get(hit.number)
        if record is None:
            continue
        start, end, page = spans.get(hit.passage or 0, (0, len(record.text), None))
        # Two reads may see two states: a span of the other one must not reach beyond this text.
        end = min(end, len(record.text))
        start = min(start, end)
        cut = snippets.snippet(record.text, start, end, words, length=length or snippets.LENGTH)
        results.append(
            Result(record, hit.score, Snippet(cut.text, cut.start, cut.end, page), hit.scores)
        )
    return tuple(results)
