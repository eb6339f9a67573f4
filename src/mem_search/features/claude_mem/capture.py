"""What hooks and plug-ins of claude-mem tell: prompts, tool calls, conclusions, saved memories.

A session becomes records the same way as with our own hooks (``features/capture``): where its
transcript lies on this machine, the transcript is read, and the event only says that there is
something new. Otherwise the events are its transcript. So a session that several programs tell
about is stored once.
"""

from __future__ import annotations

import asyncio
import re
import zlib
from dataclasses import replace
from typing import Annotated, Any, Final

from aiohttp import web
from pydantic import AfterValidator, AliasChoices, Field

from mem_search.features.claude_mem.clients import ClientBody, platform_of
from mem_search.features.claude_mem.replies import MemorySaved, SessionBegun, Taken
from mem_search.http.core.replies import json_reply
from mem_search.http.core.routing import Call
from mem_search.ingest.prepare import content_id
from mem_search.model import Draft, Filters
from mem_search.patterns import pattern
from mem_search.sources import opencode, pi
from mem_search.sources.agent_work.text import headline, without_injected
from mem_search.sources.agent_work.transcripts import Tools, call_of
from mem_search.text import secret_rules

_NO_PROMPTS: Final = ("", "[media prompt]", "session start", "after compaction", "agent run")
"""What clients send where a person wrote nothing; the last three are OpenClaw's plug-in."""

_SAID: Final = "assistant_message"
"""The tool that OpenCode's plug-in names for what the agent said."""

_TOOLS: Final[Tools] = {
    name: tuple(dict.fromkeys((*opencode.TOOLS.get(name, ()), *pi.TOOLS.get(name, ()))))
    for name in {**opencode.TOOLS, **pi.TOOLS}
}
"""The tools of OpenCode and OpenClaw, whose plug-ins name them as their agents do."""

_NO_WORDS: Final = "there is nothing to store"

_WRAPPED: Final = pattern(r"opencode-(ses_\w+)-\d{13}", re.ASCII)


def _own_id(session: str) -> str:
    """The id that the agent gave; OpenCode's plug-in adds its name, and when it was loaded."""
    wrapped = _WRAPPED.fullmatch(session)
    return wrapped[1] if wrapped else session


class SessionBody(ClientBody):
    """An event of a session; `contentSessionId` is its id in the agent."""

    session: Annotated[str, AfterValidator(_own_id)] = Field(
        alias="contentSessionId", min_length=1, max_length=200
    )
    cwd: str = Field(default="", max_length=4096)


class InitBody(SessionBody):
    """A prompt, or a session that begins without one."""

    project: str = Field(default="", max_length=300)
    prompt: str = ""


class ToolBody(SessionBody):
    """A call of a tool and its answer."""

    tool: str = Field(alias="tool_name", min_length=1, max_length=300)
    arguments: Any = Field(default=None, alias="tool_input")
    answer: Any = Field(default=None, alias="tool_response")
    use: str = Field(
        default="", max_length=200, validation_alias=AliasChoices("tool_use_id", "toolUseId")
    )


class SummaryBody(SessionBody):
    """The agent has ended its turn."""

    last: str = Field(default="", alias="last_assistant_message")


class MemoryBody(ClientBody):
    """Something to remember."""

    text: str = Field(min_length=1)
    title: str = Field(default="", max_length=4000)
    project: str = Field(default="", max_length=300)
    metadata: dict[str, Any] = Field(default_factory=dict)


async def begin(call: Call) -> web.StreamResponse:
    """Take a prompt."""
    body = call.json_body(InitBody)
    words = without_injected(body.prompt)
    store = call.runtime.store.records
    of_session = Filters(kinds=("user_prompt",), session=body.session)
    _, known = await store.page(of_session, "date_asc", 1, 0)
    reply = SessionBegun(session_db_id=_number(body.session), prompt_number=known + 1)
    if words not in _NO_PROMPTS:
        await _leave(call, body, "UserPromptSubmit", prompt=body.prompt, project=body.project)
    elif body.prompt.strip() not in _NO_PROMPTS:
        reply.skipped, reply.reason = True, "private"
    return json_reply(reply)


async def observe(call: Call) -> web.StreamResponse:
    """Take a call of a tool."""
    body = call.json_body(ToolBody)
    if body.tool == _SAID:
        said = body.answer if isinstance(body.answer, str) else ""
        return await _said(call, body, said)
    made = call_of(_TOOLS, body.use, body.tool, body.arguments)
    await _leave(
        call, body, "PostToolUse",
        tool_name=made.tool, tool_input=made.arguments, tool_response=body.answer,
        tool_use_id=body.use,
    )  # fmt: skip
    return json_reply(Taken(status="queued"))


async def summarize(call: Call) -> web.StreamResponse:
    """Take what the agent said last; the summary is made of the whole session."""
    body = call.json_body(SummaryBody)
    return await _said(call, body, body.last)


async def end(call: Call) -> web.StreamResponse:
    """The session is over."""
    await _leave(call, call.json_body(SessionBody), "SessionEnd")
    return json_reply(Taken(status="accepted"))


async def save(call: Call) -> web.StreamResponse:
    """Store a memory as an observation."""
    body = call.json_body(MemoryBody)
    await secret_rules.ready()
    title = body.title.strip() or headline(body.text)
    metadata = {**body.metadata, "type": "discovery", "platform": platform_of(call.request, body)}
    draft = Draft(
        kind="observation",
        source="claude-mem",
        source_id="",
        title=title,
        text=body.text,
        project=body.project,
        session=f"manual-{body.project}" if body.project else "",
        metadata={name: value for name, value in metadata.items() if value},
    )
    draft = replace(draft, source_id=content_id(draft))
    number = await call.runtime.ingest.writer.store_one(draft)
    message = f"Memory saved as observation #{number}"
    return json_reply(MemorySaved(id=number, title=title, project=body.project, message=message))


async def _said(call: Call, body: SessionBody, words: str) -> web.StreamResponse:
    if not without_injected(words):
        # The session may have a transcript, which has grown all the same.
        await _leave(call, body, "Stop")
        return json_reply(Taken(status="skipped", reason=_NO_WORDS))
    await _leave(call, body, "Stop", last_assistant_message=words)
    return json_reply(Taken(status="queued"))


async def _leave(call: Call, body: SessionBody, name: str, **content: Any) -> None:
    platform = platform_of(call.request, body)
    event: dict[str, Any] = {"hook_event_name": name, "session_id": body.session, "cwd": body.cwd}

    await asyncio.to_thread(
        call.runtime.ingest.hooks.leave,
        {**event, **content, "platform": platform},
        field="contentSessionId",
    )


def _number(session: str) -> int:
    """A number for the session that is the same each time: clients print it."""
    return zlib.crc32(session.encode("utf-8", "replace"))
