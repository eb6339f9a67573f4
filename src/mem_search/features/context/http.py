"""What an agent gets from memory: the newest sessions, and the briefing for its situation.

Hooks, the command ``mem-search context`` and the routes below all get the briefing of ``brief``.
"""

from __future__ import annotations

from functools import partial

from aiohttp import web
from pydantic import Field

from mem_search.errors import MissingField
from mem_search.features.context.service import MIN_PROMPT_CHARS, Situation, brief, project_name
from mem_search.features.context.text import (
    RenderedBriefing,
    render_briefing,
    render_context,
    render_matches,
)
from mem_search.http.access.authentication import admit
from mem_search.http.core.parameter_types import Platform, Text, Words
from mem_search.http.core.parameters import (
    Body,
    PlatformParameters,
    TimeZoneParameters,
    also,
    budget,
)
from mem_search.http.core.replies import JSON, TEXT, TextReply, json_reply, prefers, text_reply
from mem_search.http.core.routing import Call, Route
from mem_search.model import Filters
from mem_search.model.projects import EXACTLY, ProjectPlace
from mem_search.records.origin import is_given
from mem_search.records.registry import installed_kinds
from mem_search.renderers import harmless, quoted
from mem_search.renderers.schema import Absent, Count, schema
from mem_search.renderers.token_budget import fits, most_that
from mem_search.storage.sql.records import Records
from mem_search.text.dates import now_ms

OBSERVATIONS_A_SESSION = 20
_MAX_PROJECTS = 5
_MAX_MARKS = 10
_FULL = 10
"""So many times the usual records with ``full``."""


@schema
class BriefedRecord:
    """A record of a briefing; `reasons` say why it is in it, the heaviest first."""

    ref: str
    title: str
    score: float
    reasons: list[str]


@schema
class BriefingReply:
    """`context` is what the agent gets: `tokens_used` of at most `max_tokens`.

    `total` records are known of the projects, `on_branch` of them of the branch, and `matching`
    match the prompt (null without one). `left_out` further records were read and not shown.
    """

    context: str
    tokens_used: Count
    max_tokens: Count
    total: Count
    on_branch: Count
    matching: Count | None
    records: list[BriefedRecord]
    left_out: Count


@schema
class SemanticContext:
    """The records that match a prompt, as text, and how many they are."""

    context: str
    count: Count
    tokens_used: Count


@schema
class RecentContext(TextReply):
    """The newest sessions as text; empty lists where nothing is known."""

    sessions: Absent[list[str]] = None
    observations: Absent[list[str]] = None


class RecentParameters(TimeZoneParameters, PlatformParameters):
    """The project, the number of sessions and the longest text."""

    project: Text = Field(default="", description="Project by name; all of them when left out")
    limit: int = Field(default=3, ge=1, le=10, description="How many sessions")
    max_chars: int = Field(default=8000, ge=500, le=100_000, description="Longest text")
    max_tokens: int | None = budget()


async def recent(call: Call) -> web.StreamResponse:
    """The newest sessions and their observations, as a block of text."""
    params = call.parameters(RecentParameters)
    project = params.project and await project_name(call.runtime.store.records, params.project)
    sessions, observations = await call.runtime.store.records.recent_sessions(
        Filters(project=project and f"{EXACTLY}{project}", facets=params.facets()),
        params.limit,
        OBSERVATIONS_A_SESSION,
    )
    sessions, observations = (list(filter(is_given, each)) for each in (sessions, observations))
    display = call.display(params.tz)

    def block(longest: int) -> str:
        return render_context(
            sessions, observations, project=project, display=display, max_chars=longest
        )

    longest, limit = params.max_chars, params.max_tokens
    if limit is not None:
        longest = most_that(lambda length: fits(block(length), limit), longest)
    text = block(longest)
    if not text and sessions + observations:
        return text_reply(call.request, "No record fits; raise max_tokens or max_chars")
    named = f" of {quoted(project)}" if project else ""
    return text_reply(
        call.request,
        text or f"Nothing is known{named} yet; mem-search sync reads what this machine has",
        partial(
            RecentContext,
            sessions=[str(record.ref) for record in sessions],
            observations=[str(record.ref) for record in observations],
        ),
    )


class BriefingParameters(TimeZoneParameters, PlatformParameters):
    """The situation of an agent, and how much it may get."""

    project: Text = Field(default="", description="Project by name")
    cwd: Text = Field(default="", description="The directory that `project` is the name of")
    checkout: Text = Field(default="", description="The work tree around it")
    root: Text = Field(default="", description="The main work tree of its repository")
    marks: Words = Field(
        default=(), max_length=_MAX_MARKS, description="What tells its repository apart"
    )
    projects: Words = Field(
        default=(), max_length=_MAX_PROJECTS, description="Several projects, its own first"
    )
    branch: Text = Field(default="", description="The branch that it works on")
    files: Words = Field(
        default=(), description="Files at hand: paths or their ends", json_schema_extra=also("file")
    )
    session: Text = Field(default="", description="Its session: files changed there are at hand")
    prompt: Text = Field(default="", description="What it was asked")
    max_tokens: int | None = budget()
    full: bool = Field(default=False, description="More records than an agent gets by itself")
    colors: bool = Field(default=False, description="Accepted from other clients; no effect")

    async def situation(self, records: Records) -> Situation:
        """Raises MissingField without a project, InputError for a name of several."""
        named = (self.project.strip(), *self.projects)
        if not any(named):
            raise MissingField("name the project; GET /api/projects lists them", field="project")
        place = (
            ProjectPlace(self.project.strip(), self.cwd, self.checkout, self.root, self.marks)
            if self.cwd
            else None
        )
        names = [
            await project_name(records, name, place if name == self.project.strip() else None)
            for name in named
            if name
        ]
        projects = tuple(dict.fromkeys(filter(None, names)))
        return Situation(
            projects, self.branch.strip(), self.files, self.session.strip(), self.prompt,
            self.facets(),
        )  # fmt: skip


async def inject(call: Call) -> web.StreamResponse:
    """The briefing as an agent gets it: bare text, or JSON where the caller prefers it."""
    return await _briefed(call, as_text=not prefers(call.request, JSON, TEXT))


async def preview(call: Call) -> web.StreamResponse:
    """The same briefing with the reason for each record, as JSON or as text."""
    return await _briefed(call, as_text=prefers(call.request, TEXT))


async def _briefed(call: Call, *, as_text: bool) -> web.StreamResponse:
    params = call.parameters(BriefingParameters)
    situation = await params.situation(call.runtime.store.records)
    more = _FULL if params.full else 1
    if situation.prompt.strip():
        await admit(call.request, situation.prompt)
    limit = params.max_tokens or call.runtime.settings.context_tokens * more
    runtime = call.runtime
    briefing = await brief(
        runtime.store.records, runtime.search.service, situation, now_ms(), more=more
    )
    rendered = render_briefing(briefing, call.display(params.tz), limit, more=more)
    if as_text:
        body = f"{rendered.text}\n" if rendered.text else ""
        return web.Response(
            body=body.encode("utf-8", "replace"), content_type=TEXT, charset="utf-8"
        )
    return json_reply(
        BriefingReply(
            context=rendered.text,
            tokens_used=rendered.tokens,
            max_tokens=limit,
            total=briefing.total,
            on_branch=briefing.on_branch,
            matching=briefing.matching,
            records=_records(rendered),
            left_out=len(briefing.candidates) - len(rendered.shown),
        )
    )


def _records(rendered: RenderedBriefing) -> list[BriefedRecord]:
    kinds = installed_kinds()
    return [
        BriefedRecord(
            ref=str(each.record.ref),
            title=kinds.get(each.record.kind).title(harmless(each.record)),
            score=round(each.score, 3),
            reasons=list(each.reasons),
        )
        for each in rendered.shown
    ]


class SemanticBody(Body):
    """A prompt, as a hook sends it."""

    q: str = Field(max_length=100_000, description="The prompt; a short one gets nothing")
    project: str = Field(default="", max_length=4096, description="Project by name")
    limit: int = Field(default=5, ge=1, le=20, description="How many records at most")
    platform: Platform = Field(
        default="", alias="platformSource", description="The agent's platform"
    )
    max_tokens: int = Field(default=500, ge=50, le=100_000, description="Most tokens of the text")


async def semantic(call: Call) -> web.StreamResponse:
    """The records that match a prompt, fenced and within a budget; empty for a short prompt."""
    body = call.json_body(SemanticBody)
    prompt = body.q.strip()
    if len(prompt) < MIN_PROMPT_CHARS:
        return json_reply(SemanticContext(context="", count=0, tokens_used=0))
    await admit(call.request, prompt)
    runtime = call.runtime
    facets = (("platform", body.platform),) if body.platform else ()
    project = body.project.strip()
    project = project and await project_name(runtime.store.records, project)
    situation = Situation((project,), prompt=prompt, facets=facets)
    briefing = await brief(runtime.store.records, runtime.search.service, situation, now_ms())
    rendered = render_matches(briefing, call.display(), body.max_tokens, body.limit)
    return json_reply(
        SemanticContext(
            context=rendered.text, count=len(rendered.shown), tokens_used=rendered.tokens
        )
    )


# fmt: off
ROUTES = (
    Route("GET", "/api/context/recent", recent, "Summarize the newest sessions for an agent", "timeline", RecentParameters, response=RecentContext | TextReply),
    Route("GET", "/api/context/inject", inject, "Show what an agent gets at the start of a session", "timeline", BriefingParameters, content_type=TEXT, other_types=(JSON,), response=BriefingReply),
    Route("GET", "/api/context/preview", preview, "Show what an agent gets, with the reason for each record", "timeline", BriefingParameters, other_types=(TEXT,), response=BriefingReply),
    Route("POST", "/api/context/semantic", semantic, "Show what an agent gets with a prompt", "timeline", body=SemanticBody, response=SemanticContext),
)
