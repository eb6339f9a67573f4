"""Words of a query in a text: matched as the full-text index matches them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mem_search.text.highlight import WORD, highlight, word_matcher


@pytest.mark.parametrize(
    ("text", "words", "count"),
    [
        ("Tokens were indexed", ["token", "indexing"], 2),
        ("The token, the TOKENS", ["token"], 1),
        ("create_table(name)", ["table"], 1),
        ("Crème brûlée", ["creme"], 1),
        ("a cafe", ["café"], 1),
        ("検索を改善する", ["検索"], 1),
        ("検索を改善する", ["再検索"], 1),
        ("naïve—lantern’s", ["naive", "lantern"], 2),
        ("поиск поиска", ["поиск"], 1),
        ("使用Redis缓存", ["redis"], 1),
        ("使用Redis缓存", ["缓存", "redis"], 2),
        ("登录v2を", ["v2"], 1),
        ("使用Redistribution缓存", ["redis"], 0),
        ("untokened", ["token"], 0),
        ("nothing here", [], 0),
        ("nothing here", [""], 0),
        ("", ["token"], 0),
        ("C++ (really)", ["++", "("], 0),
    ],
)
def test_words_are_recognised_as_the_index_does(text: str, words: list[str], count: int) -> None:
    found = word_matcher(tuple(words))
    assert found.count_in(text) == count
    assert found.stands_in(text) == (count > 0)


def test_places_are_where_the_words_begin() -> None:
    text = "A lantern, two Lanterns; 再検索をlanternで"
    found = list(word_matcher(("lantern", "検索")).places(text, 0, len(text)))
    assert found == [(2, "lantern"), (15, "lantern"), (26, "検索"), (29, "lantern")]
    assert list(word_matcher(("lantern",)).places(text, 3, 24)) == [(15, "lantern")]


@given(st.text(max_size=60), st.lists(st.text(max_size=6), max_size=3), st.integers(0, 60))
def test_places_are_exactly_the_matching_words(text: str, words: list[str], start: int) -> None:
    is_lit = word_matcher(tuple(words))
    places = [at for at, _ in is_lit.places(text, start, len(text))]
    assert places == sorted(places)
    assert all(start <= at < len(text) for at in places)
    marked = [match for match in WORD.finditer(text) if is_lit(match[0])]
    if start == 0:
        assert all(any(match.start() <= at < match.end() for at in places) for match in marked)
        assert bool(marked) == is_lit.stands_in(text)


GERMAN = "Die Verträge und alle Häuser sind in der Liste, aber die Rechnung ist nicht bezahlt."


def test_a_text_is_marked_by_the_rules_of_its_language() -> None:
    matcher = word_matcher(("rechnungen", "vertrag", "haus"))
    words = [GERMAN[start:end] for start, end in matcher.spans(GERMAN)]
    assert words == ["Verträge", "Häuser", "Rechnung"]
    assert matcher.stands_in(GERMAN)
    at, _ = next(matcher.places(GERMAN, 14, len(GERMAN)))
    assert GERMAN[at:].startswith("Häuser")
    assert highlight(GERMAN, ("rechnungen",)) == GERMAN.replace("Rechnung", "**Rechnung**")


def test_a_span_is_exact_behind_what_nobody_sees() -> None:
    text = GERMAN.replace("Rechnung", "Rech\u00adnung").replace("Liste", "Lis\u00adte")
    ((start, end),) = word_matcher(("rechnungen",)).spans(text)
    assert text[start:end] == "Rech\u00adnung"


def test_english_is_marked_by_its_own_rules() -> None:
    matcher = word_matcher(("rechnungen",))
    for text in ("the Rechnung is in the folder", "a Rechnung is in a folder, and I have not paid"):
        assert not matcher.spans(text)
    assert not matcher.stands_in("Rechnung")  # too short to tell
