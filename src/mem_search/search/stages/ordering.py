"""Stages that work on ordered hits: what comes first, what folds, what else fills the page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from mem_search.model import Hit
from mem_search.model.arrays import are_among
from mem_search.model.kind_codes import KIND_CODES
from mem_search.model.rankings import Numbers, Ranking, Values
from mem_search.search.stage_data import (
    COMPLETE_MATCHES,
    GUESSED_MATCHES,
    NAMED_RECORDS,
    NEWEST_RECORDS,
    SKETCHES,
    SORT_VALUES,
    SUCCESSORS,
)
from mem_search.search.state import RankingState
from mem_search.text import sketch
from mem_search.text.sketch import Sketches

FIRST_PAGE = 10
"""Places that kinds share. Fixed, so that the first ten are the same whatever the limit."""

ABSENT_KIND_PLACES = 2
"""Places among them for kinds that would have none."""

MIN_SHARE_OF_BEST = 0.2
"""With at least this share of a leg's best score a hit represents its kind on the page. .5 costs
.010 of nDCG@10 and .023 of recall@10 where all kinds are judged in one list."""

MIN_TELLING_SCORE = 0.01
"""A leg whose best score is below this does not discriminate: nearly all records have the words."""

SUPERSESSION = "supersession"


def supersession(state: RankingState) -> RankingState:
    """Puts a matching record directly above the record that it supersedes."""
    successors = state.stored.of(SUCCESSORS)
    return state.ordered(raise_successors(state.hits, successors)) if successors else state


def typo_demotion(state: RankingState) -> RankingState:
    """Puts records with nothing but a guessed word below those with a word as it was typed."""
    guessed = state.stored.of(GUESSED_MATCHES)
    if guessed is None:
        return state
    numbers = np.array([hit.number for hit in state.hits], np.int64)
    alone, typed = (are_among(numbers, each) for each in guessed)
    last = int(np.flatnonzero(typed).max(initial=-1))
    early = alone & (np.arange(len(numbers)) < last)
    rows = [*np.flatnonzero(~early[: last + 1]), *np.flatnonzero(early)]
    return state.ordered([*(state.hits[row] for row in rows), *state.hits[last + 1 :]])


def identifier_first(state: RankingState) -> RankingState:
    """Puts records that hold a name from the question, as it is written, before all others.

    Those with more of the names come first, then those with whole names.
    """
    held = state.stored.of(NAMED_RECORDS).held
    if not held:
        return state
    return state.ordered(
        sorted(state.hits, key=lambda hit: held.get(hit.number, (0, 0)), reverse=True)
    )


def folding(state: RankingState) -> RankingState:
    """Puts near-duplicates of one kind under the best of them, which names them."""
    sketched, sketches = state.stored.of(SKETCHES)
    if not sketched:
        return state
    successors = state.stored.of(SUCCESSORS)
    return state.ordered(fold(state.hits, state.kinds(), sketched, sketches, successors))


def kind_diversity(state: RankingState) -> RankingState:
    """Gives a kind whose best match is near the best scores a place at the end of the first ten."""
    if len(state.hits) <= FIRST_PAGE or state.request.order != "relevance":
        return state
    names = state.kinds()
    if not absent_kinds(state.hits, names, FIRST_PAGE):
        return state
    rows = state.rows
    good = near_the_best(
        state.union.records[rows], [leg.scores[rows] for leg in state.legs.values()]
    )
    answers = frozenset(state.stored.of(COMPLETE_MATCHES).tolist())
    return state.ordered(place_absent_kinds(state.hits, names, FIRST_PAGE, good, answers))


def diversity(state: RankingState) -> RankingState:
    """Puts further results of a session after those of others, where the request asks."""
    per_session = state.request.per_session
    if per_session is None:
        return state
    numbers = state.union.records.tolist()
    sessions = dict(zip(numbers, state.stored.columns.conversations.tolist(), strict=True))
    return state.ordered(diversify(state.hits, sessions, per_session))


def further_matches(state: RankingState) -> RankingState:
    """Adds what is found beyond the candidates, in the order of its leg."""
    reach = state.request.offset + state.request.limit
    if state.beyond is None or not len(state.beyond.records):
        return state
    if state.request.order != "relevance":
        last = state.hits[-1].score if state.hits else 0.0
        others = (Hit(number, last) for number in state.beyond.first.tolist())
        return state.ordered([*state.hits, *others])
    beyond = set(state.beyond.records.tolist())
    return state.ordered(with_word_matches(state.hits, state.further, reach, beyond))


def filter_matches(state: RankingState, score: float | None = None) -> RankingState:
    """Adds the newest other records, where the filters alone decide what matches.

    They get ``score``, or else that of the last hit.
    """
    hits = state.hits
    missing = state.request.offset + state.request.limit - len(hits)
    if not state.filters_decide or missing <= 0:
        return state
    if score is None:
        score = hits[-1].score if hits else 0.0
    seen = {number for hit in hits for number in (hit.number, *hit.similar)}
    others = [number for number in state.stored.of(NEWEST_RECORDS) if number not in seen]
    return state.ordered([*hits, *(Hit(number, score) for number in others[:missing])])


def monotonic_scores(state: RankingState) -> RankingState:
    """Gives a record that another stage moved up the score of the record below it."""
    hits = [*state.hits]
    for place in range(len(hits) - 2, -1, -1):
        above, below = hits[place], hits[place + 1]
        if above.score < below.score:
            scores = {**above.scores, "moved": below.score - above.score}
            hits[place] = above._replace(score=below.score, scores=scores)
    return state.ordered(hits)


def by_date(state: RankingState) -> RankingState:
    """Orders all that is found by date, where the request asks."""
    order = state.request.order
    if order in ("relevance", "fields"):
        return state
    created = dict(
        zip(state.union.records.tolist(), state.stored.columns.created.tolist(), strict=True)
    )
    if (beyond := state.beyond) is not None:
        created.update(zip(beyond.first.tolist(), beyond.created.tolist(), strict=True))
    hits = sorted(
        state.hits,
        key=lambda hit: (created[hit.number], hit.number),
        reverse=order == "date_desc",
    )
    return state.ordered(hits)


def by_fields(state: RankingState) -> RankingState:
    """Orders all that is found by the fields that the request names, then by relevance."""
    if not state.hits:
        return state
    records, columns = state.stored.of(SORT_VALUES)
    row_of = {number: row for row, number in enumerate(records.tolist())}
    rows = [row_of[hit.number] for hit in state.hits]
    values = {name: column[rows] for name, column in columns.items()}
    values["score"] = np.unique([hit.score for hit in state.hits], return_inverse=True)[1]
    return state.ordered([state.hits[row] for row in in_field_order(state.request.sort, values)])


def in_field_order(sort: Sequence[str], values: Mapping[str, Numbers]) -> list[int]:
    """The rows of ``values`` (``SearchSnapshot.sort_values``) in the order of ``sort``.

    What has no value comes last, also in falling order; equal rows keep their order.
    """
    keys: list[Numbers] = []
    for key in reversed(sort):
        column = values[key.removeprefix("-")]
        keys += [-column if key.startswith("-") else column, (column < 0).astype(np.int64)]
    return np.lexsort(keys).tolist() if keys else []


def per_kind(state: RankingState) -> RankingState:
    """Keeps the first results of each kind, where the request limits them."""
    most = state.request.limit_per_kind
    if most is None:
        return state
    names = state.kinds()
    if (beyond := state.beyond) is not None:
        kinds = KIND_CODES.names(beyond.kinds)
        names = {**names, **dict(zip(beyond.records.tolist(), kinds, strict=True))}
    seen: Counter[str] = Counter()
    kept = []
    for hit in state.hits:
        kind = names.get(hit.number, "")
        seen[kind] += 1
        if not kind or seen[kind] <= most:
            kept.append(hit)
    return state.ordered(kept)


def raise_successors(hits: Sequence[Hit], successors: Mapping[int, Sequence[int]]) -> list[Hit]:
    """``hits``, best first, with successors above the records that they supersede.

    A successor moves up and the superseded record stays: a good match of the old record means that
    the new one is relevant too. Only hits move; where the successor is none, the old record keeps
    its place. ``successors`` of a record are nearest first. A record that moves up gets the score
    of the record below it.
    """
    known = {hit.number: hit for hit in hits}
    lifted: dict[int, Hit] = {}
    for hit in hits:
        if hit.number in lifted:
            continue
        for number in reversed(successors.get(hit.number, ())):
            if number in known and number not in lifted:
                raised = known[number]
                scores = {**raised.scores, SUPERSESSION: hit.score - raised.score}
                lifted[number] = raised._replace(score=hit.score, scores=scores)
        lifted[hit.number] = hit
    return [*lifted.values()]


def fold(
    hits: Sequence[Hit],
    kinds: Mapping[int, str],
    sketched: Collection[int],
    sketches: Sketches,
    superseded: Collection[int] = (),
) -> list[Hit]:
    """``hits``, best first, without those that are ``similar`` to a better hit, which names them.

    ``sketches`` has a row for each record of ``sketched`` (see ``text/sketch``); a hit without a
    sketch stays. All hits fold at once, so that every page of a search folds alike. Only records
    of one kind fold, and a current record does not fold under a superseded one.
    """
    if not sketched:
        return [*hits]
    rows = {number: row for row, number in enumerate(sketched)}
    words = sketch.shared_words(sketches)
    place = {hit.number: at for at, hit in enumerate(hits)}
    under: dict[int, list[int]] = {}
    leaders: dict[tuple[int, str], list[int]] = {}
    for hit in hits:
        number = hit.number
        if number not in rows:
            under[number] = []
            continue
        row = rows[number]
        keys = [(word, kinds[number]) for word in words[row]]
        near = [
            other
            for other in {other for key in keys for other in leaders.get(key, ())}
            if (number in superseded or other not in superseded)
            and sketch.is_near(sketches[rows[other]], sketches[row])
        ]
        if near:
            under[min(near, key=place.__getitem__)].append(number)
            continue
        under[number] = []
        for key in keys:
            leaders.setdefault(key, []).append(number)
    return [
        hit._replace(similar=tuple(under[hit.number])) if under[hit.number] else hit
        for hit in hits
        if hit.number in under
    ]


def diversify(hits: Sequence[Hit], sessions: Mapping[int, int], per_session: int) -> list[Hit]:
    """``hits`` in rounds of at most ``per_session`` (1 or more) of each session.

    The order within a round stays. ``sessions`` are numbers; a hit without a session (0) is in the
    first round.
    """
    seen: Counter[int] = Counter()
    rounds: list[int] = []
    for hit in hits:
        session = sessions.get(hit.number, 0)
        rounds.append(seen[session] // per_session if session else 0)
        seen[session] += 1
    return [hits[at] for at in sorted(range(len(hits)), key=rounds.__getitem__)]


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
        if best >= MIN_TELLING_SCORE:
            near &= ~known | (scores >= MIN_SHARE_OF_BEST * best)
            scored |= known
    return frozenset(matching[near & scored].tolist())


def absent_kinds(hits: Sequence[Hit], kinds: Mapping[int, str], limit: int) -> list[Hit]:
    """The best hit of each kind that has none on the first page."""
    shown = {kinds[hit.number] for hit in hits[:limit]}
    best: dict[str, Hit] = {}
    for hit in hits[limit:]:
        best.setdefault(kinds[hit.number], hit)
    return [hit for kind, hit in best.items() if kind not in shown]


def place_absent_kinds(
    hits: Sequence[Hit],
    kinds: Mapping[int, str],
    limit: int,
    good: Collection[int] = (),
    answers: Collection[int] = (),
) -> list[Hit]:
    """``hits`` with the best hit of up to ``ABSENT_KIND_PLACES`` more kinds in the first ``limit``.

    It has to be one of ``good`` or ``answers``, and takes the place of the last hit of a kind that
    has several; that of an answer only when it is one. The order within the first ``limit`` stays,
    so that none of them stands above a better one.
    """
    page, rest = [*hits[:limit]], [*hits[limit:]]
    shown = Counter(kinds[hit.number] for hit in page)
    moved = 0
    for hit in absent_kinds(hits, kinds, limit):
        is_answer = hit.number in answers
        if moved == ABSENT_KIND_PLACES or not (is_answer or hit.number in good):
            continue
        last = next(
            (
                at
                for at in range(len(page) - 1, -1, -1)
                if shown[kinds[page[at].number]] > 1
                and (is_answer or page[at].number not in answers)
            ),
            None,
        )
        if last is None:
            break
        rest.remove(hit)
        rest.insert(0, gone := page.pop(last))
        page.append(hit)
        shown[kinds[gone.number]] -= 1
        shown[kinds[hit.number]] += 1
        moved += 1
    on_page = {hit.number for hit in page}
    return [
        *[hit for hit in hits if hit.number in on_page],
        *[hit for hit in hits if hit.number not in on_page],
    ]


def with_word_matches(
    hits: Sequence[Hit], rankings: Sequence[Ranking], reach: int, matched: Collection[int]
) -> list[Hit]:
    """``hits``, followed by those of ``matched`` that are no candidates, in the order of their leg.

    ``reach`` is how many hits the page needs; with enough hits nothing is added.
    """
    if len(hits) >= reach:
        return [*hits]
    last = hits[-1].score if hits else 0.0
    more: dict[int, Hit] = {}
    for ranking in rankings:
        for candidate in ranking.candidates:
            if candidate.record in matched:
                scores = {ranking.name: candidate.score}
                more.setdefault(
                    candidate.record, Hit(candidate.record, last, scores, candidate.passage)
                )
    return [*hits, *more.values()]
