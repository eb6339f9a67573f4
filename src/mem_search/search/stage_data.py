"""What the stages read of the store: functions of ``RankingInput``, declared by ``Stage.reads``.

All of it is read in one snapshot before the first stage, and only what a stage that runs declares.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mem_search.contracts import FeedbackScorer, Question
from mem_search.model.arrays import are_among, distinct
from mem_search.model.rankings import NO_CANDIDATES, Candidate, Candidates, Numbers
from mem_search.retrievers.graph import Expansion
from mem_search.search.query_understanding import demands_all
from mem_search.search.state import NO_NUMBERS, LegScores, RankingInput, StageData
from mem_search.storage.sql.snapshot import SearchSnapshot
from mem_search.text import identifiers, record_ids, spelling, wordpieces
from mem_search.text.sketch import NO_SKETCHES, Sketches
from mem_search.text.words import all_of, any_of, bigrams, said_by

MAX_NAME_HOLDERS = 200
"""With more records than this, a name does not tell them apart."""

MAX_PLAIN_NAME_HOLDERS = 20
"""The same for a name of plain words, such as ``chroma-mcp``, beside other words."""

NAMED_BY_ID = (identifiers.MAX_NAMES + 1, 0)
"""A record that is named by its id comes before those that hold names."""

MAX_RARE_WORD_HOLDERS = 2
"""A word that so few records hold tells them apart."""

MAX_RARE_PASSAGES = 8
"""Passages of such a word; with more it is no rare one."""

MAX_OTHER_WORDS = 3
"""With more other words than this, the names of a question no longer decide what comes first."""

MAX_SHORT_QUESTION_WORDS = 3
"""Up to so many words, a record that has them all is what was asked for."""

FEEDBACK_RECORDS = 2
"""Records towards which the question is moved."""

FEEDBACK_DEPTH = 5
"""Every leg has to list each of those records among so many of its best."""


@dataclass(frozen=True, slots=True)
class NamedRecords:
    """The records that hold a name of the question, that it names by an id, or to which it leads.

    ``held`` is record → how many names it holds, and how well (``Name.held``). ``alone``: the
    question is nothing but names that some record holds.
    """

    candidates: Candidates = NO_CANDIDATES
    held: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    alone: bool = False

    @property
    def by_name(self) -> bool:
        """Whether any record is named, and not only found by a rare word."""
        return any(count for count, _ in self.held.values())


def _named_records(inputs: RankingInput) -> NamedRecords:
    """Those to which a question in two steps leads come first, and those whose id it names.

    A name of plain words counts beside other words only where few records hold it: ``real-time`` is
    ordinary language, ``rg-lto`` is not.
    """
    snapshot, question = inputs.snapshot, inputs.question
    held: dict[int, tuple[int, int]] = {}
    asked: tuple[identifiers.Name, ...] = ()
    candidates = NO_CANDIDATES
    if identifiers.NAME_LIKE.search(question.text):
        candidates = _records_by_id(snapshot, question)
        held = dict.fromkeys(candidates.records.tolist(), NAMED_BY_ID)
        asked = identifiers.find(question.text)
    if question.related:
        candidates = candidates.joined(_first_passages(snapshot, question.related))
        held |= {number: (NAMED_BY_ID[0], -at) for at, number in enumerate(question.related)}
    if 0 < len(question.words.words) <= MAX_SHORT_QUESTION_WORDS and not asked:
        return _with_rare_words(snapshot, question, candidates, held)
    others = {*question.words.all}.difference(*[name.words for name in asked])
    if not asked or len(others) > MAX_OTHER_WORDS:
        return NamedRecords(candidates, held)
    for name in asked:
        most = MAX_PLAIN_NAME_HOLDERS if name.plain and others else MAX_NAME_HOLDERS
        matches = snapshot.exact_matches(name, question.filters, most)
        for record, well in zip(matches.records.tolist(), matches.scores.tolist(), strict=True):
            count, sum_ = held.get(record, (0, 0))
            held[record] = (count + 1, sum_ + int(well))
        candidates = candidates.joined(matches)
    alone = not others and not any(name.plain for name in asked)
    return NamedRecords(candidates, held, alone and bool(held))


def _records_by_id(snapshot: SearchSnapshot, question: Question) -> Candidates:
    """The records within the filters that the question names by an id."""
    ids = record_ids.find(question.text)
    numbers = [each for called in snapshot.records_called(ids) for each in called] if ids else []
    if not numbers:
        return NO_CANDIDATES
    named = distinct(np.array(numbers, np.int64))
    within = named[are_among(named, snapshot.matching(question.filters))].tolist()
    return _first_passages(snapshot, within)


def _first_passages(snapshot: SearchSnapshot, numbers: Sequence[int]) -> Candidates:
    return Candidates.of(
        Candidate(number, kind, field == "code", passage, 0.0)
        for number, (passage, kind, field) in snapshot.first_passages(numbers).items()
    )


def _with_rare_words(
    snapshot: SearchSnapshot,
    question: Question,
    candidates: Candidates,
    held: dict[int, tuple[int, int]],
) -> NamedRecords:
    """A word of a short question that one or two records have is as good as a name, where it is no
    word of everyday English.
    """
    asked = question.words.words
    rare: dict[int, tuple[int, int]] = {}
    for word, passages in zip(asked, snapshot.passages_with(asked), strict=True):
        if not 0 < len(passages) <= MAX_RARE_PASSAGES or wordpieces.count(word) == 1:
            continue
        columns = snapshot.passage_columns(passages)
        within = are_among(columns.records, snapshot.matching(question.filters))
        columns = columns.taken((columns.records > 0) & within)
        holders = columns.best(np.zeros(len(columns.records))).candidates(MAX_RARE_WORD_HOLDERS + 1)
        if len(holders) <= MAX_RARE_WORD_HOLDERS:
            for number in holders.records.tolist():
                rare[number] = (0, rare.get(number, (0, 0))[1] + 1)
            candidates = candidates.joined(holders)  # with the passage that has the word
    return NamedRecords(candidates, {**rare, **held})


NO_NAMED_RECORDS: Final = NamedRecords()
NAMED_RECORDS: Final = StageData("names", _named_records, NO_NAMED_RECORDS)
"""What holds a name of the question. It joins the candidates, so that only ``identifier-first``
declares it: without that stage the others see none."""


def _complete_matches(inputs: RankingInput) -> Numbers:
    named = inputs.stored.of(NAMED_RECORDS)
    holders = np.sort(named.candidates.records)
    if named.alone:
        return holders
    having_all = _records_with_all_words(inputs)
    return distinct(np.concatenate([having_all, holders])) if len(holders) else having_all


def _records_with_all_words(inputs: RankingInput) -> Numbers:
    """Records that have every word of a question of few words, or all that it demands."""
    question, rankings = inputs.question, inputs.rankings
    asked = question.words
    matched = [leg.matched.records for leg in rankings if len(leg.matched)]
    terms = len(asked.words) + len(asked.phrases) + len(asked.cjk) + len(asked.guessed)
    is_demanded = question.filters.demand is not None and demands_all(question)
    if not matched or (terms > MAX_SHORT_QUESTION_WORDS and not is_demanded):
        return NO_NUMBERS
    if terms > 1 and not is_demanded and (query := all_of(asked)) is not None:
        having_all = inputs.snapshot.records_with_words(query)
        matched = [each[are_among(each, having_all)] for each in matched]
    return matched[0] if len(matched) == 1 else distinct(np.concatenate(matched))


COMPLETE_MATCHES: Final[StageData[Numbers]] = StageData("whole", _complete_matches, NO_NUMBERS)
"""Records that have all that a short question, or an explicit one, asks for; in order."""


@dataclass(frozen=True, slots=True, eq=False)
class TermCoverage:
    """How much of the question each record of the union has in its passage.

    ``shares`` are of the question's words, each weighted by how rare it is; ``unknown`` is the
    share of those that no passage has, which are ``missing``.
    """

    shares: NDArray[np.float64]
    unknown: float
    missing: tuple[str, ...]


_ASKING: Final = frozenset(
    "about any anybody anyone anything can could describe explain get give got know let many much"
    " ought please recall remind should show some somebody someone something somewhere tell thing"
    " things want whether whose".split()
)
"""Words that ask and say nothing of what is asked for: that no record has them means nothing."""

SMALL_STORE_PASSAGES = 100
"""Passages: with so many, a word that none has counts half of what it says in a large store."""


def _term_coverage(inputs: RankingInput) -> TermCoverage | None:
    question, snapshot = inputs.question, inputs.snapshot
    asked = question.words
    phrased = (word for phrase in asked.phrases for word in phrase)
    # The index has pairs of characters of a run in Chinese, Japanese or Korean, and not all of it.
    part_of = {pair: said for said in said_by(asked.cjk) for pair in bigrams(said)}
    typed = dict.fromkeys((*asked.words, *part_of, *phrased))
    groups = [
        (word, *asked.forms_of(word), *_spelt_nearly(word, asked.near))
        for word in typed
        if word not in question.naming
    ]
    groups += asked.guessed
    if not groups:
        return None
    having = iter(snapshot.passages_with([word for group in groups for word in group]))
    size, passages = snapshot.corpus().size, inputs.union.passages
    total, unknown, missing, known = 0.0, 0.0, [], set[str]()
    shares = np.zeros(len(passages))
    asks_alone = all(map(_ASKING.issuperset, groups))
    for group in groups:
        holders = [next(having) for _ in group]
        count = max(map(len, holders))
        if not count and not asks_alone and _ASKING.issuperset(group):
            continue
        rarity = math.log((size + 1) / (count + 0.5))
        total += rarity
        if count:
            is_held = np.any([are_among(passages, each) for each in holders], axis=0)
            shares += rarity * is_held
            known.add(part_of.get(group[0], ""))
        else:
            unknown += rarity
            missing.append(part_of.get(group[0], group[0]))
    # That a small store lacks a word says little.
    unknown *= size / (size + SMALL_STORE_PASSAGES)
    missing = [word for word in dict.fromkeys(missing) if word not in known]
    return TermCoverage(shares / total, unknown / total, tuple(missing))


def _spelt_nearly(word: str, near: Sequence[str]) -> tuple[str, ...]:
    """Those of ``near``, as ``fluter~`` asks for, that ``word`` is a spelling of."""
    most = spelling.edits_allowed(word)
    return tuple(each for each in near if spelling.distance(word, each, most) <= most)


TERM_COVERAGE: Final[StageData[TermCoverage | None]] = StageData("covered", _term_coverage, None)
"""What the passages have of the question; None where it has no words of its own."""


def _guessed_matches(inputs: RankingInput) -> tuple[Numbers, Numbers] | None:
    if not inputs.question.words.untyped:
        return None
    asked = any_of(replace(inputs.question.words, guessed=(), variants=()))
    typed = NO_NUMBERS if asked is None else inputs.snapshot.records_with_words(asked)
    matched = [leg.matched.records for leg in inputs.rankings]
    every = distinct(np.concatenate([NO_NUMBERS, *matched]))
    return every[~are_among(every, typed)], typed


GUESSED_MATCHES: Final[StageData[tuple[Numbers, Numbers] | None]] = StageData(
    "guessed", _guessed_matches, None
)
"""Where a word was misspelt or is a part of others: records with a word that it may mean and none
that was typed, and those with a typed one; each in order."""


def _lifted_records(inputs: RankingInput) -> Sequence[Numbers]:
    return [inputs.snapshot.matching(lift) for lift in inputs.question.lifts]


LIFTED_RECORDS: Final[StageData[Sequence[Numbers]]] = StageData("lifted", _lifted_records, ())
"""The records of each kind or person that the question names."""


def _leaning_records(inputs: RankingInput) -> Sequence[Numbers]:
    return [inputs.snapshot.matching(each) for each in inputs.question.leanings]


LEANING_RECORDS: Final[StageData[Sequence[Numbers]]] = StageData("leaning", _leaning_records, ())
"""The records of each type or kind to which words of intent point."""


def _successors(inputs: RankingInput) -> Mapping[int, tuple[int, ...]]:
    return inputs.snapshot.successors(inputs.union.records, inputs.question.filters)


SUCCESSORS: Final[StageData[Mapping[int, tuple[int, ...]]]] = StageData(
    "successors", _successors, {}
)
"""Superseded record → the records that supersede it, nearest first."""


def _sketches(inputs: RankingInput) -> tuple[Sequence[int], Sketches]:
    return inputs.snapshot.near_duplicate_sketches(inputs.union.records)


SKETCHES: Final[StageData[tuple[Sequence[int], Sketches]]] = StageData(
    "sketches", _sketches, ((), NO_SKETCHES)
)
"""Records that may have a near-duplicate in the union, and one row for each of them."""


def _feedback(inputs: RankingInput) -> Mapping[str, FeedbackScorer]:
    legs, union = inputs.legs, inputs.union
    if len(legs) < 2 or not len(union) or agreed(legs).sum() < min(FEEDBACK_RECORDS, len(union)):
        return {}
    scorers = {
        answer.leg.name: answer.leg.feedback_scorer(
            inputs.snapshot, inputs.question, union.passages
        )
        for answer in inputs.answers
        if answer.leg.name in legs
    }
    return {name: scorer for name, scorer in scorers.items() if scorer is not None}


FEEDBACK: Final[StageData[Mapping[str, FeedbackScorer]]] = StageData("feedback", _feedback, {})
"""Leg → its scorer for a moved question; empty where the legs cannot agree."""


def agreed(legs: Mapping[str, LegScores]) -> NDArray[np.bool_]:
    """Which records every one of several legs lists among its best; none of a single leg."""
    ranks = np.array([leg.ranks for leg in legs.values()])
    if len(ranks) < 2:
        return np.zeros(ranks.shape[-1], np.bool_)
    return np.asarray(((ranks > 0) & (ranks <= FEEDBACK_DEPTH)).all(axis=0))


def _sort_values(inputs: RankingInput) -> tuple[Numbers, Mapping[str, Numbers]]:
    records = inputs.union.records
    if inputs.beyond is not None:
        records = np.concatenate([records, inputs.beyond.records])
    keys = [key.removeprefix("-") for key in inputs.request.sort]
    return records, inputs.snapshot.sort_values(records, keys)


SORT_VALUES: Final[StageData[tuple[Numbers, Mapping[str, Numbers]]]] = StageData(
    "sort values", _sort_values, (NO_NUMBERS, {})
)
"""All that is found, and field → one number for each (``SearchSnapshot.sort_values``)."""


def _opening_order(inputs: RankingInput) -> Numbers:
    return inputs.snapshot.sort_values(inputs.union.records, ["opened_at"])["opened_at"]


OPENING_ORDER: Final[StageData[Numbers]] = StageData("opened", _opening_order, NO_NUMBERS)
"""For each record its place among those that were opened, the latest last; -1 for the others."""


def _newest_records(inputs: RankingInput) -> Sequence[int]:
    """Enough to fill a page whatever was ranked."""
    if not inputs.filters_decide:
        return ()
    ranked: list[Numbers] = [inputs.union.records]
    ranked += [leg.candidates.records for leg in inputs.further]
    most = inputs.request.offset + inputs.request.limit + sum(map(len, ranked))
    return inputs.snapshot.browse(inputs.question.filters, "date_desc", most, 0)


NEWEST_RECORDS: Final[StageData[Sequence[int]]] = StageData("newest", _newest_records, ())
"""The newest records that pass the filters, where the filters alone decide."""

Walk = Callable[[Mapping[int, float], int], Expansion]
"""Follows links from starting records (record → weight), so many steps."""


def _links(inputs: RankingInput) -> Walk | None:
    if inputs.request.fusion is None or inputs.request.fusion.graph is None:
        return None

    def walk(seeds: Mapping[int, float], depth: int) -> Expansion:
        filters, limit = inputs.question.filters, inputs.depth
        return inputs.expand(inputs.snapshot, seeds, depth=depth, limit=limit, filters=filters)

    return walk


LINKS: Final[StageData[Walk | None]] = StageData("links", _links, None)
"""The walk of the graph over this snapshot; None where links do not count."""
