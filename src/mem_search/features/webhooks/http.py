"""``/api/v1/webhooks/secret``, and what replies say of a message to a webhook."""

from __future__ import annotations

import asyncio
from typing import Annotated, Literal, Self

from aiohttp import web

from mem_search.features.webhooks import service
from mem_search.http.core.replies import json_reply
from mem_search.http.core.routing import Call, Route
from mem_search.model.webhooks import Delivery
from mem_search.renderers.schema import Count, From, Time, or_none, projected, schema


@schema
class WebhookDelivery:
    """A message to a webhook; `status` is the HTTP status of the receiver's last answer."""

    id: str
    event: str
    url: str
    state: Literal["pending", "delivered", "failed"]
    attempts: Count
    status: int | None
    error: Annotated[str | None, From(then=or_none)]
    next_attempt_at: Time | None
    ended_at: Time | None

    @classmethod
    def of(cls, delivery: Delivery) -> Self:
        return projected(
            cls,
            delivery,
            next_attempt_at=delivery.next_at if delivery.state == "pending" else None,
        )


@schema
class WebhookSecret:
    """The secret that messages to webhooks are signed with; it begins with `whsec_`."""

    secret: str


async def webhook_secret(call: Call) -> web.StreamResponse:
    """The secret that messages to webhooks are signed with; it is created on first use.

    A token that may only read does not get it: with the secret one can write messages, not only
    verify them.
    """
    call.check_may_change()
    secret = await asyncio.to_thread(service.webhook_secret, call.runtime.settings)
    return json_reply(WebhookSecret(secret=secret))


# fmt: off
ROUTES = (
    Route("GET", "/api/v1/webhooks/secret", webhook_secret, "Show the secret that messages to webhooks are signed with", "saved", write=True, response=WebhookSecret),
)
