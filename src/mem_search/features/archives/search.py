"""Searches among the documents of archives: where the words stand, and who cites whom.

A question becomes a ``SearchRequest`` of the one pipeline; its page is completed by matches and
citations. Every ``report`` and ``website`` is such a document, wherever it came from.

A check says whether a question is answered already. Two signals decide: the cosine of the question
and the passage that matched, and how much of the question the passage and the title say, by its
words, of which rare ones weigh more. A logistic function makes a probability of them. Its constants
were fitted on one half of the questions of ``scripts/evaluate check`` with the bundled embedding
model; docs/lab/ranking.md has the figures.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from mem_search.features.archives.model import (
    FIELDS,
    ArchiveField,
    ArchiveQuestion,
    DocumentCitations,
    FieldMatch,
)
from mem_search.features.archives.sql import ArchiveStore
from mem_search.model import (
    Condition,
    Demand,
    Filters,
    MetadataTest,
    Record,
    Result,
    SearchPage,
    SearchRequest,
    Snippet,
    Term,
)
from mem_search.model.graph import CITES, PageCitation
from mem_search.model.records import HOLDINGS
from mem_search.retrievers import graph
from mem_search.search.citations import words_of
from mem_search.storage.sql.snapshot import SearchSnapshot
from mem_search.storage.store import SearchStore
from mem_search.text import words
from mem_search.text.highlight import WordMatcher, around, word_matcher
from mem_search.text.query import demands

MAX_SNIPPETS: Final = 3
"""Places of a word that are shown for each field."""

SNIPPET: Final = 160
"""Characters of a snippet."""

MAX_READ_CHARS: Final = 200_000
"""Characters of a text in which the words of a question are looked for."""

MAX_CITATIONS: Final = 100
"""Citations of a document in one direction, at most."""

_THROUGH_CITATIONS: Final = (CITES, "same_page")

_MIN_GUESSED_LETTERS: Final = 4
"""Letters of a word of which misspellings are looked for in single fields."""


async def request_of(store: SearchStore, question: ArchiveQuestion) -> SearchRequest:
    """The search that answers ``question``."""
    filters, fields = Filters(kinds=tuple(HOLDINGS), project=question.archive), question.fields
    if question.fuzzy and set(fields) == set(FIELDS):
        return SearchRequest(question.query, filters, limit=question.limit)
    reading = words.read(question.query)
    atoms = [*((word,) for word in (*reading.words, *reading.cjk)), *reading.phrases]
    near = await store.read(_misspelled, reading.words) if question.fuzzy else {}
    wanted = [
        # The pipeline looks for a misspelled word by the same near ones.
        demands.any_of(_in_fields([(word,) for word in near.get(atom[0], ())] or [atom], fields))
        for atom in atoms
    ]
    demand = demands.any_of(wanted) if question.fuzzy else demands.all_of(wanted)
    return SearchRequest(
        question.query,
        Filters(kinds=filters.kinds, project=filters.project, demand=demand if wanted else None),
        mode="hybrid" if question.fuzzy else "keyword",
        limit=question.limit,
    )


def _misspelled(snapshot: SearchSnapshot, asked: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
    """The near words of those of ``asked`` that no document has."""
    unknown = [word for word in snapshot.unknown_words(asked) if len(word) >= _MIN_GUESSED_LETTERS]
    near = snapshot.expand_words([f"{word}~" for word in unknown])
    return {word: near[f"{word}~"] for word in unknown if near[f"{word}~"]}


def _in_fields(
    atoms: Sequence[tuple[str, ...]], fields: Sequence[ArchiveField]
) -> Iterator[Demand]:
    for atom in atoms:
        if set(fields) == set(FIELDS):  # a question stands in the text of its report, too
            yield Term(atom)
            continue
        if "title" in fields:
            yield Term(atom, column="title")
        if "content" in fields:
            yield Term(atom, column="text")
        if "query" in fields:
            text = " ".join(atom)
            test = MetadataTest(("query",), "contains", text)
            yield Condition(f"meta.query:{text}", (Filters(metadata=(test,)),))


def matches_of(page: SearchPage, fields: Sequence[ArchiveField]) -> list[tuple[FieldMatch, ...]]:
    """For each result of ``page`` the words of the question in its ``fields``."""
    asked = words_of(page.report.analyzed)
    matcher = word_matcher(asked)
    return [
        tuple(_matches(result, fields, asked, matcher))
        or (FieldMatch("content", "", (result.snippet,)),)
        for result in page.results
    ]


def _matches(
    result: Result, fields: Sequence[ArchiveField], asked: Sequence[str], matcher: WordMatcher
) -> Iterator[FieldMatch]:
    for field in fields:
        text = text_of(result.record, field)[:MAX_READ_CHARS]
        snippets: dict[str, list[Snippet]] = defaultdict(list)
        for at, root in matcher.places(text, 0, len(text)):
            shown = snippets[root]
            # What the snippet before shows needs no other one.
            if len(shown) == MAX_SNIPPETS or (shown and at < shown[-1].end):
                continue
            cut = around(text, at, SNIPPET)
            if not shown or cut.start >= shown[-1].end:
                shown.append(cut)
        for root, chosen in snippets.items():
            term = next((word for word in asked if word.startswith(root)), root)
            yield FieldMatch(field, term, tuple(chosen))


def text_of(record: Record, field: ArchiveField) -> str:
    """What the field of a document says."""
    if field == "title":
        return record.title
    return record.text if field == "content" else str(record.metadata.get("query") or "")


async def citations_of(
    archives: ArchiveStore, numbers: Sequence[int], depth: int
) -> dict[int, DocumentCitations]:
    """For each of ``numbers`` what cites it and what it cites, up to ``depth`` steps away."""
    citing = await _followed(archives, numbers, depth, backwards=True)
    cited = await _followed(archives, numbers, depth, backwards=False)
    return {number: DocumentCitations(citing[number], cited[number]) for number in numbers}


async def _followed(
    archives: ArchiveStore, numbers: Sequence[int], depth: int, *, backwards: bool
) -> dict[int, tuple[tuple[PageCitation, int], ...]]:
    """Breadth first, each document once, so a circle of citations ends."""
    citations: dict[int, list[tuple[PageCitation, int]]] = {number: [] for number in numbers}
    reached = {number: {number} for number in numbers}
    frontiers = {number: [number] for number in numbers}
    known: dict[int, list[PageCitation]] = {}
    for distance in range(1, depth + 1):
        wanted = sorted({each for some in frontiers.values() for each in some} - known.keys())
        read = archives.citations if backwards else archives.references
        for citation in await read(wanted, MAX_CITATIONS):
            end = citation.cited if backwards else citation.citing
            assert end is not None  # it was looked up by it
            known.setdefault(end.number, []).append(citation)
        for number, frontier in frontiers.items():
            onward: list[int] = []
            for place in frontier:
                for citation in known.get(place, ()):
                    if len(citations[number]) == MAX_CITATIONS:
                        break
                    citations[number].append((citation, distance))
                    other = citation.citing if backwards else citation.cited
                    if other is not None and other.number not in reached[number]:
                        reached[number].add(other.number)
                        onward.append(other.number)
            frontiers[number] = onward
        if not any(frontiers.values()):
            break
    return {number: tuple(each) for number, each in citations.items()}


def related_to(
    snapshot: SearchSnapshot, number: int, *, depth: int, limit: int
) -> list[tuple[Record, float, int]]:
    """The documents most related to one through citations, each with its score and distance.

    The distance counts steps from a document to one that it cites or that cites it, or to one that
    cites the same page where that page is not stored.
    """
    filters = Filters(kinds=tuple(HOLDINGS))
    expansion = graph.expand(
        snapshot, {number: 1.0}, depth=depth, filters=filters, relations=_THROUGH_CITATIONS
    )
    depths, scores = expansion.walk.depths, expansion.scores
    best = sorted(depths.keys() - {number}, key=lambda each: (-scores.get(each, 0.0), each))[:limit]
    records = snapshot.records(best)
    return [
        (records[each], scores.get(each, 0.0), depths[each]) for each in best if each in records
    ]


MIN_SCORE: Final = 0.1
"""What is less sure is not worth opening, so a check does not name it."""

MIN_JUDGED_RESULTS: Final = 5
"""Results that are judged at least: the best one need not be the one that answers."""


def check_request(query: str, archive: str, limit: int) -> SearchRequest:
    """The search whose results say how sure they answer (``Result.confidence``)."""
    filters = Filters(kinds=tuple(HOLDINGS), project=archive)
    return SearchRequest(query, filters, limit=max(limit, MIN_JUDGED_RESULTS))
