"""BibTeX and RIS, whole, and as independent parsers read them."""

from __future__ import annotations

import json
import re

import bibtexparser
import pytest
import rispy
from cited_records import BARE, KNOWN, item, record
from hypothesis import given
from hypothesis import strategies as st
from pylatexenc.latex2text import LatexNodes2Text

from mem_search.features.citations.formats import FORMATS, as_csl_json
from mem_search.features.citations.reference_files import as_bibtex, as_ris, escaped, key
from mem_search.renderers.safe_text import one_line

SPECIALS = st.text(st.sampled_from("\\{}$&#%_^~<>|aB 9é漢=,@\n\r\t"))


def test_bibtex() -> None:
    assert (
        as_bibtex([item(KNOWN[4]), item(KNOWN[5])])
        == """\
@misc{website-5,
  author = {Lovelace, Ada and Turing, Alan},
  title = {{JWT handbook}},
  year = {2024},
  month = feb,
  day = {1},
  organization = {example.org},
  url = {https://example.org/jwt?a=1&b=2},
  urldate = {2025-11-17},
}

@misc{file-6,
  author = {King, Jr., Martin},
  title = {{src/auth.py}},
  year = {2025},
  month = nov,
  day = {17},
  howpublished = {File, mem-search, file:6},
}
"""
    )


def test_ris() -> None:
    lines = """\
TY  - ELEC
ID  - website:5
AU  - Lovelace, Ada
AU  - Turing, Alan
TI  - JWT handbook
PY  - 2024
DA  - 2024/02/01
Y2  - 2025/11/17
T2  - example.org
UR  - https://example.org/jwt?a=1&b=2
CN  - website:5
END

TY  - PCOMM
ID  - email:9
AU  - Lovelace, Ada
A2  - Turing, Alan
A2  - grace@example.org
TI  - Re: budget
PY  - 2025
DA  - 2025/11/16
M3  - Email
DB  - mem-search
CN  - email:9
END
"""
    assert as_ris([item(KNOWN[4]), item(KNOWN[8])]) == lines.replace("END", "ER  - ").replace(
        "\n", "\r\n"
    )


def test_csl_json_is_the_items() -> None:
    items = [item(each) for each in KNOWN]
    assert json.loads(as_csl_json(items)) == items


def test_no_records_make_an_empty_file() -> None:
    assert [form.write([]) for form in FORMATS] == ["", "", "", "", "", "[]\n"]


def test_keys_are_unique_and_do_not_depend_on_the_list() -> None:
    items = [item(each) for each in (*KNOWN, *BARE)]
    read = bibtexparser.parse_string(as_bibtex(items))
    assert [entry.key for entry in read.entries] == [key(each["id"]) for each in items]
    assert len({entry.key for entry in read.entries}) == len(items)
    alone = bibtexparser.parse_string(as_bibtex(items[3:4]))
    assert alone.entries[0].key == "note-4"


@given(
    st.lists(st.tuples(SPECIALS, SPECIALS, st.lists(SPECIALS, max_size=3)), min_size=1, max_size=4)
)
def test_bibtex_is_parsed_back_with_any_content(
    said: list[tuple[str, str, list[str]]],
) -> None:
    items = [
        item(record("note", at, title, "Words.", metadata={"author": author}, tags=tuple(tags)))
        for at, (title, author, tags) in enumerate(said, 1)
    ]
    read = bibtexparser.parse_string(as_bibtex(items))
    assert not read.failed_blocks
    assert len(read.entries) == len(items)
    for entry, known in zip(read.entries, items, strict=True):
        fields = entry.fields_dict
        for name in ("title", "author"):
            assert (name in fields) == (name in known)
        if title := known.get("title"):
            assert fields["title"].value == f"{{{escaped(title)}}}"
        assert fields["year"].value == "2025"


@given(st.text(st.sampled_from("\\$&#%_^~aB 9é")))  # all that pylatexenc knows
def test_signs_of_tex_are_printed(text: str) -> None:
    shown = LatexNodes2Text(keep_comments=True).latex_to_text(escaped(text))
    # The signs alone have characters of their own in Unicode.
    assert shown.replace("ˆ", "^").replace("˜", "~") == one_line(text)


def test_braces_do_not_unbalance_a_field() -> None:
    assert escaped("a { b } <T>") == (
        r"a \textbraceleft{} b \textbraceright{} \textless{}T\textgreater{}"
    )


@given(st.text(), st.text(), st.lists(st.text(), max_size=3))
def test_ris_is_parsed_back_with_any_content(title: str, author: str, tags: list[str]) -> None:
    known = item(record("note", 1, title, "Words.", metadata={"author": author}, tags=tuple(tags)))
    (entry,) = rispy.loads(as_ris([known]))
    assert entry["type_of_reference"] == "GEN"
    assert entry["id"] == "note:1"
    assert entry.get("title", "") == known.get("title", "")
    assert len(entry.get("authors", [])) == len(known.get("author", []))


@pytest.mark.parametrize("url", ["https://example.org/{a}\\b", "https://example.org/%7Ea#x_y~z"])
def test_an_address_needs_no_escaping_in_bibtex(url: str) -> None:
    page = as_bibtex([item(record("website", 1, "A", url=url))])
    written = re.search(r"url = {([^{}\\]*)},", page)
    assert written is not None
    assert written[1] == url.replace("{", "%7B").replace("}", "%7D").replace("\\", "%5C")
