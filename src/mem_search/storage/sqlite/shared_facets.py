"""Edges between records that share a file, issue, page or symbol, derived on request.

Such edges are never stored: n records of one file would be n² edges. The strength of a shared item
is divided by the number of its records; with less damping common files outweigh explicit links
(docs/graph.md). An item of more than ``MOST_MEMBERS`` records links none of them.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterator, Sequence
from typing import Final

from mem_search.model import Filters
from mem_search.storage.sqlite.filters import passing

MOST_MEMBERS: Final = 50
MOST_FILES: Final = 30
"""A record that touched more files than this is about none of them."""
MOST_HUBS: Final = 300
"""Most items that one step looks up; those of earlier records come first."""
_SCANNED: Final = 2000
"""Rows of one file in all projects beyond which it counts as a file of every project."""

_FACETS: Final = ("file_modified", "file_read", "path")
_SHARED: Final = {
    "path": ("same_file", 0.1),
    "issue": ("same_issue", 0.12),
    "url": ("same_page", 0.1),
    "symbol": ("same_symbol", 0.08),
    "commit": ("same_commit", 0.12),
    "title": ("same_title", 0.1),
    "id": ("same_target", 0.12),
    "ref": ("same_target", 0.12),
}
"""Prefix of a key → relation, and the strength between the only two records that share it."""

Hub = tuple[str, str]
"""(the key of an item, its project or "")."""

Tie = tuple[int, int, str, float]
"""(the record of the lower number, the other, relation, strength)."""


def ties(connection: sqlite3.Connection, numbers: Sequence[int], filters: Filters) -> list[Tie]:
    """Edges from ``numbers`` to other records within ``filters`` through items that both name.
    Several shared items of one sort make one edge, stronger than each.
    """
    hubs: dict[Hub, set[int]] = {}
    named = list(_named(connection, numbers))
    # Two records with edges to the same visible record are already linked through it.
    targets = {target for *_, target in named if target is not None}
    seen = passing(connection, targets, filters)
    for number, key, project, target in named:
        if target in seen:
            continue
        scope = project if key.startswith("path:") and not key.startswith("path::") else ""
        if (key, scope) in hubs or len(hubs) < MOST_HUBS:
            hubs.setdefault((key, scope), set()).add(number)
    found = _members(connection, hubs)
    small = {hub: members for hub, members in found.items() if len(members) <= MOST_MEMBERS}
    within = passing(connection, set().union(*small.values()), filters)
    missing: dict[tuple[int, int, str], float] = {}
    for hub, everybody in small.items():
        members = everybody & within
        if len(members) < 2:
            continue
        relation, strength = _SHARED[hub[0].partition(":")[0]]
        strength /= len(members) - 1
        asked = hubs[hub]
        for number in asked:
            for member in members:
                if number < member:
                    tie = (number, member, relation)
                elif number == member or member in asked:
                    continue  # two requested records are linked once
                else:
                    tie = (member, number, relation)
                missing[tie] = missing.get(tie, 1.0) * (1.0 - strength)
    return [(*tie, 1.0 - left) for tie, left in missing.items()]


def _named(
    connection: sqlite3.Connection, numbers: Sequence[int]
) -> Iterator[tuple[int, str, str, int | None]]:
    """(record, key, project, target record) of the names in records; and their files."""
    rows = connection.execute(
        "select r.id, r.project,"
        " (select json_group_array(value) from (select distinct value from facets"
        f"  where record_id = r.id and name in {_FACETS} limit ?2)),"
        " (select json_group_array(json_array(key, to_id)) from (select distinct key, to_id"
        "  from edges where from_id = r.id and key != ''))"
        " from json_each(?1) j cross join records r on r.id = j.value",
        (json.dumps(list(numbers)), MOST_FILES + 1),
    )
    for number, project, paths, edges in rows:
        files = json.loads(paths)
        for path in files if len(files) <= MOST_FILES else ():
            if key := _key_of_file(path, project):
                yield number, key, project, None
        for key, target in json.loads(edges):
            if key.partition(":")[0] in _SHARED:
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
            for facet in _FACETS
        )
        + ")) from hub order by place",
        (json.dumps(asked), MOST_MEMBERS + 1, _SCANNED),
    ).fetchall()
    return {
        hub: set(map(int, listed.split(","))) if listed else set()
        for hub, (listed,) in zip(hubs, rows, strict=True)
    }


def _key_of_file(path: str, project: str) -> str:
    """The key that ``ingest/edges.py`` writes for a path in a text; "" for an ambiguous one."""
    path = path.removeprefix("./")
    if path.startswith(("/", "~")):
        return f"path::{path}"
    return f"path:{project.lower()}:{path}" if project else ""
