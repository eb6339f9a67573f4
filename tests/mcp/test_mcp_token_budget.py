"""Replies stay within their token budget, whatever they contain."""

from __future__ import annotations

import json

from hypothesis import example, given
from hypothesis import strategies as st

from mem_search.renderers.schema import schema, to_values
from mem_search.renderers.token_budget import fit_texts, nearest
from mem_search.text import token_count


@schema
class Item:
    id: str
    text: str


def cost(items: list[Item]) -> int:
    return token_count.count(json.dumps([to_values(item) for item in items], ensure_ascii=False))


TEXTS = st.lists(st.text(max_size=400), max_size=8)


@given(TEXTS, st.integers(min_value=10, max_value=600))
@example(["", "", ""], 31)  # room for no text, and no text to cut
def test_long_texts_are_cut_and_short_ones_stay_whole(texts: list[str], limit: int) -> None:
    items = [Item(id=f"{number}", text=text) for number, text in enumerate(texts)]
    fitted = fit_texts(items, "text", limit)
    assert cost(fitted.items) <= max(limit, 2)
    assert fitted.items == [] or fitted.items[-1].id == f"{len(fitted.items) - 1}"
    assert len(fitted.items) + fitted.left == len(items)
    changed = [place for place, item in enumerate(fitted.items) if item.text != texts[place]]
    assert list(fitted.cut) == changed
    for place in changed:
        kept = fitted.items[place].text.removesuffix("…")
        assert texts[place].startswith(kept)


def test_fewer_texts_are_worth_more_than_the_beginnings_of_many() -> None:
    items = [Item(id="x" * 200, text="some words " * 60) for _ in range(11)]
    fitted = fit_texts(items, "text", 1000)
    assert 1 < len(fitted.items) < 11
    assert all(len(item.text) > 100 for item in fitted.items)
    assert cost(fitted.items) <= 1000


@given(TEXTS)
def test_what_fits_is_left_as_it_is(texts: list[str]) -> None:
    items = [Item(id="", text=text) for text in texts]
    fitted = fit_texts(items, "text", 100_000)
    assert (fitted.items, fitted.cut, fitted.left) == (items, (), 0)


@given(TEXTS, st.integers(min_value=0, max_value=8), st.integers(min_value=2, max_value=600))
def test_what_is_nearest_to_a_place_stays(texts: list[str], place: int, limit: int) -> None:
    shown = nearest([Item(id="", text=text) for text in texts], min(place, len(texts)), limit)
    assert cost(shown.items) <= limit
    assert len(shown.items) + shown.left == len(texts)
