"""What one request is: who asks, over whose store, and how careful the worker is with it.

Made in ``dispatch`` and kept with the request itself, so that whatever is done on its behalf
further down, under whatever name, stands the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from aiohttp import web

from mem_search.access.callers import Caller
from mem_search.access.levels import Level
from mem_search.access.limits import Allowance
from mem_search.wiring import Runtime


@dataclass(slots=True)
class Standing:
    """``runtime`` is None where a route answers before there is one.

    ``remote``: the request may come from another machine. ``allowances`` are what was counted,
    by policy; ``flags`` the patterns that a question had (``access/patterns``). ``message`` is
    the id of an MCP message that was looked at: errors are told in the form its client reads.
    """

    caller: Caller
    runtime: Runtime | None = None
    remote: bool = False
    level: Level = Level.TRUSTED
    flags: tuple[str, ...] = ()
    message: str | int | None = None
    allowances: dict[str, Allowance] = field(default_factory=dict)


STANDING: web.RequestKey[Standing] = web.RequestKey("standing", Standing)
