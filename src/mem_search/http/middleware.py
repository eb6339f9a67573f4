"""What holds for every request: its id, the headers of its reply, and errors as problems."""

from __future__ import annotations

import logging
import re
import uuid

from aiohttp import web
from aiohttp.typedefs import Handler

from mem_search.errors import MalformedBody, MemSearchError
from mem_search.http import problems
from mem_search.http.deprecation import headers_of
from mem_search.http.guard import check_place
from mem_search.http.limits import limit_headers
from mem_search.http.opening import OPENING

log = logging.getLogger(__name__)

_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Server": "mem-search",
}


@web.middleware
async def answer(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Refuse strangers, and turn whatever is raised into problem details."""
    given = request.headers.get("X-Request-Id", "")
    problems.REQUEST_ID.set(given if _ID.fullmatch(given) else uuid.uuid4().hex[:16])
    try:
        check_place(request, request.app[OPENING].settings)
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
    except ConnectionError:  # the caller is gone; nobody reads a reply
        raise
    except Exception:
        # Nobody foresaw it: it is logged whole, and the caller gets the id to find it by.
        log.exception("%s %s failed, request %s", request.method, request.path,
                      problems.REQUEST_ID.get())  # fmt: skip
        return problems.of_bug(request)


async def add_headers(request: web.Request, response: web.StreamResponse) -> None:
    """Signal: every reply, streamed ones too, says its id and that nobody may keep it.

    And to whom there is a limit, how much of it is left.
    """
    response.headers.update({**_HEADERS, **headers_of(request), **limit_headers(request)})
    response.headers["X-Request-Id"] = problems.REQUEST_ID.get()
