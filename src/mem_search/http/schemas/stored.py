"""What the routes of ``/api/v1`` answer that remember: research, jobs, saved searches, tokens.

Replies are written next to their handlers and in ``renderers``; these describe them in OpenAPI,
and the contract test holds every reply against them.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, RootModel

from mem_search.http.schemas.universal import (
    CitationMetadata,
    Count,
    McpFetchResponse,
    SearchOperation,
    Shape,
    Share,
    Time,
    UniversalSearchResponse,
)
from mem_search.model import Kind


class Deleted(Shape):
    """What is gone: its id or name, or how many there were."""

    deleted: str | int


class Paged(Shape):
    """Base of lists in pages; ``total`` counts all."""

    total: Count
    limit: Count
    offset: Count


class WebhookDelivery(Shape):
    """What became of a message to a webhook; ``status`` is what the receiver answered."""

    id: str
    event: str
    url: str
    state: Literal["pending", "delivered", "failed"]
    attempts: Count
    status: int | None
    error: str | None
    next_attempt_at: Time | None
    ended_at: Time | None


class Progress(Shape):
    """``done`` of ``total`` steps; ``step`` is the one under way."""

    step: str
    done: Count
    total: Count


class SearchJob(Shape):
    """A search in the background. ``id`` and ``job_id`` are the same."""

    id: str
    job_id: str
    status: Literal["pending", "running", "completed", "failed", "cancelled"]
    progress: Progress
    request_payload: dict[str, Any]
    error_message: str | None
    webhook_url: str | None
    webhook_called_at: Time | None
    notification: WebhookDelivery | None
    created_at: Time
    started_at: Time | None
    completed_at: Time | None
    expires_at: Time | None


class SearchJobResult(SearchJob):
    """The same with what it found, once it has ended."""

    result_payload: UniversalSearchResponse | None


class SearchJobs(Paged):
    """Jobs without their results, the newest first."""

    jobs: list[SearchJob]


class EndedOrDeleted(RootModel[SearchJobResult | Deleted]):
    """The job that was ended; of one that had ended already, that it is forgotten."""


class ResearchStep(SearchOperation):
    """A step and where it stands. ``redacted``: its question held a secret and was not kept."""

    session_id: str
    parent_operation_id: str | None
    mode: str
    total_count: Count
    redacted: bool


class StepResult(Shape):
    """What a step found; ``content_hash`` tells whether the record is the same since."""

    id: str
    rank: int
    relevance_score: Share
    content_hash: str


class IndexState(Shape):
    """What an answer depends on besides the question."""

    revision: Count
    passages: Count
    waiting: Count
    embedder: str
    version: str


class WholeStep(ResearchStep):
    """A step with its filters, its results and the index it met."""

    request: dict[str, Any] | None
    asked_at: str | None
    result_ids: list[str]
    results: list[StepResult]
    search: dict[str, Any] | None
    index_state: IndexState


class ResearchSteps(Paged):
    """Steps, the newest first."""

    operations: list[ResearchStep]


class Moved(Shape):
    """A result whose place differs; ``null`` where it was not among them."""

    id: str
    rank_before: int | None
    rank_now: int | None


class Gone(Moved):
    """A result that is not found any more, and whether the record is deleted."""

    deleted: bool


class DriftReport(Shape):
    """What differs from the first time."""

    appeared: list[Moved]
    gone: list[Gone]
    changed: list[Moved]
    moved: list[Moved]
    rescored: list[Moved]
    total_before: Count
    total_now: Count


class Replayed(Shape):
    """A step done again; ``drift`` is null where nothing differs."""

    operation: ResearchStep
    identical: bool
    index_unchanged: bool
    index_before: IndexState
    index_now: IndexState
    drift: DriftReport | None
    result: UniversalSearchResponse | McpFetchResponse | None = Field(
        default=None, description="Left out when results are not asked for"
    )


class ReplayedSession(Shape):
    """All steps of a session done again, except those whose question was not kept."""

    session_id: str
    identical: bool
    index_unchanged: bool
    operations: list[Replayed]
    not_replayed: list[str]


class ResearchSession(Shape):
    """A session in a list."""

    session_id: str
    operations: Count
    first_query: str
    started_at: Time
    last_at: Time


class ResearchSessions(Paged):
    """Sessions, the last active first."""

    sessions: list[ResearchSession]


class StepInTree(ResearchStep):
    """A step with those that follow it."""

    children: list[StepInTree]


class SessionTree(Shape):
    """A session as the trees of its chains."""

    session_id: str
    operations: Count
    started_at: Time
    last_at: Time
    execution_time_ms: float
    tree: list[StepInTree]


class SessionSource(Shape):
    """A record that the session found, and whether it is still what it was then."""

    number: int
    id: str
    title: str | None
    url: str | None
    state: Literal["same", "changed", "gone"]
    content_hash: str | None
    reference: str | None
    citation: CitationMetadata | None
    found_by: list[str]


class ExportedSession(Shape):
    """A session with all it found and cites."""

    session_id: str
    exported_at: Time
    operations: list[WholeStep]
    sources: list[SessionSource]


class SavedSearch(Shape):
    """A saved search; ``error`` is why its last run failed."""

    name: str
    search: dict[str, Any]
    every: str | None
    inbox: bool
    webhook_url: str | None
    created_at: Time
    last_run_at: Time | None
    next_run_at: Time | None
    error: str | None


class SavedSearches(Shape):
    """All of them, by name."""

    saved_searches: list[SavedSearch]


class NewMatch(Shape):
    """What a saved search told; ``changed``: it was found before, and differs since."""

    id: str
    content_type: Kind
    title: str
    url: str
    created_at: Time
    changed: bool


class SavedSearchRun(Shape):
    """All that a saved search finds, and what of it is new."""

    saved_search: str
    new: list[NewMatch]
    new_count: Count
    notification: int | None
    result: UniversalSearchResponse


class Notification(Shape):
    """What a saved search told at one time."""

    id: int
    saved_search: str
    at: Time
    count: Count
    matches: list[NewMatch]
    read_at: Time | None
    webhook: WebhookDelivery | None


class Notifications(Paged):
    """Notifications, the newest first."""

    notifications: list[Notification]


class Scope(Shape):
    """A filter with a name."""

    name: str
    filter: str
    created_at: Time


class Scopes(Shape):
    """All of them, by name."""

    scopes: list[Scope]


class WebhookSecret(Shape):
    """What webhooks are signed with."""

    secret: str = Field(pattern="^whsec_")


class GivenToken(Shape):
    """A token without its secret."""

    name: str
    user: str
    read_only: bool
    created_at: Time
    expires_at: Time | None
    last_used_at: Time | None


class NewToken(GivenToken):
    """A token with its secret, this once."""

    token: str


class GivenTokens(Shape):
    """Those given out, by name."""

    tokens: list[GivenToken]


class RevokedToken(Shape):
    """Nobody gets in with it any more."""

    revoked: str


class KnownUser(Shape):
    """A user with a token or a store; ``bytes`` is the size of the latter."""

    name: str
    tokens: list[str]
    bytes: Count
    last_used_at: Time | None


class KnownUsers(Shape):
    """All of them, by name."""

    users: list[KnownUser]


class RemovedUser(Shape):
    """A user who is gone, and the tokens that were theirs."""

    removed: str
    revoked: list[str]
