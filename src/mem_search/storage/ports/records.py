"""Ports for records: reading them, storing what a source read, indexing, and counting.

A record is known by its number, which is never used again. Times are milliseconds since 1970.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from mem_search.model import Draft, Filters, LedgerEntry, Location, Order, Passage, Record
from mem_search.model.ingest import (
    FollowedLocation,
    IngestCounts,
    LedgerRow,
    OutboxStep,
    PreparedBatch,
    PreparedDraft,
    Stored,
    ToEmbed,
    VectorEntry,
)
from mem_search.model.rankings import Vectors
from mem_search.model.records import RecordWithLinks
from mem_search.model.statistics import (
    Corpus,
    ProjectTotals,
    Searchable,
    StoreSize,
    StoreTotals,
    VectorSpace,
)


class RecordStore(Protocol):
    """The stored records."""

    async def fetch(self, numbers: Sequence[int]) -> dict[int, Record]:
        """number → record, without the numbers that no record has."""
        ...

    async def with_links(self, numbers: Sequence[int]) -> list[RecordWithLinks]:
        """The records that exist, in the order of ``numbers``, with the links they came with."""
        ...

    async def named(self, source: str, source_id: str) -> Record | None:
        """The record with this identity."""
        ...

    async def passages(self, number: int) -> list[Passage]:
        """The passages of a record, in their order; first the one about the whole, if any."""
        ...

    async def embedded(self, number: int, fingerprint: str) -> set[int]:
        """The ordinals of a record's passages with a vector of the model ``fingerprint``."""
        ...

    async def page(
        self, filters: Filters, order: Order, limit: int, offset: int
    ) -> tuple[list[RecordWithLinks], int]:
        """A page of the records that pass ``filters``, by date, and how many pass.

        The order "relevance" means the newest first.
        """
        ...

    async def newest(self, filters: Filters, limit: int) -> list[Record]:
        """The newest records that pass ``filters``."""
        ...

    async def recent_sessions(
        self, filters: Filters, limit: int, observations: int
    ) -> tuple[list[Record], list[Record]]:
        """The newest session summaries and their observations, at most so many a session.

        If the sessions have none, the newest observations that pass ``filters``. Newest first.
        """
        ...

    async def export_page(self, filters: Filters, after: int, size: int) -> list[RecordWithLinks]:
        """The next records after the number ``after``, in the order they were stored."""
        ...

    async def projects(self, platform: str = "") -> list[ProjectTotals]:
        """Projects, the one with the newest record first; of all platforms or of one."""
        ...

    async def content_hashes(self, numbers: Sequence[int]) -> dict[int, str]:
        """number → hash of the record's content in hex, of the records that exist."""
        ...

    async def revision(self) -> int:
        """How often a record or a scope was stored, changed or removed."""
        ...


class IngestStore(Protocol):
    """Imports: batches with their cursor, followed locations, and the ledger."""

    async def store_batch(
        self, location: Location, prepared: PreparedBatch, *, followed: bool, job: str = ""
    ) -> IngestCounts:
        """Store a batch, its ledger entries and its cursor in one transaction.

        The ``job`` that reads counts it, in the same transaction: see ``counted``.

        A draft whose ``source_id`` a record of another kind has gets an id of its own. Unchanged
        and forgotten drafts change nothing. Passages without a vector go to the outbox.
        """
        ...

    async def counted(self, location: Location, job: str) -> IngestCounts:
        """What the job has read of the location so far, also before it was interrupted."""
        ...

    async def store_one(
        self, prepared: PreparedDraft, *, replace: bool, even_forgotten: bool
    ) -> Stored:
        """Store one record that belongs to no location.

        Raises Conflict for a record that is known and other, unless ``replace``, and for one that
        was forgotten, unless ``even_forgotten``.
        """
        ...

    async def first_read(
        self, drafts: Sequence[Draft]
    ) -> Mapping[tuple[str, str], tuple[str, str]]:
        """(source, source id) → project and branch of the stored record."""
        ...

    async def observations_of(
        self, source: str, sessions: Sequence[str]
    ) -> list[tuple[str, str, int]]:
        """The observations of ``sessions``: session, source id, and when each began (ms)."""
        ...

    async def cursor(self, location: Location) -> dict[str, Any]:
        """The stored cursor of a location; empty for one that was never read."""
        ...

    async def note_unchanged(self, location: Location, *, followed: bool) -> None:
        """Store that the location has nothing new, and follow it if ``followed``."""
        ...

    async def note_items(self, location: Location, entries: Sequence[LedgerEntry]) -> None:
        """Write to the ledger what became of items."""
        ...

    async def note_from_model(self, record: Record, said: Mapping[str, Any]) -> bool:
        """Store in the metadata what a model said of ``record``; False if its text changed."""
        ...

    async def take_back(self, kinds: Sequence[str]) -> int:
        """Drop all that models said of records of these ``kinds``; returns of how many."""
        ...

    async def count_tokens(self, task: str, day: str, tokens: int) -> int:
        """Add ``tokens`` that a model used for ``task`` on ``day``; returns those of the day."""
        ...

    async def note_error(self, location: Location, error: str, *, followed: bool) -> None:
        """Keep the cursor and store why reading failed.

        A location that was never read and is not to be ``followed`` is not remembered.
        """
        ...

    async def locations(self) -> list[FollowedLocation]:
        """Every location that was read, by source and path."""
        ...

    async def drop_location(self, location: Location) -> bool:
        """Forget the cursor and stop following; False when the location was never read."""
        ...

    async def ledger(
        self, source: str, item: str, limit: int, offset: int, outcome: str = ""
    ) -> list[LedgerRow]:
        """Entries, newest first. What is not empty narrows them down.

        ``item`` is a part of the location and item: ``notes.jsonl/line 2``.
        """
        ...

    async def ledger_at(self, paths: Sequence[str]) -> list[LedgerRow]:
        """Entries about exactly these paths, newest first: location and item are a path."""
        ...

    async def ledger_counts(
        self, location: str = "", below: str = ""
    ) -> list[tuple[str, str, int]]:
        """(source, outcome, number of items), of all locations or of one; of items that begin with
        ``below``."""
        ...


class IndexingStore(Protocol):
    """Vectors, and the outbox: which passages must be embedded, indexed or deleted.

    ``model`` is the number of an embedding space; an entry is ``2 * passage`` or
    ``2 * passage + 1``, one for each half of a passage. A passage enters the outbox with the batch
    that stores it and leaves it when a step is acknowledged, so a crash loses nothing.
    """

    async def model_number(self, fingerprint: str, name: str, dimensions: int) -> int:
        """The number of an embedding space, new for a new ``fingerprint``."""
        ...

    async def choose_embedder(self, setting: str, configured: str) -> None:
        """From now on ``setting`` opens the embedder, as long as ``configured`` is configured."""
        ...

    async def chosen_embedder(self, configured: str) -> str:
        """The setting that opens the embedder: the chosen one, else ``configured``."""
        ...

    async def other_spaces(self, model: int) -> list[VectorSpace]:
        """The embedding spaces beside ``model`` whose vectors are stored."""
        ...

    async def without_vector(self, model: int, after: int, limit: int) -> list[ToEmbed]:
        """The next passages after the passage ``after`` that have no vector of ``model``."""
        ...

    async def count_without_vector(self, model: int) -> int:
        """How many passages have no vector of ``model``."""
        ...

    async def add_vectors(self, model: int, entries: Sequence[int], rows: Vectors) -> None:
        """Store vectors of a space that searches do not use yet: nothing waits for an index."""
        ...

    async def drop_vectors(self, model: int, after: int, limit: int) -> tuple[int | None, int]:
        """Delete those of ``model`` among the next ``limit`` vectors after the entry ``after``.

        Returns the last of these entries and how many were deleted; None at the end, when the
        space itself is deleted.
        """
        ...

    async def queue_without_vector(
        self, model: int, after: int, limit: int
    ) -> tuple[int | None, int]:
        """Queue those of the next ``limit`` passages after ``after`` without a vector of ``model``.

        Returns the last of these passages, None at the end, and how many were queued.
        """
        ...

    async def to_embed(self, limit: int) -> list[ToEmbed]:
        """Passages to embed, the newest first: recent records are searched for first.

        They are this worker's until the step is done; those of other living workers are left out.
        """
        ...

    async def vectors_of_equal_content(
        self, model: int, hashes: Sequence[bytes]
    ) -> dict[bytes, dict[int, Vectors]]:
        """Content hash → half → stored vector of shape (dimensions,).

        So equal content is embedded once.
        """
        ...

    async def store_vectors(
        self, model: int, passages: Sequence[int], entries: Sequence[int], rows: Vectors
    ) -> None:
        """Store the vectors of ``entries``; ``passages`` wait to be indexed from now on.

        A passage that was deleted meanwhile keeps its deletion.
        """
        ...

    async def waiting(self, step: OutboxStep, limit: int) -> list[int]:
        """Passages that wait for ``step``, the oldest first. They are this worker's, too."""
        ...

    async def many_wait(self, step: OutboxStep, count: int) -> bool:
        """Whether at least ``count`` passages wait for ``step``; reads no more of them."""
        ...

    async def outbox_counts(self) -> dict[OutboxStep, int]:
        """How many passages wait for each step; a step that none waits for is left out."""
        ...

    async def vectors(
        self, model: int, dimensions: int, passages: Sequence[int]
    ) -> tuple[list[VectorEntry], Vectors]:
        """The entries of ``passages`` for the vector index, with a row for each."""
        ...

    async def acknowledge(self, step: OutboxStep, passages: Sequence[int]) -> None:
        """The step is done; a passage that waits for another step by now stays.

        Acknowledging a deletion deletes the vectors.
        """
        ...

    async def queue(self, step: OutboxStep, passages: Iterable[int]) -> None:
        """Ask for ``step`` again, unless the passage waits for another one already."""
        ...

    async def entries(self, model: int) -> set[int]:
        """Every entry that has a vector of ``model``."""
        ...

    async def settled_entries(self, model: int) -> set[int]:
        """The entries of passages that wait for nothing: the index should have these."""
        ...

    async def settled_count(self, model: int) -> int:
        """How many entries are settled. Costs a pass over all vectors."""
        ...

    async def settled_vectors(
        self, model: int, dimensions: int, after: int, limit: int
    ) -> tuple[list[int], Vectors]:
        """The next settled entries after the entry ``after``, with a row for each."""
        ...

    async def newest_entry(self) -> int:
        """The largest entry of any model; 0 while there is none."""
        ...


class RedactingStore(Protocol):
    """Redacting again what other rules redacted."""

    async def rules(self) -> str:
        """By which rules the texts were redacted; empty for those of an older version."""
        ...

    async def note_rules(self, rules: str) -> None:
        """All texts are redacted by these rules."""
        ...

    async def replace(self, items: Sequence[tuple[Record, PreparedDraft]]) -> int:
        """Give records, as they were read, another content and identity; returns how many.

        Each keeps its number. One that changed since it was read stays as it is.
        """
        ...

    async def relate(self, items: Sequence[tuple[Record, PreparedDraft]]) -> int:
        """Give records, as they were read, the edges, names and phrases of today; returns how many.

        Their content stays, so nothing is embedded again. One that changed since stays as it is.
        """
        ...

    async def redact_texts(self, clean: Callable[[str], str], seal: Callable[[str], str]) -> int:
        """Apply ``clean`` to every text beside the records, ``seal`` to the URLs of webhooks.

        Returns how many rows changed.
        """
        ...


class StatisticsStore(Protocol):
    """Statistics of the store."""

    async def store_id(self) -> str:
        """The identity of the store, made when it was created."""
        ...

    async def totals(self) -> StoreTotals:
        """Exact counts of records and passages."""
        ...

    async def corpus(self) -> Corpus:
        """Corpus statistics for ranking, in one pass over all passages: cache them for seconds."""
        ...

    async def searchable(self) -> Searchable:
        """Exact counts of what can be searched."""
        ...

    async def last_indexed(self) -> int | None:
        """When the newest complete record was stored; None while there is none."""
        ...

    async def has_due_work(self) -> bool:
        """Whether a job, a background search or a message waits, or a search has a schedule."""
        ...

    async def size(self) -> StoreSize:
        """The size of the stored data, and what is made smaller now."""
        ...
