"""``/api/v1/saved-searches`` and the inbox of what they found, ``/api/v1/notifications``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Annotated, Any, Self

from aiohttp import web
from pydantic import AfterValidator, Field

from mem_search.errors import InputError, NotFound
from mem_search.features.saved_searches import model as stored
from mem_search.features.saved_searches.service import Plan
from mem_search.features.webhooks.http import WebhookDelivery
from mem_search.features.webhooks.sql import DeliveryStore
from mem_search.http.access.authentication import admit, check_schedule
from mem_search.http.core.parameter_types import Name
from mem_search.http.core.parameters import Body, Listing
from mem_search.http.core.problems import Fault, Invalid
from mem_search.http.core.reading import number_in_path
from mem_search.http.core.replies import Deleted, Paged, json_reply
from mem_search.http.core.routing import Call, Route
from mem_search.http.universal_requests import (
    MAX_URL_CHARS,
    UniversalSearchRequest,
    request_body,
)
from mem_search.model import Record
from mem_search.model.webhooks import Delivery
from mem_search.renderers.schema import Count, From, Time, or_none, projected, schema
from mem_search.renderers.universal import UniversalSearchResponse, id_of, url_of
from mem_search.search.citations import citation
from mem_search.search.stored_requests import load
from mem_search.text.dates import now_ms
from mem_search.text.schedules import parts, schedule_of, seconds, written
from mem_search.validation import input_errors_as_invalid


def _interval(text: str) -> str:
    with input_errors_as_invalid():
        return written(seconds(text))


def _cron(text: str) -> str:
    with input_errors_as_invalid():
        return schedule_of(None, text)


Every = Annotated[str, Field(max_length=40), AfterValidator(_interval)]
Cron = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_cron)]


MAX_ADDRESS_CHARS = 254
"""RFC 5321, 4.5.3.1.3."""

_PLAIN = {
    "mode": "basic",
    "background": False,
    "session_id": None,
    "parent_operation_id": None,
    "offset": 0,
    "fields": None,
    "sources": ["local"],
}
"""Fields of a search that a saved search does not use, with their default values."""


class SavedSearchPlan(Body):
    """What to search for, when, and where to report."""

    search: UniversalSearchRequest = Field(description="The question and its filters")
    every: Every | None = Field(
        default=None,
        description="Interval from 1m to a year: 15m, 1h, 2d, 1w; only by hand when left out",
        examples=["1h"],
    )
    schedule: Cron | None = Field(
        default=None, description="Instead of every: a cron expression, such as 0 4 * * *"
    )
    inbox: bool = Field(default=True, description="Whether new matches go to the inbox")
    webhook_url: Annotated[str, Field(max_length=MAX_URL_CHARS)] | None = Field(
        default=None, description="URL that receives a message about new matches"
    )

    email: Annotated[str, Field(max_length=MAX_ADDRESS_CHARS)] | None = Field(
        default=None, description="Address that gets a mail about them; one that the settings list"
    )

    def plan(self, asked_at: datetime) -> Plan:
        """The plan. Raises Invalid for fields that a saved search does not use."""
        faults = [
            Fault("is not for a saved search; leave it out", pointer=f"/search/{name}")
            for name, plain in _PLAIN.items()
            if getattr(self.search, name) != plain
        ]
        if faults:
            raise Invalid(faults)
        return Plan(
            request=self.search.request(asked_at),
            schedule=schedule_of(self.every, self.schedule),
            inbox=self.inbox,
            webhook_url=self.webhook_url,
            email=self.email,
        )


class SavedSearchBody(SavedSearchPlan):
    """A new saved search."""

    name: Name = Field(description="Its name: letters, digits, _ . and -")


class NotificationsListing(Listing):
    """Parameters of the inbox."""

    unread: bool = Field(default=False, description="Only those that were not read")
    search: str = Field(default="", max_length=64, description="Only of this saved search")


@schema
class SavedSearch:
    """A saved search; `error` says why its last run failed."""

    name: str
    search: dict[str, Any] | None
    every: Annotated[str | None, From("schedule", lambda schedule: parts(schedule)[0])]
    schedule: Annotated[str | None, From(then=lambda schedule: parts(schedule)[1])]
    inbox: bool
    webhook_url: Annotated[str | None, From(then=or_none)]
    email: Annotated[str | None, From(then=or_none)]
    created_at: Time
    last_run_at: Annotated[Time | None, From("ran_at")]
    next_run_at: Annotated[Time | None, From("next_at")]
    error: Annotated[str | None, From(then=or_none)]

    @classmethod
    def of(cls, saved: stored.SavedSearch) -> Self:
        return projected(cls, saved, search=request_body(saved.request))


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
    """The new matches of one run of a saved search; `webhook` and `email` say what became of the
    messages about them.
    """

    id: int
    saved_search: Annotated[str, From("search")]
    at: Time
    count: Count
    matches: list[NewMatch]
    read_at: Time | None
    webhook: WebhookDelivery | None
    email: WebhookDelivery | None

    @classmethod
    def of(
        cls,
        notification: stored.Notification,
        matches: list[NewMatch],
        sent: Mapping[str, Delivery],
    ) -> Self:
        def became_of(message: str | None) -> WebhookDelivery | None:
            delivery = sent.get(message or "")
            return WebhookDelivery.of(delivery) if delivery else None

        return projected(
            cls,
            notification,
            matches=matches,
            webhook=became_of(notification.delivery_id),
            email=became_of(notification.email_delivery_id),
        )


@schema
class Notifications(Paged):
    """Notifications, newest first."""

    notifications: list[Notification]


async def create(call: Call) -> web.StreamResponse:
    """Save a search; it reports matching records that are stored from now on."""
    body = call.json_body(SavedSearchBody)
    plan = body.plan(call.now)
    await check_schedule(call.request, call.runtime, body.name, plan.schedule)
    with _faults_in_search():
        saved = await call.runtime.research.saved_searches.create(body.name, plan)
    reply = json_reply(SavedSearch.of(saved), status=201)
    reply.headers["Location"] = f"/api/v1/saved-searches/{saved.name}"
    return reply


async def listed(call: Call) -> web.StreamResponse:
    """All saved searches by name."""
    return json_reply(
        SavedSearches(
            saved_searches=[
                SavedSearch.of(each) for each in await call.runtime.research.saved_searches.listed()
            ]
        )
    )


async def one(call: Call) -> web.StreamResponse:
    """One saved search."""
    return json_reply(SavedSearch.of(await call.runtime.research.saved_searches.get(_name(call))))


async def change(call: Call) -> web.StreamResponse:
    """Change the search, the schedule or the receivers; a changed search starts anew."""
    plan = call.json_body(SavedSearchPlan).plan(call.now)
    await check_schedule(call.request, call.runtime, _name(call), plan.schedule)
    with _faults_in_search():
        saved = await call.runtime.research.saved_searches.change(_name(call), plan)
    return json_reply(SavedSearch.of(saved))


async def remove(call: Call) -> web.StreamResponse:
    """Delete a saved search and its notifications."""
    await call.runtime.research.saved_searches.remove(_name(call))
    return json_reply(Deleted(deleted=_name(call)))


async def run(call: Call) -> web.StreamResponse:
    """Run a saved search now; returns all results, and which are new."""
    saved = await call.runtime.research.saved_searches.get(_name(call))
    await admit(call.request, load(saved.request).text)
    run = await call.runtime.research.saved_searches.run_now(saved.name)
    page = await call.runtime.research.saved_searches.search(run.saved, call.surface)
    records = await call.runtime.store.records.fetch([m.number for m in run.matches])
    return json_reply(
        SavedSearchRun(
            saved_search=run.saved.name,
            new=_matches(call, run.matches, records),
            new_count=len(run.matches),
            notification=run.notification,
            result=UniversalSearchResponse.of(page, call.base),
        )
    )


async def inbox(call: Call) -> web.StreamResponse:
    """The notifications of saved searches, the newest first."""
    params = call.parameters(NotificationsListing)
    rows, total = await call.runtime.research.saved_searches.store.notifications(
        params.search, params.limit, params.offset, unread=params.unread
    )
    return json_reply(
        Notifications.of(params, total, notifications=await _notifications(call, rows))
    )


async def read(call: Call) -> web.StreamResponse:
    """Mark a notification as read."""
    number = number_in_path(call.request)
    notification = await call.runtime.research.saved_searches.store.mark_read(number, now_ms())
    if notification is None:
        raise _nothing(number)
    (schema,) = await _notifications(call, [notification])
    return json_reply(schema)


async def dismiss(call: Call) -> web.StreamResponse:
    """Delete a notification. Its matches are not reported again."""
    number = number_in_path(call.request)
    if not await call.runtime.research.saved_searches.store.dismiss(number):
        raise _nothing(number)
    return json_reply(Deleted(deleted=number))


@contextmanager
def _faults_in_search() -> Iterator[None]:
    """Faults of the search get their place in the plan."""
    try:
        yield
    except InputError as error:
        if error.field in UniversalSearchRequest.model_fields and error.field != "webhook_url":
            raise Invalid([Fault(error.message, pointer=f"/search/{error.field}")]) from None
        raise


def _name(call: Call) -> str:
    return call.request.match_info["name"]


def _nothing(number: int) -> NotFound:
    return NotFound(f"no notification {number}; GET /api/v1/notifications lists them")


async def _notifications(call: Call, rows: Sequence[stored.Notification]) -> list[Notification]:
    numbers = {match.number for each in rows for match in each.matches}
    named = await call.runtime.store.records.fetch(list(numbers))
    sent = [message for each in rows for message in (each.delivery_id, each.email_delivery_id)]
    deliveries = await call.runtime.store.part(DeliveryStore).fetch(list(filter(None, sent)))
    return [Notification.of(each, _matches(call, each.matches, named), deliveries) for each in rows]


def _matches(
    call: Call, matches: Sequence[stored.Match], named: dict[int, Record]
) -> list[NewMatch]:
    return [
        NewMatch(
            id=id_of(record),
            content_type=record.kind,
            title=citation(record).source_title,
            url=url_of(record, call.base),
            created_at=record.created_at,
            changed=match.changed,
        )
        for match in matches
        if (record := named.get(match.number)) is not None
    ]


# fmt: off
ROUTES = (
    Route("GET", "/api/v1/saved-searches", listed, "List saved searches", "saved", response=SavedSearches, private=True),
    Route("POST", "/api/v1/saved-searches", create, "Save a search", "saved", body=SavedSearchBody, write=True, status=201, response=SavedSearch, errors=(409,)),
    Route("GET", "/api/v1/saved-searches/{name}", one, "Show a saved search", "saved", response=SavedSearch, private=True),
    Route("PUT", "/api/v1/saved-searches/{name}", change, "Change a saved search", "saved", body=SavedSearchPlan, write=True, response=SavedSearch),
    Route("DELETE", "/api/v1/saved-searches/{name}", remove, "Delete a saved search", "saved", write=True, response=Deleted),
    Route("POST", "/api/v1/saved-searches/{name}/run", run, "Run a saved search now", "saved", write=True, response=SavedSearchRun, errors=(429,)),
    Route("GET", "/api/v1/notifications", inbox, "List notifications of saved searches, newest first", "saved", NotificationsListing, response=Notifications, private=True),
    Route("POST", "/api/v1/notifications/{number}/read", read, "Mark a notification as read", "saved", write=True, response=Notification),
    Route("DELETE", "/api/v1/notifications/{number}", dismiss, "Delete a notification", "saved", write=True, response=Deleted),
)
