"""Replies about the store: totals, projects, the ledger of sources."""

from __future__ import annotations

from typing import Annotated, Literal

from mem_search.model.ingest import FollowedLocation
from mem_search.renderers.projection import From, Projection
from mem_search.renderers.schema import Count, Share, Time, schema


@schema
class Project:
    """A project, how many records it has and when the last one was created."""

    name: str
    records: Count
    last: Time


@schema
class Projects:
    """Projects, the one with the newest record first."""

    projects: list[Project]


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
