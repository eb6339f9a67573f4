"""Candidates: their union, which of them match, their order and counts. Pure.

A record matches when the keyword leg matched it, or when its cosine is above a floor: every text is
*somewhere* near every query, so without a floor a nonsense query would have results.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from mem_search.model import NO_SCORES, Hit
from mem_search.model.kind_codes import KIND_CODES
from mem_search.model.rankings import NO_CANDIDATES, Candidates, Numbers, Ranking, Values
from mem_search.search.state import LegScores
from mem_search.text import wordpieces, words

COSINE_FLOOR = 0.30
"""Below this a passage is not about the query (docs/retrieval.md has the distributions)."""

NEAR = 0.5
"""With at least this share of a leg's best score a hit represents its kind on the page."""

SILENT = 0.01
"""A leg whose best score is below this does not discriminate: nearly all records have the words."""

UNREADABLE_COSINE_FLOOR = 0.45
"""The floor for words that neither the store nor the model knows: nonsense reaches .43."""

READABLE = 2.2
"""The fewest characters per word piece of known words: ``zzqqxx`` has 1.2, ``kubernetes`` 2.5."""


def union(rankings: Sequence[Ranking], depth: int) -> Candidates:
    """The best ``depth`` candidates of every leg, and a tenth as many of each rarer kind.

    Each record appears once, with the passage of the first leg that lists it.
    """
    found = NO_CANDIDATES
    for ranking in rankings:
        found = found.joined(_best(ranking.candidates, depth))
    return found


def _best(candidates: Candidates, depth: int) -> Candidates:
    if len(candidates) <= depth:
        return candidates
    chosen = np.arange(len(candidates)) < depth
    for kind in np.unique(candidates.kinds[depth:]):
        chosen[np.flatnonzero(candidates.kinds == kind)[: depth // 10]] = True
    return candidates.taken(chosen)


def floor(text: str, rankings: Sequence[Ranking]) -> float:
    """The lowest cosine at which meaning alone makes a record a match for the query ``text``."""
    if any(len(ranking.matched) for ranking in rankings) and not words.hashes_alone(text):
        return COSINE_FLOOR
    letters = sum(not char.isspace() for char in text)
    readable = letters >= READABLE * wordpieces.count(text)
    return COSINE_FLOOR if readable else UNREADABLE_COSINE_FLOOR


def matches(
    union: Candidates,
    scores: Mapping[str, LegScores],
    rankings: Sequence[Ranking],
    floor: float,
) -> NDArray[np.bool_]:
    """Which records of ``union`` match: by their words, or by a cosine of at least ``floor``."""
    found = np.zeros(len(union), np.bool_)
    for ranking in rankings:
        found |= ~np.isnan(ranking.matched.of(union.records))
    if "vector" in scores:
        found |= scores["vector"].scores >= floor
    return found


def order(records: Numbers, scores: Values) -> NDArray[np.intp]:
    """The rows best first, ties by record number, so equal queries get equal pages."""
    return np.lexsort((records, -scores))


def hits(records: Numbers, scores: Values, passages: Numbers) -> list[Hit]:
    """One hit for each row of the columns."""
    return list(map(Hit, records.tolist(), scores.tolist(), repeat(NO_SCORES), passages.tolist()))


def counts(
    matching: Numbers, kinds: NDArray[np.uint8], rankings: Sequence[Ranking]
) -> dict[str, int]:
    """How many records match, by kind: all word matches, and those found by meaning only.

    ``matching`` are the matches among the candidates, ``kinds`` their kind codes.
    """
    worded = [ranking.matched for ranking in rankings if len(ranking.matched)]
    by_meaning = np.ones(len(matching), np.bool_)
    for leg in worded:
        by_meaning &= np.isnan(leg.of(matching))
    records = np.concatenate([matching[by_meaning], *(leg.records for leg in worded)])
    of_kind = np.concatenate([kinds[by_meaning], *(leg.kinds for leg in worded)])
    if len(worded) > 1:
        _, first = np.unique(records, return_index=True)
        of_kind = of_kind[first]
    by_code = enumerate(np.bincount(of_kind).tolist())
    return dict(sorted((KIND_CODES.name(code), count) for code, count in by_code if count))


def near_the_best(matching: Numbers, legs: Sequence[Values]) -> frozenset[int]:
    """Those of ``matching`` whose score is near the best score of every leg.

    ``legs`` has the scores of ``matching`` in each leg. A leg without a score for a record, or
    that does not discriminate, does not count.
    """
    near = np.ones(len(matching), np.bool_)
    scored = np.zeros(len(matching), np.bool_)
    for scores in legs:
        known = ~np.isnan(scores)
        best = scores[known].max(initial=0.0)
        if best >= SILENT:
            near &= ~known | (scores >= NEAR * best)
            scored |= known
    return frozenset(matching[near & scored].tolist())


def absent(hits: Sequence[Hit], kinds: Mapping[int, str], limit: int) -> list[Hit]:
    """The best hit of each kind that has none on the first page."""
    shown = {kinds[hit.number] for hit in hits[:limit]}
    best: dict[str, Hit] = {}
    for hit in hits[limit:]:
        best.setdefault(kinds[hit.number], hit)
    return [hit for kind, hit in best.items() if kind not in shown]


def represent(
    hits: Sequence[Hit], kinds: Mapping[int, str], limit: int, good: Collection[int] = ()
) -> list[Hit]:
    """``hits`` with the best hit of every kind on the first page, if it is good enough.

    A rare kind's best hit moves to the end of the page when it is better than the average
    candidate (a positive score), or one of ``good``: among hundreds of records that say the
    same, all others are below the average. The order within the page stays that of ``hits``.
    """
    page, rest = [*hits[:limit]], [*hits[limit:]]
    shown = Counter(kinds[hit.number] for hit in page)
    if all(shown[kinds[hit.number]] for hit in rest):
        return [*hits]
    for hit in list(rest):
        kind = kinds[hit.number]
        if shown[kind] or (hit.score <= 0 and hit.number not in good):
            continue
        for place in range(len(page) - 1, -1, -1):
            crowded = kinds[page[place].number]
            if shown[crowded] > 1:
                rest.insert(0, page.pop(place))
                rest.remove(hit)
                page.append(hit)
                shown[crowded] -= 1
                shown[kind] += 1
                break
    before = {hit.number: at for at, hit in enumerate(hits)}
    return [
        *sorted(page, key=lambda hit: before[hit.number]),
        *sorted(rest, key=lambda hit: before[hit.number]),
    ]


def tail(hits: Sequence[Hit], rankings: Sequence[Ranking], reach: int) -> list[Hit]:
    """``hits``, followed by word matches that are no candidates, in the order of their leg.

    ``reach`` is how many hits the page needs; with enough hits nothing is added.
    """
    if len(hits) >= reach:
        return [*hits]
    seen = {number for hit in hits for number in (hit.number, *hit.similar)}
    last = hits[-1].score if hits else 0.0
    more: dict[int, Hit] = {}
    for ranking in rankings:
        worded = [~np.isnan(other.matched.of(ranking.candidates.records)) for other in rankings]
        for candidate in ranking.candidates.taken(np.any(worded, axis=0)):
            if candidate.record not in seen:
                scores = {ranking.name: candidate.score}
                more.setdefault(
                    candidate.record, Hit(candidate.record, last, scores, candidate.passage)
                )
    return [*hits, *more.values()]
