"""A store in a file, read and filled table by table: ``rules.moving.Movable``."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from typing import Any, Final

from mem_search.storage.rules.moving import PAGE, Identity, Row, Table
from mem_search.storage.rules.sealed import sealed
from mem_search.storage.sqlite import vectors
from mem_search.storage.sqlite.database import Database
from mem_search.storage.sqlite.derived import BYTES
from mem_search.storage.sqlite.record_writer import TOKENS

_TOMBSTONES: Final = (
    "select t.digest, k.key, t.forgotten_at from tombstones t"
    " join tombstone_keys k on k.id = t.key_id"
)


class SqliteTables:
    """The tables of an open file. What it derives by triggers is derived as rows are put."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def identity(self) -> Identity:
        return await self._database.read(_identity)

    async def page(self, table: Table, after: Row | None) -> list[Row]:
        return await self._database.read(_page, table, after)

    async def last(self, table: Table) -> Row | None:
        return await self._database.read(_last, table)

    async def put(self, table: Table, rows: Sequence[Row]) -> None:
        await self._database.write(_put, table, rows)

    async def adopt(self, identity: Identity) -> None:
        # Tombstones refer to it: the key of the new file, by which there are none yet.
        own = "update tombstone_keys set key = ? where id = 1"
        await self._database.write(lambda c: c.execute(own, (identity.tombstone_key,)).rowcount)

    async def complete(self, identity: Identity) -> None:
        await self._database.write(_complete, identity)


def _source(table: Table) -> str:
    match table.name:
        case "tombstones":
            return f"({_TOMBSTONES})"
        case "successors":
            return "(select id, superseded_by from records where superseded_by is not null)"
        case _:
            return f'"{table.name}"'


def _names(columns: Sequence[str]) -> str:
    return ", ".join(f'"{column}"' for column in columns)


def _page(connection: sqlite3.Connection, table: Table, after: Row | None) -> list[Row]:
    keys = _names(table.columns[: table.key])
    beyond = f" where ({keys}) > ({', '.join('?' * table.key)})" if after is not None else ""
    rows = connection.execute(
        f"select {_names(table.columns)} from {_source(table)}{beyond}"
        f" order by {keys} limit {PAGE}",
        after or (),
    )
    if table.name == "vectors":
        models = connection.execute("select id, dimensions from embedding_models")
        sizes = {model: BYTES * dimensions for model, dimensions in models}
        return [
            (model, entry, vectors.content(entry, stored, sizes[model]))
            for model, entry, stored in rows
        ]
    return [
        tuple(_read(table, column, value) for column, value in zip(table.columns, row, strict=True))
        for row in rows
    ]


def _read(table: Table, column: str, value: Any) -> Any:
    if value is None:
        return None
    if column in table.json:
        return json.loads(value)
    return bool(value) if column in table.booleans else value


def _last(connection: sqlite3.Connection, table: Table) -> Row | None:
    keys = _names(table.columns[: table.key])
    order = ", ".join(f'"{column}" desc' for column in table.columns[: table.key])
    row: Row | None = connection.execute(
        f"select {keys} from {_source(table)} order by {order} limit 1"
    ).fetchone()
    return row


def _put(connection: sqlite3.Connection, table: Table, rows: Sequence[Row]) -> None:
    written = [
        tuple(
            json.dumps(value) if column in table.json and value is not None else value
            for column, value in zip(table.columns, row, strict=True)
        )
        for row in rows
    ]
    match table.name:
        case "successors":
            connection.executemany("update records set superseded_by = ?2 where id = ?1", written)
        case "tombstones":
            connection.executemany(
                "insert or ignore into tombstone_keys(key) values(?)", {(row[1],) for row in rows}
            )
            connection.executemany(
                "insert or ignore into tombstones(digest, key_id, forgotten_at)"
                " select ?1, id, ?3 from tombstone_keys where key = ?2",
                written,
            )
        case _:
            if table.name == "vectors":
                written = [(*row[:2], sealed(row[2], row[1])) for row in rows]
            marks = ", ".join("?" * len(table.columns))
            connection.executemany(
                f'insert or ignore into "{table.name}"({_names(table.columns)}) values({marks})',
                written,
            )


def _identity(connection: sqlite3.Connection) -> Identity:
    meta = dict(connection.execute("select key, value from meta").fetchall())
    numbers = dict(connection.execute("select name, seq from sqlite_sequence").fetchall())
    (key,) = connection.execute("select key from tombstone_keys where id = 1").fetchone()
    tokens = (
        (name.removeprefix(TOKENS), *json.loads(value))
        for name, value in sorted(meta.items())
        if name.startswith(TOKENS)
    )
    return Identity(
        meta["store_id"],
        key,
        int(numbers.get("records", 0)),
        int(numbers.get("passages", 0)),
        tuple(json.loads(meta.get("embedder", "[]"))),
        meta.get("redacted_by", ""),
        tuple((task, day, int(count)) for task, day, count in tokens),
    )


def _complete(connection: sqlite3.Connection, identity: Identity) -> None:
    connection.execute("insert into passages_fts(passages_fts) values('rebuild')")
    meta = {"store_id": identity.store_id, "redacted_by": identity.redacted_by}
    if identity.embedder:
        meta["embedder"] = json.dumps(identity.embedder)
    meta |= {f"{TOKENS}{task}": json.dumps([day, count]) for task, day, count in identity.tokens}
    connection.executemany("insert or replace into meta(key, value) values(?, ?)", meta.items())
    for name, number in (("records", identity.records), ("passages", identity.passages)):
        connection.execute("delete from sqlite_sequence where name = ?", (name,))
        connection.execute("insert into sqlite_sequence(name, seq) values(?, ?)", (name, number))
