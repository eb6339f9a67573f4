"""Authors, parsed from a line as sources write it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mem_search.features.citations.authors import OTHERS, names
from mem_search.renderers.safe_text import harmless

ADA = {"family": "Lovelace", "given": "Ada"}
ALAN = {"family": "Turing", "given": "Alan"}


@pytest.mark.parametrize(
    "line", ["Ada Lovelace", "Lovelace, Ada", "Ada Lovelace <ada@example.org>", '"Lovelace, Ada" ']
)
def test_a_person_is_taken_apart(line: str) -> None:
    assert names(line) == [ADA]


@pytest.mark.parametrize(
    "line",
    [
        "Ada Lovelace; Alan Turing",
        "Ada Lovelace, Alan Turing",
        "Ada Lovelace and Alan Turing",
        "Lovelace, Ada & Turing, Alan",
        "Lovelace, Ada; Turing, Alan",
        '"Lovelace, Ada" <ada@example.org>, Alan Turing <alan@example.org>',
        "Ada Lovelace; Alan Turing; Ada Lovelace",
    ],
)
def test_several_authors_are_separated_however_they_are_listed(line: str) -> None:
    assert names(line) == [ADA, ALAN]


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("Ludwig van Beethoven", ("Beethoven", "Ludwig", "van", None)),
        ("van Beethoven, Ludwig", ("Beethoven", "Ludwig", "van", None)),
        ("von Neumann", ("Neumann", None, "von", None)),
        ("Martin Luther King Jr.", ("King", "Martin Luther", None, "Jr.")),
        ("King, Martin Luther, Jr.", ("King", "Martin Luther", None, "Jr.")),
        ("Martin King, Jr.", ("King", "Martin", None, "Jr.")),
        ("J. R. R. Tolkien", ("Tolkien", "J. R. R.", None, None)),
        ("Jean-Paul O’Brien", ("O’Brien", "Jean-Paul", None, None)),
        ("Renée Müller", ("Müller", "Renée", None, None)),
    ],
)
def test_particles_suffixes_and_initials_stay_where_they_belong(
    line: str, parts: tuple[str | None, ...]
) -> None:
    found = names(line)
    keys = ("family", "given", "non-dropping-particle", "suffix")
    assert [tuple(one.get(key) for key in keys) for one in found] == [parts]


@pytest.mark.parametrize(
    "line",
    [
        "OpenAI",
        "claude",
        "李小龙",
        "ada@example.org",
        "dependabot[bot]",
        "IBM Research",
        "NASA JPL",
        "AT&T",
        "Procter & Gamble",
        "Acme Widgets, Inc.",
        "The Rust Project Developers",
        "Lovelace, Ada, Turing, Alan",
        "Ada @ Example",
    ],
)
def test_a_name_that_may_be_no_person_is_kept_whole(line: str) -> None:
    assert names(line) == [{"literal": line}]


@pytest.mark.parametrize("line", ["", "  ", ";", " , ;\n"])
def test_no_author_is_invented(line: str) -> None:
    assert names(line) == []


@given(st.text())
def test_any_line_gives_names_of_its_own_words(line: str) -> None:
    for one in names(line):
        assert one
        assert set(one) <= {"family", "given", "non-dropping-particle", "suffix", "literal"}
        if one != OTHERS:
            letters = harmless(line).casefold()
            words = " ".join(one.values()).casefold().split()
            assert all(word.strip(".") in letters for word in words)
