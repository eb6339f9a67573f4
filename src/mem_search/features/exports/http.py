"""Results of a search as a file: a table, a list, JSON, or citations of what was found.

CSV is by RFC 4180, in UTF-8. The first line has the names of the columns; new columns are added
only at the end. A text that a spreadsheet would run as a formula gets an apostrophe before it
(OWASP, "CSV Injection").

In Markdown, text of records is never markup: the signs of CommonMark are escaped, and only web
addresses become links. A record without an address links to its page in the worker.
"""

from __future__ import annotations

import asyncio
import csv
import io
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal, Self
from urllib.parse import quote

from aiohttp import web
from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from mem_search.errors import MemSearchError
from mem_search.features.citations.formats import BY_NAME, FORMATS
from mem_search.features.citations.http import file_reply, items_of
from mem_search.http.core.parameter_types import Kinds
from mem_search.http.core.parameters import FilterParameters, SearchParameters, also
from mem_search.http.core.routing import Call, Route
from mem_search.http.jobs import NDJSON
from mem_search.model import Record, Result, SearchPage
from mem_search.model.records import RecordWithLinks
from mem_search.patterns import pattern
from mem_search.renderers.listing import heading, notes, paging
from mem_search.renderers.record_json import ChosenReply, SearchReply, SearchResult
from mem_search.renderers.record_line import DisplayOptions
from mem_search.renderers.safe_text import one_line
from mem_search.renderers.schema import to_values
from mem_search.renderers.token_budget import fits, page_json, shortened
from mem_search.renderers.universal import url_of
from mem_search.sources.jsonl import export_line, export_tombstone
from mem_search.text import token_count
from mem_search.validation import nearest

log = logging.getLogger(__name__)

PAGE = 200


class ExportParameters(FilterParameters):
    """Which records to export; all of them by default."""

    types: Kinds = Field(
        default=(), alias="kinds", description="Kinds of record", json_schema_extra=also("types")
    )


async def export_records(call: Call) -> web.StreamResponse:
    """Stream the records in the order they were stored."""
    params = call.parameters(ExportParameters)
    filters = params.filters(params.types)
    store = call.runtime.store
    # They belong to a copy of everything, and say nothing about a part.
    refused = [] if filters else await store.forgetting.tombstones(None, PAGE)
    # The first page is read before the first byte is sent, so an early error is still a problem.
    page = await store.records.export_page(filters, 0, PAGE)
    reply = web.StreamResponse(headers={"Content-Type": NDJSON})
    reply.headers["Content-Disposition"] = 'attachment; filename="mem-search.jsonl"'
    await reply.prepare(call.request)
    try:
        while refused:
            await reply.write("".join(f"{export_tombstone(t)}\n" for t in refused).encode())
            refused = await store.forgetting.tombstones(refused[-1], PAGE)
        while page:
            await reply.write(_lines(page))
            page = await store.records.export_page(filters, page[-1][0].number, PAGE)
        await reply.write_eof()
    except MemSearchError as error:
        # Too late for a problem detail: the client notices that the reply is incomplete.
        log.error("export ended early: %s", error.message)
        if call.request.transport is not None:
            call.request.transport.abort()
    except ConnectionResetError:
        log.info("export ended early: the client disconnected")
    return reply


def _lines(page: list[RecordWithLinks]) -> bytes:
    return b"".join(
        export_line(record, links).encode("utf-8", "backslashreplace") + b"\n"
        for record, links in page
    )


ExportFormat = Literal[
    "csv", "json", "markdown", "bibtex", "ris", "csl-json", "apa", "mla", "chicago"
]
MAX_PAGE_RECORDS = 500
_TABLES = {"csv": ("text/csv", "csv"), "markdown": ("text/markdown", "md"),
           "json": ("application/json", "json")}  # fmt: skip


CONTENT_TYPES = tuple(
    dict.fromkeys([*(kind for kind, _ in _TABLES.values()), *(f.content_type for f in FORMATS)])
)


class SearchExportParameters(SearchParameters):
    """A search over all kinds whose results become a file."""

    format: ExportFormat = Field(  # type: ignore[assignment] # a file instead of a listing
        alias="as",
        description="The format: a table, JSON, a list with links, or citations",
        json_schema_extra=also("format"),
    )
    limit: int = Field(default=100, ge=1, le=MAX_PAGE_RECORDS, description="How many at most")

    @model_validator(mode="after")
    def _has_columns(self) -> Self:
        if self.format == "csv" and (others := [n for n in self.fields if n not in COLUMNS]):
            raise PydanticCustomError(
                "at:fields",
                "a table has no column {name}; {near}",
                {"name": repr(others[0]), "near": nearest(others[0], COLUMNS)},
            )
        return self

    @model_validator(mode="after")
    def _has_a_place_for_counts(self) -> Self:
        if self.facets and self.format != "json":
            raise PydanticCustomError(
                "at:facets",
                "a file of format {name} has no place for counts; leave them out, or choose json",
                {"name": self.format},
            )
        return self


async def export_results(call: Call) -> web.StreamResponse:
    """Search as ``/api/search`` does; the headers say how many there are and how to go on."""
    params = call.parameters(SearchExportParameters)
    page = await call.search(params.search(), current=True)
    page = replace(page, results=page.relevant)
    text, page = await asyncio.to_thread(_written, call, params, page)
    content_type, suffix = _TABLES.get(params.format) or _of_citation(params.format)
    headers = {
        "Content-Disposition": f'attachment; filename="mem-search.{suffix}"',
        "X-Total-Count": str(page.total),
    }
    following = page.request.offset + len(page.results)
    if following < page.total:
        headers["X-Next-Offset"] = str(following)
        if page.results:  # else the next page would be this one again
            next_page = call.request.rel_url.update_query(offset=following)
            headers["Link"] = f'<{next_page}>; rel="next"'
    return file_reply(text, content_type, headers=headers)


def _written(
    call: Call, params: SearchExportParameters, page: SearchPage
) -> tuple[str, SearchPage]:
    """The file and its page of results, shortened until the file fits ``max_tokens``."""
    write = _writer(call, params)
    whole, kept, limit = page, len(page.results), params.max_tokens
    text = write(page)
    while limit is not None and kept and not fits(text, limit):
        # The estimate by size writes the file about twice; to try each length would be slow.
        kept = min(kept - 1, kept * limit // token_count.count(text))
        page = shortened(whole, kept, limit)
        text = write(page)
    return text, page


def _writer(call: Call, params: SearchExportParameters) -> Callable[[SearchPage], str]:
    match params.format:
        case "csv":
            return lambda page: as_csv(page, params.fields)
        case "json":
            return lambda page: page_json(page, None, params.fields).decode()
        case "markdown":
            base, display = call.base, call.display(params.tz)
            return lambda page: as_markdown(page, display, base)
        case citation:
            write = BY_NAME[citation].write
            return lambda page: write(
                items_of(
                    call,
                    [result.record for result in page.results],
                    params.tz,
                    [result.found_on for result in page.results],
                )
            )


def _of_citation(name: str) -> tuple[str, str]:
    form = BY_NAME[name]
    return form.content_type, form.suffix


# fmt: off
ROUTES = (
    Route("GET", "/api/export", export_records, "Export all records, one a line", "import", ExportParameters, write=True, content_type=NDJSON),
    Route("GET", "/api/search/export", export_results, "Export the results of a search as a file", "citations", SearchExportParameters, content_type="text/csv", other_types=CONTENT_TYPES, response=SearchReply | ChosenReply, private=True),
)


COLUMNS = (
    "ref", "kind", "title", "snippet", "created_at", "updated_at", "project", "session", "source",
    "url", "tags", "importance", "archived", "score", "page",
)  # fmt: skip
"""Named as in JSON. Times are ISO 8601 in UTC; tags are separated by "; ". The page is
that of the snippet."""

_FORMULA_SIGNS = tuple("=+-@\t\r＝＋－＠")


def as_csv(page: SearchPage, columns: Sequence[str] = ()) -> str:
    """The results of ``page`` in their order, with some of ``COLUMNS`` or all."""
    columns = columns or COLUMNS
    written = io.StringIO()
    rows = csv.writer(written, lineterminator="\r\n")
    rows.writerow(columns)
    for result in page.results:
        cells = to_values(SearchResult.of(result, ())) | {"page": result.snippet.page}
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
    return _BLOCK.sub(lambda match: f"{match[2] or ''}\\{match[1] or match[3]}", signs)


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
        where = f" (page {page})" if (page := result.found_on) else ""
        yield f"{indent}> {escaped(words)}{where}"


def _address(record: Record, base: str) -> str:
    return quote(one_line(url_of(record, base)), safe=_IN_ADDRESS)
