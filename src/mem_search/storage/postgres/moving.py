"""The rows of an owner, read and filled table by table: ``rules.moving.Movable``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from mem_search.errors import Conflict
from mem_search.storage.postgres import postings, words
from mem_search.storage.postgres.connection import Connection, Jsonb
from mem_search.storage.postgres.database import Database
from mem_search.storage.postgres.migrations import KEYS
from mem_search.storage.postgres.postings import PassageText
from mem_search.storage.rules.moving import PAGE, Identity, Row, Table

_NAMES: Final = {
    "passages": {"start": "span_start", "end": "span_end"},
    "cites": {"start": "place_start", "end": "place_end"},
}
"""Columns that have another name here."""

_ARRAYS: Final = {("forget_receipts", "pending")}

_HERE: Final = {"jobs", "cursors"}
"""What reads files belongs to the home from which it is moved."""

_NUMBERED: Final = (
    ("edges", "id"), ("embedding_models", "id"), ("search_operations", "seq"),
    ("search_jobs", "seq"), ("saved_searches", "id"), ("notifications", "id"),
    ("search_log", "id"),
)  # fmt: skip


class PostgresTables:
    """The tables of an owner. The index of words and the counts of words grow with the rows."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def begin(self, store_id: str) -> bool:
        """Take the rows of this store; whether a move of it had begun already. Raises Conflict."""
        return await self._database.write(_begin, store_id)

    async def identity(self) -> Identity:
        return await self._database.read(_identity)

    async def page(self, table: Table, after: Row | None) -> list[Row]:
        return await self._database.read(_page, table, after)

    async def last(self, table: Table) -> Row | None:
        return await self._database.read(_last, table)

    async def put(self, table: Table, rows: Sequence[Row]) -> None:
        await self._database.write(_put, table, rows)

    async def adopt(self, identity: Identity) -> None:
        """Nothing refers to what ``complete`` writes."""

    async def complete(self, identity: Identity) -> None:
        await self._database.write(_complete, identity)

    async def end(self) -> None:
        """The store is whole: workers may open it.

        Its first searches are planned by what the tables hold now; the server itself would look
        some minutes later.
        """
        await self._database.apart(lambda c: c.execute(f"analyze {', '.join(KEYS)}").rowcount)
        await self._database.write(lambda c: c.execute("update stores set moving = ''").rowcount)


def _columns(table: Table) -> list[str]:
    names = _NAMES.get(table.name, {})
    return [f'"{names.get(column, column)}"' for column in table.columns]


def _source(table: Table) -> str:
    if table.name == "successors":
        return "(select id, superseded_by from records where superseded_by is not null) s"
    return table.name


def _page(connection: Connection, table: Table, after: Row | None) -> list[Row]:
    columns = _columns(table)
    keys = ", ".join(columns[: table.key])
    read = [f"halfvec_send({each})" if each == '"vector"' else each for each in columns]
    beyond = f" where ({keys}) > ({', '.join(['%s'] * table.key)})" if after is not None else ""
    rows = connection.execute(
        f"select {', '.join(read)} from {_source(table)}{beyond} order by {keys} limit {PAGE}",
        after or (),
        binary=table.name == "vectors",
    ).fetchall()
    if table.name != "vectors":
        return rows
    return [(*row[:-1], np.frombuffer(row[-1][4:], ">f2").astype("<f2").tobytes()) for row in rows]


def _last(connection: Connection, table: Table) -> Row | None:
    keys = _columns(table)[: table.key]
    order = ", ".join(f"{key} desc" for key in keys)
    return connection.maybe(
        f"select {', '.join(keys)} from {_source(table)} order by {order} limit 1"
    )


def _put(connection: Connection, table: Table, rows: Sequence[Row]) -> None:
    if table.name == "successors":
        connection.many("update records set superseded_by = %s where id = %s",
                        [(successor, record) for record, successor in rows])  # fmt: skip
        return
    if table.name in ("records", "passages"):
        held = set(
            connection.column(
                f"select id from {table.name} where id = any(%s)", ([row[0] for row in rows],)
            )
        )
        rows = [row for row in rows if row[0] not in held]
    if not rows:
        return
    columns, here = _columns(table), ""
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
        postings.write(connection, _texts(connection, [row[0] for row in rows]))


def _written(table: Table, column: str, value: Any) -> Any:
    if value is None:
        return None
    if column == "vector":
        return f"[{','.join(map(str, np.frombuffer(value, '<f2')))}]"
    if column in table.json and (table.name, column) not in _ARRAYS:
        return Jsonb(value)
    return value


def _texts(connection: Connection, passages: Sequence[int]) -> list[PassageText]:
    rows = connection.execute(
        "select p.id, r.title, substr(r.body, p.span_start + 1, p.span_end - p.span_start),"
        " p.parts, p.people from passages p join records r on r.id = p.record_id"
        " where p.id = any(%s) and p.ordinal >= 0",
        (list(passages),),
    )
    return [PassageText(row[0], row[1:]) for row in rows]


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
    for table in KEYS:
        if table not in ("stores", "workers"):
            connection.execute(f"delete from {table}")
    connection.execute("update stores set moving = %s", (store_id,))
    return False


def _identity(connection: Connection) -> Identity:
    store, key, records, passages, embedder, redacted_by = connection.one(
        "select store_id, tombstone_key, records, passages, embedder, redacted_by from stores"
    )
    tokens = connection.execute("select task, day, tokens from model_tokens order by task")
    return Identity(
        store, key, records, passages, tuple(embedder or ()), redacted_by, tuple(tokens.fetchall())
    )


def _complete(connection: Connection, identity: Identity) -> None:
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
    for table, column in _NUMBERED:  # what is numbered next must not have a number of a moved row
        connection.execute(
            f"select setval(s, greatest(coalesce(pg_sequence_last_value(s), 0), 1,"
            f" (select coalesce(max({column}), 1) from {table})))"
            " from (select pg_get_serial_sequence(%s, %s)::regclass as s) named",
            (table, column),
        )
