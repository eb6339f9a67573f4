"""Cutting a text into passages, the units of the full-text index and of citations.

A passage has at most 400 word pieces. A long text with a structure is cut where its parts begin
(``outline``); any other is cut about every 350 pieces, so that a passage overlaps the next one by
some 50 and begins with a sentence, where one begins near. On
abstracts and commit messages the keyword leg ranks best at that size and the vector leg at half of
it (docs/adr/0003-passages.md), so a long passage is embedded as two overlapping halves.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from mem_search.model import Passage
from mem_search.model.ingest import PAGE_BREAK
from mem_search.model.records import SUMMARY
from mem_search.patterns import pattern
from mem_search.text import wordpieces
from mem_search.text.outline import Boundary, Layout, Outline, outline

SIZE = 400
STRIDE = 350
MAX_SHIFT_PIECES = 40
"""Word pieces, about two lines: so much earlier or later a passage begins for a sentence's sake. It
is less than the overlap, so that nothing is left out."""

HALF = 225
"""Word pieces of an embedded half; with a title it fits the 256 of the model."""

MIN_HALVED_CHARS: Final = 700
"""Characters of a passage that may be embedded as two halves."""

MAX_ABOVE_PIECES: Final = 50
"""Word pieces of the lines above a passage. The passage has as many less, so that both halves still
fit the model and cover it."""

MIN_PIECES: Final = 120
"""Word pieces before a passage ends where a part does: shorter ones say little by themselves."""

MIN_PAGE_PIECES: Final = 60
"""The same for a page: a slide is short, and its number is what people look for."""

MIN_SUMMARIZED_PASSAGES: Final = 3
"""Passages from which on a text gets one about the whole: two are hardly more than a summary."""

_HEAD: Final = 10_000
"""Characters within which a text says what it is about."""
_PARAGRAPH: Final = 60
"""Characters of the shortest first paragraph: a salutation and a date say nothing."""
_SUMMARY: Final = 600
"""Characters of a summary; in Latin script the model reads all of them."""

_ABSTRACT: Final = pattern(
    r"^(?:#{1,6} )?(?:abstract|summary|tl;dr|overview|zusammenfassung|kurzfassung|résumé|resumen)"
    r"[ \t]*[.:—–-]*\s*$\s*|^(?:abstract|summary|tl;dr)[ \t]*[.:—–-]+[ \t]*",
    re.IGNORECASE | re.MULTILINE,
)
_BLANK: Final = pattern(r"\n[ \t]*\n\s*|\f")
_SENTENCE_END: Final = pattern(r"[.!?。！？][\"”’)\]]?(?=\s|$)")
_BEGINS: Final = (
    pattern(r"(?:[.!?][\"”’»)\]]{0,2}\s|[。！？]|\n[ \t]*\n)\s*\Z"),
    pattern(r"\n\s*\Z"),
)
"""Between the last letter of a word piece and the next piece: a sentence or a paragraph begins
there, or else a line, which in wrapped text is in the middle of a sentence."""

PLAIN: Final = Layout()


def cut(text: str, field: str = "content", layout: Layout = PLAIN) -> tuple[Passage, ...]:
    """The passages of ``text`` in order; an empty text has one empty passage.

    Where the text has a structure, passages do not overlap unless a part is too long for one, and
    each has the headings and the head of the table that stand ``above`` it.
    """
    # A letter of ASCII is at most one piece, and a blank is none: most texts need not be cut.
    is_short = text.isascii() and len(text) - text.count(" ") <= SIZE
    spans = [] if is_short and not layout.recognised else wordpieces.spans(text)
    if len(spans) <= SIZE and not layout.recognised:
        passages = [Passage(ordinal=0, start=0, end=len(text), field=field)]
    else:
        parts = outline(text, layout)
        if spans and parts.is_structured():
            passages = list(_by_structure(text, spans, parts, field))
        else:
            passages = [
                Passage(
                    ordinal=ordinal,
                    start=0 if first == 0 else spans[first][0],
                    end=len(text) if last == len(spans) else spans[last - 1][1],
                    field=field,
                )
                for ordinal, (first, last) in enumerate(_windows(text, spans))
            ]
    return tuple(_with_pages(text, passages, layout)) if layout.has_pages else tuple(passages)


def summary(text: str, stated: str, count: int) -> Passage | None:
    """The passage about a whole text that has ``count`` passages, if there is something to say.

    That is what is ``stated`` about it elsewhere, or what a long text says itself: its abstract,
    else its first paragraph.
    """
    if stated := " ".join(stated.split())[:_SUMMARY]:
        pieces = wordpieces.spans(stated)[:HALF]
        return Passage(SUMMARY, 0, 0, "summary", above=stated[: pieces[-1][1]])
    if count < MIN_SUMMARIZED_PASSAGES:
        return None
    head = text[:_HEAD]
    abstract = _ABSTRACT.search(head)
    at = abstract.end() if abstract else 0
    while at < len(head):
        blank = _BLANK.search(head, at)
        end = blank.start() if blank else len(head)
        if end - at >= _PARAGRAPH and not head.startswith("#", at):
            sentences = [each.end() for each in _SENTENCE_END.finditer(head, at, at + _SUMMARY)]
            last = min(end, sentences[-1] if sentences else at + _SUMMARY)
            return Passage(SUMMARY, at, last, "summary")
        at = blank.end() if blank else len(head)
    return None


def heading_of(title: str, above: str) -> str:
    """What stands before the text of a passage when a model reads it."""
    return "".join(f"{line}\n" for line in (title, above) if line)


def embedded_texts(title: str, text: str, above: str = "") -> tuple[str, ...]:
    """The texts to embed for a passage: one, or two halves of a long one.

    Each has the title and the lines above the passage before it.
    """
    head = heading_of(title, above)
    half = max(HALF - (wordpieces.count(above) if above else 0), HALF - MAX_ABOVE_PIECES)
    spans = wordpieces.spans(text)
    if len(spans) <= half:
        return (head + text,)
    return (head + text[: spans[half - 1][1]], head + text[spans[-half][0] :])


def _windows(text: str, spans: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    first = 0
    while first + SIZE < len(spans):
        yield first, first + SIZE
        first = _sentence(text, spans, first + STRIDE)
    yield first, len(spans)


def _sentence(text: str, spans: Sequence[tuple[int, int]], piece: int) -> int:
    """The piece nearest to ``piece`` that begins a sentence or a line; it itself if none does."""
    near = range(piece - MAX_SHIFT_PIECES, min(piece + MAX_SHIFT_PIECES, len(spans) - 1) + 1)
    for begins in _BEGINS:
        beginnings = (
            each
            for each in near
            if begins.search(text, max(0, spans[each - 1][1] - 1), spans[each][0])
        )
        nearest = min(beginnings, key=lambda each: (abs(each - piece), each), default=None)
        if nearest is not None:
            return nearest
    return piece


def _by_structure(
    text: str, spans: Sequence[tuple[int, int]], parts: Outline, field: str
) -> Iterator[Passage]:
    starts = [start for start, _ in spans]
    cuts = [(bisect_left(starts, place), what) for place, what in parts.boundaries]
    first = ordinal = 0
    while first < len(spans):
        start = spans[first][0] if first else 0
        above = _fitting(parts.above(start))
        room = SIZE - (wordpieces.count(above) if above else 0)
        last, what = _end(cuts, first, first + room, len(spans))
        # Only what is cut inside a part needs an overlap; rows and code have their head instead.
        is_whole = last == len(spans) or what >= Boundary.PARAGRAPH
        is_whole = is_whole or (what == Boundary.LINE and bool(parts.head(spans[last][0])))
        end = len(text) if last == len(spans) else spans[last][0]
        yield Passage(ordinal, start, end if is_whole else spans[last - 1][1], field, above=above)
        if not is_whole:  # the next one begins with a sentence, if one begins in the overlap
            last = max(first + MIN_PIECES, _sentence(text, spans, last - (SIZE - STRIDE)))
        first, ordinal = last, ordinal + 1


def _end(
    cuts: Sequence[tuple[int, Boundary]], first: int, limit: int, count: int
) -> tuple[int, Boundary | int]:
    """The piece before which the passage from ``first`` ends, and what begins there.

    That is the first page or other text if one begins, else the end of the text, else the last of
    the strongest boundaries up to ``limit``.
    """
    best: tuple[Boundary | int, int] = (0, min(limit, count))
    for at in range(bisect_left(cuts, first + 1, key=lambda each: each[0]), len(cuts)):
        place, what = cuts[at]
        if place > limit or place >= count:
            break
        if what is Boundary.OTHER_TEXT or (
            what is Boundary.PAGE and place - first >= MIN_PAGE_PIECES
        ):
            return place, what
        if place - first >= MIN_PIECES and limit < count:
            best = max(best, (what, place))
    return best[1], best[0]


def _fitting(above: str) -> str:
    """The last lines of ``above`` that have at most MAX_ABOVE_PIECES word pieces together."""
    lines = above.split("\n")
    while lines and wordpieces.count("\n".join(lines)) > MAX_ABOVE_PIECES:
        del lines[0]
    return "\n".join(lines)


def _with_pages(text: str, passages: Sequence[Passage], layout: Layout) -> Iterator[Passage]:
    """The passages with the page on which their words begin, from 1, and what OCR recognised."""
    page, counted = 1, 0
    for passage in passages:
        words = text[passage.start : passage.end]
        begin = passage.start + len(words) - len(words.lstrip())
        page += text.count(PAGE_BREAK, counted, begin)
        counted = max(counted, begin)
        field = "ocr" if page in layout.recognised else passage.field
        yield replace(passage, page=page, field=field)
