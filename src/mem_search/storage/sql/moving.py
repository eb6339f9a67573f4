"""The tables of a store, read and filled one by one, so that it can move to another one.

A value that is moved is one of str, int, float, bytes, bool, None, or JSON. What can be derived
from these tables (the index of words, the counts of words) is made anew by the store that gets
them.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from mem_search.storage.sql.connection import Connection, Json, from_json

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
        "sparse_vectors: passage_id | vector",
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
        "mirror_states: digest | key record_id life fate revision at said machine seen{} line own?"
        " turn learned",
        "mirrors: folder | state{} at error",
        "jobs: id | name params{} state done total message result{} created_at started_at ended_at",
        "search_operations: seq | id session_id parent_id type query mode content_types{} request{}"
        " redacted? results{} total_count took_ms report{} index_state{} created_at",
        "search_jobs: seq | id status request{} surface webhook_url delivery_id step done total"
        " result error created_at started_at completed_at",
        "webhook_deliveries: id | event url body state attempts next_at status error created_at"
        " ended_at",
        "saved_searches: id | name request{} schedule inbox? webhook_url email created_at since"
        " newest_record ran_at next_at error",
        "saved_told: search_id record_id content_hash |",
        "notifications: id | search_id at count inbox? delivery_id email_delivery_id read_at",
        "notification_matches: notification_id place | record_id changed?",
        "scopes: name | filter created_at",
        "projects: id | name folder root named? merged_into created_at",
        "project_marks: mark | project_id",
        "project_changes: id | at project_id what before after undone?",
        "archives: name | research pages schedule watch? next_at indexed_at statistics{}",
        "tokens: name | user digest read_only? created_at expires_at last_used_at scope"
        " shared_with",
        "openings: record_id | at times",
        "clicks: id | at query record_id",
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


class Tables(ABC):
    """What both engines do alike; each has its own way to write what it derives."""

    sources: ClassVar[Mapping[str, str]] = {
        "successors": "(select id, superseded_by from records where superseded_by is not null) s"
    }
    """Table → what its rows are read from, where that is no table of this name."""

    def __init__(self, database: Any) -> None:
        self._database = database

    async def identity(self) -> Identity:
        identity: Identity = await self._database.read(self._identity)
        return identity

    async def page(self, table: Table, after: Row | None) -> list[Row]:
        """The next rows after the key ``after``, at most ``PAGE``."""
        rows: list[Row] = await self._database.read(self._page, table, after)
        return rows

    async def last(self, table: Table) -> Row | None:
        """The key of the last row; None for an empty table."""
        key: Row | None = await self._database.read(self._last, table)
        return key

    async def put(self, table: Table, rows: Sequence[Row]) -> None:
        """Add the rows; those that are there stay. For vectors, 2-byte floats, little-endian."""
        await self._database.write(self._put, table, rows)

    @abstractmethod
    async def adopt(self, identity: Identity) -> None:
        """Take from this identity what rows refer to, before any is put."""

    async def complete(self, identity: Identity) -> None:
        """Derive what is derived from the tables, and become the store of this identity."""
        await self._database.write(self._complete, identity)

    @abstractmethod
    def _identity(self, connection: Any) -> Identity: ...

    @abstractmethod
    def _complete(self, connection: Any, identity: Identity) -> None: ...

    @abstractmethod
    def _insert(self, connection: Any, table: Table, rows: Sequence[Row]) -> None:
        """Add the rows, with their JSON as ``Json``; those that are there stay."""

    def columns(self, table: Table) -> list[str]:
        """Its columns."""
        return [f'"{column}"' for column in table.columns]

    def _page(self, connection: Any, table: Table, after: Row | None) -> list[Row]:
        columns = self.columns(table)
        keys = ", ".join(columns[: table.key])
        beyond = f" where ({keys}) > ({', '.join(['%s'] * table.key)})" if after is not None else ""
        rows = self._read(
            connection,
            table,
            columns,
            f"from {self._source(table)}{beyond} order by {keys} limit %s",
            (*(after or ()), PAGE),
        )
        return [
            tuple(
                _value(table, column, value)
                for column, value in zip(table.columns, row, strict=True)
            )
            for row in rows
        ]

    def _read(
        self,
        connection: Any,
        table: Table,
        columns: Sequence[str],
        chosen: str,
        values: Sequence[Any],
    ) -> list[Row]:
        """The rows that are ``chosen``."""
        rows: list[Row] = connection.execute(
            f"select {', '.join(columns)} {chosen}", values
        ).fetchall()
        return rows

    def _last(self, connection: Connection, table: Table) -> Row | None:
        keys = self.columns(table)[: table.key]
        order = ", ".join(f"{key} desc" for key in keys)
        return connection.maybe(
            f"select {', '.join(keys)} from {self._source(table)} order by {order} limit 1"
        )

    def _put(self, connection: Connection, table: Table, rows: Sequence[Row]) -> None:
        if table.name == "successors":
            connection.assign("records", "superseded_by", dict(rows))
            return
        self._insert(
            connection,
            table,
            [
                tuple(
                    Json(value) if column in table.json and value is not None else value
                    for column, value in zip(table.columns, row, strict=True)
                )
                for row in rows
            ],
        )

    def _source(self, table: Table) -> str:
        return self.sources.get(table.name, f'"{table.name}"')


def _value(table: Table, column: str, value: Any) -> Any:
    if value is None:
        return None
    if column in table.json:
        return from_json(value)
    return bool(value) if column in table.booleans else value
