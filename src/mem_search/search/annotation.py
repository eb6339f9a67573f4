"""The passages of a record that answer a question, as spans that can be cited. Pure.

Which words the question has is settled before; spans are of the record's canonical text, and
exactly what they say they are: nothing is normalised, nothing left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256

from mem_search.model import Analyzed, Record, Result
from mem_search.search.universal import Annotation, Span
from mem_search.storage.sqlite.passage_spans import PassageSpan
from mem_search.text.highlight import WordMatcher, highlight, word_matcher
from mem_search.text.snippets import snippet

MOST = 5
"""Annotations of one record: the best of a long text, not all of it."""

SURROUNDINGS = 120
"""Characters on either side of a span that its highlight shows."""


def words_of(analyzed: Analyzed) -> tuple[str, ...]:
    """The words of a question that may be lit up in a text, lower-case."""
    phrases = (word for phrase in analyzed.phrases for word in phrase.split())
    near = (word.rstrip("*") for _, others in analyzed.near for word in others)
    return tuple(dict.fromkeys((*analyzed.words, *phrases, *near)))


def span(record: Record, start: int, end: int, page: int | None = None) -> Span:
    """``record.text[start:end]`` with what proves it."""
    text = record.text[start:end]
    return Span(text, start, end, sha256(text.encode("utf-8", "surrogatepass")).hexdigest(), page)


def annotate(
    result: Result,
    passages: Iterable[PassageSpan],
    words: Sequence[str],
    *,
    length: int,
) -> tuple[Annotation, ...]:
    """The spans of a result that match: its snippet first, then those with the most ``words``.

    Each is at most ``length`` characters of another passage, and none overlaps another.
    """
    record, best = result.record, result.snippet
    is_lit = word_matcher(tuple(words))
    others = [
        (snippet(record.text, start, min(end, len(record.text)), words, length=length), page)
        for start, end, page in passages
        if start < len(record.text)
    ]
    counted = [(is_lit.count_in(found.text), found, page) for found, page in others]
    ranked = sorted((item for item in counted if item[0]), key=lambda item: -item[0])
    taken = [span(record, best.start, best.end, best.page)] if best.text else []
    for _, found, page in ranked:
        if len(taken) == MOST:
            break
        if all(found.end <= other.start or other.end <= found.start for other in taken):
            taken.append(span(record, found.start, found.end, page))
    return tuple(
        Annotation(found, str(record.ref), _surrounded(record.text, found, words))
        for found in taken
    )


def match_fields(result: Result, is_lit: WordMatcher) -> tuple[str, ...]:
    """Where the question stands: ``title``, ``content``, or both.

    What is found without any of its words standing anywhere is found by its content: by its
    meaning, or by a part of a longer word.
    """
    in_title = is_lit.stands_in(result.record.title)
    in_content = not in_title or is_lit.stands_in(result.snippet.text)
    return (*(("title",) if in_title else ()), *(("content",) if in_content else ()))


def _surrounded(text: str, cited: Span, words: Sequence[str]) -> str:
    """The span with what stands around it, on one line, its words set off."""
    first, last = max(0, cited.start - SURROUNDINGS), min(len(text), cited.end + SURROUNDINGS)
    while 0 < first < cited.start and text[first - 1].isalnum():
        first += 1
    while cited.end < last < len(text) and text[last].isalnum() and text[last - 1].isalnum():
        last -= 1
    around = " ".join(text[first:last].split())
    shown = highlight(around, words) or around
    return f"{'…' if first else ''}{shown}{'…' if last < len(text) else ''}"
