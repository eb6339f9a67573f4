"""Reading records: whole records by number, pages of what passes filters, projects.

The functions of a connection are for statements that belong to one snapshot.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from mem_search.model import Filters, Order, Passage, Record, Ref
from mem_search.model.rankings import Numbers
from mem_search.model.records import RecordWithLinks
from mem_search.model.statistics import ProjectTotals
from mem_search.storage.sqlite import edges
from mem_search.storage.sqlite import filters as sql_filters
from mem_search.storage.sqlite.database import Connection, Repository, reads
from mem_search.text.record_ids import RecordId

_COLUMNS = (
    "r.id, r.kind, r.source, r.source_id, r.title, r.body, r.created_at, r.updated_at,"
    " r.project, r.session, r.position, r.url, r.importance, r.archived, r.data"
)


def fetch(connection: sqlite3.Connection, numbers: Sequence[int]) -> dict[int, Record]:
    """Hydrate: the records with these numbers, in three statements whatever their count."""
    if not numbers:
        return {}
    wanted = json.dumps(list(numbers))
    tags: dict[int, list[str]] = {}
    for number, tag in connection.execute(
        "select record_id, value from facets where name = 'tag'"
        " and record_id in (select value from json_each(?)) order by record_id, value",
        (wanted,),
    ):
        tags.setdefault(number, []).append(tag)
    newer: dict[int, Ref] = {}
    older: dict[int, list[Ref]] = {}
    for number, is_newer, kind, other in connection.execute(
        "select r.id, 1, s.kind, s.id from records r join records s on s.id = r.superseded_by"
        " where r.id in (select value from json_each(?1))"
        " union all select superseded_by, 0, kind, id from records"
        " where superseded_by in (select value from json_each(?1)) order by 4",
        (wanted,),
    ):
        if is_newer:
            newer[number] = Ref(kind, other)
        else:
            older.setdefault(number, []).append(Ref(kind, other))
    found = {}
    for (
        number, kind, source, source_id, title, body, created, updated,
        project, session, position, url, importance, archived, data,
    ) in connection.execute(
        f"select {_COLUMNS} from records r where r.id in (select value from json_each(?))",
        (wanted,),
    ):  # fmt: skip
        found[number] = Record(
            number=number,
            kind=kind,
            source=source,
            source_id=source_id,
            title=title,
            text=body,
            created_at=created,
            updated_at=updated,
            project=project,
            session=session,
            position=position,
            tags=tuple(tags.get(number, ())),
            url=url,
            importance=importance,
            archived=bool(archived),
            metadata=json.loads(data),
            superseded_by=newer.get(number),
            supersedes=tuple(older.get(number, ())),
        )
    return found


def called(connection: sqlite3.Connection, called: RecordId) -> list[int]:
    """The records that an id means, in the order they were stored."""
    if called.alias:
        rows = connection.execute(
            "select record_id from names where name = ? order by record_id",
            (f"id:{called.alias}",),
        )
    else:
        rows = connection.execute(
            "select id from records where id = ?1 and ?2 in ('', kind)",
            (called.number, called.kind),
        )
    return [number for (number,) in rows]


_SORTED: Final[Mapping[str, tuple[str, str]]] = {
    "created_at": ("r.created_at", ""),
    "updated_at": ("r.updated_at", ""),
    "number": ("r.id", ""),
    "kind": ("r.kind", ""),
    "title": ("coalesce(nullif(r.title, ''), substr(r.body, 1, 100)) collate nocase", ""),
    "project": ("r.project collate nocase", "r.project = ''"),
    "session": ("r.session", "r.session = ''"),
    "source": ("r.source collate nocase", "r.source = ''"),
    "importance": ("r.importance", "r.importance is null"),
}
"""Field of results → what sorts it, and when a record has no value. A title is as it is shown."""


def browse(
    connection: sqlite3.Connection,
    filters: Filters,
    order: Order,
    limit: int,
    offset: int,
    sort: Sequence[str] = (),
) -> list[int]:
    """Numbers of the records that pass the filters, by the fields of ``sort``, then by date.

    Relevance means newest first.
    """
    condition, values = sql_filters.where(filters)
    direction = "asc" if order == "date_asc" else "desc"
    first = ""
    for key in sort:
        if (name := key.removeprefix("-")) in _SORTED:
            value, is_missing = _SORTED[name]
            first += f"{is_missing}, " if is_missing else ""
            first += f"{value} {'desc' if name != key else 'asc'}, "
    rows = connection.execute(
        f"select r.id from records r where {condition}"
        f" order by {first}r.created_at {direction}, r.id {direction} limit ? offset ?",
        (*values, limit, offset),
    )
    return [number for (number,) in rows]


def sort_values(
    connection: sqlite3.Connection, numbers: Numbers, names: Sequence[str]
) -> dict[str, Numbers]:
    """See ``SearchSnapshot``."""
    places = [
        f"iif({is_missing or 'false'}, -1, dense_rank() over (order by {value})) as {name}"
        for name, (value, is_missing) in _SORTED.items()
        if name in names
    ]
    if not places or not len(numbers):
        return {name: numbers for name in _SORTED if name in names}
    columns = [f"json_group_array({name})" for name in _SORTED if name in names]
    # One row, because Python waits for its lock at each row.
    row = connection.execute(
        f"select json_group_array(id), {', '.join(columns)} from"
        f" (select r.id as id, {', '.join(places)} from records r"
        " where r.id in (select value from json_each(?)))",
        (json.dumps(numbers.tolist()),),
    ).fetchone()
    known, *found = [np.array(json.loads(column), np.int64) for column in row]
    rows = np.argsort(known)
    at = rows[np.searchsorted(known, numbers, sorter=rows).clip(max=len(known) - 1)]
    named = [name for name in _SORTED if name in names]
    return {
        name: np.where(known[at] == numbers, values[at], -1)
        for name, values in zip(named, found, strict=True)
    }


def counts(connection: sqlite3.Connection, filters: Filters) -> dict[str, int]:
    """How many records pass the filters, by kind."""
    condition, values = sql_filters.where(filters)
    return dict(
        connection.execute(
            f"select r.kind, count(*) from records r where {condition} group by r.kind",
            values,
        ).fetchall()
    )


def around(
    connection: Connection,
    anchor: tuple[int, int],
    before: int,
    after: int,
    filters: Filters,
) -> tuple[list[int], list[int]]:
    """Numbers of the records just before and just after ``(created_at, id)``, oldest first."""
    condition, values = sql_filters.where(filters)

    def side(comparison: str, direction: str, count: int) -> list[int]:
        rows = connection.execute(
            f"select r.id from records r where (r.created_at, r.id) {comparison} (?, ?)"
            f" and {condition} order by r.created_at {direction}, r.id {direction} limit ?",
            (*anchor, *values, count),
        )
        return [number for (number,) in rows]

    return side("<", "desc", before)[::-1], side(">", "asc", after)


class SqliteRecords(Repository):
    """``ports.RecordStore`` over the table ``records``."""

    @reads
    def fetch(self, connection: Connection, numbers: Sequence[int]) -> dict[int, Record]:
        return fetch(connection, numbers)

    @reads
    def with_links(self, connection: Connection, numbers: Sequence[int]) -> list[RecordWithLinks]:
        return with_links(connection, numbers)

    @reads
    def named(self, connection: Connection, source: str, source_id: str) -> Record | None:
        row = connection.execute(
            "select id from records where source = ? and source_id = ?", (source, source_id)
        ).fetchone()
        return fetch(connection, row)[row[0]] if row else None

    @reads
    def passages(self, connection: Connection, number: int) -> list[Passage]:
        rows = connection.execute(
            "select ordinal, start, end, field, page, above from passages where record_id = ?"
            " order by ordinal",
            (number,),
        )
        return [Passage(*row) for row in rows]

    @reads
    def embedded(self, connection: Connection, number: int, fingerprint: str) -> set[int]:
        rows = connection.execute(
            "select p.ordinal from passages p join vectors v on v.entry_id = 2 * p.id"
            " join embedding_models m on m.id = v.model_id"
            " where p.record_id = ? and m.fingerprint = ?",
            (number, fingerprint),
        )
        return {ordinal for (ordinal,) in rows}

    @reads
    def page(
        self, connection: Connection, filters: Filters, order: Order, limit: int, offset: int
    ) -> tuple[list[RecordWithLinks], int]:
        numbers = browse(connection, filters, order, limit, offset)
        return with_links(connection, numbers), sum(counts(connection, filters).values())

    @reads
    def newest(self, connection: Connection, filters: Filters, limit: int) -> list[Record]:
        return _newest(connection, filters, limit)

    @reads
    def recent_sessions(
        self, connection: Connection, filters: Filters, limit: int, observations: int
    ) -> tuple[list[Record], list[Record]]:
        sessions = _newest(connection, replace(filters, kinds=("session_summary",)), limit)
        observed = replace(filters, kinds=("observation",))
        named = dict.fromkeys((s.project, s.session) for s in sessions if s.session)
        found = [
            record
            for project, session in named
            for record in _newest(
                connection, replace(observed, project=project, session=session), observations
            )
        ] or _newest(connection, observed, observations)
        return sessions, sorted(found, key=lambda r: (r.created_at, r.number), reverse=True)

    @reads
    def export_page(
        self, connection: Connection, filters: Filters, after: int, size: int
    ) -> list[RecordWithLinks]:
        condition, values = sql_filters.where(filters)
        rows = connection.execute(
            f"select r.id from records r where r.id > ? and {condition} order by r.id limit ?",
            (after, *values, size),
        )
        return with_links(connection, [number for (number,) in rows])

    @reads
    def projects(self, connection: Connection, platform: str = "") -> list[ProjectTotals]:
        rows = connection.execute(
            "select project, count(*), max(created_at) from records where project != ''"
            " and (?1 = '' or id in (select record_id from facets"
            " where name = 'platform' and value = ?1 collate nocase))"
            " group by project order by 3 desc, project",
            (platform,),
        )
        return [ProjectTotals(*row) for row in rows]

    @reads
    def content_hashes(self, connection: Connection, numbers: Sequence[int]) -> dict[int, str]:
        rows = connection.execute(
            "select id, lower(hex(content_hash)) from records"
            " where id in (select value from json_each(?))",
            (json.dumps(list(numbers)),),
        )
        return dict(rows.fetchall())

    @reads
    def revision(self, connection: Connection) -> int:
        (value,) = connection.execute("select value from revision").fetchone()
        return int(value)


def _newest(connection: Connection, filters: Filters, limit: int) -> list[Record]:
    return _in_order(connection, browse(connection, filters, "date_desc", limit, 0))


def _in_order(connection: Connection, numbers: Sequence[int]) -> list[Record]:
    found = fetch(connection, numbers)
    return [found[number] for number in numbers if number in found]


def with_links(connection: Connection, numbers: Sequence[int]) -> list[RecordWithLinks]:
    return [
        (record, edges.links(connection, record.number))
        for record in _in_order(connection, numbers)
    ]
