"""The contract with a provider: what is asked, and where its reply has the results.

Each shape is that of the provider's own OpenAPI document or reference (docs/reference/web-search.md
has what is used of it), so any endpoint that answers the same can stand in its place.
"""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

from mem_search.model.web import WebResult
from mem_search.outgoing import MAX_URL_CHARS
from mem_search.patterns import pattern
from mem_search.renderers.safe_text import cut
from mem_search.text import instructions

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

    def _result(self, item: Any) -> WebResult | None:
        url = item.get("url") if isinstance(item, Mapping) else None
        if not isinstance(url, str) or not is_address(url):
            return None
        title = _plain(item.get("title"), MAX_TITLE_CHARS) or url
        snippet = _plain(item.get(self.snippet), MAX_SNIPPET_CHARS)
        return WebResult(
            url, title, snippet, _plain(item.get(self.published), _DATE_CHARS),
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
