"""Replies of what is saved: searches, notifications, scopes, and the messages to webhooks."""

from __future__ import annotations

from typing import Any, Literal, Self

from mem_search.http.schemas.common import Paged
from mem_search.http.schemas.universal_requests import request_body
from mem_search.model import saved_searches as stored
from mem_search.model.saved_searches import Delivery
from mem_search.renderers.schema import Count, Time, schema
from mem_search.renderers.universal import UniversalSearchResponse
from mem_search.research import saved_searches


@schema
class WebhookDelivery:
    """A message to a webhook; `status` is the HTTP status of the receiver's last answer."""

    id: str
    event: str
    url: str
    state: Literal["pending", "delivered", "failed"]
    attempts: Count
    status: int | None
    error: str | None
    next_attempt_at: Time | None
    ended_at: Time | None

    @classmethod
    def of(cls, delivery: Delivery) -> Self:
        return cls(
            id=delivery.id,
            event=delivery.event,
            url=delivery.url,
            state=delivery.state,
            attempts=delivery.attempts,
            status=delivery.status,
            error=delivery.error or None,
            next_attempt_at=delivery.next_at if delivery.state == "pending" else None,
            ended_at=delivery.ended_at,
        )


@schema
class SavedSearch:
    """A saved search; `error` says why its last run failed."""

    name: str
    search: dict[str, Any] | None
    every: str | None
    inbox: bool
    webhook_url: str | None
    created_at: Time
    last_run_at: Time | None
    next_run_at: Time | None
    error: str | None

    @classmethod
    def of(cls, saved: stored.SavedSearch) -> Self:
        every = saved.every_seconds
        return cls(
            name=saved.name,
            search=request_body(saved.request),
            every=None if every is None else saved_searches.written(every),
            inbox=saved.inbox,
            webhook_url=saved.webhook_url or None,
            created_at=saved.created_at,
            last_run_at=saved.ran_at,
            next_run_at=saved.next_at,
            error=saved.error or None,
        )


@schema
class SavedSearches:
    """All saved searches, by name."""

    saved_searches: list[SavedSearch]


@schema
class NewMatch:
    """A record that a saved search reports. `changed`: it matched before and has changed since."""

    id: str
    content_type: str
    title: str
    url: str
    created_at: Time
    changed: bool


@schema
class SavedSearchRun:
    """All results of a saved search, and which of them are new."""

    saved_search: str
    new: list[NewMatch]
    new_count: Count
    notification: int | None
    result: UniversalSearchResponse


@schema
class Notification:
    """The new matches of one run of a saved search."""

    id: int
    saved_search: str
    at: Time
    count: Count
    matches: list[NewMatch]
    read_at: Time | None
    webhook: WebhookDelivery | None

    @classmethod
    def of(
        cls,
        notification: stored.Notification,
        matches: list[NewMatch],
        delivery: Delivery | None,
    ) -> Self:
        return cls(
            id=notification.id,
            saved_search=notification.search,
            at=notification.at,
            count=notification.count,
            matches=matches,
            read_at=notification.read_at,
            webhook=None if delivery is None else WebhookDelivery.of(delivery),
        )


@schema
class Notifications(Paged):
    """Notifications, newest first."""

    notifications: list[Notification]


@schema
class Scope:
    """A filter with a name."""

    name: str
    filter: str
    created_at: Time

    @classmethod
    def of(cls, scope: stored.Scope) -> Self:
        return cls(name=scope.name, filter=scope.filter, created_at=scope.created_at)


@schema
class Scopes:
    """All scopes, by name."""

    scopes: list[Scope]


@schema
class WebhookSecret:
    """The secret that messages to webhooks are signed with; it begins with `whsec_`."""

    secret: str
