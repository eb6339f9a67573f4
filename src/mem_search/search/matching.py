"""What counts as a match, in which order, and how many there are. Pure.

A record matches when the keyword leg matched it, or when its cosine is above a floor: every
text is *somewhere* near every question, so without a floor a nonsense question gets an answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from mem_search.contracts import Candidate, Ranking
from mem_search.model import KINDS, Hit
from mem_search.search.fusion import LegScores
from mem_search.text import wordpieces

COSINE_FLOOR = 0.30
"""Below this a passage is not about the question (docs/retrieval.md has the distributions)."""

NEAR = 0.5
"""With at least this share of a leg's best score a hit stands for its kind on the page."""

UNREADABLE_COSINE_FLOOR = 0.45
"""The same for words that neither the store nor the model knows: nonsense reaches .43."""

READABLE = 2.2
"""Characters in a word piece of known words, at least; ``zzqqxx`` has 1.2, ``kubernetes`` 2.5."""


def union(rankings: Sequence[Ranking], depth: int) -> dict[int, Candidate]:
    """The best ``depth`` candidates of every leg, and as many of each kind that is rarer."""
    found: dict[int, Candidate] = {}
    for ranking in rankings:
        taken: Counter[str] = Counter()
        for place, candidate in enumerate(ranking.candidates):
            if place < depth or taken[candidate.kind] < depth // 10:
                taken[candidate.kind] += 1
                found.setdefault(candidate.record, candidate)
    return found


def floor(text: str, rankings: Sequence[Ranking]) -> float:
    """The cosine from which on meaning alone makes a match for the question ``text``."""
    if any(len(ranking.matched) for ranking in rankings):
        return COSINE_FLOOR
    letters = sum(not char.isspace() for char in text)
    readable = letters >= READABLE * wordpieces.count(text)
    return COSINE_FLOOR if readable else UNREADABLE_COSINE_FLOOR


def matches(
    union: Collection[int],
    scores: Mapping[str, LegScores],
    rankings: Sequence[Ranking],
    floor: float,
) -> set[int]:
    """Those that a leg stands for: their words match, or their meaning is near enough."""
    found = {record for ranking in rankings for record in ranking.matched.scores_of(list(union))}
    if "vector" in scores:
        near = scores["vector"].scores
        found.update(record for record in union if near.get(record, -1.0) >= floor)
    return found


def order(hits: Iterable[Hit]) -> list[Hit]:
    """Best first; ties by number, so that equal questions give equal pages."""
    return sorted(hits, key=lambda hit: (-hit.score, hit.number))


def counts(
    hits: Sequence[Hit], kinds: Mapping[int, str], rankings: Sequence[Ranking]
) -> dict[str, int]:
    """How many records match, by kind: all word matches, and what only meaning found."""
    numbers = [hit.number for hit in hits]
    worded = [ranking.matched for ranking in rankings if len(ranking.matched)]
    records = np.concatenate([np.zeros(0, np.int64), *(leg.records for leg in worded)])
    places = np.concatenate([np.zeros(0, np.uint8), *(leg.kinds for leg in worded)])
    if len(worded) > 1:
        records, first = np.unique(records, return_index=True)
        places = places[first]
    found: Counter[str] = Counter(
        {KINDS[kind]: count for kind, count in enumerate(np.bincount(places).tolist()) if count}
    )
    known = {record for leg in worded for record in leg.scores_of(numbers)}
    found.update(kinds[number] for number in numbers if number not in known)
    return dict(sorted(found.items()))


def represent(
    hits: list[Hit],
    kinds: Mapping[int, str],
    limit: int,
    legs: Mapping[str, LegScores] = MappingProxyType({}),
) -> list[Hit]:
    """Give every kind that has a good match a place on the first page.

    A rare kind's best hit moves up to the end of the page when it is better than the average
    candidate (a positive score), or in each leg not far from the best: among hundreds of
    records that say the same, all others are below the average. The order within the page
    stays that of relevance.
    """
    page, rest = hits[:limit], hits[limit:]
    shown = Counter(kinds[hit.number] for hit in page)
    best: dict[str, float] = {}
    for hit in list(rest):
        kind = kinds[hit.number]
        if shown[kind]:
            continue
        if hit.score <= 0:
            best = best or {
                name: max((leg.scores.get(hit.number, 0.0) for hit in hits), default=0.0)
                for name, leg in legs.items()
            }
            if not _is_near(hit, legs, best):
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
    return order(page) + order(rest)


def _is_near(hit: Hit, legs: Mapping[str, LegScores], best: Mapping[str, float]) -> bool:
    return bool(best) and all(
        leg.scores.get(hit.number, 0.0) >= NEAR * best[name] for name, leg in legs.items()
    )


def tail(hits: Sequence[Hit], rankings: Sequence[Ranking], reach: int) -> list[Hit]:
    """After the fused hits, the word matches that were not candidates, in their own order.

    ``reach`` is how many hits the page needs; no further ones are made.
    """
    if len(hits) >= reach:
        return [*hits]
    seen = {hit.number for hit in hits}
    worded = {
        record
        for ranking in rankings
        for record in ranking.matched.scores_of([c.record for c in ranking.candidates])
    }
    last = hits[-1].score if hits else 0.0
    return [*hits] + [
        Hit(candidate.record, last, {ranking.name: candidate.score}, candidate.passage)
        for ranking in rankings
        for candidate in ranking.candidates
        if candidate.record in worded and candidate.record not in seen
    ]
