"""Words of the query, marked in a snippet."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mem_search.text.highlight import highlight, word_matcher


def test_words_and_their_inflections_are_set_off() -> None:
    assert highlight("Indexing failed; the index fails.", ["index", "fail"]) == (
        "**Indexing** **failed**; the **index** **fails**."
    )


def test_text_without_any_of_the_words_has_no_highlight() -> None:
    assert highlight("Nothing alike", ["index"]) is None
    assert highlight("", ["index"]) is None


def test_scripts_without_spaces_are_set_off_as_a_run() -> None:
    assert highlight("検索を改善する and more", ["検索"]) == "**検索を改善する** and more"


@given(st.text(alphabet="aäe\u0301 indexs_検索を改🟣İß.-", max_size=60))
def test_places_are_in_order_without_overlaps_and_hold_a_word(text: str) -> None:
    matcher = word_matcher(("index", "検索", "é", "äß"))
    last = -1
    for start, end in matcher.spans(text):
        assert last < start < end <= len(text)
        assert matcher.stands_in(text[start:end])
        last = end
    assert bool(matcher.spans(text)) == matcher.stands_in(text)


def test_places_count_code_points() -> None:
    text = "🟣 Indexes of 検索を改善 and the index"
    matcher = word_matcher(("index", "検索"))
    assert [text[start:end] for start, end in matcher.spans(text)] == ["Indexes", "検索", "index"]
    assert matcher.spans(text)[0] == (2, 9)
