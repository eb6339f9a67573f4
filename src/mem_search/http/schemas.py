"""What replies of several features share: texts in their envelope, lists in pages, deletions."""

from __future__ import annotations

from typing import Any, Literal, Self

from mem_search.renderers.record_json import Facets
from mem_search.renderers.schema import Count, HowSearched, projected, schema


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
