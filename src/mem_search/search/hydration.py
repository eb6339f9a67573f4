"""Hydration: hits become results, each with its record and the span that shows why it matched."""

from __future__ import annotations

from collections.abc import Sequence

from mem_search.model import Hit, Ref, Result, SearchRequest, Snippet
from mem_search.storage.ports.search import SearchSnapshot
from mem_search.text import snippets


def hydrate(
    snapshot: SearchSnapshot, request: SearchRequest, hits: Sequence[Hit], words: Sequence[str]
) -> tuple[Result, ...]:
    """The results of ``hits``; a record deleted since it was ranked is left out.

    Snippets are cut around ``words`` out of the passage that matched.
    """
    length = request.texts.snippet_length or snippets.LENGTH
    found = snapshot.records([hit.number for hit in hits])
    spans = snapshot.spans([hit.passage for hit in hits if hit.passage is not None])
    numbers = [hit.number for hit in hits]
    passages = snapshot.spans_of_records(numbers) if request.is_research else {}
    contexts = (
        snapshot.passage_contexts({hit.number: hit.passage for hit in hits}, request.neighbours)
        if request.neighbours is not None
        else {}
    )
    results = []
    for hit in hits:
        record = found.get(hit.number)
        if record is None:
            continue
        start, end, page = spans.get(hit.passage or 0, (0, len(record.text), None))
        # The passage may have been deleted since it was ranked, and another may have its number.
        end = min(end, len(record.text))
        start = min(start, end)
        cut = snippets.snippet(record.text, start, end, words, length=length)
        results.append(
            Result(
                record,
                hit.score,
                Snippet(cut.text, cut.start, cut.end, page),
                hit.scores,
                tuple(Ref(record.kind, number) for number in hit.similar),
                tuple(passages.get(hit.number, ())),
                contexts.get(hit.number),
            )
        )
    return tuple(results)
