"""The graph of records: neighbours, and the records within a few steps.

Stored edges count in both directions. Edges to session neighbours and through shared files, issues
and symbols (``rules.graph``) are derived on request. Every step is bounded in edges and
nodes.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import starmap
from typing import Any, ClassVar, Final, TypeVar

from mem_search.model import Filters, Kind, Ref
from mem_search.model.graph import (
    CITES,
    Edge,
    ExportedEdge,
    ExportedGraph,
    ExportedNode,
    GraphLabel,
    GraphPart,
    GraphWalk,
    Relationship,
)
from mem_search.storage.rules import graph as rules
from mem_search.storage.rules.graph import (
    FACETS,
    FOLLOWS,
    MAX_EDGES,
    MAX_FILES,
    MAX_NODES,
    MAX_SUMMARISED_MEMBERS,
    SAME_SESSION,
    SHARED,
    Hub,
    RecordName,
    distinct,
    key_of_file,
    ties,
)
from mem_search.storage.sql.connection import Connection, Repository, from_json

T = TypeVar("T")

TITLE: Final = "case when title != '' then title else substr(body, 1, 100) end"
"""What a record is called in a graph; its white space is folded afterwards."""

_COLUMNS: Final = "from_id, to_id, relation, strength, origin"


class Graph:
    """Reads edges. ``passing`` gives those of some records that are within filters, ``members`` the
    records that name a thing, one more than ``MAX_MEMBERS`` at most: each engine has its own.
    """

    def __init__(
        self,
        passing: Callable[..., set[int]],
        members: Callable[[Any, Collection[Hub]], dict[Hub, set[int]]],
    ) -> None:
        self._passing = passing
        self._members = members

    def neighbours(
        self,
        connection: Connection,
        numbers: Sequence[int],
        *,
        filters: Filters | None = None,
        relations: Collection[str] = (),
    ) -> list[Edge]:
        """Every edge between ``numbers`` and records within ``filters``.

        Only edges of ``relations`` where any are given. Whether a shared thing is too common to
        make edges is decided over the whole store, as the statistics of words are.
        """
        filters = filters or Filters()
        plain = [*_stored(connection, numbers), *_sessions(connection, numbers)]
        ends = {end for edge in plain for end in (edge.start, edge.end)}
        within = self._passing(connection, ends, filters) | set(numbers)
        shared = ties(
            list(_named(connection, numbers)),
            partial(self._members, connection),
            partial(self._passing, connection, filters=filters),
        )
        edges = [edge for edge in plain if edge.start in within and edge.end in within]
        edges += [Edge(*tie, "derived") for tie in shared]
        if relations:
            edges = [edge for edge in edges if edge.relation in relations]
        return distinct(edges)

    def walk(
        self,
        connection: Connection,
        seeds: Collection[int],
        depth: int,
        *,
        filters: Filters | None = None,
        relations: Collection[str] = (),
        most: int = MAX_NODES,
    ) -> GraphWalk:
        """See ``SearchSnapshot``, and ``rules.graph.walk``."""
        near = partial(self.neighbours, connection, filters=filters, relations=relations)
        return rules.walk(near, seeds, depth, most)

    def relationships(
        self, connection: Connection, numbers: Sequence[int], filters: Filters | None = None
    ) -> dict[int, tuple[Relationship, ...]]:
        """For each of ``numbers`` what it is related to within ``filters``, strongest first."""
        edges = self.neighbours(connection, numbers, filters=filters)
        ends = {end for edge in edges for end in (edge.start, edge.end)}
        return rules.relationships(numbers, edges, labels(connection, ends))


# A node is a record (number) or a page that is not stored (name).
_DERIVED: Final = "source bigint, target bigint, relation text, strength float8, origin text"
_TABLES: Final = (
    ("within", "id bigint primary key"),
    ("derived", _DERIVED),
    ("tie", "source bigint, target bigint, page text, relation text, strength float8, origin text"),
    ("node", "number bigint, name text, degree bigint"),
)
_TIES: Final = f"""
    insert into tie select source, target, page, relation, strength, origin from (
        select e.*, row_number() over (
            partition by source, target, page, relation order by strength desc) as place
        from (
            select from_id as source, to_id as target, case when to_id is null then key end as page,
                relation, strength, origin
            from edges where from_id in (select id from within) and (
                to_id in (select id from within)
                or to_id is null and relation = '{CITES}' and key >= 'url:' and key < 'url;')
            union all select source, target, null, relation, strength, origin from derived
        ) e where %(every)s or relation = any(%(relations)s::text[])
    ) strongest where place = 1
"""
_NODES: Final = """
    insert into node select number, name, count(*) from (
        select source as number, null as name from tie union all select target, page from tie
    ) e group by number, name
"""
_ALONE: Final = """
    insert into node select id, null, 0 from within w
    where not exists (select 1 from node n where n.number = w.id)
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
_PAGE: Final = "(select min(target) from edges where key = n.name)"
_READ_NODES: Final = f"""
    select coalesce(r.kind || ':' || r.id, n.name), coalesce({TITLE}, {_PAGE}),
        coalesce(r.kind, ''), r.created_at, coalesce(r.url, {_PAGE}), n.degree
    from node n left join records r on r.id = n.number order by n.number nulls last, n.name
"""
_READ_EDGES: Final = f"""
    select s.kind || ':' || s.id, coalesce(t.kind || ':' || t.id, e.page), relation, strength,
        origin
    from (select * {_SHOWN}) e
    join records s on s.id = e.source left join records t on t.id = e.target
"""


class GraphExport(Repository):
    """Parts of the graph, the edges between records and the pages that they cite, in one pass.

    Temporary tables ``within``, ``tie`` and ``node`` hold which records, edges and nodes belong to
    the part, so memory stays flat. A node is a record or a page that is not stored.
    """

    where: ClassVar[Callable[..., tuple[str, list[Any]]]]
    temporary: ClassVar[str] = ""
    """What follows a temporary table, so that it goes with its transaction."""

    async def export(self, part: GraphPart, write: Callable[[ExportedGraph], T]) -> T:
        """Call ``write`` in a thread with that part of the graph, as of one moment.

        Memory does not grow with the part. Nobody who searches or stores waits for it.
        """
        result: T = await self._database.aside(lambda c: write(self._gathered(c, part)))
        return result

    @abstractmethod
    def _rows(self, connection: Any, statement: str) -> Iterator[tuple[Any, ...]]:
        """The rows of ``statement``, some at a time."""

    def _gathered(self, connection: Any, part: GraphPart) -> ExportedGraph:
        for table, columns in _TABLES:
            connection.execute(f"create temp table {table}({columns}){self.temporary}")
        condition, values = self.where(connection, part.filters)
        chosen = "r.id = any(%s::bigint[]) and " if part.records is not None else ""
        connection.execute(
            f"insert into within select r.id from records r where {chosen}{condition}",
            ([list(part.records)] if part.records is not None else []) + values,
        )
        connection.insert("derived", _DERIVED.split(", "), part.derived)
        relations = list(part.relations)
        connection.execute(_TIES, {"every": not relations, "relations": relations})
        connection.execute(_NODES)
        for column in ("number", "name"):
            connection.execute(f"create index nodes_by_{column} on node({column})")
        if part.records is not None:
            connection.execute(_ALONE)
        every = connection.count("select count(*) from node")
        if part.most is not None:
            connection.execute(_LIMIT, (part.records is not None, part.most))
        kept = connection.count("select count(*) from node")
        return ExportedGraph(
            nodes=(
                ExportedNode(name, " ".join(title.split()), *rest)
                for name, title, *rest in self._rows(connection, _READ_NODES)
            ),
            edges=map(ExportedEdge._make, self._rows(connection, _READ_EDGES)),
            node_count=kept,
            edge_count=connection.count(f"select count(*) {_SHOWN}"),
            left_out=every - kept,
        )


def first_passages(
    connection: Connection, records: Sequence[int]
) -> dict[int, tuple[int, Kind, str]]:
    """See ``SearchSnapshot``."""
    rows = connection.execute(
        "select record_id, id, kind, field from passages"
        " where ordinal = 0 and record_id = any(%s::bigint[])",
        (list(records),),
    )
    return {record: (passage, kind, field) for record, passage, kind, field in rows}


def labels(connection: Connection, numbers: Iterable[int]) -> dict[int, GraphLabel]:
    """Ref, title (or the beginning of the text) and time of records."""
    rows = connection.execute(
        f"select id, kind, {TITLE}, created_at from records where id = any(%s::bigint[])",
        (list(numbers),),
    )
    return {
        number: GraphLabel(Ref(kind, number), " ".join(title.split()), created_at)
        for number, kind, title, created_at in rows
    }


def _stored(connection: Connection, numbers: Sequence[int]) -> list[Edge]:
    rows = connection.execute(
        f"select {_COLUMNS} from edges where from_id = any(%(numbers)s::bigint[])"
        " and to_id is not null"
        f" union select {_COLUMNS} from edges where to_id = any(%(numbers)s::bigint[])"
        " order by strength desc, from_id, to_id limit %(most)s",
        {"numbers": list(numbers), "most": MAX_EDGES},
    )
    return list(starmap(Edge, rows))


def _sessions(connection: Connection, numbers: Sequence[int]) -> list[Edge]:
    """The record before and after in the conversation, and the summary of the session."""
    rows = connection.execute(
        "select greatest(a.id, b.id), least(a.id, b.id), 'follows', %s::float8, 'derived'"
        " from records a join records b on b.session = a.session and b.project = a.project"
        "  and b.kind = a.kind and b.position in (a.position - 1, a.position + 1)"
        " where a.id = any(%s::bigint[]) and a.session != '' and a.position > 0",
        (FOLLOWS, list(numbers)),
    ).fetchall()
    for own, other in (("m", "s"), ("s", "m")):
        # The cross join keeps this order; SQLite would scan the summaries of the whole store.
        rows += connection.execute(
            "select m.id, s.id, 'same_session', %s::float8, 'derived'"
            f" from records {own} cross join records {other}"
            f" where {other}.session = {own}.session and {other}.project = {own}.project"
            f" and {own}.id = any(%s::bigint[]) and {own}.session != ''"
            " and s.kind = 'session_summary' and m.kind != 'session_summary' limit %s",
            (SAME_SESSION, list(numbers), MAX_SUMMARISED_MEMBERS * max(1, len(numbers))),
        ).fetchall()
    return list(starmap(Edge, rows))


def _named(connection: Connection, numbers: Sequence[int]) -> Iterator[RecordName]:
    """The names in records, and their files, in the order of ``numbers``."""
    rows = connection.execute(
        "select r.id, r.project, (select jsonb_agg(f.value) from (select distinct value from facets"
        f" where record_id = r.id and name in {FACETS} limit %s) f),"
        " (select jsonb_agg(jsonb_build_array(e.key, e.to_id)) from (select distinct key, to_id"
        " from edges where from_id = r.id and key != '') e)"
        " from records r where r.id = any(%s::bigint[])",
        (MAX_FILES + 1, list(numbers)),
    ).fetchall()
    place = {number: at for at, number in enumerate(numbers)}
    for number, project, paths, edges in sorted(rows, key=lambda row: place[row[0]]):
        files = from_json(paths) or ()
        for path in files if len(files) <= MAX_FILES else ():
            if key := key_of_file(path, project):
                yield number, key, project, None
        for key, target in from_json(edges) or ():
            if key.partition(":")[0] in SHARED:
                yield number, key, project, target
