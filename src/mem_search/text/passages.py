"""Cutting a text into passages, the units of the full-text index and of citations.

A passage has at most 400 word pieces and overlaps the next one by 50. On abstracts and commit
messages the keyword leg ranks best at that size and the vector leg at half of it
(docs/retrieval.md), so a long passage is embedded as two overlapping halves.
"""

from __future__ import annotations

from collections.abc import Iterator

from mem_search.model import Passage
from mem_search.text import wordpieces

SIZE = 400
STRIDE = 350
HALF = 225
"""Word pieces of an embedded half; with a title it fits the 256 of the model."""


def cut(text: str, field: str = "content") -> tuple[Passage, ...]:
    """The passages of ``text`` in order; an empty text has one empty passage."""
    spans = wordpieces.spans(text)
    if len(spans) <= SIZE:
        return (Passage(ordinal=0, start=0, end=len(text), field=field),)
    return tuple(
        Passage(
            ordinal=ordinal,
            start=0 if first == 0 else spans[first][0],
            end=len(text) if last == len(spans) else spans[last - 1][1],
            field=field,
        )
        for ordinal, (first, last) in enumerate(_windows(len(spans)))
    )


def embedded_texts(title: str, text: str) -> tuple[str, ...]:
    """The texts to embed for a passage: one, or two halves of a long one, each with the title."""
    spans = wordpieces.spans(text)
    head = f"{title}\n" if title else ""
    if len(spans) <= HALF:
        return (head + text,)
    return (head + text[: spans[HALF - 1][1]], head + text[spans[-HALF][0] :])


def _windows(count: int) -> Iterator[tuple[int, int]]:
    first = 0
    while first + SIZE < count:
        yield first, first + SIZE
        first += STRIDE
    yield first, count
