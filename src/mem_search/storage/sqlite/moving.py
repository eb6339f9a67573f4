"""A store in a file, read and filled table by table (``storage.sql.moving``)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, ClassVar

from mem_search.storage.rules.checksums import with_checksum
from mem_search.storage.sql.moving import Identity, Row, Table, Tables
from mem_search.storage.sqlite import vectors
from mem_search.storage.sqlite.connection import SqliteConnection
from mem_search.storage.sqlite.damage import BYTES
from mem_search.storage.sqlite.records import TOKENS, SqliteTombstones


class SqliteTables(Tables):
    """The tables of an open file. What it derives by triggers is derived as rows are put."""

    sources: ClassVar = {**Tables.sources, "tombstones": SqliteTombstones.rows}

    async def adopt(self, identity: Identity) -> None:
        # Tombstones refer to it: the key of the new file, by which there are none yet.
        own = "update tombstone_keys set key = ? where id = 1"
        await self._database.write(lambda c: c.execute(own, (identity.tombstone_key,)).rowcount)

    def _read(
        self,
        connection: Any,
        table: Table,
        columns: Sequence[str],
        chosen: str,
        values: Sequence[Any],
    ) -> list[Row]:
        rows = super()._read(connection, table, columns, chosen, values)
        if table.name != "vectors":
            return rows
        models = connection.execute("select id, dimensions from embedding_models")
        sizes = {model: BYTES * dimensions for model, dimensions in models}
        return [
            (model, entry, vectors.content(entry, stored, sizes[model]))
            for model, entry, stored in rows
        ]

    def _insert(self, connection: SqliteConnection, table: Table, rows: Sequence[Row]) -> None:
        if table.name == "tombstones":
            keys = {(key,) for _, key, _ in rows}
            connection.many("insert or ignore into tombstone_keys(key) values(%s)", list(keys))
            values = [{"digest": each, "key": key, "at": at} for each, key, at in rows]
            connection.many(f"{SqliteTombstones.insert} do nothing", values)
            return
        if table.name == "vectors":
            rows = [(model, entry, with_checksum(packed, entry)) for model, entry, packed in rows]
        columns, marks = ", ".join(self.columns(table)), ", ".join(["%s"] * len(table.columns))
        connection.many(f'insert or ignore into "{table.name}"({columns}) values({marks})', rows)

    def _identity(self, connection: SqliteConnection) -> Identity:
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

    def _complete(self, connection: SqliteConnection, identity: Identity) -> None:
        connection.execute("insert into passages_fts(passages_fts) values('rebuild')")
        meta = {"store_id": identity.store_id, "redacted_by": identity.redacted_by}
        if identity.embedder:
            meta["embedder"] = json.dumps(identity.embedder)
        meta |= {
            f"{TOKENS}{task}": json.dumps([day, count]) for task, day, count in identity.tokens
        }
        connection.executemany("insert or replace into meta(key, value) values(?, ?)", meta.items())
        for name, number in (("records", identity.records), ("passages", identity.passages)):
            connection.execute("delete from sqlite_sequence where name = ?", (name,))
            connection.execute(
                "insert into sqlite_sequence(name, seq) values(?, ?)", (name, number)
            )
