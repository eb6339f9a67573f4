"""Folding as a pure function."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from mem_search.model import Hit
from mem_search.search.stages.ordering import fold
from mem_search.text import sketch

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
