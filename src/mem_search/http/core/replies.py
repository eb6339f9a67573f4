"""Replies: JSON, web pages, and texts in the envelope that existing clients read. What replies
of several features share: that envelope, pages of a list, deletions.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import logging
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from functools import partial
from html import escape
from os import SEEK_END
from typing import IO, Any, Final, Literal, Self

from aiohttp import web

from mem_search.model import Record, Result, SearchPage
from mem_search.records.canonical_text import listed
from mem_search.renderers import DisplayOptions, fitted
from mem_search.renderers.identity import table
from mem_search.renderers.record_json import Facets, facets_of, title_of
from mem_search.renderers.safe_text import one_line
from mem_search.renderers.schema import Count, HowSearched, projected, schema, to_json
from mem_search.renderers.terminal import Screen, listing
from mem_search.renderers.token_budget import page_json
from mem_search.search.citations import words_of
from mem_search.text import token_count
from mem_search.text.highlight import WordMatcher, snippet, word_matcher
from mem_search.text.stems import stored_language

log = logging.getLogger(__name__)

TERMINAL: Final = "X-Terminal"
"""The header by which the command line says that a person's terminal shows the text
(``terminal.Screen``)."""

TEXT = "text/plain"
JSON = "application/json"
HTML = "text/html"
_PIECE: Final = 1 << 18
"""Bytes of a file that are sent at once."""


@schema
class TextContent:
    """A text as MCP writes it."""

    type: Literal["text"] = "text"
    text: str


@schema
class TextReply:
    """A text with what it costs; `Accept: text/plain` returns the text alone."""

    content: list[TextContent]
    tokens_used: Count


@schema
class Paged:
    """One page of a list; `total` counts all of its pages."""

    total: Count
    limit: Count
    offset: Count

    @classmethod
    def of(cls, listing: Any, total: int, /, **items: Any) -> Self:
        """The page that the parameters ``listing`` ask for, with its ``items`` under their name."""
        return projected(cls, listing, total=total, **items)


@schema
class Deleted:
    """The id or name of what was deleted, or how many there were."""

    deleted: str | int


@schema
class SearchListing(TextReply):
    """Results as text, with what a program needs to know about the page."""

    total: Count
    counts_by_type: dict[str, int]
    folded: Count
    weaker: Count
    facets: Facets = None
    search: HowSearched


def json_reply(value: Any, status: int = 200, kind: Any = None) -> web.Response:
    """``value`` as JSON: a schema, or plain values; ``kind`` is its type where it is a list."""
    return web.Response(status=status, body=to_json(value, kind), content_type=JSON)


def text_reply(
    request: web.Request,
    text: str,
    envelope: Callable[..., TextReply] = TextReply,
    tokens: int | None = None,
) -> web.Response:
    """``text`` alone when plain text is preferred, else in its ``envelope``.

    The envelope says what the text costs: ``tokens`` where they are counted already.
    """
    if prefers(request, TEXT):
        return web.Response(
            body=(text + "\n").encode("utf-8", "replace"), content_type=TEXT, charset="utf-8"
        )
    return json_reply(
        envelope(
            content=[TextContent(text=text)],
            tokens_used=token_count.count(text) if tokens is None else tokens,
        )
    )


def page_reply(
    request: web.Request,
    page: SearchPage,
    format: str,  # noqa: A002 - the word callers write
    display: DisplayOptions,
    *,
    title: str = "",
    max_tokens: int | None = None,
    snippets: bool = False,
    fields: Collection[str] = (),
) -> web.Response:
    """A page of results in ``format``, within ``max_tokens``; the others as the parameters."""
    if format == "json":
        return web.Response(body=page_json(page, max_tokens, fields), content_type=JSON)
    if format == "tsv":
        return web.Response(
            body=table(page, display).encode("utf-8", "replace"), content_type=TEXT, charset="utf-8"
        )
    screen = screen_of(request) if format == "index" and max_tokens is None else None
    if screen is not None:
        return text_reply(request, listing(page, display, screen, snippets), tokens=0)
    display = replace(display, why=why_found(page)) if snippets else display
    shown = fitted(page, format, display, max_tokens, title=title)
    envelope = partial(
        SearchListing,
        total=shown.page.total,
        counts_by_type=dict(shown.page.counts),
        folded=shown.page.folded,
        weaker=shown.page.weaker,
        facets=facets_of(shown.page) if shown.page.facets else None,
        search=HowSearched.of(shown.page.report),
    )
    return text_reply(request, shown.text, envelope, shown.tokens)


def screen_of(request: web.Request) -> Screen | None:
    """The person's terminal that shows the text of the reply; None for a program or an agent."""
    return Screen.read(request.headers.get(TERMINAL, "")) if prefers(request, TEXT) else None


async def sent_file(
    request: web.Request, file: IO[bytes], headers: Mapping[str, str]
) -> web.StreamResponse:
    """Send an open file from its beginning, in pieces; its size is announced."""
    size = await asyncio.to_thread(file.seek, 0, SEEK_END)
    await asyncio.to_thread(file.seek, 0)
    reply = web.StreamResponse(headers={**headers, "Content-Length": str(size)})
    await reply.prepare(request)
    try:
        while piece := await asyncio.to_thread(file.read, _PIECE):
            await reply.write(piece)
        await reply.write_eof()
    except ConnectionResetError:
        log.info("a file was not read to its end: the reader has gone")
    return reply


def style_policy(style: str) -> str:
    """A Content-Security-Policy under which only ``style`` has any effect."""
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none';"
        " frame-ancestors 'none'"
    )


def html_page(title: str, style: str, body: str) -> str:
    """A page with one style and nothing from outside; ``body`` is HTML, ``title`` is text."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        f"{body}</body>\n</html>\n"
    )


def prefers(request: web.Request, media: str, other: str = JSON) -> bool:
    """Whether the Accept header names ``media`` before ``other``; wildcards name neither."""
    weights: dict[str, float] = {}
    for item in request.headers.get("Accept", "").lower().split(","):
        named, *parameters = map(str.strip, item.split(";"))
        weight = 1.0
        for parameter in reversed(parameters):
            name, _, value = parameter.partition("=")
            if name.strip() == "q":
                try:
                    weight = float(value)
                except ValueError:
                    weight = 0.0
        weights[named] = max(weights.get(named, 0.0), weight)
    return weights.get(media, 0.0) > weights.get(other, 0.0)


WIDTH = 92
"""Characters of the line: with its indentation it fits a terminal of 100 columns."""

_FILES = ("path", "files_modified", "files_read")
"""Metadata with names of files."""

_IN_A_NAME = "in a file name, "

_IN_THE_TEXT, _BY_MEANING = "in the text: ", "by meaning: "
_ON_A_PAGE = {
    "": "page {}: ", _IN_THE_TEXT: "on page {}: ", _BY_MEANING: "by meaning, page {}: ",
}  # fmt: skip

_SIGNS = " .,;:!?)]}>*#|/-–—•"
"""What a snippet does not begin with: the end of a sentence before it, and signs of lists."""

_SAME = 40
"""Characters of a snippet that repeat the title when they are equal."""


def why_found(page: SearchPage) -> Callable[[Result], str]:
    """A function that gives the line of a result of ``page``, without a line break; or ""."""
    words = words_of(page.report.analyzed)
    ranked = bool(words) and page.report.realised != "filter"

    def why(result: Result) -> str:
        matcher = word_matcher(words, stored_language(result.record.metadata))
        title = one_line(title_of(result.record))
        reason = _reason(result, matcher) if ranked and not matcher.stands_in(title) else ""
        text, around = result.snippet.text, words
        if (page := result.found_on) and not reason.startswith(_IN_A_NAME):
            reason = _ON_A_PAGE[reason].format(page)
        if reason.startswith(_IN_A_NAME):  # the reason has the words; the text says what it is
            text, around = result.record.text.removeprefix(result.record.title), ()
        cut = snippet(text, 0, len(text), around, length=WIDTH - len(reason))
        shown = one_line(cut.text).lstrip(_SIGNS)
        if title.startswith(shown[:_SAME]):
            return reason.removesuffix(": ")
        return f"{reason}{shown}"

    return why


def _reason(result: Result, matcher: WordMatcher) -> str:
    """Where the words are that the title does not have."""
    text = result.snippet.text
    places = matcher.spans(text)
    names = list(_files(result.record))
    named = [(at, at + len(name)) for name in names if (at := text.find(name)) >= 0]
    only_names = all(any(a <= start and end <= b for a, b in named) for start, end in places)
    if not only_names or (not places and matcher.stands_in(result.record.text.replace(text, ""))):
        return _IN_THE_TEXT
    if name := next((name for name in names if matcher.stands_in(name)), ""):
        return f"{_IN_A_NAME}{one_line(name)[: WIDTH // 2]}: "
    return _BY_MEANING


def _files(record: Record) -> Iterator[str]:
    for field in _FILES:
        yield from listed(record.metadata.get(field))
