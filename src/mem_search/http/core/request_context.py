"""The context of one request: the caller, the store that answers, and the security level.

``dispatch`` creates it and keeps it with the aiohttp request, so that every later step sees the
same context.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from aiohttp import web

from mem_search.access.callers import Caller
from mem_search.http.core.clients import Tolerated
from mem_search.model.access import Allowance
from mem_search.runtime import Runtime
from mem_search.validation import ReadAs


class Level(StrEnum):
    """The values appear in replies and logs."""

    TRUSTED = "trusted"
    BASIC = "basic"
    STRICT = "strict"


@dataclass(slots=True)
class RequestContext:
    """``runtime`` is None on a route that answers before the runtime is open.

    ``remote``: the request may come from another machine. ``allowances`` are the counted limits,
    by policy. ``flags`` are the patterns in the query (``text.query_attacks``). ``message`` is
    the id of an inspected MCP message: errors then have the form that its client reads.
    ``tolerated`` is what was taken as another program takes it; None for our own clients.
    ``read_as`` are the moments as which dates without a zone, or in words, were read.
    """

    caller: Caller
    runtime: Runtime | None = None
    remote: bool = False
    level: Level = Level.TRUSTED
    flags: tuple[str, ...] = ()
    message: str | int | None = None
    allowances: dict[str, Allowance] = field(default_factory=dict)
    tolerated: Tolerated | None = None
    read_as: ReadAs = field(default_factory=dict)


REQUEST_CONTEXT: web.RequestKey[RequestContext] = web.RequestKey("request_context", RequestContext)
