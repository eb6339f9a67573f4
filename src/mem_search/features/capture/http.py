"""Hooks of agents: their events, the context for a session or a prompt, and what they cost."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Annotated, Any, Final, Self

from aiohttp import web
from pydantic import Field

from mem_search.errors import StorageError
from mem_search.features.capture.costs import Cost, costs, dropped
from mem_search.features.context.service import MIN_PROMPT_CHARS, Situation, brief
from mem_search.features.context.text import render_briefing, render_matches, render_prompt_guide
from mem_search.git.changes import changed_files
from mem_search.http.core.parameter_types import Text
from mem_search.http.core.parameters import Body, Parameters
from mem_search.http.core.replies import json_reply
from mem_search.http.core.routing import Call, Route
from mem_search.projects import Project, identify, named_after
from mem_search.renderers.schema import Count, From, Projection, Time, projected, schema
from mem_search.text import token_count
from mem_search.text.dates import now_ms
from mem_search.waiting import Lane

_FOR_PROMPT = 400
"""Most tokens of the records that a prompt gets."""
_MATCHES = 5

_CHANGES_SECONDS: Final = 0.5
"""For the files that were changed in the session's directory: a session waits."""

_LOOK_SECONDS: Final = 2.0
"""For a directory in all. One on a disk that does not answer takes a thread, and no longer."""

_LOOKS: Final = Lane("hooks", most=16)


def _at(share: float, times: list[float]) -> float:
    """The time that so many of them do not exceed; 0 without any."""
    return sorted(times)[round((len(times) - 1) * share)] if times else 0.0


@schema
class SessionCost(Projection[Cost]):
    """What the hooks of a session cost: how many, the tokens that the agent got, and their times.

    `turns` are prompts, `searches` how often the agent searched its memory. `unanswered` hooks met
    no worker in time. `ms` and `cpu_ms` are the median hook, `slowest_ms` the slowest.
    """

    session: str
    agent: str
    first: Annotated[Time, From("first_at")]
    last: Annotated[Time, From("last_at")]
    hooks: Count
    unanswered: Count
    turns: Count
    searches: Count
    tokens: Count
    ms: Annotated[float, From("times", partial(_at, 0.5))]
    slowest_ms: Annotated[float, From("times", partial(_at, 1.0))]
    cpu_ms: Annotated[float, From("cpu_times", partial(_at, 0.5))]


@schema
class HookCosts:
    """The hooks of all sessions together, and each of the latest sessions, the latest first.

    `p95_ms` and `p95_cpu_ms` are of single hooks; `searches_a_turn` is null without a prompt.
    `dropped` events could not be used; `last_dropped` is when and why the last of them was dropped.
    """

    hooks: Count
    unanswered: Count
    turns: Count
    searches: Count
    searches_a_turn: float | None
    tokens: Count
    p95_ms: Annotated[float, From("times", partial(_at, 0.95))]
    p95_cpu_ms: Annotated[float, From("cpu_times", partial(_at, 0.95))]
    dropped: Count
    last_dropped: str
    sessions: list[SessionCost]

    @classmethod
    def of(cls, total: Cost, sessions: list[SessionCost], dropped: int, last_dropped: str) -> Self:
        return projected(
            cls,
            total,
            searches_a_turn=round(total.searches / total.turns, 3) if total.turns else None,
            dropped=dropped,
            last_dropped=last_dropped,
            sessions=sessions,
        )


@schema
class HookReply:
    """`context` is for the agent of a session that starts, or of a prompt; else it is empty.

    It has so many `tokens`. `kept`: the event that came with the request is on the disk, redacted.
    A worker that has just started does not keep it yet: then the hook has to.
    """

    context: str
    tokens: Count
    kept: bool


class CostParameters(Parameters):
    """How many sessions."""

    session: Text = Field(default="", description="Only this session")
    limit: int = Field(default=20, ge=1, le=500, description="How many sessions at most")


async def cost(call: Call) -> web.StreamResponse:
    """What hooks cost, in all and for each session."""
    params = call.parameters(CostParameters)
    try:
        total, sessions = await asyncio.to_thread(costs, call.runtime.settings.home)
        lost, last = await asyncio.to_thread(dropped, call.runtime.settings.home)
    except OSError as error:
        raise StorageError(f"the costs of hooks cannot be read: {error.strerror}") from error
    chosen = [each for each in sessions if params.session in ("", each.session)]
    shown = [SessionCost.of(each) for each in chosen[: params.limit]]
    return json_reply(HookCosts.of(total, shown, lost, last))


class HookBody(Body):
    """What happened, in the words of the agent's hook.

    The event itself is a file in the home, or ``event`` where its content is not in a transcript.
    """

    hook_event_name: str = Field(max_length=100, description="SessionStart, Stop, ...")
    cwd: str = Field(default="", max_length=4096, description="The directory of the session")
    session_id: str = Field(default="", max_length=1024, description="The session")
    prompt: str = Field(default="", max_length=4000, description="The beginning of a prompt")
    event: dict[str, Any] | None = Field(
        default=None, description="The whole event, to be redacted and kept by the worker"
    )
    event_id: str = Field(
        default="", pattern=r"^([0-9]{20}-[0-9a-f]{8})?$", description="What names its file"
    )


async def event(call: Call) -> web.StreamResponse:
    """Take what hooks left in the home; the context for a session that starts, or a prompt."""
    body = call.json_body(HookBody)
    hooks = call.runtime.ingest.hooks
    kept = False
    # A hook waits .25 s at most, and a thread that waits for the rules of secrets serves nobody
    # else. So until they are loaded the hook keeps its event itself.
    if body.event is not None and body.event_id and hooks.redacts_at_once:
        await asyncio.to_thread(hooks.leave, body.event, body.event_id)
        kept = True
    hooks.wake()
    context = await _context(call, body)
    return json_reply(HookReply(context=context, tokens=token_count.count(context), kept=kept))


async def _context(call: Call, body: HookBody) -> str:
    """What the agent gets; empty if nothing is known, or if the settings say so."""
    settings, prompt = call.runtime.settings, body.prompt.strip()
    starts = body.hook_event_name == "SessionStart" and settings.context_tokens > 0
    asks = body.hook_event_name == "UserPromptSubmit" and settings.prompt_context != "off"
    if not body.cwd or not (starts or (asks and len(prompt) >= MIN_PROMPT_CHARS)):
        return ""
    unseen: tuple[Project, tuple[str, ...]] = named_after(body.cwd), ()
    place, files = await _LOOKS.run(
        _seen, body.cwd, starts, seconds=_LOOK_SECONDS, otherwise=unseen
    )
    runtime, name = call.runtime, place.name
    if place.place is not None:
        name = (await runtime.store.ingest.projects_at([place.place]))[0].name
    situation = Situation((name,), place.branch, files, body.session_id, prompt)
    briefing = await brief(runtime.store.records, runtime.search.service, situation, now_ms())
    if starts:
        return render_briefing(briefing, call.display(), settings.context_tokens).text
    matches = ""
    if settings.prompt_context == "records":
        matches = render_matches(briefing, call.display(), _FOR_PROMPT, _MATCHES).text
    return "\n\n".join(filter(None, (render_prompt_guide(briefing), matches)))


def _seen(cwd: str, starts: bool) -> tuple[Project, tuple[str, ...]]:
    """The project of a directory, and for a session that starts its changed files."""
    return identify(cwd), changed_files(cwd, _CHANGES_SECONDS) if starts else ()


# fmt: off
ROUTES = (
    Route("GET", "/api/context/costs", cost, "Show what the hooks of agents cost", "timeline", CostParameters, response=HookCosts, private=True),
    Route("POST", "/api/hooks", event, "Say that a hook of an agent left an event in the home", "import", body=HookBody, write=True, defers=True, only="owner", response=HookReply),
)
