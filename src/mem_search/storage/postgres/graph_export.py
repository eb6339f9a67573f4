"""Parts of the graph in one pass: ``ports.GraphStore``.

Temporary tables hold which edges and nodes belong to the part, and rows are read a few at a time,
so memory stays flat.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, TypeVar

from mem_search.model.graph import (
    CITES,
    ExportedEdge,
    ExportedGraph,
    ExportedNode,
    GraphPart,
)
from mem_search.storage.postgres.connection import Connection
from mem_search.storage.postgres.filters import where
from mem_search.storage.sql.connection import Repository

T = TypeVar("T")

# A node is a record (number) or a page that is not stored (name).
_TABLES: Final = (
    "create temp table within(id bigint primary key) on commit drop",
    "create temp table tie(source bigint, target bigint, page text, relation text,"
    " strength double precision, origin text) on commit drop",
    "create temp table node(number bigint, name text, degree bigint) on commit drop",
    "create index on node(number)",
    "create index on node(name)",
)
_TIES: Final = f"""
    insert into tie select distinct on (source, target, page, relation) * from (
        select from_id as source, to_id as target, case when to_id is null then key end as page,
            relation, strength, origin
        from edges where from_id in (select id from within) and (to_id in (select id from within)
            or to_id is null and relation = '{CITES}' and key >= 'url:' and key < 'url;')
        union all select source, target, null, relation, strength, origin from unnest(
            %(sources)s::bigint[], %(targets)s::bigint[], %(derived)s::text[],
            %(strengths)s::float8[], %(origins)s::text[]
        ) d(source, target, relation, strength, origin)
    ) e where %(relations)s::text[] = '{{}}' or relation = any(%(relations)s::text[])
    order by source, target, page, relation, strength desc
"""
_NODES: Final = """
    insert into node select number, name, count(*) from (
        select source as number, null as name from tie union all select target, page from tie
    ) e group by number, name
"""
_LIMIT: Final = """
    delete from node where ctid not in (
        select ctid from node
        order by %s and number is null, degree desc, number nulls last, name limit %s
    )
"""
_SHOWN: Final = """
    from tie e where exists (select 1 from node n where n.number = e.source)
    and exists (select 1 from node n where n.number = e.target or n.name = e.page)
"""
_READ_NODES: Final = """
    select coalesce(r.kind || ':' || r.id, n.name),
        coalesce(nullif(r.title, ''), substr(r.body, 1, 100), p.target),
        coalesce(r.kind, ''), r.created_at, coalesce(r.url, p.target), n.degree
    from node n left join records r on r.id = n.number
    left join lateral (select min(target) as target from edges where key = n.name) p on true
    order by n.number nulls last, n.name
"""
_READ_EDGES: Final = f"""
    select s.kind || ':' || s.id, coalesce(t.kind || ':' || t.id, e.page), relation, strength,
        origin
    from (select * {_SHOWN}) e
    join records s on s.id = e.source left join records t on t.id = e.target
"""


class PostgresGraph(Repository):
    """``ports.GraphStore`` over the table ``edges``."""

    async def export(self, part: GraphPart, write: Callable[[ExportedGraph], T]) -> T:
        found: T = await self._database.aside(lambda c: write(_gather(c, part)))
        return found


def _gather(connection: Connection, part: GraphPart) -> ExportedGraph:
    for statement in _TABLES:
        connection.execute(statement)
    condition, values = where(connection, part.filters)
    chosen = "r.id = any(%s) and " if part.records is not None else ""
    connection.execute(
        f"insert into within select r.id from records r where {chosen}{condition}",
        ([list(part.records)] if part.records is not None else []) + values,
    )
    connection.execute(
        _TIES,
        {
            "sources": [each.start for each in part.derived],
            "targets": [each.end for each in part.derived],
            "derived": [each.relation for each in part.derived],
            "strengths": [each.strength for each in part.derived],
            "origins": [each.origin for each in part.derived],
            "relations": list(part.relations),
        },
    )
    connection.execute(_NODES)
    if part.records is not None:  # also the one that nothing leads to
        connection.execute(
            "insert into node select id, null, 0 from within w"
            " where not exists (select 1 from node n where n.number = w.id)"
        )
    every = connection.count("select count(*) from node")
    if part.most is not None:
        connection.execute(_LIMIT, (part.records is not None, part.most))
    kept = connection.count("select count(*) from node")
    return ExportedGraph(
        nodes=(
            ExportedNode(name, " ".join(title.split()), kind, created_at, url, degree)
            for name, title, kind, created_at, url, degree in _rows(connection, _READ_NODES)
        ),
        edges=map(ExportedEdge._make, _rows(connection, _READ_EDGES)),
        node_count=kept,
        edge_count=connection.count(f"select count(*) {_SHOWN}"),
        left_out=every - kept,
    )


def _rows(connection: Connection, statement: str) -> Iterator[tuple[Any, ...]]:
    """The rows of ``statement`` by a cursor of the server, some hundreds at a time."""
    with connection.cursor(name="exported") as cursor:
        cursor.itersize = 500
        yield from cursor.execute(statement)
