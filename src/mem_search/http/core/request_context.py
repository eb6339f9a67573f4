"""The context of one request: the caller, the store that answers, and the security level.

``dispatch`` creates it and keeps it with the aiohttp request, so that every later step sees the
same context. ``flags`` names patterns of a query that can be an attack: those of the universal
search contract (docs/contracts/universal-search.md), in any case. A match is reported and never
refused: nothing executes a query or passes it to a language model, and somebody may well search
their notes for "drop table".
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from aiohttp import web

from mem_search.access.callers import Caller
from mem_search.http.core.clients import Tolerated
from mem_search.model.access import Allowance
from mem_search.patterns import pattern
from mem_search.runtime import Runtime
from mem_search.validation import ReadAs


class Level(StrEnum):
    """The values appear in replies and logs."""

    TRUSTED = "trusted"
    BASIC = "basic"
    STRICT = "strict"


class Template:
    r"""``\$\{.*\}`` in linear time: on one line the first ``${`` with a ``}`` after it."""

    def search(self, text: str) -> bool:
        for line in text.split("\n"):
            start = line.find("${")
            if start >= 0 and line.find("}", start + 2) >= 0:
                return True
        return False


_PATTERNS: Final = (
    ("prompt_injection", pattern(r"ignore\s+(?:previous|all|above)", re.IGNORECASE)),
    ("prompt_leaking", pattern(r"system\s+prompt", re.IGNORECASE)),
    ("script_injection", pattern(r"<script|javascript:|onclick=", re.IGNORECASE)),
    ("template_injection", Template()),
    ("sql_injection", pattern(r"union\s+select|drop\s+table", re.IGNORECASE)),
)
MAX_CHECKED_CHARS: Final = 10_000
"""Characters of a query that are checked: more than a query may have."""


def flags(text: str) -> tuple[str, ...]:
    """The names of the patterns in ``text``, in the order of the list."""
    text = text[:MAX_CHECKED_CHARS]
    return tuple(name for name, pattern in _PATTERNS if pattern.search(text))


@dataclass(slots=True)
class RequestContext:
    """``runtime`` is None on a route that answers before the runtime is open.

    ``remote``: the request may come from another machine. ``allowances`` are the counted limits,
    by policy. ``flags`` are the patterns in the query (``flags``). ``message`` is
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
