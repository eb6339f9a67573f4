"""What the viewer shows of results and of a record, as a person's terminal shows it.

The lines are those of ``renderers.identity``; a program gets ``/api/search`` and ``/api/records``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Self

from aiohttp import web
from pydantic import Field

from mem_search.http.core.parameter_types import Words
from mem_search.http.core.parameters import Parameters, SearchParameters
from mem_search.http.core.replies import json_reply
from mem_search.http.core.routing import Call
from mem_search.http.records import find, id_in_path, thread_of
from mem_search.model import Record, Result, SearchPage
from mem_search.records.origin import INSTRUCTION_LIKE
from mem_search.renderers.identity import (
    alike,
    kind_of,
    names_a_day,
    original_of,
    people_of,
    place_beside,
    title_of,
)
from mem_search.renderers.page_text import beginning, tree
from mem_search.renderers.record_json import RecordLink, SearchReply, WholeRecord, facets_of
from mem_search.renderers.record_line import DisplayOptions
from mem_search.renderers.safe_text import one_line
from mem_search.renderers.schema import Count, From, Share, Time, projected, schema
from mem_search.renderers.terminal import best_text
from mem_search.retrievers import graph
from mem_search.search.citations import words_of
from mem_search.text import urls
from mem_search.text.highlight import WordMatcher, snippet, word_matcher
from mem_search.text.stems import stored_language

_SPAN_CHARS: Final = 220
"""Characters of a span: a line of a wide window."""

_BEFORE_MATCH: Final = 28
"""Characters before the first marked word: it stands in the first line at 390 pixels."""

_MAX_WHOLE_CHARS: Final = 1_000_000
_FIRST_CHARS: Final = 8_000
"""Characters of a text that are shown before somebody asks for more."""

_MAX_LINKED: Final = 60
"""Records around one in which its links are looked up."""

Places = tuple[tuple[Count, Count], ...]


@schema
class Line:
    """What a person recognises a record by. `dated` is false where the title names its day."""

    ref: Annotated[str, From(then=str)]
    created_at: Time
    icon: str
    said: str
    before: str
    title: str
    place: str
    dated: bool
    session: str

    @classmethod
    def of(cls, record: Record, /, *, display: DisplayOptions, **more: Any) -> Self:
        before, title = title_of(record, display)
        return projected(
            cls,
            record,
            icon=display.kinds(record.kind).icon(record),
            said=kind_of(record),
            before=one_line(before),
            title=one_line(title),
            place=one_line(place_beside(record, before)),
            dated=not names_a_day(record),
            **more,
        )


@schema
class Found(Line):
    """A result. Places are `[start, end]` in code points; `alike` is equal for what is the same to
    a person, as bumps of dependencies are.
    """

    title_marks: Places
    span: str
    span_marks: Places
    page: int | None
    replaced_by: str
    instruction_like: bool
    relevance: Share | None
    scores: dict[str, float]
    similar: list[str]
    alike: str

    @classmethod
    def of_result(cls, result: Result, words: tuple[str, ...], display: DisplayOptions) -> Self:
        record = result.record
        matcher = word_matcher(words, stored_language(record.metadata))
        title = one_line(title_of(record, display)[1])
        span = _span(best_text(result, title, words, matcher), words, matcher)
        return cls.of(
            record,
            display=display,
            title_marks=matcher.spans(title),
            span=span,
            span_marks=matcher.spans(span),
            page=result.snippet.page,
            replaced_by="" if record.superseded_by is None else str(record.superseded_by),
            instruction_like=bool(record.metadata.get(INSTRUCTION_LIKE)),
            relevance=result.relevance,
            scores=dict(result.scores),
            similar=[str(ref) for ref in result.similar],
            alike=str(alike(record) or ""),
        )


@schema
class FoundPage(SearchReply):
    """A page of results; `words` are those that are marked."""

    results: list[Found]  # type: ignore[assignment]
    words: tuple[str, ...]

    @classmethod
    def of_page(cls, page: SearchPage, display: DisplayOptions) -> Self:
        words = words_of(page.report.analyzed)
        return projected(
            cls,
            page,
            results=[Found.of_result(each, words, display) for each in page.results],
            facets=facets_of(page),
            words=words,
        )


@schema
class ShownRecord(WholeRecord):
    """A record as its page shows it. `body` is its text as a tree (``renderers.page_text``), as
    much as `shown` of `length` characters; `text` is empty. `address` is where its original is in
    the web, Obsidian or the mail program; `has_file` says that it can be downloaded.
    """

    line: Line
    body: list[Any]
    length: Count
    shown: Count
    people: list[tuple[str, str]]
    path: str
    address: str
    has_file: bool
    thread: list[Line]
    attachments: list[Line]
    quoted: str


class ShownParameters(Parameters):
    """What is marked, and how much is shown."""

    words: Words = Field(default=(), description="Words to mark")
    chars: int = Field(default=_FIRST_CHARS, ge=1, le=_MAX_WHOLE_CHARS, description="How much")


async def search(call: Call) -> web.StreamResponse:
    """The results of a search, a line each and the best span of each."""
    params = call.parameters(SearchParameters)
    page = await call.search(params.search())
    return json_reply(FoundPage.of_page(page, call.display(params.tz)))


async def shown(call: Call) -> web.StreamResponse:
    """A record for its page."""
    params, display = call.parameters(ShownParameters), call.display()
    record, links = await find(call, id_in_path(call))
    call.opened(record)
    store = call.runtime.search.store
    around = await store.read(graph.related, record.number, depth=1, limit=_MAX_LINKED)
    numbers = [node.ref.number for node in around.nodes if node.ref != record.ref]
    near = list((await store.read(lambda snapshot: snapshot.records(numbers))).values())
    attached = {
        edge.end if edge.start == record.ref else edge.start
        for edge in around.edges
        if edge.relation == "attachment" and record.ref in (edge.start, edge.end)
    }
    thread = await thread_of(call, record)
    words = tuple(word.lower() for word in params.words)
    matcher = word_matcher(words) if words else None
    text = beginning(record.text, params.chars)
    if matcher and not matcher.stands_in(text) and matcher.stands_in(record.text):
        text = record.text[:_MAX_WHOLE_CHARS]
    body = await asyncio.to_thread(tree, record, text, matcher, _targets(near))
    return json_reply(
        projected(
            ShownRecord,
            record,
            text="",
            links=[RecordLink.of(link) for link in links],
            line=Line.of(record, display=display),
            body=body,
            length=len(record.text),
            shown=len(text),
            people=list(people_of(record)),
            path=_path(record),
            # Which folders this machine has is not told to others.
            address=await asyncio.to_thread(_address, record, not call.caller.user),
            has_file=record.source == "files" and Path(record.source_id).is_absolute(),
            thread=[Line.of(each, display=display) for each in thread] if len(thread) > 1 else [],
            attachments=[Line.of(each, display=display) for each in near if each.ref in attached],
            quoted=_quoted(record),
        )
    )


def _targets(records: Sequence[Record]) -> dict[str, str]:
    """What the text of a record may call those around it: title, name and path of a file."""
    targets: dict[str, str] = {}
    for record in records:
        path = original_of(record).removesuffix(".md")
        for name in (record.title, path.rpartition("/")[2], path):
            if name:
                targets.setdefault(name.casefold(), str(record.ref))
    return targets


def _span(text: str, words: tuple[str, ...], matcher: WordMatcher) -> str:
    """The part of ``text`` with the most words, which begins shortly before the first of them."""
    part = snippet(text, 0, len(text), words, length=_SPAN_CHARS)
    start = part.start
    if (marks := matcher.spans(part.text)) and marks[0][0] > _BEFORE_MATCH:
        at = start + marks[0][0] - _BEFORE_MATCH
        start = max(start, text.rfind(" ", 0, at) + 1)
    end = min(len(text), start + _SPAN_CHARS)
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"


def _path(record: Record) -> str:
    """Where the file lies that it was read from."""
    if Path(record.source_id).is_absolute():
        return record.source_id
    path = original_of(record)
    return "" if path == record.url else path


def _address(record: Record, is_owner: bool) -> str:
    """A web page, a note of Obsidian, a message of the mail program; else empty."""
    if record.url.lower().startswith(("https://", "http://")):
        return record.url
    path = Path(record.source_id)
    is_note = record.source == "files" and path.suffix == ".md" and path.is_absolute()
    if is_owner and is_note and any((each / ".obsidian").is_dir() for each in path.parents):
        return urls.of_note(str(path))
    if record.kind == "email":
        said = urls.message_id(str(record.metadata.get("message_id", "")))
        return urls.of_message(said) if said else ""
    return ""


def _quoted(record: Record) -> str:
    """What a mail quotes, and its signature."""
    parts = (record.metadata.get(name) for name in ("signature", "quoted"))
    return "\n\n".join(part for part in parts if isinstance(part, str) and part)
