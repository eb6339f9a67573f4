"""The domain types of mem-search: frozen values without I/O.

Parts of the pipeline exchange only these.
Times are integers: milliseconds since 1970-01-01T00:00:00Z. The glossary is docs/glossary.md.
"""

from __future__ import annotations

from mem_search.model.ingest import Batch, LedgerEntry, Location
from mem_search.model.records import (
    Citation,
    Draft,
    Kind,
    Link,
    Passage,
    Record,
    Ref,
)
from mem_search.model.requests import (
    AllOf,
    AnyOf,
    Boost,
    Condition,
    DateRange,
    Demand,
    FacetName,
    Filters,
    GraphOptions,
    MetadataTest,
    Mode,
    Not,
    Order,
    ResearchPlacement,
    ResultTexts,
    RrfOptions,
    SearchRequest,
    SortField,
    Term,
)
from mem_search.model.results import (
    NO_SCORES,
    Analyzed,
    FacetCounts,
    FoundDate,
    Hit,
    LegReport,
    Result,
    SearchPage,
    SearchReport,
    Snippet,
)

__all__ = [
    "NO_SCORES",
    "AllOf",
    "Analyzed",
    "AnyOf",
    "Batch",
    "Boost",
    "Citation",
    "Condition",
    "DateRange",
    "Demand",
    "Draft",
    "FacetCounts",
    "FacetName",
    "Filters",
    "FoundDate",
    "GraphOptions",
    "Hit",
    "Kind",
    "LedgerEntry",
    "LegReport",
    "Link",
    "Location",
    "MetadataTest",
    "Mode",
    "Not",
    "Order",
    "Passage",
    "Record",
    "Ref",
    "ResearchPlacement",
    "Result",
    "ResultTexts",
    "RrfOptions",
    "SearchPage",
    "SearchReport",
    "SearchRequest",
    "Snippet",
    "SortField",
    "Term",
]
