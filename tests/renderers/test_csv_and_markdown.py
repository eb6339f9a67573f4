"""Exported results: a table without formulas, a list with the text letter for letter."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from datetime import UTC, datetime
from html import escape
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from mem_search.features.exports.http import COLUMNS, as_csv, as_markdown, escaped
from mem_search.model import (
    Kind,
    LegReport,
    Record,
    Result,
    SearchPage,
    SearchReport,
    SearchRequest,
    Snippet,
)
from mem_search.records.registry import installed_kinds
from mem_search.renderers import DisplayOptions
from mem_search.renderers.safe_text import one_line

EVENING = 1_763_401_500_000  # 2025-11-17T17:45:00Z
DISPLAY = DisplayOptions(installed_kinds().get, UTC, datetime(2025, 11, 20, tzinfo=UTC))
BASE = "http://127.0.0.1:37777"


def result(kind: Kind, number: int, title: str, text: str = "Text.", **values: Any) -> Result:
    record = Record(
        number, kind, "jsonl", f"id{number}", title, text,
        **{"created_at": EVENING, "updated_at": EVENING, **values},
    )  # fmt: skip
    return Result(record, -0.25, Snippet(text, 0, len(text)))


def page(*results: Result, **values: Any) -> SearchPage:
    return SearchPage(
        request=values.pop("request", SearchRequest("auth")),
        results=results,
        total=values.pop("total", len(results)),
        counts={},
        report=values.pop("report", SearchReport("hybrid", "hybrid")),
    )


def test_a_table_has_a_line_a_result_under_its_names() -> None:
    full = result(
        "website",
        2,
        'The "JWT", a\nhandbook',
        "All, about\r\nauth",
        project="web",
        session="s1",
        url="https://example.org",
        tags=("a", "b c"),
        importance=0.5,
        archived=True,
    )
    assert as_csv(page(result("note", 1, "Reading list"), full)) == (
        "ref,kind,title,snippet,created_at,updated_at,project,session,source,url,tags,importance,"
        "archived,score,page\r\n"
        "note:1,note,Reading list,Text.,2025-11-17T17:45:00.000Z,2025-11-17T17:45:00.000Z,,,jsonl,"
        ",,,false,-0.25,\r\n"
        'website:2,website,"The ""JWT"", a handbook","All, about auth",2025-11-17T17:45:00.000Z,'
        "2025-11-17T17:45:00.000Z,web,s1,jsonl,https://example.org,a; b c,0.5,true,-0.25,\r\n"
    )


def test_the_page_of_what_was_found_is_in_every_file() -> None:
    found = result("file", 3, "Report", "The lamp burns.", metadata={"pages": 9})
    found = replace(found, snippet=replace(found.snippet, page=4))
    (row,) = csv.DictReader(io.StringIO(as_csv(page(found))))
    assert row["page"] == "4"
    assert "> The lamp burns. (page 4)" in as_markdown(page(found), DISPLAY, BASE)


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "＝", "＋", "－", "＠", " \t=", "\r\n@"])
def test_a_formula_is_text(sign: str) -> None:
    rows = list(
        csv.reader(io.StringIO(as_csv(page(result("note", 1, f"{sign}cmd|' /C calc'!A0")))))
    )
    assert rows[1][2] == f"'{sign.strip()}cmd|' /C calc'!A0"


@given(st.text(), st.text(), st.text(), st.lists(st.text()))
def test_any_result_is_one_row_of_every_column_and_no_cell_acts(
    title: str, text: str, project: str, tags: list[str]
) -> None:
    found = result("note", 1, title, text, project=project, tags=tuple(tags))
    written = as_csv(page(found))
    assert written.count("\r\n") == 2 == len(written.splitlines())
    rows = list(csv.reader(io.StringIO(written, newline="")))
    assert len(rows) == 2
    assert len(rows[1]) == len(COLUMNS)
    assert rows[1][6] in (one_line(project), f"'{one_line(project)}")
    assert rows[1][-2:] == ["-0.25", ""]
    assert not [cell for cell in rows[1][:-2] if cell.startswith(tuple("=+-@\t\r"))]


def test_a_list_has_links_facts_and_what_was_found() -> None:
    listed = page(
        result("note", 1, "Reading list", "Papers about *auth*.", project="web"),
        result("website", 2, "JWT [handbook]", url="https://example.org/a (b)?c=1"),
        result("file", 3, "auth.py", "auth.py", url="javascript:alert(1)"),
        total=30,
        request=SearchRequest("auth", offset=7),
        report=SearchReport(
            "hybrid", "keyword", (LegReport("vector", "failed", detail="index <away>"),)
        ),
    )
    written = f"""\
# Found 30 result(s) matching "auth"

8. [Reading list]({BASE}/v/note:1): Note, Nov 17, 2025, web, `note:1`
   > Papers about \\*auth\\*.
9. [JWT \\[handbook\\]](https://example.org/a%20%28b%29?c=1): Website, Nov 17, 2025, `website:2`
   > Text.
10. [auth.py]({BASE}/v/file:3): File, Nov 17, 2025, `file:3`

Showing 8-10 of 30; next: offset=10

Note: vector search failed (index \\<away\\>)
"""
    assert as_markdown(listed, DISPLAY, BASE) == written


def test_an_empty_result_is_stated() -> None:
    assert as_markdown(page(), DISPLAY, BASE) == '# No results found matching "auth"\n'


@given(st.text(st.sampled_from("ab1. )-+=*_`[]<>#|~&!$\\\n\t\"'(:@/é漢"), max_size=30))
def test_any_text_shows_letter_for_letter(text: str) -> None:
    shown = MarkdownIt("commonmark").render(escaped(text)).strip()
    wanted = escape(one_line(text), quote=False).replace('"', "&quot;")
    assert shown == (f"<p>{wanted}</p>" if wanted else "")
