"""The context for the start of a session: the newest sessions and their observations."""

from __future__ import annotations

from functools import partial

from aiohttp import web
from pydantic import Field

from mem_search.http.core.parameter_types import Text
from mem_search.http.core.parameters import PlatformParameters, TimeZoneParameters, budget
from mem_search.http.core.replies import text_reply
from mem_search.http.core.routing import Call
from mem_search.http.schemas.search import RecentContext
from mem_search.model import Filters
from mem_search.renderers import render_context
from mem_search.renderers.token_budget import fits, most_that

OBSERVATIONS_A_SESSION = 20


class RecentParameters(TimeZoneParameters, PlatformParameters):
    """The project, the number of sessions and the longest text."""

    project: Text = Field(default="", description="Project by name; all of them when left out")
    limit: int = Field(default=3, ge=1, le=10, description="How many sessions")
    max_chars: int = Field(default=8000, ge=500, le=100_000, description="Longest text")
    max_tokens: int | None = budget()


async def recent(call: Call) -> web.StreamResponse:
    """The newest sessions and their observations, as a block of text."""
    params = call.parameters(RecentParameters)
    sessions, observations = await call.runtime.store.records.recent_sessions(
        Filters(project=params.project, facets=params.facets()),
        params.limit,
        OBSERVATIONS_A_SESSION,
    )
    display = call.display(params.tz)

    def block(longest: int) -> str:
        return render_context(
            sessions, observations, project=params.project, display=display, max_chars=longest
        )

    longest, limit = params.max_chars, params.max_tokens
    if limit is not None:
        longest = most_that(lambda length: fits(block(length), limit), longest)
    text = block(longest)
    if not text and sessions + observations:
        return text_reply(call.request, "No record fits; raise max_tokens or max_chars")
    named = f" of the project {params.project}" if params.project else ""
    return text_reply(
        call.request,
        text or f"Nothing is known{named} yet; mem-search sync reads what this machine has",
        partial(
            RecentContext,
            sessions=[str(record.ref) for record in sessions],
            observations=[str(record.ref) for record in observations],
        ),
    )
