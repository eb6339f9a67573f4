"""The graph over PostgreSQL: what records share is read by one statement for all of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import partial
from typing import Final

from mem_search.model import Filters
from mem_search.storage.postgres.connection import Connection
from mem_search.storage.postgres.filters import passing
from mem_search.storage.rules.shared_facets import (
    FACETS,
    MAX_FILES,
    MAX_MEMBERS,
    SCANNED,
    SHARED,
    Hub,
    Named,
    Tie,
    key_of_file,
    ties,
)
from mem_search.storage.sql.graph import Graph


def _ties(connection: Connection, numbers: Sequence[int], filters: Filters) -> list[Tie]:
    """See ``rules.shared_facets.ties``."""
    return ties(
        list(_named(connection, numbers)),
        partial(_members, connection),
        partial(passing, connection, filters=filters),
    )


def _named(connection: Connection, numbers: Sequence[int]) -> Iterator[Named]:
    """The names in records, and their files."""
    rows = connection.execute(
        "select r.id, r.project, array(select distinct value from facets where record_id = r.id"
        " and name = any(%s::text[]) limit %s), array(select distinct array[key, to_id::text]"
        " from edges where from_id = r.id and key != '') from records r where r.id = any(%s)",
        (list(FACETS), MAX_FILES + 1, list(numbers)),
    ).fetchall()
    place = {number: at for at, number in enumerate(numbers)}
    for number, project, files, edges in sorted(rows, key=lambda row: place[row[0]]):
        for path in files if len(files) <= MAX_FILES else ():
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
            "most": MAX_MEMBERS + 1,
            "scanned": SCANNED,
        },
    ).fetchall()
    return {hub: set(found) for hub, (found,) in zip(hubs, rows, strict=True)}


GRAPH: Final = Graph(passing, _ties)
