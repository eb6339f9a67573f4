"""The rows of an owner, read and filled table by table (``storage.sql.moving``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from mem_search.errors import Conflict
from mem_search.storage.postgres import postings, words
from mem_search.storage.postgres.connection import Connection
from mem_search.storage.postgres.migrations import TABLES
from mem_search.storage.sql.moving import Identity, Row, Table, Tables

_ARRAYS: Final = {("forget_receipts", "pending")}

_HERE: Final = {"jobs", "cursors"}
"""What reads files belongs to the home from which it is moved."""

_NUMBERED: Final = (
    ("edges", "id"), ("embedding_models", "id"), ("search_operations", "seq"),
    ("search_jobs", "seq"), ("saved_searches", "id"), ("notifications", "id"),
    ("search_log", "id"), ("clicks", "id"),
)  # fmt: skip


class PostgresTables(Tables):
    """The tables of an owner. The index of words and the counts of words grow with the rows."""

    async def begin(self, store_id: str) -> bool:
        """Take the rows of this store; whether a move of it had begun already. Raises Conflict."""
        return bool(await self._database.write(_begin, store_id))

    async def adopt(self, identity: Identity) -> None:
        """Nothing refers to what ``complete`` writes."""

    async def end(self) -> None:
        """The store is whole: workers may open it.

        Its first searches are planned by what the tables hold now; the server itself would look
        some minutes later.
        """
        await self._database.apart(lambda c: c.execute(f"analyze {', '.join(TABLES)}").rowcount)
        await self._database.write(lambda c: c.execute("update stores set moving = ''").rowcount)

    def _read(
        self,
        connection: Connection,
        table: Table,
        columns: Sequence[str],
        chosen: str,
        values: Sequence[Any],
    ) -> list[Row]:
        if table.name != "vectors":
            return super()._read(connection, table, columns, chosen, values)
        *others, vector = columns
        rows = connection.execute(
            f"select {', '.join(others)}, halfvec_send({vector}) {chosen}", values, binary=True
        )
        return [
            (*row[:-1], np.frombuffer(row[-1][4:], ">f2").astype("<f2").tobytes()) for row in rows
        ]

    def _insert(self, connection: Connection, table: Table, rows: Sequence[Row]) -> None:
        if table.name in ("records", "passages"):
            held = set(
                connection.column(
                    f"select id from {table.name} where id = any(%s)", ([row[0] for row in rows],)
                )
            )
            rows = [row for row in rows if row[0] not in held]
        if not rows:
            return
        columns, here = self.columns(table), ""
        if table.name in _HERE:
            columns, here = [*columns, "home"], ", current_setting('mem_search.home')"
        marks = ", ".join(
            "%s::text::halfvec" if column == "vector" else "%s" for column in table.columns
        )
        connection.many(
            f"insert into {table.name}({', '.join(columns)}) overriding system value"
            f" values({marks}{here}) on conflict do nothing",
            [
                [
                    _written(table, column, value)
                    for column, value in zip(table.columns, row, strict=True)
                ]
                for row in rows
            ],
        )
        if table.name == "records":
            words.count(connection, words.of_stored(connection, [row[0] for row in rows]))
        elif table.name == "passages":
            postings.write(
                connection, postings.texts_of(connection, "id", [row[0] for row in rows])
            )

    def _identity(self, connection: Connection) -> Identity:
        store, key, records, passages, embedder, redacted_by = connection.one(
            "select store_id, tombstone_key, records, passages, embedder, redacted_by from stores"
        )
        tokens = connection.execute("select task, day, tokens from model_tokens order by task")
        known = tuple(embedder or ()), redacted_by, tuple(tokens.fetchall())
        return Identity(store, key, records, passages, *known)

    def _complete(self, connection: Connection, identity: Identity) -> None:
        connection.execute(
            "update stores set store_id = %s, tombstone_key = %s, records = %s, passages = %s,"
            " embedder = %s::text[], redacted_by = %s",
            (
                identity.store_id, identity.tombstone_key, identity.records, identity.passages,
                list(identity.embedder) or None, identity.redacted_by,
            ),
        )  # fmt: skip
        connection.many(
            "insert into model_tokens(task, day, tokens) values(%s, %s, %s) on conflict do nothing",
            identity.tokens,
        )
        for table, column in _NUMBERED:  # the next number must not be that of a moved row
            connection.execute(
                f"select setval(s, greatest(coalesce(pg_sequence_last_value(s), 0), 1,"
                f" (select coalesce(max({column}), 1) from {table})))"
                " from (select pg_get_serial_sequence(%s, %s)::regclass as s) named",
                (table, column),
            )


def _written(table: Table, column: str, value: Any) -> Any:
    if column == "vector":
        return f"[{','.join(map(str, np.frombuffer(value, '<f2')))}]"
    return value.value if (table.name, column) in _ARRAYS else value


def _begin(connection: Connection, store_id: str) -> bool:
    (moving,) = connection.one("select moving from stores for update")
    if moving == store_id:
        return True
    if moving or connection.one("select exists (select 1 from records)")[0]:
        what = "another store is being moved there" if moving else "there is a store already"
        raise Conflict(
            f"{what}; choose another owner (MEM_SEARCH_STORE_OWNER) or another database",
            field="to",
        )
    for table in TABLES:
        if table not in ("stores", "workers"):
            connection.execute(f"delete from {table}")
    connection.execute("update stores set moving = %s", (store_id,))
    return False
