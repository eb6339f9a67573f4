"""The graph in a file: the records that name a thing, and parts of the graph in one pass.

SQLite keeps temporary tables on disk where they are large.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from typing import Any, Final

from mem_search.model.graph import ExportedGraph, GraphPart
from mem_search.storage.rules.graph import FACETS, MAX_MEMBERS, SCANNED, Hub
from mem_search.storage.sql.graph import Graph, GraphExport
from mem_search.storage.sqlite.connection import SqliteConnection
from mem_search.storage.sqlite.filters import FILTERS


def _members(connection: SqliteConnection, hubs: Collection[Hub]) -> dict[Hub, set[int]]:
    """Records that name each of ``hubs``, at most one more than the limit of each sort.

    One statement with limits inside it, because Python waits for its lock at each row.
    """
    asked = [
        (key, key.removeprefix(f"path:{scope.lower()}:") if key.startswith("path:") else "", scope)
        for key, scope in hubs
    ]
    rows = connection.execute(
        "with hub as materialized (select key as place, value ->> 0 as name, value ->> 1 as path,"
        " value ->> 2 as project from json_each(:hubs))"
        " select (select group_concat(id) from"
        " (select * from (select from_id as id from edges where key = hub.name limit :most)"
        + "".join(
            " union all select * from (select f.record_id from (select record_id from facets"
            f" where name = '{facet}' and value = hub.path limit :scanned) f"
            " join records r on r.id = f.record_id"
            " where hub.project = '' or r.project = hub.project limit :most)"
            for facet in FACETS
        )
        + ")) from hub order by place",
        {"hubs": json.dumps(asked), "most": MAX_MEMBERS + 1, "scanned": SCANNED},
    ).fetchall()
    return {
        hub: set(map(int, listed.split(","))) if listed else set()
        for hub, (listed,) in zip(hubs, rows, strict=True)
    }


GRAPH: Final = Graph(FILTERS.passing, _members)


class SqliteGraph(GraphExport):
    """Parts of the graph in a file."""

    where = staticmethod(FILTERS.where)

    def _gathered(self, connection: SqliteConnection, part: GraphPart) -> ExportedGraph:
        connection.execute("begin")  # from now on all is of one moment
        return super()._gathered(connection, part)

    def _rows(self, connection: SqliteConnection, statement: str) -> Iterator[tuple[Any, ...]]:
        return connection.execute(statement)
