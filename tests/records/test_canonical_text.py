"""The canonical text: what is cleaned, what counts as contained, what is appended."""

import pytest

from mem_search.errors import InputError
from mem_search.records.canonical_text import (
    Canonical,
    Section,
    clean,
    cut,
    listed,
    normalise,
    shown,
)

FACTS = Section("bullets", "Facts", ("facts",))
FILES = Section("line", "Files", ("files_read",))


def test_normalising_removes_what_cannot_be_stored_and_trailing_space() -> None:
    assert normalise("a\x00b\ud800c\r\nd\re \n\n") == "abc\nd\ne"


@pytest.mark.parametrize(
    ("text", "words", "expected"),
    [
        ("see the  long\nline", "the long line", True),
        ("authorised", "author", False),
        ("the author, again", "author", True),
        ("reauthor then author", "author", True),
        ("anything", "", True),
        ("", "word", False),
    ],
)
def test_words_are_contained_however_wrapped_but_not_inside_others(
    text: str, words: str, expected: bool
) -> None:
    assert Canonical(text).contains(words) is expected


def test_only_missing_facts_are_appended() -> None:
    canonical = Canonical("Tokens expire after an hour.")
    canonical.complete(FACTS, ["Tokens expire after an hour.", "Refresh\nis silent"])
    assert canonical.text == "Tokens expire after an hour.\n\n- Refresh is silent"


def test_an_empty_text_starts_with_its_first_section() -> None:
    canonical = Canonical("")
    canonical.complete(FACTS, ["one"])
    assert canonical.text == "- one"


def test_a_line_names_all_items_when_one_is_missing() -> None:
    canonical = Canonical("Touched a.py only.")
    canonical.complete(FILES, ["a.py", "b.py"])
    assert canonical.text == "Touched a.py only.\n\nFiles: a.py, b.py"
    assert canonical.shows(FILES, ["a.py", "b.py"])


def test_a_line_counts_what_it_does_not_name() -> None:
    canonical = Canonical("text")
    files = [f"f{number}.py" for number in range(60)]
    canonical.complete(FILES, files)
    assert canonical.text.endswith("f49.py, and 10 more")
    before = canonical.text
    canonical.complete(FILES, files)
    assert canonical.text == before


def test_metadata_becomes_plain_json() -> None:
    assert clean({"a": ("x\x00", 1), "b": {"c": None}}, "metadata") == {
        "a": ["x", 1],
        "b": {"c": None},
    }


@pytest.mark.parametrize(
    ("metadata", "field"),
    [
        ({"a": float("nan")}, "metadata.a"),
        ({"a": [{"b": {1}}]}, "metadata.a"),
        ({"a": {1: "x"}}, "metadata.a"),
        ({1: "x"}, "metadata"),
    ],
)
def test_metadata_that_is_no_json_is_named(metadata: dict[str, object], field: str) -> None:
    with pytest.raises(InputError) as caught:
        clean(metadata, "metadata")
    assert caught.value.field == field


def test_metadata_nested_without_end_is_refused() -> None:
    value: object = "x"
    for _ in range(40):
        value = [value]
    with pytest.raises(InputError, match="nested deeper than 32 levels"):
        clean({"a": value}, "metadata")


def test_lists_lose_blanks_and_repetitions() -> None:
    assert listed([" a ", "", "b", "a", " "]) == ["a", "b"]
    assert listed(None) == []
    assert listed(" a ") == ["a"]


def test_cutting_marks_what_is_missing() -> None:
    assert cut("abcdef", 6) == "abcdef"
    assert cut("abc def", 5) == "abc…"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, ""),
        ([], ""),
        ("x\n", "x"),
        (["a", "b"], "a, b"),
        (["First, this", "then"], "- First, this\n- then"),
        (3, "3"),
        ({"k": [1]}, '{"k": [1]}'),
    ],
)
def test_values_are_shown_as_a_reader_expects(value: object, expected: str) -> None:
    assert shown(value) == expected
