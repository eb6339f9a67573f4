"""The graph on a server: the records that name a thing, and parts of the graph in one pass."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, Final

from mem_search.storage.postgres.connection import Connection
from mem_search.storage.postgres.filters import FILTERS
from mem_search.storage.rules.graph import FACETS, MAX_MEMBERS, SCANNED, Hub
from mem_search.storage.sql.graph import Graph, GraphExport


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
    return {hub: set(records) for hub, (records,) in zip(hubs, rows, strict=True)}


GRAPH: Final = Graph(FILTERS.passing, _members)


class PostgresGraph(GraphExport):
    """Parts of the graph of one owner."""

    where = staticmethod(FILTERS.where)
    temporary = " on commit drop"

    def _rows(self, connection: Connection, statement: str) -> Iterator[tuple[Any, ...]]:
        """The rows of ``statement`` by a cursor of the server, some hundreds at a time."""
        with connection.cursor(name="exported") as cursor:
            cursor.itersize = 500
            yield from cursor.execute(statement)
