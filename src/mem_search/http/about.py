"""Routes about the worker itself: health, version, documentation, metrics for Prometheus."""

from __future__ import annotations

import os
from functools import cache
from typing import Any, Literal

from aiohttp import web

import mem_search
from mem_search.access.proof import CHALLENGE, MAX_CHALLENGE_CHARS, PROOF, proof
from mem_search.errors import NotFound
from mem_search.http.access.browsers import port_of
from mem_search.http.core.parameters import SearchParameters, spellings
from mem_search.http.core.replies import json_reply, text_reply
from mem_search.http.core.routing import MEASURED, ROUTE_TABLE, Call, Measured, Route
from mem_search.install_command import install_command
from mem_search.model.statistics import ReplicaState
from mem_search.renderers.schema import Count, schema
from mem_search.text.dates import now_ms

_EXAMPLES = """\
Examples
  /api/search/unified?query=auth
  /api/search/unified?query=login&types=observations,sessions&since=last+week&limit=10
  /api/search/observations?query=token+refresh&type=bugfix&format=full&limit=3
  /api/search/by-file?filePath=src/auth.py
  /api/search?query=login&orderBy=date_desc&format=json
  /api/timeline?anchor=42&depth_before=5&depth_after=5
  /api/records/observation:42"""


@schema
class Alive:
    """The worker answers; `timestamp` is in milliseconds since 1970."""

    status: Literal["ok"] = "ok"
    timestamp: Count


@schema
class Health:
    """Which worker answers. `store_id` names its store, `instance_id` this run of the worker.

    `unwritable` says why nothing can be stored at the moment; empty when it can be.
    """

    status: Literal["ok", "starting", "failed"]
    uptime: float
    pid: int
    initialized: bool
    service: Literal["mem-search"] = "mem-search"
    instance_id: str
    store_id: str | None
    unwritable: str


@schema
class Ready:
    """Searches are answered."""

    status: Literal["ready"] = "ready"


@schema
class Version:
    """The version of mem-search."""

    version: str


def guide(routes: tuple[Route, ...], part: str = "all") -> str:
    """The help as text: the searches first, then the parameters that all of them take.

    ``part`` is the one of these three that is wanted alone: ``workflow``, ``search_params``,
    ``examples``.
    """
    parts = {"search_params": _parameters(), "examples": [_EXAMPLES]}
    if part in parts:
        return "\n".join(parts[part])
    searches = [route for route in routes if route.tag in ("search", "timeline")]
    wide = max(len(route.path) for route in searches)
    lines = [
        "Search. Start with the cheapest request: one line a record, then open what you need",
        "",
    ]
    lines += [f"  {route.path:<{wide}}  {route.summary}" for route in searches]
    if part == "workflow":
        return "\n".join(lines)
    lines += ["", "Parameters of searches", *_parameters(), "", _EXAMPLES, ""]
    lines += ["Everything else: GET /docs or /openapi.json. Accept: text/plain gives bare text."]
    return "\n".join(lines)


def _parameters() -> list[str]:
    lines = []
    for name, field in SearchParameters.model_fields.items():
        words = spellings(name, field)
        default = f" (default {field.default})" if field.default not in (None, "", ()) else ""
        lines.append(f"  {'|'.join(words)}: {field.description}{default}")
    return lines


async def health(call: Call) -> web.StreamResponse:
    """Alive; milliseconds since 1970. A challenge is answered with the proof of this worker.

    A worker that ends has none. It drops the connection, as if it had ended already: a client
    takes a reply without the proof for that of another program.
    """
    reply = json_reply(Alive(timestamp=now_ms()))
    challenge, key = call.request.headers.get(CHALLENGE, ""), call.lifecycle.key
    if challenge and not key and call.request.transport is not None:
        call.request.transport.abort()
    if challenge and key and len(challenge) <= MAX_CHALLENGE_CHARS:
        reply.headers[PROOF] = proof(key, challenge, port_of(call.request))
    return reply


async def api_health(call: Call) -> web.StreamResponse:
    """Which worker answers. There is no version: hooks of some clients stop a worker of another
    version.
    """
    lifecycle = call.lifecycle
    return json_reply(
        Health(
            status=lifecycle.state,
            uptime=lifecycle.uptime,
            pid=os.getpid(),
            initialized=lifecycle.state == "ok",
            instance_id=lifecycle.instance,
            store_id=lifecycle.store_id,
            unwritable=lifecycle.unwritable,
        )
    )


async def readiness(call: Call) -> web.StreamResponse:
    """200 when the worker answers searches, 503 before that."""
    call.runtime  # noqa: B018 - raises while there is none
    return json_reply(Ready())


async def version(_call: Call) -> web.StreamResponse:
    return json_reply(Version(version=mem_search.__version__))


async def search_help(call: Call) -> web.StreamResponse:
    """Routes and parameters of searches as a text."""
    return text_reply(call.request, guide(call.request.app[ROUTE_TABLE]()))


async def openapi_json(call: Call) -> web.StreamResponse:
    """This API as OpenAPI 3.1."""
    return json_reply(_described(call.request.app[ROUTE_TABLE]()))


async def docs(call: Call) -> web.StreamResponse:
    """The operations on one page."""
    from mem_search.http import openapi  # see ``_described``

    return web.Response(
        text=openapi.page(_described(call.request.app[ROUTE_TABLE]())),
        content_type="text/html",
        headers={"Content-Security-Policy": openapi.POLICY},
    )


@cache
def _described(routes: tuple[Route, ...]) -> dict[str, Any]:
    from mem_search.http import openapi  # few workers are asked to describe their API

    return openapi.describe(routes)


async def metrics(call: Call) -> web.StreamResponse:
    """Requests of this worker since its start, and what its store has and waits for."""
    measured = call.request.app[MEASURED]
    if not measured.on:
        raise NotFound(
            "metrics need the Python package prometheus-client; run:"
            f" {install_command('mem-search[serve]')}"
        )
    store = call.runtime.store
    totals = await store.statistics.totals()
    measured.set("records", "Records of the store", "kind", totals.records)
    waiting = {str(step): count for step, count in (await store.indexing.outbox_counts()).items()}
    measured.set("outbox_passages", "Passages that wait", "step", waiting)
    states = {"queued": 0, "running": 0}
    for job in await store.jobs.unfinished():
        states[job.state] += 1
    measured.set("jobs", "Jobs that have not ended", "state", states)
    note_replica(measured, store.replica)
    return web.Response(body=measured.text(), content_type="text/plain", charset="utf-8")


def note_replica(measured: Measured, replica: ReplicaState | None) -> None:
    """Set the gauges of the replica of the store; there are none without a replica."""
    if replica is None:
        return
    measured.set("replica", "1 for the state of the replica", "state", {replica.state: 1})
    lag: dict[str, float] = {} if replica.lag_s is None else {replica.state: replica.lag_s}
    measured.set("replica_lag_seconds", "Seconds of writes that the replica may lack", "state", lag)
