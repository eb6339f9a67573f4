"""Every name and date of the table, as citeproc prints it and as other programs read it back."""

from __future__ import annotations

import bibtexparser
import pytest
import rispy
from bibtexparser.middlewares import NameParts, SeparateCoAuthors, SplitNameParts
from cited_records import item, record
from names_and_dates import DATES, NAMES
from pylatexenc.latex2text import LatexNodes2Text

from mem_search.features.citations.authors import OTHERS, Name, names
from mem_search.features.citations.formats import references
from mem_search.features.citations.reference_files import as_bibtex, as_ris, day_of
from mem_search.records.registry import installed_kinds
from mem_search.renderers.schema import to_values
from mem_search.renderers.universal import CitationMetadata

PARTS = ("non-dropping-particle", "family", "given", "suffix")


def table() -> list[tuple[str, list[Name]]]:
    rows = [row.split(" → ") for row in NAMES.strip().splitlines()]
    return [
        (
            line,
            [{"literal": line}]
            if expected == f"={line}"
            else list(map(read, expected.split(" & "))),
        )
        for line, expected in rows
    ]


def read(expected: str) -> Name:
    if expected.startswith("="):
        return {"literal": expected[1:]}
    parts = zip(PARTS, f"{expected}|".split("|"), strict=False)
    return {part: words for part, words in parts if words}


TABLE = table()
lines = pytest.mark.parametrize(("line", "expected"), TABLE, ids=[line for line, _ in TABLE])


def family_of(name: Name) -> str:
    return " ".join(filter(None, (name.get("non-dropping-particle"), name["family"])))


def test_the_table_is_as_long_as_it_should_be() -> None:
    assert len(TABLE) + len(DATES) >= 150


@lines
def test_a_line_names_its_authors(line: str, expected: list[Name]) -> None:
    assert names(line) == expected


@lines
def test_bibtex_reads_the_same_names(line: str, expected: list[Name]) -> None:
    entry = as_bibtex([item(record("report", 1, "A", metadata={"author": line}))])
    parsed = bibtexparser.parse_string(
        entry, append_middleware=[SeparateCoAuthors(), SplitNameParts()]
    )
    [found] = parsed.entries
    assert [in_parts(name) for name in found["author"]] == [
        {"literal": "others"}
        if name == OTHERS
        else {"literal": family_of(name)}  # without a given name it is in braces
        if "family" in name and "given" not in name
        else name
        for name in expected
    ]


def in_parts(name: NameParts) -> Name:
    """The name as CSL has it; a single part in braces, or "others", is a literal."""
    found = {
        part: LatexNodes2Text().latex_to_text(" ".join(words))
        for part, words in zip(PARTS, (name.von, name.last, name.first, name.jr), strict=True)
        if words
    }
    if set(found) == {"family"}:
        return {"literal": found["family"]}
    return found


@lines
def test_ris_reads_the_same_names(line: str, expected: list[Name]) -> None:
    [entry] = rispy.loads(as_ris([item(record("report", 1, "A", metadata={"author": line}))]))
    assert entry["authors"] == [
        name["literal"]
        if "literal" in name
        else ", ".join(filter(None, (family_of(name), name.get("given"), name.get("suffix"))))
        for name in expected
    ]


@pytest.mark.parametrize("style", ["apa", "mla", "chicago"])
@lines
def test_citeproc_prints_the_first_author_in_its_order(
    line: str, expected: list[Name], style: str
) -> None:
    first = expected[0]
    cited = item(record("report", 1, "A", metadata={"author": line, "published": 2024}))
    [printed] = references([cited], style)
    if "literal" in first:
        assert printed.startswith(first["literal"])
        return
    # Only Chicago moves a particle behind the given name.
    family = first["family"] if style == "chicago" else family_of(first)
    assert printed.startswith(family)
    if given := first.get("given", ""):
        assert printed.startswith(f"{family}, {given if style != 'apa' else given[0]}")
    shortened = style == "mla" and len(expected) > 2
    assert ("et al." in printed) == (OTHERS in expected or shortened)


@pytest.mark.parametrize(("value", "parts"), DATES)
def test_a_date_has_the_parts_that_are_known(value: object, parts: tuple[int, ...]) -> None:
    cited = item(record("website", 1, "A", url="https://a.example", metadata={"published": value}))
    assert day_of(cited.get("issued")) == parts
    [entry] = bibtexparser.parse_string(as_bibtex([cited])).entries
    months = "jan feb mar apr may jun jul aug sep oct nov dec".split()
    written = {name: entry[name] for name in ("year", "month", "day") if name in entry}
    assert written == {
        name: months[part - 1] if name == "month" else str(part)
        for name, part in zip(("year", "month", "day"), parts, strict=False)
    }
    [ris] = rispy.loads(as_ris([cited]))
    assert ris.get("year", "") == (str(parts[0]) if parts else "")
    day = [f"{part:02}" for part in parts] + [""] * (3 - len(parts))
    assert ris.get("date", "") == ("/".join(day) if len(parts) > 1 else "")


SPOKEN = ("n.d.", "2024", "2024, February", "2024, February 1")
MLA = ("", "2024", "Feb. 2024", "1 Feb. 2024")


@pytest.mark.parametrize(
    ("value", "parts"), [row for row in DATES if row[1][:2] in ((2024,), (2024, 2), ())]
)
def test_citeproc_prints_what_is_known_of_a_date(value: object, parts: tuple[int, ...]) -> None:
    metadata = {"author": "Ada Lovelace", "published": value}
    cited = item(record("website", 1, "A", url="https://a.example", metadata=metadata))
    assert f"({SPOKEN[len(parts)]})" in references([cited], "apa")[0]
    assert f", {MLA[len(parts)]}, https" in references([cited], "mla")[0] or not parts
    assert ("2024" in references([cited], "chicago")[0]) == bool(parts)


@pytest.mark.parametrize(
    ("value", "shown"),
    [(2024, "2024"), ("Feb 2024", "2024-02"), ("2024-02-01", "2024-02-01T00:00:00.000Z")],
)
def test_a_cited_result_shows_no_more_of_a_date_than_is_known(value: object, shown: str) -> None:
    kept = record("report", 1, "A", metadata={"published": value})
    citation = installed_kinds().get("report").citation(kept)
    assert to_values(CitationMetadata.of(citation))["published_date"] == shown


@pytest.mark.parametrize("line", ["(" * 20_000 + "@", "(a@" * 20_000, "a, and " * 20_000])
def test_a_hostile_line_of_authors_is_cited(line: str) -> None:
    assert references([item(record("report", 1, "A", metadata={"author": line}))], "apa")


def test_a_day_is_preferred_to_a_year() -> None:
    dates = {"published_at": "2024", "date_published": "2024-02-01"}
    assert day_of(item(record("report", 1, "A", metadata=dates))["issued"]) == (2024, 2, 1)
