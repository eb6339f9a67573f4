"""Listings of searches and timelines, as text in their envelope or as JSON."""

from __future__ import annotations

from mem_search.http.schemas.common import TextReply
from mem_search.renderers.record_json import WholeRecord
from mem_search.renderers.schema import Absent, Count, HowSearched, schema
from mem_search.renderers.search_reply import Facets


@schema
class SearchListing(TextReply):
    """Results as text, with what a program needs to know about the page."""

    total: Count
    counts_by_type: dict[str, int]
    folded: Count
    weaker: Count
    facets: Facets = None
    search: HowSearched


@schema
class TimelineText(TextReply):
    """A timeline as text. `search` is there when a question had to be answered to find it."""

    anchor: str
    total: Count
    note: Absent[str] = None
    search: Absent[HowSearched] = None


@schema
class Timeline:
    """Records around the anchor, in the order of time."""

    anchor: str
    total: Count
    note: Absent[str] = None
    search: Absent[HowSearched] = None
    records: list[WholeRecord]
    tokens_used: Count


@schema
class RecentContext(TextReply):
    """The newest sessions as text; empty lists where nothing is known."""

    sessions: Absent[list[str]] = None
    observations: Absent[list[str]] = None
