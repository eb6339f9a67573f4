"""What a question in two steps asks for: the graph and the order of time lead to it.

First the record that the question describes is looked up by its words, or by its id; of the best
few the first counts from which the relation leads anywhere. Then edges, files, the session or the
time beside it give the answers. So it is with a moment (``bounded_by``): a version is of the moment
at which a record says that it was released, a move of the first record that says so in its title.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from mem_search.model import DateRange, Filters, Record
from mem_search.patterns import pattern
from mem_search.storage.sql.snapshot import SearchSnapshot
from mem_search.text import identifiers, words
from mem_search.text.record_ids import RecordId
from mem_search.text.related_questions import Moment, RelatedQuestion, Step
from mem_search.text.words import all_of, any_of

MAX_ANCHORS: Final = 3
"""Records that a question may describe, the best by its words."""

MAX_ANSWERS: Final = 5
"""Records that a relation may lead to."""

MAX_LATER: Final = 60
"""Later records of the same files among which a fix is looked for."""

MIN_COVERED: Final = 0.6
"""The share of its words that a record has to have to be the one that is described."""

MAX_FILES: Final = 8
"""Files of a record in which its fix is looked for."""

_TOUCHED_BY_ALL: Final = pattern(
    r"(?:^|/)(?:tests?|docs?)/|change|readme|\.(?:md|lock|1)$|cargo\.toml$", re.IGNORECASE
)
"""Files that say little of what a record is about, where it has others."""

_FIXING: Final = pattern(r"\b(?:fix\w*|bug\w*|repair\w*|correct\w*|hotfix)\b", re.IGNORECASE)
_ID: Final = pattern(r"(?=\S*\d|\S*[-.])[\w.#:/-]{3,64}")


@dataclass(frozen=True, slots=True)
class RelatedRecords:
    """``answers`` to a question in two steps, the best first, and the record ``beside`` them."""

    beside: Record
    answers: tuple[Record, ...]


def find(
    snapshot: SearchSnapshot, question: RelatedQuestion, filters: Filters
) -> RelatedRecords | None:
    """The records to which ``question`` leads within ``filters``; None where it leads nowhere."""
    for number in _described(snapshot, question.anchor, filters):
        record = snapshot.records([number]).get(number)
        if record is None:
            continue
        numbers = dict.fromkeys(_STEPS[question.step](snapshot, record, question, filters))
        records = snapshot.records([*numbers][:MAX_ANSWERS])
        answers = tuple(records[each] for each in numbers if each in records)
        if answers:
            return RelatedRecords(record, answers)
    return None


def _described(snapshot: SearchSnapshot, anchor: str, filters: Filters) -> list[int]:
    """The records that ``anchor`` may describe, the likeliest first."""
    ids = [RecordId(alias=each) for each in _ID.findall(anchor)]
    if called := [number for each in snapshot.records_called(ids) for number in each]:
        return called[:MAX_ANCHORS]
    asked = words.read(anchor)
    query, every = any_of(asked), all_of(asked)
    if query is None or every is None:
        return []
    candidates, _ = snapshot.word_matches(query, filters, 20)
    best = candidates.records.tolist()
    having_all = set(snapshot.records_with_words(every).tolist())
    if whole := [each for each in best if each in having_all]:
        return whole[:MAX_ANCHORS]
    said = set(asked.words)
    records = snapshot.records(best[:MAX_ANCHORS])
    return [
        each
        for each in best[:MAX_ANCHORS]
        if each in records and len(said & _runs(records[each])) >= MIN_COVERED * len(said)
    ]


def _runs(record: Record) -> set[str]:
    return set(words.runs_of(f"{record.title} {record.text[:2_000]}"))


def _edges(
    snapshot: SearchSnapshot, record: Record, filters: Filters, *relations: str
) -> Iterator[tuple[int, int]]:
    walk = snapshot.walk([record.number], 1, filters, relations)
    for edge in walk.edges:
        if record.number in (edge.start, edge.end):
            yield edge.start, edge.end


def _over(*relations: str, outward: bool) -> _Leads:
    """What leads over an edge: from its end to its start, or ``outward`` to its end."""

    def lead(
        snapshot: SearchSnapshot, record: Record, _asked: RelatedQuestion, filters: Filters
    ) -> Iterator[int]:
        for start, end in _edges(snapshot, record, filters, *relations):
            if outward and start == record.number:
                yield end
            elif not outward and end == record.number:
                yield start

    return lead


def _fix(
    snapshot: SearchSnapshot, record: Record, question: RelatedQuestion, filters: Filters
) -> Iterator[int]:
    """What says that it fixes the record; else the first fix of the same files after it."""
    yield from _over("fixes", outward=False)(snapshot, record, question, filters)
    yield from _over("caused_by", outward=True)(snapshot, record, question, filters)
    for later in _later(snapshot, record, record.metadata.get("files_modified"), filters):
        if _FIXING.search(later.title) or later.metadata.get("type") == "bugfix":
            yield later.number


def _file(
    snapshot: SearchSnapshot, record: Record, question: RelatedQuestion, filters: Filters
) -> Iterator[int]:
    yield from (each.number for each in _later(snapshot, record, [question.more], filters))


def _later(
    snapshot: SearchSnapshot, record: Record, files: object, filters: Filters
) -> list[Record]:
    """The next records that changed one of ``files``, oldest first."""
    if not isinstance(files, list) or not files:
        return []
    telling = [str(each) for each in files if not _TOUCHED_BY_ALL.search(str(each))] or files
    within = replace(
        filters,
        files=tuple(map(str, telling[:MAX_FILES])),
        created=DateRange(start=record.created_at),
        project=filters.project or record.project,
        without=(*filters.without, record.number),
    )
    numbers = snapshot.browse(within, "date_asc", MAX_LATER, 0)
    records = snapshot.records(numbers)
    return [records[each] for each in numbers if each in records]


def _beside(before: int, after: int) -> _Leads:
    """What was made just before or after the record: in its session, or in its project."""

    def lead(
        snapshot: SearchSnapshot, record: Record, _asked: RelatedQuestion, filters: Filters
    ) -> Iterator[int]:
        within = replace(filters, project=filters.project or record.project, kinds=(record.kind,))
        if record.session:
            within = replace(within, session=record.session)
        place = (record.created_at, record.number)
        earlier, later = snapshot.around(place, before, after, within)
        yield from reversed(earlier)
        yield from later

    return lead


def _session(
    snapshot: SearchSnapshot, record: Record, _asked: RelatedQuestion, filters: Filters
) -> Iterator[int]:
    if record.session:
        within = replace(filters, session=record.session, without=(*filters.without, record.number))
        yield from snapshot.browse(within, "date_asc", MAX_ANSWERS, 0)


def _successor(
    snapshot: SearchSnapshot, record: Record, _asked: RelatedQuestion, filters: Filters
) -> Iterator[int]:
    yield from snapshot.successors(np.array([record.number], np.int64), filters).get(
        record.number, ()
    )


def _any(
    snapshot: SearchSnapshot, record: Record, _asked: RelatedQuestion, filters: Filters
) -> Iterator[int]:
    for related in snapshot.relationships([record.number], filters).get(record.number, ()):
        yield related.to.number


_Leads = Callable[[SearchSnapshot, Record, RelatedQuestion, Filters], Iterator[int]]

_STEPS: Final[Mapping[Step, _Leads]] = {
    "answer": _over("replies_to", outward=False),
    "fix": _fix,
    "cause": _over("caused_by", "introduced_by", outward=True),
    "revert": _over("reverts", outward=False),
    "successor": _successor,
    "next": _beside(0, MAX_ANSWERS),
    "previous": _beside(MAX_ANSWERS, 0),
    "session": _session,
    "citing": _over("cites", outward=False),
    "cited": _over("cites", outward=True),
    "part": _over("parent-child", "part_of", "child_of", outward=False),
    "whole": _over("parent-child", "part_of", "child_of", outward=True),
    "blocker": _over("blocks", "blocked_by", "depends_on", outward=True),
    "file": _file,
    "any": _any,
}
"""Step → what leads over it. Trackers write that the first of two waits for the second."""

MAX_HOLDERS: Final = 500
"""Records that may name a version; with more it is none that tells a moment."""

MAX_SAYING: Final = 200
"""Records with the words of a move that are looked at, the oldest first."""

_RELEASED: Final = pattern(
    r"\b(?:release[ds]?|prepar\w+|publish\w*|tag(?:ged)?|bump\w*|version)\b", re.IGNORECASE
)
_MOVED: Final = pattern(
    r"\b(?:mov(?:e|ed|ing)|switch\w*|migrat\w+|adopt\w*|introduc\w+|initial|port(?:ed)?|replac\w+"
    r"|add(?:ed)?|start\w*|upgrad\w+|drop(?:ped)?|remov\w+|use)\b",
    re.IGNORECASE,
)


def bounded_by(snapshot: SearchSnapshot, moment: Moment, filters: Filters) -> DateRange | None:
    """The range that ``moment`` bounds; None where the store does not know when it was."""
    at = (
        _released(snapshot, moment.version, filters)
        if moment.version
        else _moved(snapshot, moment.what, filters)
    )
    if at is None:
        return None
    return DateRange(end=at - 1) if moment.bound == "before" else DateRange(start=at)


def _released(snapshot: SearchSnapshot, version: str, filters: Filters) -> int | None:
    names = identifiers.find(version)
    if not names:
        return None
    held = snapshot.exact_matches(names[0], filters, MAX_HOLDERS).records.tolist()
    said = [each for each in snapshot.records(held).values() if _is_release(each, version)]
    alone = [each for each in said if re.fullmatch(r"\W*v?[\d.]+\w*\W*", each.title.strip())]
    return min((each.created_at for each in alone or said), default=None)


def _is_release(record: Record, version: str) -> bool:
    """Whether its title says that ``version`` was released, not that something came before it."""
    number = re.escape(version.lstrip("vV"))
    title = record.title
    return re.search(rf"(?<![\d.])v?{number}(?![\d.]*\d)", title, re.IGNORECASE) is not None and (
        _RELEASED.search(title) is not None or len(title) <= len(version) + 2
    )


def _moved(snapshot: SearchSnapshot, what: str, filters: Filters) -> int | None:
    asked = words.read(what)
    query = all_of(asked)
    if query is None:
        return None
    candidates, _ = snapshot.word_matches(query, filters, MAX_SAYING)
    records = snapshot.records(candidates.records.tolist()).values()
    said = [
        each
        for each in records
        if _MOVED.search(each.title) and set(asked.words) <= set(words.runs_of(each.title))
    ]
    return min((each.created_at for each in said), default=None)
