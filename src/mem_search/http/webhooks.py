"""``/api/v1/webhooks``: what a receiver needs to know."""

from __future__ import annotations

import asyncio

from aiohttp import web

from mem_search.http.core.replies import json_reply
from mem_search.http.core.routing import Call
from mem_search.webhooks.signing import webhook_secret


async def secret(call: Call) -> web.StreamResponse:
    """The secret, made when it is first asked for; messages are verified with it.

    Who may only read does not get it: whoever has it can write messages, not only verify them.
    """
    call.check_may_change()
    return json_reply({"secret": await asyncio.to_thread(webhook_secret, call.runtime.settings)})
