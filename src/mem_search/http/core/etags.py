"""Entity tags of searches: a client that has the answer already gets 304 without a search.

A tag covers everything that an answer depends on: the request, the caller, the newest change of a
record, the day, and this run of the worker with its settings. It is weak (RFC 9110, 8.8.1),
because two answers with the same results differ in the milliseconds that they report.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from datetime import date
from typing import Final

from aiohttp import web

from mem_search.http.core.routing import Call
from mem_search.model import SearchPage, SearchRequest

_RUN: Final = secrets.token_hex(8)
_PASSES = re.compile(r"\b(now|hours?|minutes?|seconds?)\b", re.IGNORECASE)
"""Words by which a question means another time a minute later."""

_TAG = re.compile(r'(?:W/)?"[^"]*"')


async def etag(call: Call, today: date) -> str:
    """The tag of what a search would answer now; ``today`` is the day of the reader."""
    revision = await call.runtime.search.store.revision()
    sent = call.request.headers
    parts = (
        _RUN,
        call.caller.name,
        call.caller.user,
        revision,
        today.isoformat(),
        call.base,
        call.request.rel_url.raw_path_qs,
        sent.get("Accept", ""),
        call.surface,
    )
    digest = hashlib.blake2b(repr(parts).encode("utf-8", "replace"), digest_size=16)
    return f'W/"{digest.hexdigest()}"'


def is_known(request: web.Request, tag: str) -> bool:
    """Whether the client has the answer with this tag (RFC 9110, 13.1.2)."""
    sent = ",".join(request.headers.getall("If-None-Match", []))
    opaque = tag.removeprefix("W/")
    return any(each.removeprefix("W/") == opaque for each in _TAG.findall(sent))


def may_be_kept(request: SearchRequest, page: SearchPage) -> bool:
    """Whether the same question has the same answer until a record changes.

    Not while a leg is down or the index is behind, and not where the answer depends on the minute
    or on a scope, which change without a record.
    """
    report = page.report
    return (
        report.coverage == 1
        and all(leg.state in ("ok", "off") for leg in report.legs)
        and not request.scope
        and not request.boosts
        and not _PASSES.search(request.text)
    )
