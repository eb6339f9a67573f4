"""The edges of records, read from PostgreSQL for ``rules.graph`` and ``rules.shared_facets``."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import starmap
from typing import Final

from mem_search.model import Filters, Kind, Ref
from mem_search.model.graph import Edge, GraphLabel, GraphWalk, Relationship
from mem_search.storage.postgres.connection import Connection
from mem_search.storage.postgres.filters import passing
from mem_search.storage.rules import graph as rules
from mem_search.storage.rules.graph import FOLLOWS, MOST_EDGES, SAME_SESSION, SUMMARISED, distinct
from mem_search.storage.rules.shared_facets import (
    FACETS,
    MOST_FILES,
    MOST_MEMBERS,
    SCANNED,
    SHARED,
    Hub,
    Named,
    key_of_file,
    ties,
)

_COLUMNS: Final = "from_id, to_id, relation, strength, origin"


def neighbours(
    connection: Connection,
    filters: Filters,
    relations: Collection[str],
    numbers: Sequence[int],
) -> list[Edge]:
    """Every edge between ``numbers`` and records within ``filters``.

    Only edges of ``relations`` where any are given. Whether a shared thing is too common to make
    edges is decided over the whole store, as the statistics of words are.
    """
    plain = [*_stored(connection, numbers), *_sessions(connection, numbers)]
    ends = {end for edge in plain for end in (edge.start, edge.end)}
    within = passing(connection, ends, filters) | set(numbers)
    shared = ties(
        list(_named(connection, numbers)),
        partial(_members, connection),
        partial(passing, connection, filters=filters),
    )
    edges = [edge for edge in plain if edge.start in within and edge.end in within]
    edges += [Edge(*tie, "derived") for tie in shared]
    if relations:
        edges = [edge for edge in edges if edge.relation in relations]
    return distinct(edges)


def walk(
    connection: Connection,
    seeds: Collection[int],
    depth: int,
    filters: Filters,
    relations: Collection[str],
) -> GraphWalk:
    """See ``SearchSnapshot``."""
    return rules.walk(partial(neighbours, connection, filters, relations), seeds, depth)


def relationships(
    connection: Connection, numbers: Sequence[int], filters: Filters
) -> dict[int, tuple[Relationship, ...]]:
    """See ``SearchSnapshot``."""
    found = neighbours(connection, filters, (), numbers)
    ends = {end for edge in found for end in (edge.start, edge.end)}
    return rules.relationships(numbers, found, labels(connection, ends))


def first_passages(
    connection: Connection, records: Sequence[int]
) -> dict[int, tuple[int, Kind, str]]:
    """See ``SearchSnapshot``."""
    rows = connection.execute(
        "select record_id, id, kind, field from passages where ordinal = 0 and record_id = any(%s)",
        (list(records),),
    )
    return {record: (passage, kind, field) for record, passage, kind, field in rows}


def labels(connection: Connection, numbers: Iterable[int]) -> dict[int, GraphLabel]:
    """Ref, title (or the beginning of the text) and time of records."""
    rows = connection.execute(
        "select id, kind, case when title != '' then title else left(body, 100) end, created_at"
        " from records where id = any(%s)",
        (list(numbers),),
    )
    return {
        number: GraphLabel(Ref(kind, number), " ".join(title.split()), created_at)
        for number, kind, title, created_at in rows
    }


def _stored(connection: Connection, numbers: Sequence[int]) -> list[Edge]:
    rows = connection.execute(
        f"select {_COLUMNS} from edges where from_id = any(%(numbers)s) and to_id is not null"
        f" union select {_COLUMNS} from edges where to_id = any(%(numbers)s)"
        " order by strength desc, from_id, to_id limit %(most)s",
        {"numbers": list(numbers), "most": MOST_EDGES},
    )
    return list(starmap(Edge, rows))


def _sessions(connection: Connection, numbers: Sequence[int]) -> list[Edge]:
    """The record before and after in the conversation, and the summary of the session."""
    rows = connection.execute(
        "select greatest(a.id, b.id), least(a.id, b.id), 'follows', %s::float8, 'derived'"
        " from records a join records b on b.session = a.session and b.project = a.project"
        "  and b.kind = a.kind and b.position in (a.position - 1, a.position + 1)"
        " where a.id = any(%s) and a.session != '' and a.position > 0",
        (FOLLOWS, list(numbers)),
    ).fetchall()
    for own in ("m", "s"):
        rows += connection.execute(
            "select m.id, s.id, 'same_session', %s::float8, 'derived' from records m"
            " join records s on s.session = m.session and s.project = m.project"
            f" where {own}.id = any(%s) and {own}.session != ''"
            " and s.kind = 'session_summary' and m.kind != 'session_summary' limit %s",
            (SAME_SESSION, list(numbers), SUMMARISED * max(1, len(numbers))),
        ).fetchall()
    return list(starmap(Edge, rows))


def _named(connection: Connection, numbers: Sequence[int]) -> Iterator[Named]:
    """The names in records, and their files."""
    rows = connection.execute(
        "select r.id, r.project, array(select distinct value from facets where record_id = r.id"
        " and name = any(%s::text[]) limit %s), array(select distinct array[key, to_id::text]"
        " from edges where from_id = r.id and key != '') from records r where r.id = any(%s)",
        (list(FACETS), MOST_FILES + 1, list(numbers)),
    ).fetchall()
    place = {number: at for at, number in enumerate(numbers)}
    for number, project, files, edges in sorted(rows, key=lambda row: place[row[0]]):
        for path in files if len(files) <= MOST_FILES else ():
            if key := key_of_file(path, project):
                yield number, key, project, None
        for key, target in edges:
            if key.partition(":")[0] in SHARED:
                yield number, key, project, None if target is None else int(target)


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
            "most": MOST_MEMBERS + 1,
            "scanned": SCANNED,
        },
    ).fetchall()
    return {hub: set(found) for hub, (found,) in zip(hubs, rows, strict=True)}
