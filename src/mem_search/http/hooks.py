"""Hooks of agents: an event was left in the home; a session or a prompt gets its context."""

from __future__ import annotations

import asyncio

from aiohttp import web
from pydantic import Field

from mem_search.http.core.parameters import Body
from mem_search.http.core.replies import json_reply
from mem_search.http.core.routing import Call
from mem_search.http.schemas.hooks import HookReply
from mem_search.model.briefing import Situation
from mem_search.projects import identify
from mem_search.renderers import render_briefing, render_matches, render_prompt_guide
from mem_search.search.briefing import SHORTEST_PROMPT, brief
from mem_search.text.dates import now_ms

_FOR_PROMPT = 400
"""Most tokens of the records that a prompt gets."""
_MATCHES = 5


class HookBody(Body):
    """What happened, in the words of the agent's hook. The event itself is a file in the home."""

    hook_event_name: str = Field(max_length=100, description="SessionStart, Stop, ...")
    cwd: str = Field(default="", max_length=4096, description="The directory of the session")
    session_id: str = Field(default="", max_length=1024, description="The session")
    prompt: str = Field(default="", max_length=4000, description="The beginning of a prompt")


async def event(call: Call) -> web.StreamResponse:
    """Take what hooks left in the home; the context for a session that starts, or a prompt."""
    body = call.json_body(HookBody)
    call.runtime.ingest.hooks.wake()
    return json_reply(HookReply(context=await _context(call, body)))


async def _context(call: Call, body: HookBody) -> str:
    """What the agent gets; empty if nothing is known, or if the settings say so."""
    settings, prompt = call.runtime.settings, body.prompt.strip()
    starts = body.hook_event_name == "SessionStart" and settings.context_tokens > 0
    asks = body.hook_event_name == "UserPromptSubmit" and settings.prompt_context != "off"
    if not body.cwd or not (starts or (asks and len(prompt) >= SHORTEST_PROMPT)):
        return ""
    place = await asyncio.to_thread(identify, body.cwd)
    situation = Situation((place.name,), place.branch, session=body.session_id, prompt=prompt)
    runtime = call.runtime
    briefing = await brief(runtime.store.records, runtime.search.service, situation, now_ms())
    if starts:
        return render_briefing(briefing, call.display(), settings.context_tokens).text
    matches = ""
    if settings.prompt_context == "records":
        matches = render_matches(briefing, call.display(), _FOR_PROMPT, _MATCHES).text
    return "\n\n".join(filter(None, (render_prompt_guide(briefing), matches)))
