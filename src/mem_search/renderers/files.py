"""Results as files: a table for spreadsheets and scripts, and a Markdown list with links.

CSV is by RFC 4180, in UTF-8. The first line has the names of the columns; new columns are added
only at the end. A text that a spreadsheet would run as a formula gets an apostrophe before it
(OWASP, "CSV Injection").

In Markdown, text of records is never markup: the signs of CommonMark are escaped, and only web
addresses become links. A record without an address links to its page in the worker.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote

from mem_search.model import Record, Result, SearchPage
from mem_search.patterns import pattern
from mem_search.renderers.listing import heading, notes, paging
from mem_search.renderers.record_json import SearchResult
from mem_search.renderers.record_line import DisplayOptions
from mem_search.renderers.safe_text import one_line
from mem_search.renderers.schema import to_values
from mem_search.renderers.universal import url_of
from mem_search.renderers.why import page_of
from mem_search.text.highlight import word_matcher

COLUMNS = (
    "ref", "kind", "title", "snippet", "created_at", "updated_at", "project", "session", "source",
    "url", "tags", "importance", "archived", "score",
    "page",
)  # fmt: skip
"""Named as in JSON. Times are ISO 8601 in UTC; tags are separated by "; ". The page is
that of the snippet."""

_NO_WORDS = word_matcher(())
_FORMULA_SIGNS = tuple("=+-@\t\r＝＋－＠")


def as_csv(page: SearchPage, columns: Sequence[str] = ()) -> str:
    """The results of ``page`` in their order, with some of ``COLUMNS`` or all."""
    columns = columns or COLUMNS
    written = io.StringIO()
    rows = csv.writer(written, lineterminator="\r\n")
    rows.writerow(columns)
    for result in page.results:
        cells = to_values(SearchResult.of(result, _NO_WORDS)) | {"page": result.snippet.page}
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


_SIGNS = pattern(r"([\\`*_{}\[\]<>#|~&!$])")
_BLOCK = pattern(r"^(?:([-+=])|(\d+)([.)]))")
"""What begins a list or underlines a heading at the start of a line."""
_IN_ADDRESS = "/:?#[]@!$&'*+,;=%~"


def as_markdown(page: SearchPage, display: DisplayOptions, base: str) -> str:
    """The listing of ``page``; ``base`` is the address of the worker, ``http://127.0.0.1:37777``."""
    first = page.request.offset + 1
    entries = [
        _entry(number, result, display, base) for number, result in enumerate(page.results, first)
    ]
    remarks = [escaped(line) for line in (paging(page, display), *notes(page, display)) if line]
    blocks = [f"# {escaped(heading(page, display).rstrip(':'))}", "\n".join(entries), *remarks]
    return "\n\n".join(block for block in blocks if block) + "\n"


def escaped(text: str) -> str:
    """``text`` on one line, escaped so that Markdown shows it unchanged."""
    signs = _SIGNS.sub(r"\\\1", one_line(text))
    return _BLOCK.sub(lambda found: f"{found[2] or ''}\\{found[1] or found[3]}", signs)


def _entry(number: int, result: Result, display: DisplayOptions, base: str) -> str:
    record = result.record
    kind = display.kinds(record.kind)
    facts = ", ".join(
        fact
        for fact in (kind.label, display.day(record.created_at), escaped(record.project))
        if fact
    )
    line = f"{number}. [{escaped(kind.title(record))}]({_address(record, base)}): {facts}"
    lines = [f"{line}, `{record.ref}`", *_quoted(result, " " * len(f"{number}. "))]
    return "\n".join(lines)


def _quoted(result: Result, indent: str) -> Iterator[str]:
    """The snippet as a quotation, unless it repeats the title."""
    words = one_line(result.snippet.text)
    if words and words != one_line(result.record.title):
        where = f" (page {page})" if (page := page_of(result)) else ""
        yield f"{indent}> {escaped(words)}{where}"


def _address(record: Record, base: str) -> str:
    return quote(one_line(url_of(record, base)), safe=_IN_ADDRESS)
