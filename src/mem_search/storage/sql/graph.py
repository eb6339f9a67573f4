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
    SAME_SESSION,
    SHARED,
    SUMMARISED,
    Hub,
    Named,
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
        found = self.neighbours(connection, numbers, filters=filters)
        ends = {end for edge in found for end in (edge.start, edge.end)}
        return rules.relationships(numbers, found, labels(connection, ends))


class GraphExport(Repository):
    """Parts of the graph, the edges between records and the pages that they cite, in one pass.

    Temporary tables ``within``, ``tie`` and ``node`` hold which records, edges and nodes belong to
    the part, so memory stays flat. A node is a record or a page that is not stored.
    """

    where: ClassVar[Callable[..., tuple[str, list[Any]]]]
    tables: ClassVar[Sequence[str]]
    """What makes the temporary tables; from then on all is of one moment."""
    nodes: ClassVar[str]
    """Fills ``node`` with the ends of ``tie``."""
    alone: ClassVar[str]
    """Adds the records of ``within`` that nothing leads to."""
    limit: ClassVar[str]
    """Leaves the most connected nodes: whether pages come last, and how many."""
    shown: ClassVar[str]
    """The ties between nodes that are left, from ``from`` on."""
    read_nodes: ClassVar[str]
    read_edges: ClassVar[str]

    async def export(self, part: GraphPart, write: Callable[[ExportedGraph], T]) -> T:
        """Call ``write`` in a thread with that part of the graph, as of one moment.

        Memory does not grow with the part. Nobody who searches or stores waits for it.
        """
        found: T = await self._database.aside(lambda c: write(self._gathered(c, part)))
        return found

    @abstractmethod
    def _fill_ties(self, connection: Any, part: GraphPart) -> None:
        """Fill ``tie`` with the edges between the records of ``within`` and with derived ones."""

    @abstractmethod
    def _rows(self, connection: Any, statement: str) -> Iterator[tuple[Any, ...]]:
        """The rows of ``statement``, some at a time."""

    def _gathered(self, connection: Any, part: GraphPart) -> ExportedGraph:
        for statement in self.tables:
            connection.execute(statement)
        condition, values = self.where(connection, part.filters)
        chosen = "r.id = any(%s::bigint[]) and " if part.records is not None else ""
        connection.execute(
            f"insert into within select r.id from records r where {chosen}{condition}",
            ([list(part.records)] if part.records is not None else []) + values,
        )
        self._fill_ties(connection, part)
        connection.execute(self.nodes)
        if part.records is not None:
            connection.execute(self.alone)
        every = connection.count("select count(*) from node")
        if part.most is not None:
            connection.execute(self.limit, (part.records is not None, part.most))
        kept = connection.count("select count(*) from node")
        return ExportedGraph(
            nodes=(
                ExportedNode(name, " ".join(title.split()), *rest)
                for name, title, *rest in self._rows(connection, self.read_nodes)
            ),
            edges=map(ExportedEdge._make, self._rows(connection, self.read_edges)),
            node_count=kept,
            edge_count=connection.count(f"select count(*) {self.shown}"),
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
            (SAME_SESSION, list(numbers), SUMMARISED * max(1, len(numbers))),
        ).fetchall()
    return list(starmap(Edge, rows))


def _named(connection: Connection, numbers: Sequence[int]) -> Iterator[Named]:
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
