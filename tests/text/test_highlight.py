"""Words of the query, marked in a snippet."""

from __future__ import annotations

from mem_search.text.highlight import highlight


def test_words_and_their_inflections_are_set_off() -> None:
    assert highlight("Indexing failed; the index fails.", ["index", "fail"]) == (
        "**Indexing** **failed**; the **index** **fails**."
    )


def test_text_without_any_of_the_words_has_no_highlight() -> None:
    assert highlight("Nothing alike", ["index"]) is None
    assert highlight("", ["index"]) is None


def test_scripts_without_spaces_are_set_off_as_a_run() -> None:
    assert highlight("検索を改善する and more", ["検索"]) == "**検索を改善する** and more"
