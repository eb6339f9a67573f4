"""Suggestions from the store's own words and names.

Completions of what is being typed, from words and names and from what was asked before, other
spellings of words that the store does not have, related searches, and values of filters that no
record has: projects, types, tags and the like are open sets, so such a value is no error, and
mostly a slip. Every other completion exists in the store. A word of a single record is none: it may
be a slip itself, or nobody else's business.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, zip_longest
from typing import Final, Literal

from mem_search.errors import StorageError
from mem_search.model import SAMPLE, Condition, Filters, Result, SearchPage
from mem_search.model.projects import EXACTLY, folder_name
from mem_search.patterns import pattern
from mem_search.search.respelling import COMMON, MAX_SPELLINGS, with_words
from mem_search.storage.sql.snapshot import SearchSnapshot
from mem_search.storage.sql.vocabulary import Names
from mem_search.storage.store import SearchStore
from mem_search.text import spelling, words
from mem_search.text.dates import clipped
from mem_search.text.languages import FUNCTION_WORDS
from mem_search.text.query import demands

MAX_CHECKED = 8
"""Most words of a query whose spelling is checked."""

MAX_UNKNOWN = 2
"""Most unknown words that are corrected, at about 3 ms each."""

MAX_SHORT_WORD_LETTERS = 4
"""Letters of a word that is hardly a slip where the others find something: ``IRS``, ``sent``."""

MAX_SHARED = 5
Value = tuple[str, str, Filters]
"""A field, a value, and the filter for that value alone."""

MAX_VALUES: Final = 32
"""Values of one search that are looked up."""

_TITLE_WORDS = 100
_LAST_WORD = pattern(r"[^\W_]+\Z")
_PLAIN = pattern(r"[^\W\d_]+")

_NAMES: Final[tuple[Names, ...]] = ("tag", "project", "file", "title")

What = Literal["word", "asked before", "title", "project", "tag", "file"]

MIN_ASKED_CHARS: Final = 2
"""Characters from which questions of one's own are completed."""


@dataclass(frozen=True, slots=True)
class Completion:
    """``text`` is the whole of what could be typed; ``records`` how many have it, or were found
    when it was asked.
    """

    text: str
    what: What
    records: int


@dataclass(frozen=True, slots=True)
class Related:
    """A further search, and where it comes from."""

    text: str
    what: Literal["tag", "concept", "title", "asked before"]


class Suggestions:
    """Suggestions from one store."""

    def __init__(self, store: SearchStore) -> None:
        self.store = store

    async def complete(self, prefix: str, limit: int) -> list[Completion]:
        """How ``prefix`` may go on: its last word, or a name that begins with all of it."""
        return await self.store.read(_complete, _clean(prefix), limit)

    async def spelled(self, page: SearchPage) -> SearchPage:
        """The page with other spellings of its unknown words in its report."""
        quoted = (word for phrase in page.report.analyzed.phrases for word in phrase.split())
        near = page.report.analyzed.near
        stood_for = {word for word, words in near if any(word in each for each in words)}
        asked = [
            word
            for word in dict.fromkeys((*_asked(page), *quoted))
            if word not in stood_for
            and _PLAIN.fullmatch(word)
            and not (page.results and len(word) <= MAX_SHORT_WORD_LETTERS)
            and not _stands_for_others(word, page.request.text)
        ]
        try:
            spellings = await self.store.read(_spellings, asked[:MAX_CHECKED])
        except StorageError:
            return page  # the search itself has answered
        texts = _respelled(unicodedata.normalize("NFC", page.request.text), spellings)
        suggestions = (*page.report.suggestions, *texts)
        return replace(page, report=replace(page.report, suggestions=suggestions))

    async def related(self, page: SearchPage, limit: int) -> list[Related]:
        """Related searches: what the results of ``page`` share, and earlier queries of the log."""
        asked = _asked(page)
        before = await self.store.read(
            lambda snapshot: snapshot.logged_queries(asked[:MAX_CHECKED], limit + 1)
        )
        return list(_related(page, [each.query for each in before]))[:limit]


def _complete(snapshot: SearchSnapshot, prefix: str, limit: int) -> list[Completion]:
    if not prefix:
        return []
    completions: list[list[Completion]] = [_words(snapshot, prefix, limit)]
    if len(prefix) >= MIN_ASKED_CHARS:
        known = {each.text.casefold() for each in completions[0]}
        completions.append(
            [
                Completion(each.query, "asked before", each.total)
                for each in snapshot.logged_beginnings(prefix, limit)
                if each.query.casefold() not in known
            ]
        )
    completions += [
        [
            Completion(text, names, records)
            for text, records in snapshot.names_beginning_with(names, prefix, limit)
        ]
        for names in _NAMES
    ]
    # Alternate between them, so that none fills the list.
    return [each for each in chain(*zip_longest(*completions)) if each is not None][:limit]


def _words(snapshot: SearchSnapshot, prefix: str, limit: int) -> list[Completion]:
    """The last word completed, with what stands before it."""
    match = _LAST_WORD.search(prefix)
    if match is None or (len(match[0]) < 2 and match[0].isascii()):
        return []  # a single letter begins a tenth of all words: slow and of no use
    before = prefix[: match.start()]
    if before.endswith(("/", ":")):
        return []  # part of a path or a field, which goes on as those in the store do
    return [
        Completion(before + word, "word", records)
        for word, records in snapshot.words_beginning_with(match[0].lower(), limit)
        if records >= COMMON
    ]


def _clean(prefix: str) -> str:
    composed = unicodedata.normalize("NFC", prefix).lstrip()
    return composed.encode("utf-8", "replace").decode()


def _asked(page: SearchPage) -> tuple[str, ...]:
    """The words of the query without its fields and operators."""
    analyzed = page.report.analyzed
    known = analyzed.words if analyzed.text or analyzed.demanded else None
    return words.read(page.request.text).all if known is None else known


def _stands_for_others(word: str, text: str) -> bool:
    """Whether ``word`` is a prefix or a misspelling, which the store has completed already."""
    return re.search(rf"(?<![^\W_]){re.escape(word)}[*~]", text, re.IGNORECASE) is not None


def _spellings(snapshot: SearchSnapshot, asked: Sequence[str]) -> dict[str, Sequence[str]]:
    """unknown word → known words that are near, the likeliest first."""
    spellings = {}
    may_be_slips = (word for word in asked if word.lower() not in FUNCTION_WORDS)
    long_enough = [word for word in may_be_slips if spelling.edits_allowed(word)]
    for word in snapshot.unknown_words(long_enough)[:MAX_UNKNOWN]:
        common = [each for each in snapshot.similar_words(word) if each[1] >= COMMON]
        near = spelling.nearest(word, common, MAX_SPELLINGS)
        if near:
            spellings[word] = near
    return spellings


def _respelled(text: str, spellings: dict[str, Sequence[str]]) -> tuple[str, ...]:
    """The question with its unknown words replaced, the likeliest way first."""
    texts = []
    for place in range(max(map(len, spellings.values()), default=0)):
        better = {word: near[min(place, len(near) - 1)] for word, near in spellings.items()}
        texts.append(with_words(text, better))
    return tuple(dict.fromkeys(texts))


def _related(page: SearchPage, before: Sequence[str]) -> Iterator[Related]:
    text = " ".join(page.request.text.split())
    seen = {text.lower(), *words.read(text).all}
    results = [result for result in page.results if result.record.source != SAMPLE]
    shared = (
        ("asked before", [query for query in before if query.lower() != text.lower()]),
        ("tag", _shared([result.record.tags for result in results])),
        ("concept", _shared([_concepts(result) for result in results])),
        ("title", _shared([_title_words(result) for result in results])),
    )
    for group in zip_longest(*([(what, item) for item in items] for what, items in shared)):
        for what, item in filter(None, group):
            if item.lower() in seen:
                continue
            seen.add(item.lower())
            yield Related(item if what == "asked before" else f"{text} {item}".strip(), what)


def _shared(groups: Sequence[Sequence[str]]) -> list[str]:
    """What at least two results have, the most frequent first; up to five."""
    counted = Counter(item for group in groups for item in dict.fromkeys(group))
    return [item for item, count in counted.most_common(MAX_SHARED) if count > 1]


def _concepts(result: Result) -> list[str]:
    concepts = result.record.metadata.get("concepts", ())
    return [each for each in concepts if isinstance(each, str)] if concepts else []


def _title_words(result: Result) -> list[str]:
    title = words.read(result.record.title[:_TITLE_WORDS]).words
    return [word for word in title if len(word) >= spelling.MIN_LETTERS and not word.isdigit()]


def has_suspect_values(page: SearchPage, filters: Filters) -> bool:
    """Whether a value of ``filters`` may be without records.

    A single value is known when something was found. One of several, an excluded one, or one with a
    star changes nothing where it is unknown.
    """
    values = list(_asked_values(filters, wanted=True))
    fields = [field for field, _, _ in values]
    return (
        bool(not page.total and (values or any(_asked_paths(filters))))
        or len(set(fields)) < len(fields)
        or any("*" in value for _, value, _ in values)
        or next(_asked_values(filters, wanted=False), None) is not None
    )


def names_project(filters: Filters) -> bool:
    """Whether a project is asked for, by a name that may mean several."""
    return next(_projects_asked(filters), None) is not None


def _projects_asked(filters: Filters) -> Iterator[str]:
    for field, value, _ in _asked_values(filters, wanted=True):
        if field == "project" and not value.startswith(EXACTLY) and folder_name(value) == value:
            yield value


def several_projects(snapshot: SearchSnapshot, filters: Filters) -> tuple[str, ...]:
    """A notice for each name of a folder that several projects have."""
    names = snapshot.values_of("project")
    hints = []
    for value in dict.fromkeys(_projects_asked(filters)):
        same = [name for name in names if folder_name(name).lower() == value.lower()]
        # Of names that differ in case only, none says more than the other.
        longer = next((name for name in same if name.lower() != value.lower()), "")
        if len(same) > 1 and longer:
            hints.append(
                f"{value} is the folder of {len(same)} projects: {', '.join(same)};"
                f' for one: project:"{longer}"'
            )
    return tuple(hints)


def unknown_values(snapshot: SearchSnapshot, filters: Filters) -> tuple[str, ...]:
    """A notice for each value of ``filters`` that no record has."""
    asked = dict.fromkeys(
        (*_asked_values(filters, wanted=True), *_asked_values(filters, wanted=False))
    )
    hints = []
    for field, value, alone in list(asked)[:MAX_VALUES]:
        if len(snapshot.matching(alone)):
            continue
        near = spelling.closest(value, snapshot.values_of(field))
        meant = f"; nearest: {clipped(near)}" if near else ""
        star = f"; {field} takes the whole value, * stands for itself" if "*" in value else ""
        hints.append(f"no record has {field} {clipped(value)}{star}{meant}")
    for path in list(dict.fromkeys(_asked_paths(filters)))[:MAX_VALUES]:
        is_file = len(snapshot.matching(Filters(files=(path,))))
        if not is_file and len(snapshot.matching(Filters(files=(f"{path}/",)))):
            hints.append(f"{clipped(path)} is a folder; for what is below it: path:{path}/")
    return tuple(hints)


def _asked_paths(filters: Filters) -> Iterator[str]:
    """The paths asked for that name no folder, since ``/`` or ``*`` at their end would."""
    asked = [*filters.files]
    if filters.demand is not None:
        for leaf, positive in demands.leaves(filters.demand):
            if isinstance(leaf, Condition) and positive:
                asked += [path for each in leaf.any_of for path in each.files]
    yield from (path for path in asked if not path.endswith(("/", "*")))


def _asked_values(filters: Filters, *, wanted: bool) -> Iterator[Value]:
    """The values that a record must have (``wanted``), or must not have."""
    if wanted:
        yield from _values(filters)
    if filters.demand is None:
        return
    for leaf, positive in demands.leaves(filters.demand):
        if isinstance(leaf, Condition) and positive == wanted:
            # What a surface translates, such as all sources of agents, nobody has written.
            named = (value for each in leaf.any_of for value in _values(each))
            yield from (value for value in named if value[1].lower() in leaf.text.lower())


def _values(filters: Filters) -> Iterator[Value]:
    if filters.project:
        yield "project", filters.project, Filters(project=filters.project)
    if filters.session:
        yield "session", filters.session, Filters(session=filters.session)
    if filters.source:
        yield "source", filters.source, Filters(source=filters.source)
    for value in filters.types:
        yield "type", value, Filters(types=(value,))
    for value in filters.tags:
        yield "tag", value, Filters(tags=(value,))
    for value in filters.concepts:
        yield "concept", value, Filters(concepts=(value,))
    for name, value in filters.facets:
        yield name, value, Filters(facets=((name, value),))
    names = {name for name, _ in filters.any_facets}
    if len(names) == 1:
        yield *filters.any_facets[0], Filters(any_facets=filters.any_facets)
