"""Replies of suggestions and of the log of searches."""

from __future__ import annotations

from typing import Literal

from mem_search.renderers.schema import Count, Time, schema


@schema
class Completion:
    """A text that could be typed, what it is, and how many records have it."""

    text: str
    what: Literal["word", "title", "project", "tag", "file"]
    records: Count


@schema
class Completions:
    """How `prefix` may go on, best first."""

    prefix: str
    completions: list[Completion]
    total: Count


@schema
class RelatedSearch:
    """A further search, and where it comes from."""

    text: str
    what: Literal["tag", "concept", "title", "asked before"]


@schema
class RelatedSearches:
    """Further searches for a question."""

    query: str
    related: list[RelatedSearch]


@schema
class LoggedQuery:
    """A question: how often and when last it was searched, and how many records matched then."""

    query: str
    times: Count
    last_at: Time
    total: Count


@schema
class LoggedQueries:
    """Questions of the search log."""

    queries: list[LoggedQuery]


@schema
class LoggedSearch:
    """One search of the log; `filters` is a digest, empty for none."""

    at: Time
    query: str
    filters: str
    mode: str
    total: Count
    took_ms: float
    surface: str


@schema
class LoggedSearches:
    """Searches of the log, slowest first."""

    searches: list[LoggedSearch]
