"""``/api/v1/saved-searches`` and the inbox of what they found, ``/api/v1/notifications``."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Annotated

from aiohttp import web
from pydantic import AfterValidator, Field

from mem_search.errors import InputError, NotFound
from mem_search.http.access.rate_limits import admit, check_schedule
from mem_search.http.core.dispatch import number_in_path
from mem_search.http.core.parameter_types import Name
from mem_search.http.core.parameters import Body, Listing
from mem_search.http.core.problems import Fault, Invalid
from mem_search.http.core.replies import json_reply
from mem_search.http.core.routing import Call
from mem_search.http.schemas.common import Deleted
from mem_search.http.schemas.saved_searches import (
    NewMatch,
    Notification,
    Notifications,
    SavedSearch,
    SavedSearches,
    SavedSearchRun,
    WebhookSecret,
)
from mem_search.http.schemas.universal_requests import MAX_URL_CHARS, UniversalSearchRequest
from mem_search.model import Record
from mem_search.model import saved_searches as stored
from mem_search.renderers.universal import UniversalSearchResponse, id_of, url_of
from mem_search.research import saved_searches
from mem_search.research.requests import load
from mem_search.research.saved_searches import Plan
from mem_search.search.citations import citation
from mem_search.text.dates import now_ms
from mem_search.validation import input_errors_as_invalid
from mem_search.webhooks import signing


def _interval(text: str) -> str:
    with input_errors_as_invalid():
        return saved_searches.written(saved_searches.seconds(text))


Every = Annotated[str, Field(max_length=40), AfterValidator(_interval)]


_PLAIN = {
    "mode": "basic",
    "background": False,
    "session_id": None,
    "parent_operation_id": None,
    "offset": 0,
    "fields": None,
}
"""Fields of a search that a saved search does not use, with their default values."""


class SavedSearchPlan(Body):
    """What to search for, how often, and where to report."""

    search: UniversalSearchRequest = Field(description="The question and its filters")
    every: Every | None = Field(
        default=None,
        description="Interval from 1m to a year: 15m, 1h, 2d, 1w; only by hand when left out",
        examples=["1h"],
    )
    inbox: bool = Field(default=True, description="Whether new matches go to the inbox")
    webhook_url: Annotated[str, Field(max_length=MAX_URL_CHARS)] | None = Field(
        default=None, description="URL that receives a message about new matches"
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
            every=None if self.every is None else saved_searches.seconds(self.every),
            inbox=self.inbox,
            webhook_url=self.webhook_url,
        )


class SavedSearchBody(SavedSearchPlan):
    """A new saved search."""

    name: Name = Field(description="Its name: letters, digits, _ . and -")


class NotificationsListing(Listing):
    """Parameters of the inbox."""

    unread: bool = Field(default=False, description="Only those that were not read")
    search: str = Field(default="", max_length=64, description="Only of this saved search")


async def create(call: Call) -> web.StreamResponse:
    """Save a search; it reports matching records that are stored from now on."""
    body = call.json_body(SavedSearchBody)
    plan = body.plan(call.now)
    await check_schedule(call.request, call.runtime, body.name, plan.every)
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
    await check_schedule(call.request, call.runtime, _name(call), plan.every)
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
    found = await call.runtime.store.records.fetch([m.number for m in run.matches])
    return json_reply(
        SavedSearchRun(
            saved_search=run.saved.name,
            new=_matches(call, run.matches, found),
            new_count=len(run.matches),
            notification=run.notification,
            result=UniversalSearchResponse.of(page, call.base),
        )
    )


async def inbox(call: Call) -> web.StreamResponse:
    """The notifications of saved searches, the newest first."""
    params = call.parameters(NotificationsListing)
    found, total = await call.runtime.store.saved_searches.notifications(
        params.search, params.limit, params.offset, unread=params.unread
    )
    return json_reply(
        Notifications(
            notifications=await _notifications(call, found),
            total=total,
            limit=params.limit,
            offset=params.offset,
        )
    )


async def read(call: Call) -> web.StreamResponse:
    """Mark a notification as read."""
    number = number_in_path(call.request)
    found = await call.runtime.store.saved_searches.mark_read(number, now_ms())
    if found is None:
        raise _nothing(number)
    (schema,) = await _notifications(call, [found])
    return json_reply(schema)


async def dismiss(call: Call) -> web.StreamResponse:
    """Delete a notification. Its matches are not reported again."""
    number = number_in_path(call.request)
    if not await call.runtime.store.saved_searches.dismiss(number):
        raise _nothing(number)
    return json_reply(Deleted(deleted=number))


async def webhook_secret(call: Call) -> web.StreamResponse:
    """The secret that messages to webhooks are signed with; it is created on first use.

    A token that may only read does not get it: with the secret one can write messages, not only
    verify them.
    """
    call.check_may_change()
    secret = await asyncio.to_thread(signing.webhook_secret, call.runtime.settings)
    return json_reply(WebhookSecret(secret=secret))


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


async def _notifications(call: Call, found: Sequence[stored.Notification]) -> list[Notification]:
    numbers = {match.number for each in found for match in each.matches}
    named = await call.runtime.store.records.fetch(list(numbers))
    sent = [each.delivery_id for each in found if each.delivery_id]
    deliveries = await call.runtime.store.deliveries.fetch(sent)
    return [
        Notification.of(
            each,
            _matches(call, each.matches, named),
            deliveries.get(each.delivery_id) if each.delivery_id else None,
        )
        for each in found
    ]


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
