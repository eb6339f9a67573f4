from hypothesis import given
from hypothesis import strategies as st

from mem_search.contracts import Candidate, Matches, Ranking
from mem_search.model import Hit
from mem_search.search import matching
from mem_search.search.fusion import LegScores


def ranking(name: str, *records: int, kind: str = "note", matched: bool = True) -> Ranking:
    candidates = tuple(Candidate(r, kind, "content", r, 100.0 - r) for r in records)
    return Ranking(
        name,
        candidates,
        {c.record: c.score for c in candidates},
        matched=Matches.of({c.record: (kind, c.score) for c in candidates if matched}),
    )


def test_the_union_has_the_best_of_every_leg() -> None:
    keyword, vector = ranking("keyword", 1, 2, 3), ranking("vector", 3, 4, matched=False)
    assert list(matching.union([keyword, vector], 2)) == [1, 2, 3, 4]


def test_a_rare_kind_enters_the_union_beyond_the_depth() -> None:
    frequent = [Candidate(n, "observation", "content", n, 100.0 - n) for n in range(1, 51)]
    leg = Ranking("keyword", (*frequent, Candidate(99, "note", "content", 99, 0.1)))
    assert 99 in matching.union([leg], 20)
    assert 50 not in matching.union([leg], 20)


def test_what_only_meaning_found_needs_a_cosine_above_the_floor() -> None:
    floor = matching.COSINE_FLOOR
    scores = {"vector": LegScores({1: floor + 0.01, 2: floor - 0.01, 3: floor - 0.01}, [1, 2, 3])}
    legs = [ranking("keyword", 3)]
    assert matching.matches([1, 2, 3], scores, legs, floor) == {1, 3}


def test_words_that_neither_store_nor_model_knows_need_a_nearer_meaning() -> None:
    nothing, something = [ranking("keyword")], [ranking("keyword", 9)]
    for nonsense in ("zzqqxx", "qwxzv bnmpl", "asdfghjkl"):
        assert matching.floor(nonsense, nothing) == matching.UNREADABLE_COSINE_FLOOR
        assert matching.floor(nonsense, something) == matching.COSINE_FLOOR
    for question in ("baking at home", "throttling of API callers", "kubernetes"):
        assert matching.floor(question, nothing) == matching.COSINE_FLOOR


def test_counts_are_all_word_matches_and_what_only_meaning_found() -> None:
    keyword = ranking("keyword", *range(1, 11))
    hits = [Hit(1, 2.0), Hit(20, 1.0)]
    assert matching.counts(hits, {1: "note", 20: "email"}, [keyword]) == {"email": 1, "note": 10}


def test_a_rare_kind_with_a_good_match_gets_a_place_on_the_page() -> None:
    hits = [Hit(n, 10.0 - n / 100) for n in range(1, 31)] + [Hit(99, 0.5)]
    kinds = {hit.number: "observation" for hit in hits} | {99: "note"}
    page = matching.represent(hits, kinds, 20)
    assert 99 in {hit.number for hit in page[:20]}
    assert [hit.number for hit in page[:19]] == list(range(1, 20))
    assert sorted(hit.number for hit in page) == sorted(hit.number for hit in hits)


def test_a_rare_kind_without_a_good_match_does_not() -> None:
    hits = [Hit(n, 10.0 - n / 100) for n in range(1, 31)] + [Hit(99, -0.5)]
    kinds = {hit.number: "observation" for hit in hits} | {99: "note"}
    assert matching.represent(hits, kinds, 20) == hits


@given(
    st.lists(st.tuples(st.integers(-5, 5), st.sampled_from("abc")), max_size=40), st.integers(1, 10)
)
def test_representation_loses_and_doubles_nothing(items: list[tuple[int, str]], limit: int) -> None:
    hits = matching.order(Hit(n, float(score)) for n, (score, _) in enumerate(items))
    kinds = {n: kind for n, (_, kind) in enumerate(items)}
    page = matching.represent(hits, kinds, limit)
    assert sorted(h.number for h in page) == sorted(h.number for h in hits)


def test_the_tail_has_every_other_word_match_once_in_the_legs_order() -> None:
    keyword = ranking("keyword", 1, 2, 3, 4)
    assert [h.number for h in matching.tail([Hit(2, 1.0), Hit(9, 0.5)], [keyword], 9)] == [
        2,
        9,
        1,
        3,
        4,
    ]
