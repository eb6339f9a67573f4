"""Asks a web search for what the store was asked, after the store has answered.

Every question passes the strict level before it leaves: it has no secret, no pattern of an attack
and no order to an agent, and it is counted. Only its words leave, without the fields of the query
language. What is refused, slow or broken is a state of the page, and costs no local result.

The ``Shape`` of each provider is that of its own OpenAPI document or reference
(docs/reference/web-search.md has what is used of it), so any endpoint that answers the same can
stand in its place.
"""

from __future__ import annotations

import asyncio
import html
import json
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Self
from urllib.parse import urlsplit

from aiohttp import ClientError, hdrs

from mem_search.access.callers import Caller, RateLimits, limit_error
from mem_search.errors import InputError
from mem_search.model import SearchPage
from mem_search.model.access import Policy
from mem_search.model.results import WebPage, WebResult
from mem_search.outgoing import (
    MAX_URL_CHARS,
    Lookup,
    RefusedReceiver,
    check_url,
    open_session,
    refusal_in,
)
from mem_search.patterns import pattern
from mem_search.renderers.safe_text import cut, one_line
from mem_search.search.ranking import ms
from mem_search.settings import Settings
from mem_search.storage.sql.access import Limits
from mem_search.text import instructions, secret_rules
from mem_search.text.query_attacks import flags
from mem_search.text.redaction import redact
from mem_search.text.urls import normal_url

MAX_TITLE_CHARS: Final = 300
MAX_SNIPPET_CHARS: Final = 500
MAX_READ: Final = 50
"""Results of a reply that are looked at; the rules for each take a millisecond."""
_DATE_CHARS: Final = 40
_NO_ADDRESS: Final = pattern(r"[\s\x00-\x1f\x7f]")
_TAG: Final = pattern(r"</?[a-zA-Z][^<>]{0,100}>")
"""Of HTML: Brave marks words with it."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One request without its key: parameters of a GET, or the ``body`` of a POST."""

    params: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Shape:
    """One provider's form. ``results`` is the path to the list, ``snippet`` and ``published`` the
    names of its fields; ``key_header`` and ``key_prefix`` are how the key is sent.
    """

    name: str
    base: str
    path: str
    ask: Callable[[str, int], Asked]
    results: tuple[str, ...]
    snippet: str
    published: str
    key_header: str = "Authorization"
    key_prefix: str = "Bearer "
    needs_key: bool = True

    def read(self, content: bytes) -> tuple[list[WebResult], int]:
        """The results of a reply, and how many had no usable address.

        Raises ValueError for a reply of another form.
        """
        try:
            reply = json.loads(content)
            for name in self.results:
                reply = reply.get(name, {} if name != self.results[-1] else [])
        except (ValueError, RecursionError, AttributeError):
            raise ValueError("its reply is not the JSON of this kind of provider") from None
        if not isinstance(reply, list):
            raise ValueError("its reply has no list of results")
        read = [self._result(each) for each in reply[:MAX_READ]]
        results = [each for each in read if each is not None]
        return results, len(read) - len(results)

    def _result(self, found: Any) -> WebResult | None:
        url = found.get("url") if isinstance(found, Mapping) else None
        if not isinstance(url, str) or not is_address(url):
            return None
        title = _plain(found.get("title"), MAX_TITLE_CHARS) or url
        snippet = _plain(found.get(self.snippet), MAX_SNIPPET_CHARS)
        return WebResult(
            url, title, snippet, _plain(found.get(self.published), _DATE_CHARS),
            caution=bool(instructions.flags_in(f"{title}\n{snippet}")),
        )  # fmt: skip


def is_address(url: str) -> bool:
    """Whether a person may be led there: http(s), a host, and no name or password before it."""
    if len(url) > MAX_URL_CHARS or _NO_ADDRESS.search(url):
        return False
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and "@" not in parts.netloc


def _plain(text: object, most: int) -> str:
    """One line without markup; "" of what is no text."""
    return (
        cut(html.unescape(_TAG.sub("", text[: 10 * most])), most) if isinstance(text, str) else ""
    )


SHAPES: Final = {
    shape.name: shape
    for shape in (
        Shape(
            "searxng", "", "/search",
            lambda query, _: Asked({"q": query, "format": "json"}),
            ("results",), "content", "publishedDate", needs_key=False,
        ),
        Shape(
            "brave", "https://api.search.brave.com", "/res/v1/web/search",
            lambda query, most: Asked({"q": query, "count": str(most)}),
            ("web", "results"), "description", "page_age", "X-Subscription-Token", "",
        ),
        Shape(
            "tavily", "https://api.tavily.com", "/search",
            lambda query, most: Asked(body={"query": query, "max_results": most}),
            ("results",), "content", "published_date",
        ),
    )
}  # fmt: skip


MAX_QUERY_CHARS: Final = 400
"""Brave takes no more; a longer text is a pasted one, which should not leave."""
MAX_RESULTS: Final = 10
MAX_REPLY_BYTES: Final = 1 << 20
MAX_DETAIL_CHARS: Final = 200
_SETTING: Final = pattern(r"(?P<shape>[a-z]+)(?:@(?P<base>https?://\S+))?")


class RefusedProvider(RefusedReceiver):
    """The provider has an address that the worker must not use."""

    code = "web_search_refused"
    setting = "MEM_SEARCH_FETCH_ALLOW"
    thing = "a web search"
    unnamed = "the key is MEM_SEARCH_WEB_SEARCH_KEY"


class WebSearch:
    """One provider. Raises InputError naming the setting at fault."""

    def __init__(self, settings: Settings, limits: Limits, lookup: Lookup | None = None) -> None:
        match = _SETTING.fullmatch(settings.web_search.strip())
        shape = SHAPES.get(match["shape"]) if match else None
        base = (match["base"] if match else "") or (shape.base if shape else "")
        if shape is None or not base:
            raise InputError(
                "MEM_SEARCH_WEB_SEARCH has the form searxng@URL, brave[@URL] or tavily[@URL]",
                field="web_search",
            )
        if shape.needs_key and not settings.web_search_key:
            raise InputError(
                f"{shape.name} needs a key: set MEM_SEARCH_WEB_SEARCH_KEY", field="web_search_key"
            )
        self._shape: Shape = shape
        self._allowed = settings.fetch_allow
        try:
            self._url = check_url(base.rstrip("/") + shape.path, self._allowed, RefusedProvider)
        except RefusedProvider as error:
            raise InputError(
                f"MEM_SEARCH_WEB_SEARCH: {error.message}", field="web_search"
            ) from None
        self._key = settings.web_search_key
        self._seconds = settings.web_search_seconds
        self._policies = {
            False: Policy("web-search", settings.limit_web_searches),
            True: Policy("web-research", settings.limit_research_remote),
        }
        self._limits = RateLimits(limits)
        self._lookup = lookup

    @classmethod
    def of(cls, settings: Settings, limits: Limits) -> Self | None:
        """The provider that the settings name; None where they name none."""
        return cls(settings, limits) if settings.web_search else None

    async def results_for(self, page: SearchPage, caller: Caller) -> WebPage:
        """What the web has for the question of ``page``, without the addresses that it shows."""
        started, request, analyzed = time.perf_counter(), page.request, page.report.analyzed
        query = request.text if analyzed.question is None else analyzed.question
        query = one_line(query)
        reason = await self._objection(query, request.text)
        if not reason:
            policy = self._policies[request.is_research]
            allowance = await self._limits.count(caller.budget, policy)
            if allowance is not None and not allowance.granted:
                reason = limit_error(allowance).message
        if reason:
            return WebPage(self._shape.name, "refused", reason)
        try:
            received, unusable = await self._asked(query)
        except (ClientError, OSError, TimeoutError, ValueError, RefusedReceiver) as error:
            return WebPage(
                self._shape.name, "failed", self._told(error), query, took_ms=ms(started)
            )
        known = [each.record.url for each in page.results]
        results = tuple(_new(received, known))[:MAX_RESULTS]
        left = f"{unusable} without an address of the web" if unusable else ""
        return WebPage(self._shape.name, "ok", left, query, results, ms(started))

    @staticmethod
    async def _objection(query: str, whole: str) -> str:
        """Why ``query``, of the question ``whole``, must not leave; "" where it may."""
        if not query:
            return "the question has no words beside its fields"
        if len(query) > MAX_QUERY_CHARS:
            return f"the question is longer than {MAX_QUERY_CHARS} characters; ask a shorter one"
        await secret_rules.ready()
        for text in (query, whole):
            if (await asyncio.to_thread(redact, text))[1]:
                return "the question has a secret; ask without it"
        if rules := flags(query) or await asyncio.to_thread(instructions.flags_in, query):
            return f"the question reads like an attack ({', '.join(rules)}); ask in other words"
        return ""

    async def _asked(self, query: str) -> tuple[list[WebResult], int]:
        """Raises ValueError for an answer that is of no use, and what aiohttp raises."""
        shape, asked = self._shape, self._shape.ask(query, MAX_RESULTS)
        headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        if self._key:
            headers[shape.key_header] = shape.key_prefix + self._key
        async with (
            asyncio.timeout(self._seconds),
            open_session(
                self._allowed, self._seconds, headers, self._lookup, RefusedProvider
            ) as session,
            session.request(
                "GET" if asked.body is None else "POST", self._url.update_query(asked.params),
                json=asked.body, allow_redirects=False,
            ) as reply,
        ):  # fmt: skip
            if reply.status != 200:
                step = "; check MEM_SEARCH_WEB_SEARCH_KEY" if reply.status in (401, 403) else ""
                raise ValueError(f"status {reply.status}{step}")
            if reply.headers.get(hdrs.CONTENT_ENCODING, "identity").lower() != "identity":
                raise ValueError("it sends only compressed data")
            content = bytearray()
            async for piece in reply.content.iter_any():
                content += piece
                if len(content) > MAX_REPLY_BYTES:
                    raise ValueError(f"its reply is larger than {MAX_REPLY_BYTES >> 20} MB")
        # Rules look at every text: not in the thread of the event loop.
        return await asyncio.to_thread(shape.read, bytes(content))

    def _told(self, error: BaseException) -> str:
        """The failure in a few words, without the key and the question."""
        if isinstance(error, TimeoutError):
            return f"no answer within {self._seconds:g} seconds"
        if refused := refusal_in(error):
            return refused.message
        if type(error) is ValueError:
            return cut(str(error), MAX_DETAIL_CHARS)
        return f"it cannot be reached ({type(error).__name__})"


async def with_web(
    web: WebSearch | None, page: SearchPage, caller: Caller
) -> tuple[SearchPage, WebPage | None]:
    """What the web gave, and ``page`` with a notice of what it did not; later pages ask none."""
    if web is None or page.request.offset:
        return page, None
    web_page = await web.results_for(page, caller)
    if not web_page.notice:
        return page, web_page
    report = replace(page.report, notices=(*page.report.notices, web_page.notice))
    return replace(page, report=report), web_page


def _new(results: Iterable[WebResult], known: Collection[str]) -> Iterable[WebResult]:
    """Those of ``results`` with an address that no other has."""
    seen = {normal_url(url) for url in known}
    for each in results:
        if (normal := normal_url(each.url)) not in seen:
            seen.add(normal)
            yield each
