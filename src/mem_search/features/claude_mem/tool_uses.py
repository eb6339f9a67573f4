"""What tools were given and what they answered, read from the transcripts of Claude Code.

Nothing else keeps that in full: a record has the command, the files and the telling line of an
error. So there is nothing where no transcript of the session is on this machine, or no record of
it in the store. A call whose step was forgotten is not there, though its transcript may be.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeVar

from aiohttp import web
from pydantic import BeforeValidator, Field

from mem_search.features.claude_mem.clients import ClientBody
from mem_search.features.claude_mem.reading import words_of
from mem_search.features.claude_mem.replies import ListedToolUse, ToolUse, ToolUses
from mem_search.features.claude_mem.rows import UNKNOWN_PLATFORM
from mem_search.http.core.parameter_types import End, Start, Stripped, Words
from mem_search.http.core.parameters import MAX_LIST_OFFSET, PlatformParameters, also
from mem_search.http.core.replies import json_reply
from mem_search.http.core.routing import Call
from mem_search.model import Filters
from mem_search.regular_file import open_regular_file
from mem_search.renderers.schema import dumped
from mem_search.sources.claude_code.files import NAME, transcript_of
from mem_search.sources.claude_code.lines import records_of_calls
from mem_search.sources.conversations import moment
from mem_search.text import secret_rules
from mem_search.text.json_reading import loads

MAX_TOOL_USES: Final = 200
MAX_LISTED: Final = 500
_SESSIONS: Final = 20
"""Transcripts that are read where no session is named: those of the newest sessions."""
_RECORDS: Final = 400
"""Records among which the newest sessions are looked for."""
_MAX_LINE_BYTES: Final = 4 * 2**20
_MAX_BYTES: Final = 256 * 2**20
"""Of all transcripts that are read for one request."""
_CALLS: Final = (b'"tool_use',)
"""What a line with a call or its answer has in it."""


class ToolUsesBody(ClientBody):
    """Calls of tools to look up: the agent's own ids, in the session `contentSessionId` or in the
    newest sessions of the project.
    """

    ids: Annotated[list[int | str], BeforeValidator(words_of), Field(max_length=MAX_TOOL_USES)]
    limit: int = Field(default=MAX_TOOL_USES, ge=1, le=MAX_TOOL_USES)
    session: str = Field(default="", alias="contentSessionId", max_length=200)
    project: str = Field(default="", max_length=300)


class ToolUsesParameters(PlatformParameters):
    """Calls of tools in a session, or in the newest sessions, without what they were given."""

    session: Stripped = Field(
        default="",
        description="Session by its id",
        json_schema_extra=also("contentSessionId", "memorySessionId"),
    )
    project: Stripped = Field(default="", description="Project by name")
    tools: Words = Field(
        default=(), alias="tool_name", description="Any of these tools",
        json_schema_extra=also("toolName"),
    )  # fmt: skip
    date_start: Start = Field(default=None, alias="dateStart", description="Not before")
    date_end: End = Field(default=None, alias="dateEnd", description="Not after")
    limit: int = Field(default=50, ge=1, le=MAX_LISTED, description="How many at most")
    offset: int = Field(default=0, ge=0, le=MAX_LIST_OFFSET, description="How many to skip")
    order: Literal["date_desc", "date_asc"] = Field(
        default="date_desc", alias="orderBy", description="The order of time"
    )


async def batch(call: Call) -> web.StreamResponse:
    """The calls of tools with these ids, and their answers, redacted."""
    body = call.json_body(ToolUsesBody)
    wanted = {each for each in body.ids if isinstance(each, str)}
    if not wanted:
        return json_reply([], kind=list[ToolUse])
    transcripts = await _transcripts(call, body.session, body.project)
    clean = call.runtime.redaction.values
    read = await asyncio.to_thread(lambda: list(_in_files(transcripts, wanted)))
    uses = (await _without_forgotten(call, read))[: body.limit]
    await secret_rules.ready()
    for use in uses:
        use.tool_input, use.tool_response = clean(use.tool_input), clean(use.tool_response)
    return json_reply(uses, kind=list[ToolUse])


async def listed(call: Call) -> web.StreamResponse:
    """The calls of tools, each with the size of what it was given and of what it answered."""
    params = call.parameters(ToolUsesParameters)
    transcripts = await _transcripts(call, params.session, params.project, params.facets())

    def read() -> list[ListedToolUse]:
        return [
            _row(use, transcripts[use.content_session_id], params.platform)
            for use in _in_files(transcripts)
            if not params.tools or use.tool_name in params.tools
        ]

    start, end = params.date_start, params.date_end
    rows = [
        row
        for row in await _without_forgotten(call, await asyncio.to_thread(read))
        if (start is None or row.created_at_epoch >= start)
        and (end is None or row.created_at_epoch <= end)
    ]
    rows.sort(key=lambda row: row.created_at_epoch, reverse=params.order == "date_desc")
    page = rows[params.offset : params.offset + params.limit]
    return json_reply(ToolUses(count=len(page), tool_uses=page))


async def _transcripts(
    call: Call, session: str, project: str, facets: tuple[tuple[str, str], ...] = ()
) -> dict[str, str]:
    """The sessions to read, the newest first, each with its project; none for a user's store."""
    if call.caller.user:
        return {}
    kinds = () if session else ("user_prompt", "session_summary")
    asked = Filters(kinds=kinds, session=session, project=project, facets=facets)
    records = await call.runtime.store.records.newest(asked, 1 if session else _RECORDS)
    sessions = {each.session: each.project for each in records if each.session}
    return dict(islice(sessions.items(), _SESSIONS))


_Use = TypeVar("_Use", ToolUse, ListedToolUse)


async def _without_forgotten(call: Call, uses: list[_Use]) -> list[_Use]:
    """``uses`` without those of steps, turns and prompts that were forgotten.

    A step that is stored is shown, whatever else of its turn was forgotten. Of one that is not,
    another version may have divided the turn differently.
    """
    store = call.runtime.store
    if not uses or not await store.forgetting.tombstones(None, 1):
        return uses
    sessions = list({use.content_session_id for use in uses})
    stored = {each.source_id for each in await store.ingest.observations_of(NAME, sessions)}
    owners: dict[str, tuple[str, ...]] = {}
    for session in sessions:
        path = transcript_of(session)
        owners |= await asyncio.to_thread(records_of_calls, Path(path)) if path else {}
    asked = [
        (NAME, each, kind)
        for each in {name for names in owners.values() for name in names}
        for kind in ("observation", "user_prompt")
    ]
    forgotten = {each for _, each, _ in await store.forgetting.forgotten(asked)}
    shown = {
        use
        for use, names in owners.items()
        if names and (names[0] in stored or forgotten.isdisjoint(names))
    }
    return [use for use in uses if use.id in shown]


def _in_files(sessions: Collection[str], wanted: Collection[str] = ()) -> Iterator[ToolUse]:
    """The calls in the transcripts of these sessions, ``wanted`` ones or all of them.

    Linear in the size of the files. A call without an answer comes at the end of its file.
    """
    marks = [each.encode() for each in wanted] or _CALLS
    left = _MAX_BYTES
    for session in sessions:
        if not (transcript := transcript_of(session)):
            continue
        begun: dict[str, ToolUse] = {}
        try:
            file = open_regular_file(transcript, follow=False, own=True)
        except OSError:  # gone, or something else by now: no transcript of ours
            continue
        with file:
            while left > 0 and (line := file.readline(_MAX_LINE_BYTES)):
                left -= len(line)
                if any(mark in line for mark in marks):
                    yield from _in_line(line, session, wanted, begun)
        yield from begun.values()


def _in_line(
    line: bytes, session: str, wanted: Collection[str], begun: dict[str, ToolUse]
) -> Iterator[ToolUse]:
    """The calls that this line answers. ``begun`` are those without an answer so far."""
    try:
        raw = loads(line)
    except (ValueError, RecursionError):
        return
    message = raw.get("message") if isinstance(raw, Mapping) else None
    content = message.get("content") if isinstance(message, Mapping) else None
    for block in content if isinstance(content, list) else ():
        if not isinstance(block, Mapping):
            continue
        use, answered = str(block.get("id") or ""), str(block.get("tool_use_id") or "")
        if block.get("type") == "tool_use" and (not wanted or use in wanted):
            begun[use] = ToolUse(
                id=use,
                tool_use_id=use,
                content_session_id=session,
                tool_name=str(block.get("name") or ""),
                tool_input=block.get("input"),
                tool_response=None,
                cwd=str(raw.get("cwd") or ""),
                created_at=str(raw.get("timestamp") or ""),
            )
        elif block.get("type") == "tool_result" and answered in begun:
            done = begun.pop(answered)
            done.tool_response = block.get("content")
            yield done


def _row(use: ToolUse, project: str, platform: str) -> ListedToolUse:
    return ListedToolUse(
        id=use.id,
        tool_use_id=use.tool_use_id,
        tool_name=use.tool_name,
        project=project,
        content_session_id=use.content_session_id,
        memory_session_id=use.content_session_id,
        platform_source=platform or UNKNOWN_PLATFORM,
        created_at=use.created_at,
        created_at_epoch=moment(use.created_at) or 0,
        tool_input_bytes=_size(use.tool_input),
        tool_response_bytes=_size(use.tool_response),
    )


def _size(value: Any) -> int:
    """Bytes of the value as claude-mem keeps it: JSON in a text, 0 for nothing."""
    return 0 if value is None else len(dumped(value).encode("utf-8", "replace"))
