"""What clients of claude-mem read that no route of ours has in that form."""

from __future__ import annotations

import heapq
import json
from dataclasses import replace
from itertools import islice
from typing import Annotated, Any, Final

from aiohttp import web
from pydantic import BeforeValidator, Field

from mem_search.features.claude_mem.clients import ClientBody
from mem_search.features.claude_mem.rows import ObservationRow, SessionRow
from mem_search.http.core.parameter_types import Words
from mem_search.http.core.parameters import PlatformParameters
from mem_search.http.core.replies import json_reply
from mem_search.http.core.routing import Call
from mem_search.model import Filters
from mem_search.records.origin import is_given
from mem_search.renderers import harmless
from mem_search.renderers.schema import schema

MAX_SESSIONS: Final = 50_000
"""The export script asks for all sessions of what it exports at once."""


def words_of(value: Any) -> Any:
    """A list, ``"a,b"`` or ``'["a", "b"]'``; nothing is an empty one."""
    if value is None or value == "":
        return []
    if not isinstance(value, str):
        return value
    try:
        read = json.loads(value)
    except (ValueError, RecursionError):
        read = None
    return read if isinstance(read, list) else [each.strip() for each in value.split(",")]


class ByFileParameters(PlatformParameters):
    """Observations about a file; several paths name the same one."""

    paths: Words = Field(alias="path", min_length=1, description="The file, absolute or relative")
    projects: Words = Field(default=(), description="Any of these projects")
    limit: int = Field(default=15, ge=1, le=100, description="How many at most")


class SessionsBody(ClientBody):
    """Sessions to look up."""

    sessions: Annotated[list[str], BeforeValidator(words_of), Field(max_length=MAX_SESSIONS)] = (
        Field(alias="memorySessionIds")
    )


@schema
class FileObservations:
    """Observations about a file, newest first."""

    observations: list[ObservationRow]
    count: int


async def by_file(call: Call) -> web.StreamResponse:
    """The newest observations about a file.

    A hook gives them to the agent unasked, so those that read like instructions are left out, and
    names of the others are plain.
    """
    params = call.parameters(ByFileParameters)
    store = call.runtime.store.records
    found = [
        await store.newest(
            Filters(
                kinds=("observation",),
                files=params.paths,
                project=project,
                facets=params.facets(),
            ),
            2 * params.limit,
        )
        for project in params.projects or ("",)
    ]
    merged = heapq.merge(*found, key=lambda each: (each.created_at, each.number), reverse=True)
    given = islice(filter(is_given, merged), params.limit)
    rows = [ObservationRow.of(harmless(each)) for each in given]
    return json_reply(FileObservations(observations=rows, count=len(rows)))


async def sessions(call: Call) -> web.StreamResponse:
    """The sessions with these ids; an unknown one is left out."""
    asked = dict.fromkeys(call.json_body(SessionsBody).sessions)
    found = [await _session(call, session) for session in asked if session]
    return json_reply([each for each in found if each], kind=list[SessionRow])


async def _session(call: Call, session: str) -> SessionRow | None:
    store = call.runtime.store.records
    everything = Filters(session=session)
    newest = await store.newest(everything, 1)
    if not newest:
        return None
    (first, *_), _ = await store.page(everything, "date_asc", 1, 0)
    asked, summed = (
        replace(everything, kinds=(kind,)) for kind in ("user_prompt", "session_summary")
    )
    prompts, _ = await store.page(asked, "date_asc", 1, 0)
    summaries = await store.newest(summed, 1)
    prompt = prompts[0][0] if prompts else None
    return SessionRow.of(first[0], newest[0], prompt, summaries[0] if summaries else None)
