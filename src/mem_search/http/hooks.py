"""Hooks of agents: an event was left in the home; a session that begins gets its context."""

from __future__ import annotations

import asyncio
from typing import Final

from aiohttp import web
from pydantic import Field

from mem_search.http.core.parameters import Body
from mem_search.http.core.replies import json_reply
from mem_search.http.core.routing import Call
from mem_search.http.schemas.hooks import HookReply
from mem_search.model import Filters
from mem_search.projects import identify
from mem_search.renderers import render_context
from mem_search.renderers.safe_text import one_line
from mem_search.renderers.token_budget import fits, most_that

BUDGET_TOKENS: Final = 1_500
"""Most tokens that a session gets at its start, guide and fence included."""

_SESSIONS, _OBSERVATIONS = 3, 5
_LONGEST: Final = 6_000
_GUIDE: Final = """\
mem-search remembers earlier work{about}. Search it before you plan a change, when an error \
appears, when a decision is needed, and when the user refers to something earlier: the tool \
`search` of the MCP server mem-search, or the skill mem-search. Open only what you need.

"""


class HookBody(Body):
    """What happened, in the words of the agent's hook. The event itself is a file in the home."""

    hook_event_name: str = Field(max_length=100, description="SessionStart, Stop, ...")
    cwd: str = Field(default="", max_length=4096, description="The directory of the session")


async def event(call: Call) -> web.StreamResponse:
    """Take what hooks left in the home; the context for a session that starts."""
    body = call.json_body(HookBody)
    call.runtime.ingest.hooks.wake()
    context = await _context(call, body.cwd) if body.hook_event_name == "SessionStart" else ""
    return json_reply(HookReply(context=context))


async def _context(call: Call, cwd: str) -> str:
    """The newest sessions of the project, fenced, within the budget; empty if nothing is known."""
    project = (await asyncio.to_thread(identify, cwd)).name if cwd else ""
    sessions, observations = await call.runtime.store.records.recent_sessions(
        Filters(project=project), _SESSIONS, _OBSERVATIONS
    )
    if not sessions and not observations:
        return ""
    display = call.display(None)
    guide = _GUIDE.format(about=f" on {one_line(project)}" if project else "")

    def block(longest: int) -> str:
        return guide + render_context(
            sessions, observations, project=project, display=display, max_chars=longest
        )

    return block(most_that(lambda length: fits(block(length), BUDGET_TOKENS), _LONGEST))
