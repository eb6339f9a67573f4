"""Totals of the store, and the ledger of what sources read."""

from __future__ import annotations

import asyncio
import os
from dataclasses import asdict, replace
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated, Literal

from aiohttp import web
from pydantic import Field
from yarl import URL

import mem_search
from mem_search import sources
from mem_search.features.stats.text import picture, stats_lines
from mem_search.http import mounts
from mem_search.http.core.parameter_types import Text
from mem_search.http.core.parameters import MAX_LIST_OFFSET, Parameters
from mem_search.http.core.replies import TEXT, json_reply, prefers, screen_of, text_reply
from mem_search.http.core.routing import Call, Route
from mem_search.model import DateRange, Filters, SearchRequest
from mem_search.model.ingest import FollowedLocation
from mem_search.records import registry
from mem_search.records.registry import installed_kinds
from mem_search.renderers.safe_text import harmless
from mem_search.renderers.schema import Count, From, Projection, Share, Time, schema, to_values
from mem_search.runtime import Runtime
from mem_search.search import stages
from mem_search.search.stages import installed_stages
from mem_search.text import dates
from mem_search.text.date_words import to_ms

IndexState = Literal["ok", "off", "starting", "filling", "degraded"]


@schema
class IndexStatus:
    """The state of the vector index.

    `protection` is what keeps other programs away from it: a network `namespace` of its own, a
    random `address` and port of this machine, a random `port` alone, whatever a `server` of your
    own does, or `none` where there is nothing to protect. `refusal` says why it is not a
    namespace.
    """

    state: IndexState
    detail: str
    protection: Literal["namespace", "address", "port", "server", "none"]
    refusal: str


@schema
class EmbedderStatus:
    """The embedding model that searches use; `error` is empty when it works.

    `beside` names other models whose vectors are stored and not searched: one that is being changed
    to, or that was left behind.
    """

    name: str
    fingerprint: str
    dimensions: Count
    error: str
    beside: list[str]


@schema
class SparseStatus:
    """The sparse vectors: `passages` of `wanted` have one, which are those of some kinds. `error` says
    why no new ones are made.
    """

    state: Literal["ok", "filling", "off"]
    passages: Count
    wanted: Count
    error: str


@schema
class Location(Projection[FollowedLocation]):
    """A location that a source reads, and how the last reading went."""

    source: Annotated[str, From("location.source")]
    path: Annotated[str, From("location.path")]
    label: Annotated[str, From("location.label")]
    followed: bool
    read_at: Time
    error: str


@schema
class DatabaseFile:
    """The SQLite file and its size.

    `free` of its bytes are for later writes; `mem-search purge` gives them back to the system.
    `unwritable` says why nothing can be stored, if so; `odd_rows` are rows that were damaged and
    are set aside.
    """

    path: str
    bytes: Count
    free: Count
    unwritable: str
    odd_rows: list[str]


@schema
class ReplicaStatus:
    """Whether searches are read from the replica of the store's server; `detail` says why not.

    `used`: they are. `behind`: it lacks too much, so the primary answers. `away`: it cannot be
    read. `alone`: it answers because the primary does not. `lag_s`: what was written in the last so
    many seconds may be lacking; null where that is not known.
    """

    place: str
    state: Literal["used", "behind", "away", "alone"]
    lag_s: float | None
    detail: str


@schema
class KeptTranscripts:
    """The copies of agents' transcripts: `on` as the settings say, how many, and their bytes.

    `error` says why the last ones could not be copied; it is empty when all is well.
    """

    on: bool
    files: Count
    bytes: Count
    error: str


@schema
class WorkerStatus:
    """The worker process."""

    version: str
    pid: int
    port: int | None
    uptime_s: float
    started_at: Time


@schema
class Stats:
    """What is stored and indexed. `records` counts by kind and in `total`.

    `missing_kinds` counts the records of kinds that no installed package provides;
    `broken_plugins` says which entry points cannot be loaded, and why.
    `embedding_coverage` is the share of passages in the vector index; `outbox` counts those that
    wait for it. `ledger` counts items by source and by what became of them. `replica` is null where
    none is set.
    """

    records: dict[str, int]
    missing_kinds: dict[str, int]
    broken_plugins: list[str]
    passages: Count
    embedded: Count
    indexed: Count
    embedding_coverage: Share
    outbox: Count
    index: IndexStatus
    embedder: EmbedderStatus
    sparse: SparseStatus
    sources: list[Location]
    ledger: dict[str, dict[str, int]]
    database: DatabaseFile
    replica: ReplicaStatus | None
    transcripts: KeptTranscripts
    worker: WorkerStatus
    first: Time | None
    last: Time | None
    last_indexed: Time | None


@schema
class LedgerEntry:
    """What became of one item that a source read."""

    source: str
    location: str
    item: str
    outcome: str
    reason: str
    records: Count
    at: Time


@schema
class Ledger:
    """Entries, newest first."""

    entries: list[LedgerEntry]


class LedgerParameters(Parameters):
    """Which entries of the ledger."""

    source: Text = Field(default="", description="Source by name")
    item: Text = Field(default="", description="Part of a place, a path, a row or a line")
    outcome: Literal["", "taken", "left", "failed", "deleted"] = Field(
        default="", description="Only what became so"
    )
    limit: int = Field(default=50, ge=1, le=500, description="How many at most")
    offset: int = Field(default=0, ge=0, le=MAX_LIST_OFFSET, description="How many to skip")


def _unread_entry_points() -> list[str]:
    """Entry points of groups that are called like ours, and that nothing reads."""
    groups = [each.ENTRY_POINTS for each in (registry, sources, mounts, stages)]
    return [
        f"{entry.group} entry point {entry.name!r} is not read: no group is called"
        f" {entry.group}; choose one of {', '.join(groups)}; correct its package and install it again"
        for group in sorted(entry_points().groups)
        if group.startswith("mem_search.") and group not in groups
        for entry in entry_points(group=group)
    ]


async def totals(call: Call) -> web.StreamResponse:
    """What is stored, how much of it is indexed, what was read, and by which worker."""
    runtime = call.runtime
    store, embedder = runtime.store, runtime.model.embedder
    counts = await store.statistics.totals()
    waiting = await store.indexing.outbox_counts()
    size = await store.statistics.size()
    # Where homes lie is no business of users.
    path = Path(store.location).name if call.caller.user else store.location
    stats = Stats(
        records={**_by_kind(counts.records), "total": sum(counts.records.values())},
        missing_kinds=installed_kinds().missing(counts.records),
        broken_plugins=[
            *map(str, installed_kinds().broken),
            *sources.broken(),
            *mounts.installed().broken,
            *installed_stages().broken,
            *_unread_entry_points(),
        ],
        passages=counts.passages,
        embedded=counts.embedded,
        indexed=counts.indexed,
        embedding_coverage=counts.coverage,
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
        sparse=await _sparse(runtime),
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
        first=counts.first_at,
        last=counts.last_at,
        last_indexed=await store.statistics.last_indexed(),
    )
    if not prefers(call.request, TEXT):
        return json_reply(stats)
    return text_reply(call.request, await _as_text(call, stats), tokens=0)


async def _as_text(call: Call, stats: Stats) -> str:
    """The statistics as people read them, on a terminal with bars."""
    values, screen, display = to_values(stats), screen_of(call.request), call.display()
    months: dict[str, int] = {}
    if screen is not None:
        until = DateRange(end=to_ms(display.now))
        page = await call.search(
            SearchRequest(
                filters=Filters(created=until), facets=("month",), facet_limit=100, limit=1
            )
        )
        months = dict(page.facets["month"].values)

    def clock(time: str) -> str:
        return dates.to_the_minute(dates.from_iso(time), display.tz)

    lines = list(stats_lines(values, clock, kinds=screen is None))
    if screen is not None:
        lines = [*picture(values["records"], months, screen.columns), *lines]
    return "\n".join(line.replace("\n", " ") for line in map(harmless, lines))


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
    replica = call.runtime.store.replica
    if replica is None:
        return None
    # Where servers are is no business of users, nor what these say.
    kept = replace(replica, place="", detail="") if call.caller.user else replica
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


async def _sparse(runtime: Runtime) -> SparseStatus:
    filling = runtime.ingest.filling
    made, wanted = await filling.counts()
    state: Literal["ok", "filling", "off"] = "ok" if made >= wanted else "filling"
    if runtime.model.sparse is None:
        state = "off"
    return SparseStatus(state=state, passages=made, wanted=wanted, error=filling.error)


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
        return "filling", f"{waiting} passages wait; the worker goes on by itself"
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


# fmt: off
ROUTES = (
    Route("GET", "/api/stats", totals, "Count what is stored and indexed", "about", response=Stats, other_types=("text/plain",), private=True),
    Route("GET", "/api/ledger", ledger, "List what became of each item that a source read", "about", LedgerParameters, response=Ledger, private=True),
)
