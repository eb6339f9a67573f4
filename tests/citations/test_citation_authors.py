"""Authors, parsed from a line as sources write it."""

from __future__ import annotations

from datetime import UTC

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mem_search.features.citations.authors import OTHERS, names
from mem_search.features.citations.known_names import ORGANISATIONS
from mem_search.features.citations.reference_files import item
from mem_search.model import Record
from mem_search.records.registry import installed_kinds
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


@pytest.mark.parametrize(
    ("sender", "author"),
    [
        ("Corner Pharmacy <a@example.org>", {"literal": "Corner Pharmacy"}),
        ("Maple Grove <receipts@shop.example>", {"literal": "Maple Grove"}),
        ("Maple Grove <ann@maplegrove.example>", {"literal": "Maple Grove"}),
        ("Stack Overflow <x@example.org>", {"literal": "Stack Overflow"}),
        ("Möwe Ahoi <ann@moewe-ahoi.example>", {"literal": "Möwe Ahoi"}),
        ("Möwe Ahoi <ann@moweahoi.example>", {"literal": "Möwe Ahoi"}),
        ("Wm. Grove <ann@wmgrove.example>", {"literal": "Wm. Grove"}),
        ("Hugo Boss <orders@example.org>", {"literal": "Hugo Boss"}),
        ("Riverside Orthopedics <a@example.org>", {"literal": "Riverside Orthopedics"}),
        ("Ada Lovelace <info@example.org>", {"family": "Lovelace", "given": "Ada"}),
        ("Ada Lovelace <ada@lovelace.example>", {"family": "Lovelace", "given": "Ada"}),
        ("Maple Grove <maple@mail.example>", {"family": "Grove", "given": "Maple"}),
    ],
)
def test_a_sender_is_an_institution_by_its_trade_address_domain_or_name(
    sender: str, author: dict[str, str]
) -> None:
    record = Record(1, "email", "mail", "1", "Receipt", "text", 0, 0, metadata={"from": sender})
    cited = installed_kinds().get("email").citation(record)
    assert item(cited, record, UTC)["author"] == [author]


def test_sixty_organisations_are_known_without_a_word_that_tells() -> None:
    assert len(ORGANISATIONS) >= 60
    for each in ORGANISATIONS:
        assert names(each.title()) == [{"literal": each.title()}]
