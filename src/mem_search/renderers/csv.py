"""Results as a table for spreadsheets and scripts: CSV by RFC 4180, in UTF-8.

The first line has the names of the columns; new columns are added only at the end. A text that a
spreadsheet would run as a formula gets an apostrophe before it (OWASP, "CSV Injection").
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

from mem_search.model import SearchPage
from mem_search.renderers.safe_text import one_line
from mem_search.renderers.schema import to_values
from mem_search.renderers.search_reply import SearchResult
from mem_search.text.highlight import word_matcher

COLUMNS = (
    "ref", "kind", "title", "snippet", "created_at", "updated_at", "project", "session", "source",
    "url", "tags", "importance", "archived", "score",
)  # fmt: skip
"""Named as in JSON. Times are ISO 8601 in UTC; tags are separated by "; "."""

_NO_WORDS = word_matcher(())
_FORMULA_SIGNS = tuple("=+-@\t\r＝＋－＠")


def as_csv(page: SearchPage, columns: Sequence[str] = ()) -> str:
    """The results of ``page`` in their order, with some of ``COLUMNS`` or all."""
    columns = columns or COLUMNS
    written = io.StringIO()
    rows = csv.writer(written, lineterminator="\r\n")
    rows.writerow(columns)
    for result in page.results:
        cells = to_values(SearchResult.of(result, _NO_WORDS))
        rows.writerow([_cell(cells[name]) for name in columns])
    return written.getvalue()


def _cell(value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case int() | float():
            return repr(value)
        case list():
            return _text_cell("; ".join(value))
        case _:
            return _text_cell(value)


def _text_cell(text: str) -> str:
    line = one_line(text)
    return f"'{line}" if line.startswith(_FORMULA_SIGNS) else line
