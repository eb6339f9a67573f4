import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mem_search.model import Hit, Kind
from mem_search.model.rankings import Candidate, Candidates, Matches, Numbers, Ranking, Scores
from mem_search.search.ranking import union
from mem_search.search.stages import ordering, scoring
from mem_search.search.state import LegScores
from ranking_states import state


def ranking(name: str, *records: int, kind: Kind = "note", matched: bool = True) -> Ranking:
    candidates = [Candidate(r, kind, False, r, 100.0 - r) for r in records]
    return Ranking(
        name,
        Candidates.of(candidates),
        Scores.by_record({c.record: c.score for c in candidates}),
        matched=Matches.by_kind({c.record: (kind, c.score) for c in candidates if matched}),
    )


def numbers(*values: int) -> Numbers:
    return np.array(values, dtype=np.int64)


def test_the_union_has_the_best_of_every_leg() -> None:
    keyword, vector = ranking("keyword", 1, 2, 3), ranking("vector", 3, 4, matched=False)
    assert union([keyword, vector], 2).records.tolist() == [1, 2, 3, 4]


def test_a_rare_kind_enters_the_union_beyond_the_depth() -> None:
    frequent = [Candidate(n, "observation", False, n, 100.0 - n) for n in range(1, 51)]
    rare = Candidate(99, "note", False, 99, 0.1)
    leg = Ranking("keyword", Candidates.of([*frequent, rare]))
    assert union([leg], 20).records.tolist() == [*range(1, 21), 99]


def test_what_only_meaning_found_needs_a_cosine_above_the_floor() -> None:
    floor = scoring.COSINE_FLOOR
    near = np.array([floor + 0.01, floor - 0.01, floor - 0.01, math.nan])
    scores = {"vector": LegScores(near, numbers(1, 2, 3, 0))}
    legs = [ranking("keyword", 3)]
    union = ranking("vector", 1, 2, 3, 4).candidates
    assert scoring.matches(union, scores, legs, floor).tolist() == [True, False, True, False]


def test_unknown_words_need_a_higher_cosine() -> None:
    nothing, something = [ranking("keyword")], [ranking("keyword", 9)]
    for nonsense in ("zzqqxx", "qwxzv bnmpl", "asdfghjkl"):
        assert scoring.cosine_floor(nonsense, nothing) == scoring.UNREADABLE_COSINE_FLOOR
        assert scoring.cosine_floor(nonsense, something) == scoring.COSINE_FLOOR
    for question in ("baking at home", "throttling of API callers", "kubernetes"):
        assert scoring.cosine_floor(question, nothing) == scoring.COSINE_FLOOR


def test_hits_are_best_first_and_equal_ones_by_number() -> None:
    scored = state(4, parts={"fused": [1.0, 2.0, 2.0, 1.0]})
    assert [(hit.number, hit.score, hit.passage) for hit in scoring.sort(scored).hits] == [
        (2, 2.0, 2),
        (3, 2.0, 3),
        (1, 1.0, 1),
        (4, 1.0, 4),
    ]


def test_a_rare_kind_near_the_best_gets_a_place_at_the_end_of_the_first_page() -> None:
    hits = [Hit(n, 10.0 - n / 100) for n in range(1, 31)] + [Hit(99, 0.5)]
    kinds = {hit.number: "observation" for hit in hits} | {99: "note"}
    page = ordering.represent(hits, kinds, 10, {99})
    assert [hit.number for hit in page] == [*range(1, 10), 99, *range(10, 31)]
    assert ordering.represent(hits, kinds, 10) == hits


def test_at_most_two_rare_kinds_move() -> None:
    hits = [Hit(n, 10.0 - n / 100) for n in range(1, 31)] + [Hit(n, 0.5) for n in (97, 98, 99)]
    kinds = dict.fromkeys(range(1, 31), "observation") | {97: "note", 98: "email", 99: "file"}
    page = ordering.represent(hits, kinds, 10, {97, 98, 99})
    assert [hit.number for hit in page[:10]] == [*range(1, 9), 97, 98]


def test_the_scores_fall_whatever_was_moved() -> None:
    hits = [Hit(1, 3.0), Hit(99, 0.5), Hit(2, 2.0)]
    found = ordering.monotonic_scores(state(2, hits=hits)).hits
    assert [hit.score for hit in found] == [3.0, 2.0, 2.0]
    assert found[1].scores == {"moved": 1.5}


def test_near_the_best_is_near_it_in_every_leg() -> None:
    records = numbers(*range(1, 31), 99)
    words, meaning = np.full(31, 8.0), np.full(31, 0.6)
    words[-1], meaning[-1] = 4.1, 0.31
    assert 99 in ordering.near_the_best(records, [words, meaning])
    meaning[-1] = 0.29
    assert 99 not in ordering.near_the_best(records, [words, meaning])
    assert ordering.near_the_best(records, []) == set()


def test_a_leg_that_does_not_know_a_record_has_no_say_in_it() -> None:
    records, words, meaning = numbers(1, 2, 3), np.array([8.0, 4.1, 3.9]), np.full(3, math.nan)
    meaning[0] = 0.6
    assert ordering.near_the_best(records, [words, meaning]) == {1, 2}
    assert ordering.near_the_best(records, [np.full(3, math.nan)]) == set()


def test_words_that_nearly_all_records_have_tell_nothing_apart() -> None:
    records, meaning = numbers(1, 2), np.array([0.6, 0.4])
    assert ordering.near_the_best(records, [np.array([2e-6, 1e-7]), meaning]) == {1, 2}


def test_the_best_of_each_kind_that_is_not_on_the_page_is_absent() -> None:
    hits = [Hit(n, -n) for n in range(9)]
    kinds = dict(enumerate("aababcbdc"))
    assert [hit.number for hit in ordering.absent_kinds(hits, kinds, 2)] == [2, 5, 7]
    assert ordering.absent_kinds(hits, kinds, 9) == []


@given(
    st.lists(st.tuples(st.integers(-5, 5), st.sampled_from("abc")), max_size=40), st.integers(1, 10)
)
def test_representation_loses_and_doubles_nothing(items: list[tuple[int, str]], limit: int) -> None:
    hits = [Hit(n, float(score)) for n, (score, _) in enumerate(items)]
    hits.sort(key=lambda hit: (-hit.score, hit.number))
    kinds = {n: kind for n, (_, kind) in enumerate(items)}
    page = ordering.represent(hits, kinds, limit)
    assert sorted(h.number for h in page) == sorted(h.number for h in hits)


def test_the_tail_has_what_is_found_beyond_the_candidates_in_the_legs_order() -> None:
    keyword = ranking("keyword", 1, 2, 3, 4)
    hits = ordering.with_word_matches([Hit(2, 1.0), Hit(9, 0.5)], [keyword], 9, {1, 4})
    assert [hit.number for hit in hits] == [2, 9, 1, 4]
