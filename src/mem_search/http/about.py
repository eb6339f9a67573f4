"""What the worker says of itself: health, version, documentation."""

from __future__ import annotations

import os
import time
from typing import Any

from aiohttp import web

import mem_search
from mem_search.http import docs_page, openapi
from mem_search.http.help import guide
from mem_search.http.replies import json_reply, text_reply
from mem_search.http.routing import Call


async def health(_call: Call) -> web.StreamResponse:
    """Alive; milliseconds since 1970."""
    return json_reply({"status": "ok", "timestamp": int(time.time() * 1000)})


async def api_health(call: Call) -> web.StreamResponse:
    """Who answers here. Without a version: hooks of claude-mem end workers of another one."""
    opening = call.opening
    return json_reply(
        {
            "status": opening.state,
            "uptime": opening.uptime,
            "pid": os.getpid(),
            "initialized": opening.state == "ok",
            "service": "mem-search",
            "instance_id": opening.instance,
            "store_id": opening.store_id,
        }
    )


async def readiness(call: Call) -> web.StreamResponse:
    """200 when searches are answered, 503 before."""
    call.runtime  # noqa: B018 - raises while there is none
    return json_reply({"status": "ready"})


async def version(_call: Call) -> web.StreamResponse:
    return json_reply({"version": mem_search.__version__})


async def search_help(call: Call) -> web.StreamResponse:
    """Routes and parameters of searches as a text."""
    from mem_search.http.routes import ROUTES  # the map names this handler

    return text_reply(call.request, guide(ROUTES))


async def openapi_json(_call: Call) -> web.StreamResponse:
    """This API as OpenAPI 3.1."""
    return json_reply(_described())


async def docs(_call: Call) -> web.StreamResponse:
    """The operations on one page."""
    return web.Response(
        text=docs_page.render(_described()),
        content_type="text/html",
        headers={"Content-Security-Policy": docs_page.POLICY},
    )


async def to_docs(_call: Call) -> web.StreamResponse:
    """The root is nothing by itself."""
    return web.Response(status=302, headers={"Location": "/docs"})


def _described() -> dict[str, Any]:
    from mem_search.http.routes import ROUTES  # the map names this handler

    return openapi.describe(ROUTES)
