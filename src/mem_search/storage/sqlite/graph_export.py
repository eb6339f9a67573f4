"""Parts of the graph in one pass: ``ports.GraphStore``.

Temporary tables hold which edges and nodes belong to the part. SQLite keeps them on disk where they
are large, so memory stays flat.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from typing import Final, TypeVar

from mem_search.model.graph import (
    CITES,
    ExportedEdge,
    ExportedGraph,
    ExportedNode,
    GraphPart,
)
from mem_search.storage.sql.connection import Repository
from mem_search.storage.sql.graph import TITLE
from mem_search.storage.sqlite.filters import where

T = TypeVar("T")

_TABLES: Final = """
    create temp table within(id integer primary key);
    create temp table tie(source, target, relation, strength, origin);
    create temp table node(id primary key, degree integer) without rowid;
"""
_TIES: Final = f"""
    insert into tie select source, target, relation, max(strength), origin from (
        select from_id as source, coalesce(to_id, key) as target, relation, strength, origin
        from edges where from_id in (select id from within) and (to_id in (select id from within)
            or to_id is null and relation = '{CITES}' and key >= 'url:' and key < 'url;')
        union all select value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4
        from json_each(?1)
    )
    where ?2 = '[]' or relation in (select value from json_each(?2))
    group by source, target, relation
"""
_NODES: Final = """
    insert into node select id, count(*) from (
        select source as id from tie union all select target from tie
    ) group by id
"""
_LIMIT: Final = """
    delete from node where id not in (
        select id from node order by ?1 and typeof(id) = 'text', degree desc, id limit ?2
    )
"""
_SHOWN: Final = """
    from tie where source in (select id from node) and target in (select id from node)
"""
_READ_NODES: Final = f"""
    select r.kind || ':' || r.id, {TITLE}, r.kind, r.created_at, r.url, n.degree
    from node n join records r on r.id = n.id where typeof(n.id) = 'integer'
    union all
    select n.id, (select min(target) from edges where key = n.id), '', null,
        (select min(target) from edges where key = n.id), n.degree
    from node n where typeof(n.id) = 'text'
"""
_READ_EDGES: Final = f"""
    select s.kind || ':' || s.id, coalesce(t.kind || ':' || t.id, e.target), relation, strength,
        origin
    from (select * {_SHOWN}) e
    join records s on s.id = e.source left join records t on t.id = e.target
"""


class SqliteGraph(Repository):
    """``ports.GraphStore`` over the table ``edges``."""

    async def export(self, part: GraphPart, write: Callable[[ExportedGraph], T]) -> T:
        found: T = await self._database.aside(lambda c: write(_gather(c, part)))
        return found


def _gather(connection: sqlite3.Connection, part: GraphPart) -> ExportedGraph:
    connection.executescript(_TABLES)
    connection.execute("begin")  # all of it is of one moment
    condition, values = where(part.filters)
    if part.records is None:
        connection.execute(
            f"insert into within select r.id from records r where {condition}", values
        )
    else:
        connection.execute(
            "insert into within select r.id from records r"
            f" where r.id in (select value from json_each(?)) and {condition}",
            (json.dumps(part.records), *values),
        )
    connection.execute(_TIES, (json.dumps(part.derived), json.dumps(part.relations)))
    connection.execute(_NODES)
    if part.records is not None:  # also the one that nothing leads to
        connection.execute("insert or ignore into node select id, 0 from within")
    every = _count(connection, "from node")
    if part.most is not None:
        connection.execute(_LIMIT, (part.records is not None, part.most))
    kept = _count(connection, "from node")
    return ExportedGraph(
        nodes=(
            ExportedNode(name, " ".join(title.split()), kind, created_at, url, degree)
            for name, title, kind, created_at, url, degree in connection.execute(_READ_NODES)
        ),
        edges=map(ExportedEdge._make, connection.execute(_READ_EDGES)),
        node_count=kept,
        edge_count=_count(connection, _SHOWN),
        left_out=every - kept,
    )


def _count(connection: sqlite3.Connection, what: str) -> int:
    (count,) = connection.execute(f"select count(*) {what}").fetchone()
    return int(count)
