"""Counting searches where they are counted, and telling the caller how many are left.

The header fields ``RateLimit-Policy`` and ``RateLimit`` are those of
draft-ietf-httpapi-ratelimit-headers-11. Who is counted, and against what, is ``access``.
"""

from __future__ import annotations

import json
import logging
from typing import Final

from aiohttp import web
from pydantic import BaseModel

from mem_search.access.rate_limits import HOUR, Policy, RateLimiters, limit_error
from mem_search.access.security_levels import Circumstances, Level, flags, level_of
from mem_search.errors import InputError, LimitReached
from mem_search.http.core.lifecycle import LIFECYCLE
from mem_search.http.core.problems import REQUEST_ID
from mem_search.http.core.request_context import REQUEST_CONTEXT
from mem_search.settings import Settings
from mem_search.wiring import Runtime

log = logging.getLogger(__name__)

METERS: Final = web.AppKey("meters", RateLimiters)
FLAGS: Final = "X-Mem-Search-Flags"
RESEARCH: Final = "deep_research"
"""The mode of a universal search that is a step of a chain (docs/contracts)."""


def searches(*models: type[BaseModel] | None) -> bool:
    """Whether a route with these parameters and this body searches: it takes a question.

    What takes an anchor instead of one may open a record only, and counts for itself.
    """
    fields = {name for model in models if model is not None for name in model.model_fields}
    return "query" in fields and "anchor" not in fields


def admit(
    request: web.Request,
    text: str,
    *,
    research: bool = False,
    agent: bool = False,
    count: int = 1,
) -> None:
    """Count one search for ``text`` and look at it, as the level of whoever asks has it.

    ``research``: a step of deep research, or ``count`` of them. ``agent``: asked over MCP, where
    one request may search or not. Raises LimitReached.
    """
    context = request[REQUEST_CONTEXT]
    caller = context.caller
    level = level_of(Circumstances(caller, context.remote, research, agent))
    if level is Level.TRUSTED:
        return
    context.level = level
    policy = policy_of(request.app[LIFECYCLE].settings, level, research=research)
    allowance = request.app[METERS].count(caller.user, policy, count)
    if allowance is not None:
        context.allowances[policy.name] = allowance
        if not allowance.granted:
            log.info("%s reached the limit %s", caller.name, policy.name)
            raise limit_error(allowance)
    if level is Level.STRICT and (found := flags(text)):
        context.flags = found
        # Never the question itself: the log holds nothing that people search for.
        log.warning("a question of %s is flagged %s, request %s", caller.name, ", ".join(found),
                    REQUEST_ID.get())  # fmt: skip


async def admit_message(request: web.Request) -> None:
    """The same for a message of MCP that asks a tool a question; other messages are free.

    What is wrong with a message is for its reader to say. Raises LimitReached.
    """
    context = request[REQUEST_CONTEXT]
    if level_of(Circumstances(context.caller, context.remote, agent=True)) is Level.TRUSTED:
        return
    try:
        message = json.loads(await request.read())
        asked = message["params"]["arguments"] if message["method"] == "tools/call" else {}
        question, number = asked.get("query"), message.get("id")
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return
    if isinstance(question, str):
        context.message = number if isinstance(number, str | int) else None
        admit(request, question, research=asked.get("mode") == RESEARCH, agent=True)


def policy_of(settings: Settings, level: Level, *, research: bool) -> Policy:
    """What a search counts against."""
    if not research:
        return Policy("search", settings.limit_searches)
    if level is Level.STRICT:
        return Policy("research-remote", settings.limit_research_remote)
    return Policy("research", settings.limit_research)


async def check_jobs(request: web.Request, runtime: Runtime) -> None:
    """Raises LimitReached where whoever asks has as many unfinished jobs as they may."""
    context = request[REQUEST_CONTEXT]
    most = request.app[LIFECYCLE].settings.limit_jobs
    if level_of(Circumstances(context.caller, context.remote)) is Level.TRUSTED or not most:
        return
    if len(await runtime.store.jobs.unfinished()) >= most:
        raise LimitReached(
            f"{most} jobs are under way already; wait until one has ended: GET /api/jobs",
            policies=("jobs",),
            retry_after=5,
        )


async def check_schedule(
    request: web.Request, runtime: Runtime, name: str, every: int | None
) -> None:
    """Whether the saved search ``name`` may run each ``every`` seconds, beside all others.

    Asked once, so that no run is refused later and none takes from what its user may ask
    themselves. Raises InputError where all would run more often than searches are allowed.
    """
    context = request[REQUEST_CONTEXT]
    most = request.app[LIFECYCLE].settings.limit_searches
    if level_of(Circumstances(context.caller, context.remote)) is Level.TRUSTED or not most:
        return
    others = [
        each.every_seconds
        for each in await runtime.research.saved_searches.listed()
        if each.every_seconds and each.name.lower() != name.lower()
    ]
    runs = sum(HOUR / seconds for seconds in (every, *others) if seconds)
    if every and runs > most:
        raise InputError(
            f"all schedules would ask {runs:.4g} times an hour, more than the limit of {most}"
            " (search); ask less often, or give another saved search no schedule",
            field="every",
        )


def limit_headers(request: web.Request) -> dict[str, str]:
    """What was counted, and what a question was flagged; nothing for whom nothing was."""
    context = request.get(REQUEST_CONTEXT)
    if context is None:
        return {}
    counted = context.allowances.values()
    flagged = {FLAGS: ", ".join(context.flags)} if context.flags else {}
    if not counted:
        return flagged
    return {
        **flagged,
        "RateLimit-Policy": ", ".join(
            f'"{each.policy.name}";q={each.policy.quota};w={each.policy.seconds}'
            for each in counted
        ),
        "RateLimit": ", ".join(
            f'"{each.policy.name}";r={each.remaining};t={each.reset}' for each in counted
        ),
    }
