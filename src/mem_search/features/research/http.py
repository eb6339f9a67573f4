"""``/api/v1/search/operations`` and ``sessions``: steps of research, replays, exports."""

from __future__ import annotations

from typing import Literal

from aiohttp import web
from pydantic import Field

from mem_search.errors import NotFound
from mem_search.features.research.export import export as exported
from mem_search.features.research.export import export_markdown
from mem_search.features.research.replies import (
    ExportedSession,
    Replayed,
    ReplayedResult,
    ReplayedSession,
    ResearchSession,
    ResearchSessions,
    ResearchStep,
    ResearchSteps,
    SessionTree,
    WholeStep,
)
from mem_search.features.research.service import Replay
from mem_search.features.research.sql import ResearchStore
from mem_search.http.access.authentication import admit
from mem_search.http.core.parameters import Listing, Parameters, TimeZoneParameters
from mem_search.http.core.replies import TEXT, Deleted, json_reply, prefers
from mem_search.http.core.routing import Call, Route
from mem_search.http.universal_requests import Id
from mem_search.model.results import OperationFilter
from mem_search.renderers.universal import McpFetchResponse, UniversalSearchResponse
from mem_search.search.citations import citation

MARKDOWN = "text/markdown"


class OperationsListing(Listing):
    """Which operations to list."""

    session_id: Id = Field(default="", description="Only those of this session")
    operation_type: Literal["search", "fetch", "refine"] | None = Field(
        default=None, description="Only those of this type"
    )


class ReplayParameters(Parameters):
    """What the reply of a replay contains."""

    results: bool = Field(default=True, description="Include the new results in the reply")


class SessionReplayParameters(Parameters):
    """What the reply of a session's replay contains."""

    results: bool = Field(default=False, description="Include the new results in the reply")


class ExportParameters(TimeZoneParameters):
    """The format of an exported session."""

    format: Literal["json", "markdown"] = Field(default="json", description="JSON or Markdown")
    style: Literal["apa", "mla", "chicago"] = Field(
        default="apa", description="How sources are cited"
    )


async def listed(call: Call) -> web.StreamResponse:
    """List operations, newest first."""
    params = call.parameters(OperationsListing)
    wanted = OperationFilter(params.session_id, params.operation_type or "")
    operations, total = await call.runtime.store.part(ResearchStore).newest(
        wanted, params.limit, params.offset
    )
    return json_reply(
        ResearchSteps.of(
            params, total, operations=[ResearchStep.of(operation) for operation in operations]
        )
    )


async def one(call: Call) -> web.StreamResponse:
    """Show an operation with its filters, its results and the state of the index."""
    return json_reply(WholeStep.whole(await call.runtime.research.replays.get(_id(call))))


async def replay(call: Call) -> web.StreamResponse:
    """Repeat an operation and report what has changed."""
    replays = call.runtime.research.replays
    done = await replays.replay(await replays.get(_id(call)))
    return json_reply(_replay(call, done, results=call.parameters(ReplayParameters).results))


async def sessions(call: Call) -> web.StreamResponse:
    """List research sessions, last active first."""
    params = call.parameters(Listing)
    rows, total = await call.runtime.store.part(ResearchStore).sessions(params.limit, params.offset)
    return json_reply(
        ResearchSessions.of(
            params, total, sessions=[ResearchSession.of(session) for session in rows]
        )
    )


async def session(call: Call) -> web.StreamResponse:
    """Show the chains of a session as trees."""
    return json_reply(
        SessionTree.of(_id(call), await call.runtime.research.replays.session(_id(call)))
    )


async def replay_session(call: Call) -> web.StreamResponse:
    """Repeat all operations of a session in their order, except redacted ones."""
    results = call.parameters(SessionReplayParameters).results
    replays = call.runtime.research.replays
    steps = await replays.session(_id(call))
    again = [step for step in steps if not step.redacted]
    await admit(call.request, "", research=True, count=max(1, len(again)))
    done = [await replays.replay(step) for step in again]
    return json_reply(
        ReplayedSession(
            session_id=_id(call),
            identical=all(each.is_identical for each in done),
            index_unchanged=all(each.is_same_index for each in done),
            operations=[_replay(call, each, results=results) for each in done],
            not_replayed=[step.id for step in steps if step.redacted],
        )
    )


async def export(call: Call) -> web.StreamResponse:
    """Export a session with everything it found and cites, as JSON or Markdown."""
    runtime = call.runtime
    steps = await runtime.research.replays.session(_id(call))
    params = call.parameters(ExportParameters)
    whole = await exported(
        runtime.store.records,
        _id(call),
        steps,
        style=params.style,
        tz=call.display(params.tz).tz,
        base=call.base,
    )
    if params.format == "markdown" or prefers(call.request, TEXT):
        text = export_markdown(whole).encode("utf-8", "replace")
        return web.Response(body=text, content_type=MARKDOWN, charset="utf-8")
    return json_reply(ExportedSession.of(whole))


async def forget(call: Call) -> web.StreamResponse:
    """Delete a session with its queries and results; the records stay."""
    count = await call.runtime.store.part(ResearchStore).forget_session(_id(call))
    if not count:
        raise NotFound(
            f"no session {_id(call)[:60]!r};"
            " `mem-search research list` and GET /api/v1/search/sessions list them"
        )
    return json_reply(Deleted(deleted=count))


def _id(call: Call) -> str:
    return call.request.match_info["id"]


def _replay(call: Call, done: Replay, *, results: bool) -> Replayed:
    if results:
        return ReplayedResult.of(done, result=_result(call, done))
    return Replayed.of(done)


def _result(call: Call, done: Replay) -> UniversalSearchResponse | McpFetchResponse | None:
    if done.page is not None:
        return UniversalSearchResponse.of(done.page, call.base, done.operation)
    if done.record is None:
        return None
    return McpFetchResponse.of(done.record, citation(done.record), call.base, done.operation)


# fmt: off
ROUTES = (
    Route("GET", "/api/v1/search/operations", listed, "List steps of research, newest first", "research", OperationsListing, response=ResearchSteps),
    Route("GET", "/api/v1/search/operations/{id}", one, "Show a step of research with its results", "research", response=WholeStep),
    Route("POST", "/api/v1/search/operations/{id}/replay", replay, "Repeat a step and report what differs", "research", ReplayParameters, research=True, response=ReplayedResult | Replayed, errors=(409,)),
    Route("GET", "/api/v1/search/sessions", sessions, "List research sessions, last active first", "research", Listing, response=ResearchSessions),
    Route("GET", "/api/v1/search/sessions/{id}", session, "Show a research session as trees", "research", response=SessionTree),
    Route("POST", "/api/v1/search/sessions/{id}/replay", replay_session, "Repeat all steps of a session", "research", SessionReplayParameters, response=ReplayedSession, errors=(429,)),
    Route("GET", "/api/v1/search/sessions/{id}/export", export, "Export a session with its citations", "research", ExportParameters, other_types=("text/markdown",), response=ExportedSession, private=True),
    Route("DELETE", "/api/v1/search/sessions/{id}", forget, "Delete a research session", "research", write=True, response=Deleted),
)
