"""Words of the question, set off in a snippet."""

from __future__ import annotations

import pytest

from mem_search.text.highlight import Lit, highlight


def test_words_and_their_inflections_are_set_off() -> None:
    assert highlight("Indexing failed; the index fails.", ["index", "fail"]) == (
        "**Indexing** **failed**; the **index** **fails**."
    )


def test_text_without_any_of_the_words_has_no_highlight() -> None:
    assert highlight("Nothing alike", ["index"]) is None
    assert highlight("", ["index"]) is None


def test_scripts_without_spaces_are_set_off_as_a_run() -> None:
    assert highlight("検索を改善する and more", ["検索"]) == "**検索を改善する** and more"


@pytest.mark.parametrize(
    ("text", "words", "count"),
    [
        ("Tokens were indexed", ["token", "indexing"], 2),
        ("The token, the TOKENS", ["token"], 1),
        ("create_table(name)", ["table"], 1),
        ("Crème brûlée", ["creme"], 1),
        ("a cafe", ["café"], 1),
        ("検索を改善する", ["検索"], 1),
        ("untokened", ["token"], 0),
        ("nothing here", [], 0),
        ("nothing here", [""], 0),
        ("", ["token"], 0),
        ("C++ (really)", ["++", "("], 0),
    ],
)
def test_words_are_recognised_as_the_index_does(text: str, words: list[str], count: int) -> None:
    lit = Lit(words)
    assert lit.count_in(text) == count
    assert lit.stands_in(text) == (count > 0)
