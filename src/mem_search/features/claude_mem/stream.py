"""``GET /stream``: new records as server-sent events, in the form that OpenClaw's plug-in reads."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

from aiohttp import web

from mem_search.features.claude_mem.rows import row_of
from mem_search.http.core.event_stream import PING, event_of, send_events
from mem_search.http.core.routing import Call
from mem_search.model import DateRange, Filters, Record
from mem_search.renderers.schema import to_values
from mem_search.text.dates import now_ms

PAUSE_SECONDS: Final = 1.0
_PING_SECONDS: Final = 15.0
_AT_ONCE: Final = 100
_EVENTS: Final = {
    "observation": ("new_observation", "observation"),
    "session_summary": ("new_summary", "summary"),
    "user_prompt": ("new_prompt", "prompt"),
}


async def listen(call: Call) -> web.StreamResponse:
    """Send every record that is stored from now on, until the client or the worker ends."""
    return await send_events(call, _events(call))


async def _events(call: Call) -> AsyncIterator[bytes]:
    """The greeting, each new record once, and a comment where nothing happens for long."""
    store = call.runtime.store.records
    since, after = now_ms(), 0
    known = await store.revision()
    projects = [each.name for each in await store.projects()]
    yield _event({"type": "connected"})
    yield _event({"type": "initial_load", "projects": projects})
    silent = 0.0
    while call.lifecycle.key:  # it is empty from when the worker stops
        await asyncio.sleep(PAUSE_SECONDS)
        silent += PAUSE_SECONDS
        revision = await store.revision()
        while revision != known:
            stored = Filters(stored=DateRange(start=since))
            found = await store.export_page(stored, after, _AT_ONCE)
            for record, _ in found:
                after, silent = record.number, 0.0
                if event := _told(record):
                    yield event
            if len(found) < _AT_ONCE:
                known = revision
        if silent >= _PING_SECONDS:
            silent = 0.0
            yield PING


def _told(record: Record) -> bytes:
    if record.kind not in _EVENTS:
        return b""
    name, key = _EVENTS[record.kind]
    return _event({"type": name, key: to_values(row_of(record))})


def _event(said: Mapping[str, Any]) -> bytes:
    return event_of({**said, "timestamp": now_ms()})
