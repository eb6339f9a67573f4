"""The universal search as frozen values: what is asked, and what is found with its citations.

The contract of seed 000 in our nouns. HTTP, MCP, the command line, background jobs and research
chains all hand over a ``UniversalQuery`` and get a ``UniversalPage``; how a page is written as
JSON is ``renderers/universal.py``. Times are milliseconds since 1970, ends included.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from mem_search.model import Boost, DateRange, Kind, Record, SearchReport
from mem_search.model import Citation as Citation

SearchMode = Literal["basic", "deep_research"]
SearchType = Literal["keyword", "semantic", "hybrid"]
SNIPPET_LENGTH = 200
ANY_TIME = DateRange()
MOST_OPERATIONS = 10


@dataclass(frozen=True, slots=True)
class UniversalQuery:
    """One universal search. ``kinds`` empty is all; ``snippet_length`` None is no snippets.

    ``session_id`` and ``parent_operation_id`` place it in a research chain of at most
    ``max_operations`` steps; they mean something in ``deep_research`` only. ``scope`` is the name
    of a saved filter; ``stored`` is when a record came into the store, or changed there.
    """

    text: str
    kinds: tuple[Kind, ...] = ()
    mode: SearchMode = "basic"
    search_type: SearchType = "keyword"
    limit: int = 50
    offset: int = 0
    created: DateRange = ANY_TIME
    updated: DateRange = ANY_TIME
    folder: str = ""
    domain: str = ""
    archived: bool | None = None
    snippet_length: int | None = SNIPPET_LENGTH
    full_content: bool = False
    session_id: str = ""
    parent_operation_id: str = ""
    max_operations: int = MOST_OPERATIONS
    scope: str = ""
    boosts: tuple[Boost, ...] = ()
    stored: DateRange = ANY_TIME


@dataclass(frozen=True, slots=True)
class Span:
    """``record.text[start:end]``, exactly, and the SHA-256 of its UTF-8 bytes in hex."""

    text: str
    start: int
    end: int
    sha256: str
    page: int | None = None


@dataclass(frozen=True, slots=True)
class Annotation:
    """A matching passage that can be cited, with its surroundings (``highlight``)."""

    span: Span
    source_id: str
    highlight: str = ""


@dataclass(frozen=True, slots=True)
class UniversalItem:
    """One result. ``relevance`` lies in 0..1 and falls with the place on the page."""

    record: Record
    relevance: float
    citation: Citation
    snippet: Span | None = None
    match_fields: tuple[str, ...] = ()
    full_content: str | None = None
    annotations: tuple[Annotation, ...] | None = None
    scores: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class UniversalPage:
    """Results, the true totals, and how it was done: ``report`` names every leg that failed."""

    query: UniversalQuery
    items: tuple[UniversalItem, ...]
    total: int
    counts: Mapping[str, int]
    took_ms: float
    report: SearchReport
    beside: Mapping[str, Any] = field(default_factory=dict)
    """What a research chain adds: ``operations``, ``session_id``."""
