"""The stages that say what matches and in which order, as pure functions (``stages/ordering.py``).

1. The union has the best of every leg, and some of each rarer kind.
2. Meaning alone needs a cosine above a floor, a higher one for words that nobody knows.
3. Equal scores come by number.
4. A rare kind near the best of every leg gets a place among the first ten; at most two do.
5. Scores fall from the first hit to the last, whatever was moved.
6. A successor stands directly above what it supersedes, the newest of a chain first.
7. Equal texts of one kind fold under the best of them; what is current under nothing superseded.
8. A session waits until others have had their turn.
9. A record with nothing but a guessed word stands below the last one with a typed word.
10. No stage loses or doubles a hit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mem_search.model import Hit, Kind
from mem_search.model.rankings import Candidate, Candidates, Matches, Numbers, Ranking, Scores
from mem_search.search.ranking import union
from mem_search.search.stage_data import GUESSED_MATCHES
from mem_search.search.stages import ordering, relevance, scoring
from mem_search.search.stages.ordering import SUPERSESSION, diversify, fold, raise_successors
from mem_search.search.state import LegScores
from mem_search.text import sketch
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
    floor = relevance.COSINE_FLOOR
    near = np.array([floor + 0.01, floor - 0.01, floor - 0.01, math.nan])
    scores = {"vector": LegScores(near, numbers(1, 2, 3, 0))}
    legs = [ranking("keyword", 3)]
    union = ranking("vector", 1, 2, 3, 4).candidates
    assert relevance.matches(union, scores, legs, floor).tolist() == [True, False, True, False]


def test_unknown_words_need_a_higher_cosine() -> None:
    nothing, something = [ranking("keyword")], [ranking("keyword", 9)]
    for nonsense in ("zzqqxx", "qwxzv bnmpl", "asdfghjkl"):
        assert relevance.cosine_floor(nonsense, nothing) == relevance.UNREADABLE_COSINE_FLOOR
        assert relevance.cosine_floor(nonsense, something) == relevance.COSINE_FLOOR
    for question in ("baking at home", "throttling of API callers", "kubernetes"):
        assert relevance.cosine_floor(question, nothing) == relevance.COSINE_FLOOR


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
    page = ordering.place_absent_kinds(hits, kinds, 10, {99})
    assert [hit.number for hit in page] == [*range(1, 10), 99, *range(10, 31)]
    assert ordering.place_absent_kinds(hits, kinds, 10) == hits


def test_a_rare_kind_takes_no_answers_place_unless_it_is_one() -> None:
    hits = [Hit(n, 10.0 - n / 100) for n in range(1, 31)] + [Hit(99, 0.5)]
    kinds = {hit.number: "observation" for hit in hits} | {99: "note"}
    page = ordering.place_absent_kinds(hits, kinds, 10, {99}, answers={9, 10})
    assert [hit.number for hit in page[:10]] == [*range(1, 8), 9, 10, 99]
    assert ordering.place_absent_kinds(hits, kinds, 10, {99}, answers=range(1, 11)) == hits
    page = ordering.place_absent_kinds(hits, kinds, 10, answers=[*range(1, 11), 99])
    assert [hit.number for hit in page[:10]] == [*range(1, 10), 99]


def test_at_most_two_rare_kinds_move() -> None:
    hits = [Hit(n, 10.0 - n / 100) for n in range(1, 31)] + [Hit(n, 0.5) for n in (97, 98, 99)]
    kinds = dict.fromkeys(range(1, 31), "observation") | {97: "note", 98: "email", 99: "file"}
    page = ordering.place_absent_kinds(hits, kinds, 10, {97, 98, 99})
    assert [hit.number for hit in page[:10]] == [*range(1, 9), 97, 98]


def test_the_scores_fall_whatever_was_moved() -> None:
    hits = [Hit(1, 3.0), Hit(99, 0.5), Hit(2, 2.0)]
    found = ordering.monotonic_scores(state(2, hits=hits)).hits
    assert [hit.score for hit in found] == [3.0, 2.0, 2.0]
    assert found[1].scores == {"moved": 1.5}


@pytest.mark.parametrize(
    ("order", "alone", "typed", "expected"),
    [
        ([1, 2, 3, 4], [1, 3], [2, 4], [2, 4, 1, 3]),
        ([1, 2], [1], [2], [2, 1]),
        ([2, 1, 3], [1, 3], [2], [2, 1, 3]),
        ([1, 9, 2, 3], [1, 3], [2], [9, 2, 1, 3]),  # 9 is near in meaning alone
        ([1, 3], [1, 3], [], [1, 3]),
    ],
)
def test_a_guessed_word_alone_stands_below_the_last_typed_one(
    order: list[int], alone: list[int], typed: list[int], expected: list[int]
) -> None:
    before = state(4, hits=[Hit(number, 1.0) for number in order])
    guessed = (numbers(*alone), numbers(*typed))
    before = replace(before, stored=replace(before.stored, values={GUESSED_MATCHES: guessed}))
    assert [hit.number for hit in ordering.typo_demotion(before).hits] == expected


def test_near_the_best_is_near_it_in_every_leg() -> None:
    records = numbers(*range(1, 31), 99)
    words, meaning = np.full(31, 8.0), np.full(31, 0.6)
    words[-1], meaning[-1] = 1.7, 0.13
    assert 99 in ordering.near_the_best(records, [words, meaning])
    meaning[-1] = 0.11
    assert 99 not in ordering.near_the_best(records, [words, meaning])
    assert ordering.near_the_best(records, []) == set()


def test_a_leg_that_does_not_know_a_record_has_no_say_in_it() -> None:
    records, words, meaning = numbers(1, 2, 3), np.array([8.0, 1.7, 1.5]), np.full(3, math.nan)
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
    page = ordering.place_absent_kinds(hits, kinds, limit)
    assert sorted(h.number for h in page) == sorted(h.number for h in hits)


def test_the_tail_has_what_is_found_beyond_the_candidates_in_the_legs_order() -> None:
    keyword = ranking("keyword", 1, 2, 3, 4)
    hits = ordering.with_word_matches([Hit(2, 1.0), Hit(9, 0.5)], [keyword], 9, {1, 4})
    assert [hit.number for hit in hits] == [2, 9, 1, 4]


# Supersession as a pure function: which record comes above which.


def hits(*numbers: int) -> list[Hit]:
    return [Hit(number, 10.0 - place) for place, number in enumerate(numbers)]


def order(lifted: list[Hit]) -> list[int]:
    return [hit.number for hit in lifted]


def test_a_successor_is_brought_up_to_directly_above_and_says_what_it_gained() -> None:
    lifted = raise_successors(hits(1, 2, 3, 4), {2: (4,)})
    assert order(lifted) == [1, 4, 2, 3]
    assert lifted[1] == Hit(4, 9.0, {SUPERSESSION: 2.0})


def test_the_newest_of_a_chain_comes_first() -> None:
    assert order(raise_successors(hits(5, 1, 2, 3), {1: (2, 3), 2: (3,)})) == [5, 3, 2, 1]
    assert order(raise_successors(hits(1, 9, 3), {1: (2, 3)})) == [3, 1, 9]


def test_a_successor_that_is_above_already_stays_there() -> None:
    assert raise_successors(hits(3, 2, 1), {1: (2, 3), 2: (3,)}) == hits(3, 2, 1)


def test_a_successor_that_is_no_hit_does_not_come_in() -> None:
    assert raise_successors(hits(1, 2), {1: (7,)}) == hits(1, 2)


def test_a_circle_is_harmless() -> None:
    circle = {1: (2, 3), 2: (3, 1), 3: (1, 2)}
    assert sorted(order(raise_successors(hits(1, 2, 3), circle))) == [1, 2, 3]


@given(st.permutations(list(range(12))), st.lists(st.integers(0, 11), unique=True))
def test_successors_come_first_and_no_hit_is_lost(ranking: list[int], newer: list[int]) -> None:
    """``newer`` is a chain: each supersedes the one before it."""
    successors = {
        old: tuple(newer[place + 1 :]) for place, old in enumerate(newer) if newer[place + 1 :]
    }
    lifted = raise_successors(hits(*ranking), successors)
    found = order(lifted)
    assert sorted(found) == sorted(ranking)
    assert [number for number in found if number in newer] == newer[::-1]
    assert [n for n in found if n not in newer] == [n for n in ranking if n not in newer]
    scores = [hit.score for hit in lifted]
    assert scores == sorted(scores, reverse=True)


# Folding as a pure function.

TEXTS = ("one thing", "another thing", "a third thing altogether", "something in Chinese 登录")


def folded(
    texts: Sequence[str],
    kinds: Sequence[str] | None = None,
    superseded: Sequence[int] = (),
    unknown: Sequence[int] = (),
) -> list[Hit]:
    """Hits 0, 1, … with these texts, folded."""
    known = [number for number in range(len(texts)) if number not in unknown]
    rows = sketch.read(b"".join(sketch.sketch("", texts[number]) for number in known))
    hits = [Hit(number, -float(number)) for number in range(len(texts))]
    of_kind = dict(enumerate(kinds or ["note"] * len(texts)))
    return fold(hits, of_kind, known, rows, superseded)


def shape(hits: Sequence[Hit]) -> list[tuple[int, ...]]:
    return [(hit.number, *hit.similar) for hit in hits]


def test_equal_texts_stand_under_the_best_of_them() -> None:
    assert shape(folded(["a b", "c d", "A b!", "a b", "c d"])) == [(0, 2, 3), (1, 4)]


def test_different_texts_are_left_as_they_are() -> None:
    assert folded(TEXTS) == [Hit(number, -float(number)) for number in range(4)]
    assert folded([]) == []


def test_only_records_of_one_kind_fold() -> None:
    assert shape(folded(["a"] * 4, ["note", "email", "note", "email"])) == [(0, 2), (1, 3)]


def test_what_is_current_does_not_hide_under_what_is_not() -> None:
    assert shape(folded(["a"] * 4, superseded=[0, 3])) == [(0, 3), (1, 2)]


def test_a_record_without_a_sketch_stays() -> None:
    assert shape(folded(["a"] * 3, unknown=[1])) == [(0, 2), (1,)]


@given(st.lists(st.sampled_from(TEXTS), max_size=30))
def test_folding_loses_no_hit_keeps_the_order_and_is_idempotent(
    texts: list[str],
) -> None:
    hits = folded(texts)
    assert sorted(number for names in shape(hits) for number in names) == list(range(len(texts)))
    numbers = [hit.number for hit in hits]
    assert numbers == sorted(numbers)
    assert [texts[number] for number in numbers] == list(dict.fromkeys(texts))
    assert all(texts[other] == texts[hit.number] for hit in hits for other in hit.similar)


# Diversity as a pure function: rounds of results.


def numbered(sessions: str) -> dict[int, int]:
    return {number: ".abc".index(name) for number, name in enumerate(sessions)}


def spread_out(sessions: str, per_session: int) -> str:
    """Hits in the sessions ``sessions``, a letter each; ``.`` is none."""
    hits = [Hit(number, 0.0) for number in range(len(sessions))]
    return "".join(sessions[hit.number] for hit in diversify(hits, numbered(sessions), per_session))


def test_a_session_waits_until_others_have_had_their_turn() -> None:
    assert spread_out("aaaabbc", 2) == "aabbcaa"
    assert spread_out("aaab.b.", 1) == "ab..aba"


def test_within_the_bound_nothing_moves() -> None:
    assert spread_out("aaaabbc", 4) == "aaaabbc"


@given(st.text("abc.", max_size=30), st.integers(1, 5))
def test_the_order_within_a_session_stays_and_no_hit_is_lost(sessions: str, bound: int) -> None:
    hits = [Hit(number, 0.0) for number in range(len(sessions))]
    found = [hit.number for hit in diversify(hits, numbered(sessions), bound)]
    assert sorted(found) == list(range(len(sessions)))
    for name in "abc.":
        of_session = [number for number in found if sessions[number] == name]
        assert of_session == sorted(of_session)
