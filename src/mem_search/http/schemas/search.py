"""The listing of a search, as text in its envelope."""

from __future__ import annotations

from mem_search.http.schemas.common import TextReply
from mem_search.renderers.schema import Count, HowSearched, schema
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
