"""The graph of records: neighbours, and the records within a few steps.

Stored edges count in both directions. Edges to session neighbours and through shared files, issues
and symbols (``shared_facets``) are derived on request. Every step is bounded in edges and nodes.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Sequence
from functools import partial
from itertools import starmap
from typing import Final

from mem_search.model import Filters, Kind, Ref
from mem_search.model.graph import Edge, GraphLabel, GraphWalk, Relationship
from mem_search.storage.rules import graph as rules
from mem_search.storage.rules.graph import (
    FOLLOWS,
    MOST_EDGES,
    MOST_NODES,
    SAME_SESSION,
    SUMMARISED,
    distinct,
)
from mem_search.storage.sqlite import shared_facets
from mem_search.storage.sqlite.filters import passing

TITLE: Final = "case when title != '' then title else substr(body, 1, 100) end"
"""What a record is called in a graph; its white space is folded afterwards."""


def neighbours(
    connection: sqlite3.Connection,
    numbers: Collection[int],
    *,
    filters: Filters | None = None,
    relations: Collection[str] = (),
) -> list[Edge]:
    """Every edge between ``numbers`` and records within ``filters``.

    Only edges of ``relations`` where any are given. Whether a shared thing is too common to make
    edges is decided over the whole store, as the statistics of words are.
    """
    filters = filters or Filters()
    wanted = json.dumps(list(numbers))
    plain = [*_stored(connection, wanted), *_sessions(connection, wanted)]
    ends = {end for edge in plain for end in (edge.start, edge.end)}
    within = passing(connection, ends, filters) | set(numbers)
    shared = shared_facets.ties(connection, list(numbers), filters)
    edges = [edge for edge in plain if edge.start in within and edge.end in within]
    edges += [Edge(*tie, "derived") for tie in shared]
    if relations:
        edges = [edge for edge in edges if edge.relation in relations]
    return distinct(edges)


def walk(
    connection: sqlite3.Connection,
    seeds: Collection[int],
    depth: int,
    *,
    filters: Filters | None = None,
    relations: Collection[str] = (),
    most: int = MOST_NODES,
) -> GraphWalk:
    """See ``SearchSnapshot``, and ``rules.graph.walk``."""
    near = partial(neighbours, connection, filters=filters, relations=relations)
    return rules.walk(near, seeds, depth, most)


def relationships(
    connection: sqlite3.Connection, numbers: Sequence[int], filters: Filters | None = None
) -> dict[int, tuple[Relationship, ...]]:
    """For each of ``numbers`` what it is related to within ``filters``, strongest first."""
    found = neighbours(connection, numbers, filters=filters)
    ends = {end for edge in found for end in (edge.start, edge.end)}
    return rules.relationships(numbers, found, labels(connection, ends))


def first_passages(
    connection: sqlite3.Connection, records: Sequence[int]
) -> dict[int, tuple[int, Kind, str]]:
    """See ``SearchSnapshot``."""
    rows = connection.execute(
        "select record_id, id, kind, field from passages"
        " where ordinal = 0 and record_id in (select value from json_each(?))",
        (json.dumps(list(records)),),
    )
    return {record: (passage, kind, field) for record, passage, kind, field in rows}


def labels(connection: sqlite3.Connection, numbers: Iterable[int]) -> dict[int, GraphLabel]:
    """Ref, title (or the beginning of the text) and time of records."""
    rows = connection.execute(
        f"select id, kind, {TITLE}, created_at from records"
        " where id in (select value from json_each(?))",
        (json.dumps(list(numbers)),),
    )
    return {
        number: GraphLabel(Ref(kind, number), " ".join(title.split()), created_at)
        for number, kind, title, created_at in rows
    }


def _stored(connection: sqlite3.Connection, wanted: str) -> list[Edge]:
    columns = "from_id, to_id, relation, strength, origin"
    rows = connection.execute(
        f"select {columns} from edges where from_id in (select value from json_each(?1))"
        " and to_id is not null"
        f" union select {columns} from edges where to_id in (select value from json_each(?1))"
        " order by strength desc, from_id, to_id limit ?2",
        (wanted, MOST_EDGES),
    )
    return list(starmap(Edge, rows))


def _sessions(connection: sqlite3.Connection, wanted: str) -> list[Edge]:
    """The record before and after in the conversation, and the summary of the session."""
    rows = connection.execute(
        "select max(a.id, b.id), min(a.id, b.id), 'follows', ?2, 'derived' from records a"
        " join records b on b.session = a.session and b.project = a.project and b.kind = a.kind"
        "  and b.position in (a.position - 1, a.position + 1)"
        " where a.id in (select value from json_each(?1)) and a.session != '' and a.position > 0",
        (wanted, FOLLOWS),
    ).fetchall()
    for own, other in (("m", "s"), ("s", "m")):
        # The cross join keeps this order; SQLite would scan the summaries of the whole store.
        rows += connection.execute(
            f"select m.id, s.id, 'same_session', ?2, 'derived' from records {own}"
            f" cross join records {other} on {other}.session = {own}.session"
            f"  and {other}.project = {own}.project"
            f" where {own}.id in (select value from json_each(?1)) and {own}.session != ''"
            " and s.kind = 'session_summary' and m.kind != 'session_summary' limit ?3",
            (wanted, SAME_SESSION, SUMMARISED * (1 + wanted.count(","))),
        ).fetchall()
    return list(starmap(Edge, rows))
