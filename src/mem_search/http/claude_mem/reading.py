"""What clients of claude-mem read that no route of ours has in that form."""

from __future__ import annotations

import asyncio
import heapq
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Annotated, Any, Final

from aiohttp import web
from pydantic import BeforeValidator, Field

from mem_search.http.claude_mem.clients import ClientBody
from mem_search.http.claude_mem.rows import ObservationRow, SessionRow
from mem_search.http.core.parameter_types import Words
from mem_search.http.core.parameters import PlatformParameters
from mem_search.http.core.replies import json_reply
from mem_search.http.core.routing import Call
from mem_search.http.schemas.claude_mem import ToolUse
from mem_search.model import Filters
from mem_search.renderers.schema import schema
from mem_search.sources.claude_code.files import transcript_of

MOST: Final = 200
MOST_SESSIONS: Final = 50_000
"""The export script asks for all sessions of what it exports at once."""
_LONGEST_LINE: Final = 4 * 2**20
_MOST_BYTES: Final = 256 * 2**20


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

    sessions: Annotated[list[str], BeforeValidator(words_of), Field(max_length=MOST_SESSIONS)] = (
        Field(alias="memorySessionIds")
    )


class ToolUsesBody(ClientBody):
    """Calls of tools to look up: the agent's own ids, in the session `contentSessionId`."""

    ids: Annotated[list[int | str], BeforeValidator(words_of), Field(max_length=MOST)]
    limit: int = Field(default=MOST, ge=1, le=MOST)
    session: str = Field(default="", alias="contentSessionId", max_length=200)


@schema
class FileObservations:
    """Observations about a file, newest first."""

    observations: list[ObservationRow]
    count: int


async def by_file(call: Call) -> web.StreamResponse:
    """The newest observations about a file."""
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
            params.limit,
        )
        for project in params.projects or ("",)
    ]
    merged = heapq.merge(*found, key=lambda each: (each.created_at, each.number), reverse=True)
    rows = [ObservationRow.of(each) for each in islice(merged, params.limit)]
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


async def tool_uses(call: Call) -> web.StreamResponse:
    """The calls of tools with these ids, from the transcript of their session.

    Nothing else keeps what a tool was given and answered, so there is nothing without a session,
    without its transcript on this machine, or where no record of the session is stored.
    """
    body = call.json_body(ToolUsesBody)
    wanted = {each for each in body.ids if isinstance(each, str)}
    known = await call.runtime.store.records.newest(Filters(session=body.session), 1)
    if not (wanted and body.session and known) or call.caller.user:
        return json_reply([], kind=list[ToolUse])
    clean = call.runtime.redaction.values

    def read() -> list[ToolUse]:
        return list(islice(_uses(transcript_of(body.session), wanted), body.limit))

    found = await asyncio.to_thread(read)
    for use in found:
        use.tool_input, use.tool_response = clean(use.tool_input), clean(use.tool_response)
    return json_reply(found, kind=list[ToolUse])


def _uses(transcript: str, wanted: set[str]) -> Iterator[ToolUse]:
    """The calls in the file, each when its answer was read; linear in the size of the file."""
    if not transcript:
        return
    marks = [each.encode() for each in wanted]
    begun: dict[str, ToolUse] = {}
    with open(transcript, "rb") as file:  # noqa: PTH123 - its path is a text
        while file.tell() < _MOST_BYTES and (line := file.readline(_LONGEST_LINE)):
            if not any(mark in line for mark in marks):
                continue
            yield from _in_line(line, wanted, begun)
    yield from begun.values()


def _in_line(line: bytes, wanted: set[str], begun: dict[str, ToolUse]) -> Iterator[ToolUse]:
    try:
        raw = json.loads(line)
    except (ValueError, RecursionError):
        return
    message = raw.get("message") if isinstance(raw, Mapping) else None
    content = message.get("content") if isinstance(message, Mapping) else None
    for block in content if isinstance(content, list) else ():
        if not isinstance(block, Mapping):
            continue
        call, answered = str(block.get("id") or ""), str(block.get("tool_use_id") or "")
        if block.get("type") == "tool_use" and call in wanted:
            begun[call] = ToolUse(
                id=call,
                tool_use_id=call,
                content_session_id=str(raw.get("sessionId") or ""),
                tool_name=str(block.get("name") or ""),
                tool_input=block.get("input"),
                tool_response=None,
                cwd=str(raw.get("cwd") or ""),
                created_at=str(raw.get("timestamp") or ""),
            )
        elif block.get("type") == "tool_result" and answered in begun:
            use = begun.pop(answered)
            use.tool_response = block.get("content")
            yield use
