"""The graph over SQLite: what records share is read in one row, as Python waits at each."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from typing import Final

from mem_search.model import Filters
from mem_search.storage.rules import shared_facets as rules
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
)
from mem_search.storage.sql.graph import Graph
from mem_search.storage.sqlite.filters import passing


def _ties(connection: sqlite3.Connection, numbers: Sequence[int], filters: Filters) -> list[Tie]:
    """See ``rules.shared_facets.ties``."""
    return rules.ties(
        list(_named(connection, numbers)),
        partial(_members, connection),
        partial(passing, connection, filters=filters),
    )


def _named(connection: sqlite3.Connection, numbers: Sequence[int]) -> Iterator[Named]:
    """(record, key, project, target record) of the names in records; and their files."""
    rows = connection.execute(
        "select r.id, r.project,"
        " (select json_group_array(value) from (select distinct value from facets"
        f"  where record_id = r.id and name in {FACETS} limit ?2)),"
        " (select json_group_array(json_array(key, to_id)) from (select distinct key, to_id"
        "  from edges where from_id = r.id and key != ''))"
        " from json_each(?1) j cross join records r on r.id = j.value",
        (json.dumps(list(numbers)), MAX_FILES + 1),
    )
    for number, project, paths, edges in rows:
        files = json.loads(paths)
        for path in files if len(files) <= MAX_FILES else ():
            if key := key_of_file(path, project):
                yield number, key, project, None
        for key, target in json.loads(edges):
            if key.partition(":")[0] in SHARED:
                yield number, key, project, target


def _members(connection: sqlite3.Connection, hubs: Collection[Hub]) -> dict[Hub, set[int]]:
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


GRAPH: Final = Graph(passing, _ties)
