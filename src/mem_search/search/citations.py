"""Cited results: relevance in 0..1, citations, exact spans, annotations. A pure projection of a
``SearchPage``: nothing is searched or ranked here. Spans are offsets into the canonical text of a
record, without any normalisation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, Literal

from mem_search.model import Analyzed, Citation, Record, Result, SearchPage
from mem_search.records.registry import installed_kinds
from mem_search.text.highlight import highlight, snippet, word_matcher
from mem_search.text.languages import words
from mem_search.text.outline import place_in
from mem_search.text.stems import stored_language
from mem_search.text.words import STOP_WORDS

SNIPPET_LENGTH = 200
"""Characters of a snippet in a cited page, and of an annotation, unless a request sets it."""

MAX_ANNOTATIONS = 5
"""Annotations of one record: the best of a long text, not all of it."""

SURROUNDINGS = 120
"""Characters on either side of a span that its highlight shows."""

_NEVER_MARKED: Final = STOP_WORDS.union(
    *map(words, ("articles", "auxiliaries", "joining", "particles", "persons")),
    "about been being but can could if into may might must no not shall should so than then there"
    " these those us".split(),
) - {"am", "die", "hat", "man", "mit", "war", "sin", "once", "son", "tu", "sur"}  # fmt: skip
"""Words that say nothing; without those that do in another language."""

MatchField = Literal["title", "content"]

Places = tuple[tuple[int, int], ...]
"""(start, end) in Unicode code points, in order."""


@dataclass(frozen=True, slots=True)
class Span:
    """``record.text[start:end]``, exactly, and the SHA-256 of its UTF-8 bytes in hex.

    ``heading`` is the path of headings above it.
    """

    text: str
    start: int
    end: int
    sha256: str
    page: int | None = None
    heading: str = ""


@dataclass(frozen=True, slots=True)
class Annotation:
    """A matching passage that can be cited, with its surroundings (``highlight``)."""

    span: Span
    source_id: str
    highlight: str = ""


@dataclass(frozen=True, slots=True)
class CitedResult:
    """One result; ``relevance`` is that of the function of this name.

    ``title_words`` and ``snippet_words`` are where words of the question stand in the citation's
    title and in the snippet.
    """

    record: Record
    relevance: float
    citation: Citation
    snippet: Span | None = None
    match_fields: tuple[MatchField, ...] = ()
    full_content: str | None = None
    annotations: tuple[Annotation, ...] | None = None
    title_words: Places = ()
    snippet_words: Places = ()


def cite(page: SearchPage) -> tuple[CitedResult, ...]:
    """The results of ``page`` with the texts that its request asks for."""
    words = words_of(page.report.analyzed)
    return tuple([_cited(page, result, words) for result in page.results])


def _cited(page: SearchPage, result: Result, words: tuple[str, ...]) -> CitedResult:
    request, texts, record = page.request, page.request.texts, result.record
    matcher = word_matcher(words, stored_language(record.metadata))
    cited = citation(record)
    in_title, in_snippet = matcher.spans(cited.source_title), matcher.spans(result.snippet.text)
    length = (texts.snippet_length if texts.snippets else None) or SNIPPET_LENGTH
    return CitedResult(
        record=record,
        relevance=relevance(page, result),
        citation=cited,
        title_words=in_title,
        snippet=_snippet_span(result) if texts.snippets else None,
        snippet_words=in_snippet if texts.snippets else (),
        match_fields=_match_fields(record, in_title, in_snippet) if _is_ranked(page) else (),
        full_content=record.text if texts.full_content else None,
        annotations=annotate(result, words, length=length) if request.is_research else None,
    )


def _is_ranked(page: SearchPage) -> bool:
    return page.report.realised != "filter"


def citation(record: Record) -> Citation:
    """The citation of ``record``, from its kind."""
    return installed_kinds().get(record.kind).citation(record)


def relevance(page: SearchPage, result: Result) -> float:
    """The probability that a result of ``page`` is relevant; 0 where nothing was asked in words.

    A weighted search has its own score, which is 0 to 1.
    """
    if not _is_ranked(page):
        return 0.0
    if result.relevance is None and page.request.fusion is not None:
        return round(min(max(result.score, 0.0), 1.0), 6)
    return result.relevance or 0.0


def words_of(analyzed: Analyzed) -> tuple[str, ...]:
    """The words of a question to highlight in a text, lower-case; those that say nothing only
    where there are no others.
    """
    phrases = (word for phrase in analyzed.phrases for word in phrase.split())
    near = (word.rstrip("*") for _, others in analyzed.near for word in others)
    words = tuple(dict.fromkeys((*analyzed.words, *phrases, *near)))
    return tuple(word for word in words if word not in _NEVER_MARKED) or words


def annotate(result: Result, words: Sequence[str], *, length: int) -> tuple[Annotation, ...]:
    """The spans of a result that match: its snippet first, then those with the most ``words``.

    Each is at most ``length`` characters of another passage, and none overlaps another.
    """
    record, best = result.record, result.snippet
    matcher = word_matcher(tuple(words))
    others = [
        (snippet(record.text, each.start, min(each.end, len(record.text)), words, length=length),
         each)
        for each in result.passages
        if each.start < len(record.text)
    ]  # fmt: skip
    counted = [(matcher.count_in(excerpt.text), excerpt, passage) for excerpt, passage in others]
    ranked = sorted((item for item in counted if item[0]), key=lambda item: -item[0])
    taken = [_snippet_span(result)] if best.text else []
    for _, excerpt, passage in ranked:
        if len(taken) == MAX_ANNOTATIONS:
            break
        if all(excerpt.end <= other.start or other.end <= excerpt.start for other in taken):
            of = (passage.start, passage.page, passage.above)
            page, heading = place_in(record.text, of, excerpt.start + length // 6)
            taken.append(_span(record, excerpt.start, excerpt.end, page, heading))
    return tuple(
        Annotation(span, str(record.ref), _surroundings(record.text, span, words)) for span in taken
    )


def _match_fields(record: Record, in_title: Places, in_snippet: Places) -> tuple[MatchField, ...]:
    """Where words of the query occur: ``title``, ``content``, or both. A record without any was
    found by its content: by meaning, or by a part of a longer word.
    """
    if not (in_title and record.title):
        return ("content",)
    return ("title", "content") if in_snippet else ("title",)


def _snippet_span(result: Result) -> Span:
    best = result.snippet
    return _span(result.record, best.start, best.end, best.page, best.heading)


def _span(record: Record, start: int, end: int, page: int | None, heading: str) -> Span:
    text = record.text[start:end]
    digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return Span(text, start, end, digest, page, heading)


def _surroundings(text: str, cited: Span, words: Sequence[str]) -> str:
    """The span with the text around it, on one line, with the words of the question marked."""
    first, last = max(0, cited.start - SURROUNDINGS), min(len(text), cited.end + SURROUNDINGS)
    while 0 < first < cited.start and text[first - 1].isalnum():
        first += 1
    while cited.end < last < len(text) and text[last].isalnum() and text[last - 1].isalnum():
        last -= 1
    around = " ".join(text[first:last].split())
    shown = highlight(around, words) or around
    return f"{'…' if first else ''}{shown}{'…' if last < len(text) else ''}"
