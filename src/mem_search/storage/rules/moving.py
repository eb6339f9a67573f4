"""What is moved from one store to another: tables, their keys, and how their values compare.

A value that is moved is one of str, int, float, bytes, bool, None, or JSON. What can be derived
from these tables (the index of words, the counts of words) is made anew by the store that gets
them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

Row = tuple[Any, ...]
PAGE: Final = 2000
"""Rows that are moved in one transaction."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table by ``name``, in the order of its ``key``, which are its first columns.

    ``json`` and ``booleans`` are those of its ``columns`` with other values than they seem to have.
    """

    name: str
    key: int
    columns: tuple[str, ...]
    json: frozenset[str] = frozenset()
    booleans: frozenset[str] = frozenset()


def _table(text: str) -> Table:
    """``name: key… | column…``; ``column{}`` is JSON, ``column?`` a boolean."""
    name, _, rest = text.partition(":")
    keys, _, others = rest.partition("|")
    columns = [*keys.split(), *others.split()]
    return Table(
        name,
        len(keys.split()),
        tuple(column.strip("{}?") for column in columns),
        frozenset(column.strip("{}") for column in columns if column.endswith("{}")),
        frozenset(column.strip("?") for column in columns if column.endswith("?")),
    )


TABLES: Final = tuple(
    _table(text)
    for text in (
        "records: id | kind source source_id project session position created_at updated_at"
        " stored_at importance archived? content_hash title url data{} body project_id",
        "successors: id | superseded_by",
        "embedding_models: id | fingerprint name dimensions created_at",
        "passages: id | record_id kind ordinal field span_start span_end page content_hash parts"
        " people above",
        "vectors: model_id entry_id | vector",
        "facets: name value record_id |",
        "names: name record_id |",
        "edges: id | from_id target key relation to_id strength origin created_at",
        "cites: edge_id place_start | place_end context_start context_end form",
        "phrases: hash record_id | start",
        "common_phrases: hash |",
        "sketches: record_id | sketch",
        "outbox: passage_id | step",
        "cursors: source location | label options{} cursor{} followed? read_at error",
        "ledger: source location item | outcome reason records at",
        "tombstones: digest key | forgotten_at",
        "forget_receipts: id | purge? removed{} pending{} waiting begun_at done_at copies{}",
        "forget_records: record_id | receipt",
        "forget_traces: sort value |",
        "jobs: id | name params{} state done total message result{} created_at started_at ended_at",
        "search_operations: seq | id session_id parent_id type query mode content_types{} request{}"
        " redacted? results{} total_count took_ms report{} index_state{} created_at",
        "search_jobs: seq | id status request{} surface webhook_url delivery_id step done total"
        " result error created_at started_at completed_at",
        "webhook_deliveries: id | event url body state attempts next_at status error created_at"
        " ended_at",
        "saved_searches: id | name request{} every_seconds inbox? webhook_url created_at since"
        " newest_record ran_at next_at error",
        "saved_told: search_id record_id content_hash |",
        "notifications: id | search_id at count inbox? delivery_id read_at",
        "notification_matches: notification_id place | record_id changed?",
        "scopes: name | filter created_at",
        "projects: id | name folder root named? merged_into created_at",
        "project_marks: mark | project_id",
        "project_changes: id | at project_id what before after undone?",
        "archives: name | research pages schedule watch? next_at indexed_at statistics{}",
        "tokens: name | user digest read_only? created_at expires_at last_used_at",
        "search_log: id | at query filters mode total took_ms surface",
    )
)
"""In this order each row finds what it refers to. ``successors`` are the records with a successor,
which may be a later one."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What a store is beside its tables: ``records`` and ``passages`` are the last numbers given,
    ``tokens`` those that models used: task → (day, count)."""

    store_id: str
    tombstone_key: bytes
    records: int
    passages: int
    embedder: tuple[str, ...]
    redacted_by: str
    tokens: tuple[tuple[str, str, int], ...] = ()


class Movable(Protocol):
    """A store that can be read and filled table by table."""

    async def identity(self) -> Identity: ...

    async def page(self, table: Table, after: Row | None) -> list[Row]:
        """The next rows after the key ``after``, at most ``PAGE``."""
        ...

    async def put(self, table: Table, rows: Sequence[Row]) -> None:
        """Add the rows; those that are there stay. For vectors, 2-byte floats, little-endian."""
        ...

    async def last(self, table: Table) -> Row | None:
        """The key of the last row; None for an empty table."""
        ...

    async def adopt(self, identity: Identity) -> None:
        """Take from this identity what rows refer to, before any is put."""
        ...

    async def complete(self, identity: Identity) -> None:
        """Derive what is derived from the tables, and become the store of this identity."""
        ...


class Digest:
    """A count and a hash of the rows of a table, in whatever order they come: the sum of the
    hashes of the rows (stores order text without regard to case differently).
    """

    def __init__(self) -> None:
        self.rows = 0
        self._sum = 0

    def add(self, rows: Iterable[Row]) -> None:
        for row in rows:
            self.rows += 1
            text = repr([_plain(value) for value in row]).encode("utf-8", "replace")
            self._sum += int.from_bytes(hashlib.sha256(text).digest(), "big")

    def result(self) -> tuple[int, int]:
        return self.rows, self._sum % 2**256


def _plain(value: Any) -> Any:
    """``value`` as a server can hold it: without NUL and halves of surrogate pairs."""
    match value:
        case str():
            whole = value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
            return whole.replace("\x00", "\ufffd")
        case dict():
            return sorted((_plain(key), _plain(each)) for key, each in value.items())
        case list() | tuple():
            return [_plain(each) for each in value]
        case _:
            return value
