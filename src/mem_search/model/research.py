"""Research: stored operations, their sessions, and the index state that results depend on.

Times are milliseconds since 1970.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

OperationType = Literal["search", "fetch", "refine"]


@dataclass(frozen=True, slots=True)
class StoredResult:
    """One result of an operation; ``digest`` is the content hash of the record then, in hex."""

    ref: str
    digest: str
    relevance: float


@dataclass(frozen=True, slots=True)
class IndexState:
    """The state of store and index that results depend on.

    ``revision`` counts changes of records and scopes; ``passages`` and ``waiting`` count passages,
    all and those without an index entry; ``embedder`` is the fingerprint of the space, ``version``
    that of mem-search.
    """

    revision: int
    passages: int
    waiting: int
    embedder: str
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One step of a research session. ``request`` holds every field, so that it can be replayed.

    ``redacted``: the query contained a secret, which was not kept.
    """

    id: str
    session_id: str
    parent_id: str | None
    type: OperationType
    query: str
    mode: str = "deep_research"
    content_types: tuple[str, ...]
    request: Mapping[str, Any]
    redacted: bool = False
    results: tuple[StoredResult, ...]
    total_count: int
    took_ms: float
    report: Mapping[str, Any] = field(default_factory=dict)
    index_state: IndexState
    created_at: int = 0


@dataclass(frozen=True, slots=True)
class Session:
    """A summary of the operations that share a ``session_id``."""

    id: str
    operations: int
    first_query: str
    started_at: int
    last_at: int


@dataclass(frozen=True, slots=True)
class OperationFilter:
    """Which operations to list; an empty field matches any."""

    session_id: str = ""
    type: str = ""
    since: int | None = None
    until: int | None = None
