"""What one request is: who asks, over whose store, and how careful the worker is with it.

Made in ``dispatch`` and kept with the request itself, so that whatever is done on its behalf
further down, under whatever name, stands the same.
"""

from __future__ import annotations

from dataclasses import dataclass

from aiohttp import web

from mem_search.access.callers import Caller
from mem_search.wiring import Runtime


@dataclass(slots=True)
class Standing:
    """``runtime`` is None where a route answers before there is one."""

    caller: Caller
    runtime: Runtime | None = None


STANDING: web.RequestKey[Standing] = web.RequestKey("standing", Standing)
