"""``/api/v1/webhooks/secret``."""

from __future__ import annotations

import asyncio

from aiohttp import web

from mem_search.http.core.replies import json_reply
from mem_search.http.core.routing import Call, Route
from mem_search.renderers.schema import schema
from mem_search.webhooks import signing


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
    secret = await asyncio.to_thread(signing.webhook_secret, call.runtime.settings)
    return json_reply(WebhookSecret(secret=secret))


# fmt: off
# ruff: noqa: E501 - a route is a row of a table
ROUTES = (
    Route("GET", "/api/v1/webhooks/secret", webhook_secret, "Show the secret that messages to webhooks are signed with", "saved", write=True, response=WebhookSecret),
)
