"""Hydration: hits become results, each with its record and the span that shows why it matched."""

from __future__ import annotations

from collections.abc import Sequence

from mem_search.model import Hit, Ref, Result, Snippet
from mem_search.storage.ports.search import SearchSnapshot
from mem_search.text import snippets


def hydrate(
    snapshot: SearchSnapshot,
    hits: Sequence[Hit],
    words: Sequence[str],
    *,
    length: int | None = None,
) -> tuple[Result, ...]:
    """The results of ``hits``; a record deleted since it was ranked is left out.

    Snippets are at most ``length`` characters around ``words``, out of the passage that matched.
    """
    found = snapshot.records([hit.number for hit in hits])
    spans = snapshot.spans([hit.passage for hit in hits if hit.passage is not None])
    results = []
    for hit in hits:
        record = found.get(hit.number)
        if record is None:
            continue
        start, end, page = spans.get(hit.passage or 0, (0, len(record.text), None))
        # The passage may have been deleted since it was ranked, and another may have its number.
        end = min(end, len(record.text))
        start = min(start, end)
        cut = snippets.snippet(record.text, start, end, words, length=length or snippets.LENGTH)
        results.append(
            Result(
                record,
                hit.score,
                Snippet(cut.text, cut.start, cut.end, page),
                hit.scores,
                tuple(Ref(record.kind, number) for number in hit.similar),
            )
        )
    return tuple(results)
