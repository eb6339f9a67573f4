"""CORS (Fetch standard): requests of pages of the origins that ``cors_origins`` names.

No reply allows every origin, and none allows credentials: a page sends its token in the header
``Authorization`` like any other client. The checks of Host and Origin are in ``authentication``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from aiohttp import web

from mem_search.http.access.browsers import named_origin
from mem_search.settings import Settings

_SECONDS: Final = "600"
"""How long a browser remembers the answer to a preflight."""

_EXPOSED: Final = (
    "ETag, Link, Retry-After, RateLimit, RateLimit-Policy, X-Request-Id, X-Total-Count,"
    " X-Next-Offset, Deprecation, Content-Disposition, Mcp-Session-Id"
)
_SENT: Final = (
    "Authorization, Content-Type, Accept, If-None-Match, X-Request-Id, Mcp-Session-Id,"
    " Mcp-Protocol-Version, Last-Event-ID"
)


def preflight(request: web.Request, settings: Settings) -> web.Response | None:
    """The answer to a preflight of a named origin; None for every other request."""
    if request.method != "OPTIONS" or "Access-Control-Request-Method" not in request.headers:
        return None
    if not named_origin(request, settings):
        return None
    headers = {
        "Access-Control-Allow-Methods": "GET, HEAD, POST, PUT, DELETE",
        "Access-Control-Allow-Headers": _SENT,
        "Access-Control-Max-Age": _SECONDS,
    }
    if request.headers.get("Access-Control-Request-Private-Network") == "true":
        headers["Access-Control-Allow-Private-Network"] = "true"
    return web.Response(status=204, headers=headers)


def cross_origin_headers(request: web.Request, settings: Settings) -> Mapping[str, str]:
    """The headers by which the page of a named origin may read a reply."""
    origin = named_origin(request, settings)
    if not origin:
        return {}
    return {"Access-Control-Allow-Origin": origin, "Access-Control-Expose-Headers": _EXPOSED}
