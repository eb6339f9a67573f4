"""``GET /api/v2/search/stats``: what can be searched, in five numbers."""

from __future__ import annotations

import asyncio
import os
from dataclasses import asdict, replace
from pathlib import Path
from typing import Literal

from aiohttp import web
from pydantic import Field
from yarl import URL

import mem_search
from mem_search.http.core.parameter_types import Text
from mem_search.http.core.parameters import FARTHEST, Parameters, PlatformParameters
from mem_search.http.core.replies import json_reply
from mem_search.http.core.routing import Call
from mem_search.http.schemas.stats import (
    DatabaseFile,
    EmbedderStatus,
    IndexState,
    IndexStatus,
    KeptTranscripts,
    Ledger,
    LedgerEntry,
    Location,
    Project,
    Projects,
    ReplicaStatus,
    Stats,
    WorkerStatus,
)
from mem_search.records.registry import installed_kinds
from mem_search.runtime import Runtime


class LedgerParameters(Parameters):
    """Which entries of the ledger."""

    source: Text = Field(default="", description="Source by name")
    item: Text = Field(default="", description="Part of a place, a path, a row or a line")
    outcome: Literal["", "taken", "left", "failed", "deleted"] = Field(
        default="", description="Only what became so"
    )
    limit: int = Field(default=50, ge=1, le=500, description="How many at most")
    offset: int = Field(default=0, ge=0, le=FARTHEST, description="How many to skip")


async def projects(call: Call) -> web.StreamResponse:
    """Projects, the one with the newest record first."""
    params = call.parameters(PlatformParameters)
    rows = await call.runtime.store.records.projects(params.platform)
    return json_reply(
        Projects(projects=[Project(name=r.name, records=r.records, last=r.last_at) for r in rows])
    )


async def totals(call: Call) -> web.StreamResponse:
    """What is stored, how much of it is indexed, what was read, and by which worker."""
    runtime = call.runtime
    store, embedder = runtime.store, runtime.model.embedder
    found = await store.statistics.totals()
    waiting = await store.indexing.outbox_counts()
    size = await store.statistics.size()
    # Where homes lie is no business of users.
    path = Path(store.location).name if call.caller.user else store.location
    return json_reply(
        Stats(
            records={**_by_kind(found.records), "total": sum(found.records.values())},
            missing_kinds=installed_kinds().missing(found.records),
            broken_plugins=[str(broken) for broken in installed_kinds().broken],
            passages=found.passages,
            embedded=found.embedded,
            indexed=found.indexed,
            embedding_coverage=found.coverage,
            outbox=sum(waiting.values()),
            index=_index(runtime, sum(waiting.values())),
            embedder=EmbedderStatus(
                name=embedder.name,
                fingerprint=embedder.fingerprint,
                dimensions=embedder.dimensions,
                error=runtime.ingest.indexer.errors["embed"],
                beside=[
                    space.name
                    for space in await store.indexing.other_spaces(runtime.active_index.space)
                ],
            ),
            sources=[Location.of(known) for known in await store.ingest.locations()],
            ledger=await _ledger_counts(runtime),
            database=DatabaseFile(
                path=path,
                bytes=size.stored,
                free=size.free,
                unwritable=store.unwritable,
                odd_rows=await store.odd_rows(),
            ),
            replica=_replica(call),
            transcripts=await _transcripts(runtime),
            worker=WorkerStatus(
                version=mem_search.__version__,
                pid=os.getpid(),
                port=URL(call.base).port,
                uptime_s=call.lifecycle.uptime,
                started_at=runtime.started_at,
            ),
            first=found.first_at,
            last=found.last_at,
            last_indexed=await store.statistics.last_indexed(),
        )
    )


async def ledger(call: Call) -> web.StreamResponse:
    """What became of each item that a source saw, newest first."""
    params = call.parameters(LedgerParameters)
    rows = await call.runtime.store.ingest.ledger(
        params.source, params.item, params.limit, params.offset, params.outcome
    )
    return json_reply(Ledger(entries=[LedgerEntry(**asdict(row)) for row in rows]))


async def _transcripts(runtime: Runtime) -> KeptTranscripts:
    kept = runtime.ingest.reader.kept
    if kept is None:
        return KeptTranscripts(on=False, files=0, bytes=0, error="")
    files, size = await asyncio.to_thread(kept.size)
    return KeptTranscripts(on=kept.on, files=files, bytes=size, error=kept.error)


def _replica(call: Call) -> ReplicaStatus | None:
    found = call.runtime.store.replica
    if found is None:
        return None
    # Where servers are is no business of users, nor what these say.
    kept = replace(found, place="", detail="") if call.caller.user else found
    return ReplicaStatus(**asdict(kept))


def _index(runtime: Runtime, waiting: int) -> IndexStatus:
    if runtime.index.state == "off":
        exact = runtime.model.embedder.dimensions > 0
        details = "exact search over the stored vectors" if exact else runtime.index.detail
        return IndexStatus(state="off", detail=details, protection="none", refusal="")
    state, detail = _state_of(runtime, waiting)
    return IndexStatus(
        state=state,
        detail=detail,
        protection=runtime.index.protection,
        refusal=runtime.index.refusal,
    )


def _state_of(runtime: Runtime, waiting: int) -> tuple[IndexState, str]:
    if runtime.index.state == "starting":
        return "starting", runtime.index.detail
    if error := runtime.ingest.indexer.errors["index"]:
        return "degraded", error
    if runtime.index.state == "down":
        return "degraded", runtime.index.detail
    if damage := runtime.index.damage:
        return "degraded", f"{damage} passages are missing or wrong in it; they are being repaired"
    if waiting:
        return "filling", f"{waiting} passages wait"
    return "ok", ""


async def _ledger_counts(runtime: Runtime) -> dict[str, dict[str, int]]:
    counts: dict[str, dict[str, int]] = {}
    for source, outcome, items in await runtime.store.ingest.ledger_counts():
        counts.setdefault(source, {})[outcome] = items
    return counts


def _by_kind(records: dict[str, int]) -> dict[str, int]:
    """In the order of the installed kinds; records of others come last."""
    known = [kind for kind in installed_kinds().names if kind in records]
    return {kind: records[kind] for kind in (*known, *installed_kinds().missing(records))}
