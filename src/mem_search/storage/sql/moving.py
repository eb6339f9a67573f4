"""The tables of a store, read and filled one by one: ``rules.moving.Movable``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from mem_search.storage.rules.moving import PAGE, Identity, Row, Table
from mem_search.storage.sql.connection import Connection, Json, from_json


class Tables(ABC):
    """What both engines do alike; each has its own way to write what it derives."""

    sources: ClassVar[Mapping[str, str]] = {
        "successors": "(select id, superseded_by from records where superseded_by is not null) s"
    }
    """Table → what its rows are read from, where that is no table of this name."""

    def __init__(self, database: Any) -> None:
        self._database = database

    async def identity(self) -> Identity:
        found: Identity = await self._database.read(self._identity)
        return found

    async def page(self, table: Table, after: Row | None) -> list[Row]:
        found: list[Row] = await self._database.read(self._page, table, after)
        return found

    async def last(self, table: Table) -> Row | None:
        found: Row | None = await self._database.read(self._last, table)
        return found

    async def put(self, table: Table, rows: Sequence[Row]) -> None:
        await self._database.write(self._put, table, rows)

    async def complete(self, identity: Identity) -> None:
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
