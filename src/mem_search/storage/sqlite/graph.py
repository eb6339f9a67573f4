"""The graph in a file: the records that name a thing, and parts of the graph in one pass.

SQLite keeps temporary tables on disk where they are large.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from typing import Any, Final

from mem_search.model.graph import CITES, GraphPart
from mem_search.storage.rules.graph import FACETS, MAX_MEMBERS, SCANNED, Hub
from mem_search.storage.sql.graph import TITLE, Graph, GraphExport
from mem_search.storage.sqlite.connection import SqliteConnection
from mem_search.storage.sqlite.filters import FILTERS

_TABLES: Final = (
    "begin",
    "create temp table within(id integer primary key)",
    "create temp table tie(source, target, relation, strength, origin)",
    "create temp table node(id primary key, degree integer) without rowid",
)
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
        " value ->> 2 as project from json_each(?1))"
        " select (select group_concat(id) from"
        " (select * from (select from_id as id from edges where key = hub.name limit ?2)"
        + "".join(
            " union all select * from (select f.record_id from (select record_id from facets"
            f" where name = '{facet}' and value = hub.path limit ?3) f"
            " join records r on r.id = f.record_id"
            " where hub.project = '' or r.project = hub.project limit ?2)"
            for facet in FACETS
        )
        + ")) from hub order by place",
        (json.dumps(asked), MAX_MEMBERS + 1, SCANNED),
    ).fetchall()
    return {
        hub: set(map(int, listed.split(","))) if listed else set()
        for hub, (listed,) in zip(hubs, rows, strict=True)
    }


GRAPH: Final = Graph(FILTERS.passing, _members)


class SqliteGraph(GraphExport):
    """Parts of the graph in a file."""

    where = staticmethod(FILTERS.where)
    tables = _TABLES
    nodes, limit, shown, read_nodes, read_edges = _NODES, _LIMIT, _SHOWN, _READ_NODES, _READ_EDGES
    alone = "insert or ignore into node select id, 0 from within"

    def _fill_ties(self, connection: SqliteConnection, part: GraphPart) -> None:
        connection.execute(_TIES, (json.dumps(part.derived), json.dumps(part.relations)))

    def _rows(self, connection: SqliteConnection, statement: str) -> Iterator[tuple[Any, ...]]:
        return connection.execute(statement)
