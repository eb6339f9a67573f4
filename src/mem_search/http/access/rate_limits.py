"""Rate limits of searches over HTTP, and the headers that report them.

``RateLimit-Policy`` and ``RateLimit`` follow draft-ietf-httpapi-ratelimit-headers-11.
"""

from __future__ import annotations

import json
import logging
from typing import Final

from aiohttp import web
from pydantic import BaseModel

from mem_search.access.callers import Caller, limit_error
from mem_search.errors import InputError, LimitReached
from mem_search.http.core.lifecycle import LIFECYCLE
from mem_search.http.core.request_context import REQUEST_CONTEXT, Level, flags
from mem_search.model.access import HOUR, Policy
from mem_search.request_id import REQUEST_ID
from mem_search.runtime import Runtime
from mem_search.settings import Settings

log = logging.getLogger(__name__)

FLAGS: Final = "X-Mem-Search-Flags"
RESEARCH: Final = "deep_research"
"""The mode of a universal search that is a step of a chain (docs/contracts)."""


def searches(*models: type[BaseModel] | None) -> bool:
    """Whether a route with these parameters and this body searches: it takes a query.

    A route that also takes an anchor may only open a record, and counts its searches itself.
    """
    fields = {name for model in models if model is not None for name in model.model_fields}
    return "query" in fields and "anchor" not in fields


def level_of(caller: Caller, *, remote: bool, strict: bool = False) -> Level:
    """The security level of a search. ``remote``: it may come from another machine.

    ``strict``: it is a step of deep research, or came over MCP.
    """
    if not caller.user and not remote:
        return Level.TRUSTED
    return Level.STRICT if remote and strict else Level.BASIC


async def admit(
    request: web.Request,
    text: str,
    *,
    research: bool = False,
    agent: bool = False,
    count: int = 1,
) -> None:
    """Count a search for ``text`` and inspect the text, by the security level of the caller.

    ``research``: a step of deep research, or ``count`` of them. ``agent``: the request came over
    MCP. Raises LimitReached, StorageError.
    """
    context = request[REQUEST_CONTEXT]
    caller = context.caller
    level = level_of(caller, remote=context.remote, strict=research or agent)
    if level is Level.TRUSTED:
        return
    context.level = level
    policy = policy_of(request.app[LIFECYCLE].settings, level, research=research)
    allowance = await request.app[LIFECYCLE].limits.count(caller.budget, policy, count)
    if allowance is not None:
        context.allowances[policy.name] = allowance
        if not allowance.granted:
            log.info("%s reached the limit %s", caller.name, policy.name)
            raise limit_error(allowance)
    if level is Level.STRICT and (found := flags(text)):
        context.flags = found
        # Not the query itself: the log must not contain what people search for.
        log.warning("a question of %s is flagged %s, request %s", caller.name, ", ".join(found),
                    REQUEST_ID.get())  # fmt: skip


async def admit_message(request: web.Request) -> None:
    """``admit`` for an MCP message that calls a tool with a query; other messages are free.

    Faults of the message are reported by its handler. Raises LimitReached.
    """
    context = request[REQUEST_CONTEXT]
    if level_of(context.caller, remote=context.remote) is Level.TRUSTED:
        return
    try:
        message = json.loads(await request.read())
        arguments = message["params"]["arguments"] if message["method"] == "tools/call" else {}
        question, number = arguments.get("query"), message.get("id")
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return
    if isinstance(question, str):
        context.message = number if isinstance(number, str | int) else None
        await admit(request, question, research=arguments.get("mode") == RESEARCH, agent=True)


def policy_of(settings: Settings, level: Level, *, research: bool) -> Policy:
    """The policy that a search counts against."""
    if not research:
        return Policy("search", settings.limit_searches)
    if level is Level.STRICT:
        return Policy("research-remote", settings.limit_research_remote)
    return Policy("research", settings.limit_research)


async def check_jobs(request: web.Request, runtime: Runtime) -> None:
    """Raises LimitReached when the caller has too many unfinished jobs."""
    context = request[REQUEST_CONTEXT]
    most = request.app[LIFECYCLE].settings.limit_jobs
    if level_of(context.caller, remote=context.remote) is Level.TRUSTED or not most:
        return
    if context.caller.owns_home:  # the jobs of other tokens must not keep the owner from one
        return
    if len(await runtime.store.jobs.unfinished()) >= most:
        raise LimitReached(
            f"{most} jobs are unfinished; wait until one has ended: GET /api/jobs",
            policies=("jobs",),
            retry_after=5,
        )


async def check_schedule(
    request: web.Request, runtime: Runtime, name: str, every: int | None
) -> None:
    """Check that all saved searches together stay within the rate limit of their user.

    This is checked when ``name`` is saved to run every ``every`` seconds, so that no run is refused
    later. Runs do not count against the searches of the user. Raises InputError.
    """
    context = request[REQUEST_CONTEXT]
    most = request.app[LIFECYCLE].settings.limit_searches
    if level_of(context.caller, remote=context.remote) is Level.TRUSTED or not most:
        return
    others = [
        each.every_seconds
        for each in await runtime.research.saved_searches.listed()
        if each.every_seconds and each.name.lower() != name.lower()
    ]
    runs = sum(HOUR / seconds for seconds in (every, *others) if seconds)
    if every and runs > most:
        raise InputError(
            f"all schedules would search {runs:.4g} times an hour, more than the limit of {most}"
            " (search); choose a longer interval, or remove the schedule of another saved search",
            field="every",
        )


def limit_headers(request: web.Request) -> dict[str, str]:
    """The headers for the counted policies and the flags of the query; empty without any."""
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
