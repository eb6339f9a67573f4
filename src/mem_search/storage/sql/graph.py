"""The graph of records: neighbours, and the records within a few steps.

Stored edges count in both directions. Edges to session neighbours and through shared files, issues
and symbols (``rules.shared_facets``) are derived on request. Every step is bounded in edges and
nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from itertools import starmap
from typing import Any, Final

from mem_search.model import Filters, Kind, Ref
from mem_search.model.graph import Edge, GraphLabel, GraphWalk, Relationship
from mem_search.storage.rules import graph as rules
from mem_search.storage.rules.graph import (
    FOLLOWS,
    MAX_EDGES,
    MAX_NODES,
    SAME_SESSION,
    SUMMARISED,
    distinct,
)
from mem_search.storage.rules.shared_facets import Tie
from mem_search.storage.sql.connection import Connection

TITLE: Final = "case when title != '' then title else substr(body, 1, 100) end"
"""What a record is called in a graph; its white space is folded afterwards."""

_COLUMNS: Final = "from_id, to_id, relation, strength, origin"


class Graph:
    """Reads edges. ``passing`` gives those of some records that are within filters, ``ties`` the
    edges between records that name the same things: each engine has its own.
    """

    def __init__(
        self,
        passing: Callable[[Any, Collection[int], Filters], set[int]],
        ties: Callable[[Any, Sequence[int], Filters], Iterable[Tie]],
    ) -> None:
        self._passing = passing
        self._ties = ties

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
        shared = self._ties(connection, list(numbers), filters)
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
