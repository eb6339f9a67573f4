"""The record that is first in meaning: its place on the page, and whether it is an answer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mem_search.model import Hit, SearchRequest
from mem_search.search.stage_data import COMPLETE_MATCHES, TERM_COVERAGE, TermCoverage
from mem_search.search.stages.relevance import (
    MAX_SHOWN_UNANSWERED,
    MIN_CONFIDENCE,
    certainty,
    in_other_words,
    no_answer,
    relevant,
)
from mem_search.search.state import LegScores, RankingState
from ranking_states import state

COUNT = 30
FAR = 20  # the record that is first in meaning; the fused order is 1, 2, 3, …
SPACE = "minilm-l6-v2:0"


def ranked(
    *,
    cosine: float = 0.6,
    share: float = 0.0,
    others: float = 0.2,
    space: str = SPACE,
    text: str = "words of others",
    mode: str = "hybrid",
) -> RankingState:
    """Thirty records with words; one of them, with few or none, is nearest in meaning."""
    cosines, shares = np.full(COUNT, others), np.full(COUNT, 0.3)
    cosines[FAR - 1], shares[FAR - 1] = cosine, share
    ranks = np.arange(2, COUNT + 2)
    ranks[FAR - 1] = 1
    legs = {
        "keyword": LegScores(np.arange(COUNT, 0.0, -1), np.arange(1, COUNT + 1)),
        "vector": LegScores(cosines, ranks, space),
    }
    total = np.arange(COUNT, 0.0, -1).tolist()
    hits = [Hit(number, score) for number, score in zip(range(1, COUNT + 1), total, strict=True)]
    request = SearchRequest(text, mode=mode)  # type: ignore[arg-type]
    made = state(COUNT, legs=legs, parts={"fused": total}, hits=hits, request=request)
    values = {
        TERM_COVERAGE: TermCoverage(shares, 0.5, ("gone",)),
        COMPLETE_MATCHES: np.zeros(0, np.int64),
    }
    return replace(made, stored=replace(made.stored, values=values))


def order(found: RankingState) -> list[int]:
    return [hit.number for hit in found.hits]


def test_where_words_decide_little_it_has_the_fifth_place() -> None:
    assert order(in_other_words(ranked())) == [1, 2, 3, 4, FAR, *range(5, 20), *range(21, 31)]


def test_where_a_record_has_half_of_the_question_nothing_moves() -> None:
    before = ranked()
    shares = before.stored.of(TERM_COVERAGE).shares.copy()  # type: ignore[union-attr]
    shares[0] = 0.6
    values = {**before.stored.values, TERM_COVERAGE: TermCoverage(shares, 0.5, ())}
    found = order(in_other_words(replace(before, stored=replace(before.stored, values=values))))
    assert found == [*range(1, COUNT + 1)]


@pytest.mark.parametrize(
    "before",
    [ranked(cosine=0.29), ranked(text="слова других людей"), replace(ranked(), legs={})],
)
def test_what_is_not_near_or_not_readable_stays_where_it_is(before: RankingState) -> None:
    assert order(in_other_words(before)) == [*range(1, COUNT + 1)]


def test_it_is_found_whatever_its_score() -> None:
    before = ranked()
    low = np.array([*range(COUNT, 0, -1)], float) * 10
    low[FAR - 1] = -100
    found = relevant(replace(before, parts={"fused": low}))
    assert found.matched is not None
    assert found.matched[FAR - 1]


def test_what_stands_out_in_meaning_is_an_answer() -> None:
    found = certainty(ranked(cosine=0.43))
    assert found.confidence is not None
    assert found.confidence.max() < MIN_CONFIDENCE
    assert no_answer(found).is_answered
    assert not no_answer(certainty(ranked(cosine=0.41))).is_answered


def test_the_nearest_of_a_search_without_an_answer_have_the_first_in_meaning() -> None:
    found = no_answer(certainty(ranked(cosine=0.35)))
    assert not found.is_answered
    assert len(found.hits) == MAX_SHOWN_UNANSWERED
    assert FAR in order(found)


def test_cosines_of_a_model_of_unknown_scale_say_nothing() -> None:
    known, unknown = certainty(ranked()), certainty(ranked(space="other-model:0"))
    without = certainty(replace(ranked(), legs={}))
    assert known.confidence is not None
    assert unknown.confidence is not None
    assert without.confidence is not None
    assert not np.array_equal(known.confidence, unknown.confidence)
    assert np.array_equal(unknown.confidence, without.confidence)
    assert not no_answer(unknown).is_answered
