"""Replies of research: operations, sessions, replays and exports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self

from mem_search.features.research.export import Export
from mem_search.features.research.service import Change, Drift, Replay
from mem_search.http.core.replies import Paged
from mem_search.http.universal_requests import request_body
from mem_search.model import results
from mem_search.model.results import Operation, Session
from mem_search.renderers.schema import Count, From, Projection, Share, Time, projected, schema
from mem_search.renderers.universal import (
    CitationMetadata,
    McpFetchResponse,
    SearchOperation,
    UniversalSearchResponse,
)


@schema
class ResearchStep(SearchOperation):
    """A step and its place in the chain.

    `redacted`: its question contained a secret and was not stored.
    """

    session_id: str
    parent_operation_id: Annotated[str | None, From("parent_id")]
    mode: str
    total_count: Count
    redacted: bool


@schema
class StepResult:
    """A result of a step; `content_hash` tells whether the record is still the same."""

    id: str
    rank: int
    relevance_score: Share
    content_hash: str


@schema
class IndexState(Projection[results.IndexState]):
    """The state of store and index that results depend on."""

    revision: Count
    passages: Count
    waiting: Count
    embedder: str
    version: str


@schema
class WholeStep(ResearchStep):
    """A step with its filters, its results and the state of the index at that time."""

    request: dict[str, Any] | None
    asked_at: str | None
    result_ids: list[str]
    results: list[StepResult]
    search: dict[str, Any] | None
    index_state: IndexState

    @classmethod
    def whole(cls, operation: Operation) -> Self:
        return cls.of(
            operation,
            request=request_body(operation.request),
            asked_at=operation.request.get("asked_at"),
            result_ids=[f"local:{seen.ref}" for seen in operation.results],
            results=[
                StepResult(
                    id=f"local:{seen.ref}",
                    rank=rank,
                    relevance_score=seen.relevance,
                    content_hash=seen.digest,
                )
                for rank, seen in enumerate(operation.results, start=1)
            ],
            search=dict(operation.report) or None,
        )


@schema
class ResearchSteps(Paged):
    """Steps, newest first."""

    operations: list[ResearchStep]


@schema
class Moved:
    """A result whose place differs; `null` where it was not among the results."""

    id: str
    rank_before: int | None
    rank_now: int | None

    @classmethod
    def of(cls, change: Change, /, **more: Any) -> Self:
        return cls(
            id=f"local:{change.ref}", rank_before=change.before, rank_now=change.after, **more
        )


@schema
class Gone(Moved):
    """A result that no longer matches, and whether the record was deleted."""

    deleted: bool


@schema
class DriftReport:
    """What differs from the first time."""

    appeared: list[Moved]
    gone: list[Gone]
    changed: list[Moved]
    moved: list[Moved]
    rescored: list[Moved]
    total_before: Count
    total_now: Annotated[Count, From("total_after")]

    @classmethod
    def of(cls, drift: Drift, deleted: frozenset[str]) -> Self:
        return projected(
            cls,
            drift,
            gone=[Gone.of(each, deleted=each.ref in deleted) for each in drift.gone],
        )


@schema
class Replayed:
    """A step done again; `drift` is null where nothing differs.

    `result` is left out unless results are requested, and null where there is none.
    """

    operation: ResearchStep
    identical: Annotated[bool, From("is_identical")]
    index_unchanged: Annotated[bool, From("is_same_index")]
    index_before: Annotated[IndexState, From("operation.index_state")]
    index_now: Annotated[IndexState, From("index_state")]
    drift: DriftReport | None

    @classmethod
    def of(cls, done: Replay, /, **more: Any) -> Self:
        return projected(
            cls,
            done,
            operation=ResearchStep.of(done.operation),
            drift=DriftReport.of(done.drift, done.deleted) if done.drift else None,
            **more,
        )


@schema
class ReplayedResult(Replayed):
    """A step done again, with its new result; null for a record that was deleted."""

    result: UniversalSearchResponse | McpFetchResponse | None


@schema
class ReplayedSession:
    """All steps of a session done again, except those whose question was not stored."""

    session_id: str
    identical: bool
    index_unchanged: bool
    operations: list[ReplayedResult | Replayed]
    not_replayed: list[str]


@schema
class ResearchSession(Projection[Session]):
    """A session in a list."""

    session_id: Annotated[str, From("id")]
    operations: Count
    first_query: str
    started_at: Time
    last_at: Time


@schema
class ResearchSessions(Paged):
    """Sessions, the last active first."""

    sessions: list[ResearchSession]


@schema
class StepInTree(ResearchStep):
    """A step with the steps that follow it."""

    children: list[StepInTree]


@schema
class SessionTree:
    """A session as the trees of its chains."""

    session_id: str
    operations: Count
    started_at: Time
    last_at: Time
    execution_time_ms: float
    tree: list[StepInTree]

    @classmethod
    def of(cls, session: str, steps: Sequence[Operation]) -> Self:
        """``steps`` are all of the session, in their order."""
        nodes: dict[str, StepInTree] = {}
        roots: list[StepInTree] = []
        for step in steps:
            node = nodes[step.id] = StepInTree.of(step, children=[])
            parent = nodes.get(step.parent_id or "")
            (parent.children if parent is not None else roots).append(node)
        return cls(
            session_id=session,
            operations=len(steps),
            started_at=steps[0].created_at,
            last_at=steps[-1].created_at,
            execution_time_ms=round(sum(each.took_ms for each in steps), 3),
            tree=roots,
        )


@schema
class SessionSource:
    """A record that the session found, and whether it is still the same."""

    number: int
    id: str
    title: str | None
    url: str | None
    state: Literal["same", "changed", "gone"]
    content_hash: str | None
    reference: str | None
    citation: CitationMetadata | None
    found_by: list[str]


@schema
class ExportedSession:
    """A session with everything that it found and cites."""

    session_id: str
    exported_at: Time
    operations: list[WholeStep]
    sources: list[SessionSource]

    @classmethod
    def of(cls, export: Export) -> Self:
        return cls(
            session_id=export.session_id,
            exported_at=export.exported_at,
            operations=[WholeStep.whole(operation) for operation in export.operations],
            sources=[_source(export, ref, number) for ref, number in export.numbers.items()],
        )


def _source(export: Export, ref: str, number: int) -> SessionSource:
    source = export.sources[ref]
    return SessionSource(
        number=number,
        id=f"local:{ref}",
        title=source.citation.source_title if source.citation else None,
        url=source.url or None,
        state=export.state(ref),
        content_hash=source.digest or None,
        reference=source.reference or None,
        citation=CitationMetadata.of(source.citation) if source.citation else None,
        found_by=[
            operation.id
            for operation in export.operations
            if any(seen.ref == ref for seen in operation.results)
        ],
    )
