"""Middleware for every request: its id, the headers of its reply, and errors as problems."""

from __future__ import annotations

import logging
import re
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler

from mem_search.errors import MalformedBody, MemSearchError
from mem_search.http.access.origin import check_place
from mem_search.http.access.rate_limits import limit_headers
from mem_search.http.core import problems
from mem_search.http.core.lifecycle import LIFECYCLE

SUCCESSORS: Final = web.AppKey("successors", Mapping[str, str])
"""Path of a deprecated route → path of its successor."""

SINCE: Final = datetime(2026, 11, 22, tzinfo=UTC)
"""The time when the universal search replaced them."""


def headers_of(request: web.Request) -> dict[str, str]:
    """The headers of a deprecated route; none for other routes."""
    resource = request.match_info.route.resource
    successor = request.app[SUCCESSORS].get(resource.canonical) if resource else None
    if successor is None:
        return {}
    return {
        "Deprecation": f"@{SINCE.timestamp():.0f}",
        "Link": f'<{successor}>; rel="successor-version"',
    }


log = logging.getLogger(__name__)

_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Server": "mem-search",
}


@web.middleware
async def answer(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Check the access, and turn every error into problem details."""
    given = request.headers.get("X-Request-Id", "")
    problems.REQUEST_ID.set(given if _ID.fullmatch(given) else uuid.uuid4().hex[:16])
    try:
        check_place(request, request.app[LIFECYCLE].settings)
        return await handler(request)
    except MemSearchError as error:
        if error.status >= 500:
            log.warning("%s %s: %s", request.method, request.path, error.message)
        return problems.of_error(request, error)
    except web.HTTPException as error:
        if error.status < 400:
            raise
        return problems.of_http(request, error)
    except web.RequestPayloadError:
        return problems.of_error(request, MalformedBody("the body ended early; send it again"))
    except ConnectionError:  # the client has disconnected; nobody reads a reply
        raise
    except Exception:
        # An unexpected error: the log has all of it, and the caller gets the id to find it.
        log.exception("%s %s failed, request %s", request.method, request.path,
                      problems.REQUEST_ID.get())  # fmt: skip
        return problems.of_bug(request)


async def add_headers(request: web.Request, response: web.StreamResponse) -> None:
    """Signal: add the request id and ``no-store`` to every reply, streamed ones too.

    Also add the rest of the limit, for callers that have one.
    """
    response.headers.update({**_HEADERS, **headers_of(request), **limit_headers(request)})
    response.headers["X-Request-Id"] = problems.REQUEST_ID.get()
