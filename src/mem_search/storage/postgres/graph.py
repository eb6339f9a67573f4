"""The graph on a server: the records that name a thing, and parts of the graph in one pass."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, Final

from mem_search.model.graph import CITES, GraphPart
from mem_search.storage.postgres.connection import Connection
from mem_search.storage.postgres.filters import FILTERS
from mem_search.storage.rules.graph import FACETS, MAX_MEMBERS, SCANNED, Hub
from mem_search.storage.sql.graph import Graph, GraphExport

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


def _members(connection: Connection, hubs: Collection[Hub]) -> dict[Hub, set[int]]:
    """Records that name each of ``hubs``, at most one more than the limit of each sort."""
    paths = [
        key.removeprefix(f"path:{scope.lower()}:") if key.startswith("path:") else ""
        for key, scope in hubs
    ]
    of_facets = "".join(
        " union all (select f.record_id from (select record_id from facets"
        f" where name = '{facet}' and value = h.path limit %(scanned)s) f"
        " join records r on r.id = f.record_id where h.project = '' or r.project = h.project"
        " limit %(most)s)"
        for facet in FACETS
    )
    rows = connection.execute(
        "select array((select from_id from edges where key = h.name limit %(most)s)"
        f"{of_facets}) from unnest(%(names)s::text[], %(paths)s::text[], %(projects)s::text[])"
        " with ordinality h(name, path, project, place) order by h.place",
        {
            "names": [key for key, _ in hubs],
            "paths": paths,
            "projects": [scope for _, scope in hubs],
            "most": MAX_MEMBERS + 1,
            "scanned": SCANNED,
        },
    ).fetchall()
    return {hub: set(found) for hub, (found,) in zip(hubs, rows, strict=True)}


GRAPH: Final = Graph(FILTERS.passing, _members)


class PostgresGraph(GraphExport):
    """Parts of the graph of one owner."""

    where = staticmethod(FILTERS.where)
    tables = _TABLES
    nodes, limit, shown, read_nodes, read_edges = _NODES, _LIMIT, _SHOWN, _READ_NODES, _READ_EDGES
    alone = (
        "insert into node select id, null, 0 from within w"
        " where not exists (select 1 from node n where n.number = w.id)"
    )

    def _fill_ties(self, connection: Connection, part: GraphPart) -> None:
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

    def _rows(self, connection: Connection, statement: str) -> Iterator[tuple[Any, ...]]:
        """The rows of ``statement`` by a cursor of the server, some hundreds at a time."""
        with connection.cursor(name="exported") as cursor:
            cursor.itersize = 500
            yield from cursor.execute(statement)
