"""Reading records: whole records by number, pages of what passes filters, projects.

The functions of a connection are for statements that belong to one snapshot. ``Where`` turns
filters into a condition over ``records r`` with its parameters; each engine has its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from mem_search.model import Filters, Link, Order, Passage, Record, Ref
from mem_search.model.projects import KnownProject, ProjectPlace
from mem_search.model.rankings import Numbers
from mem_search.model.records import VARIETIES, RecordWithLinks
from mem_search.model.statistics import ProjectTotals
from mem_search.storage.sql import projects
from mem_search.storage.sql.connection import Connection, Repository, ascii_lower, from_json, reads
from mem_search.text.dates import stored_time
from mem_search.text.record_ids import RecordId

Where = Callable[[Any, Filters], tuple[str, list[Any]]]

_RECORDS: Final = """
    select r.id, r.kind, r.source, r.source_id, r.title, r.body, r.created_at, r.updated_at,
        r.project, r.session, r.position, r.url, r.importance, r.archived, r.data,
        s.kind, s.id,
        (select jsonb_agg(t.value) from (select x.value from facets x
            where x.record_id = r.id and x.name = 'tag' order by x.value) t),
        (select jsonb_agg(jsonb_build_array(o.kind, o.id)) from (select n.kind, n.id from records n
            where n.superseded_by = r.id order by n.id) o),
        (select p.at from openings p where p.record_id = r.id)
    from records r left join records s on s.id = r.superseded_by
    where r.id = any(%s::bigint[])
"""

_OPENED: Final = "select p.at from openings p where p.record_id = r.id"

SORTED: Final[Mapping[str, tuple[str, str]]] = {
    "created_at": ("r.created_at", ""),
    "updated_at": ("r.updated_at", ""),
    "number": ("r.id", ""),
    "kind": ("r.kind", ""),
    "title": ("lower(coalesce(nullif(r.title, ''), substr(r.body, 1, 100)))", ""),
    "project": ("lower(r.project)", "r.project = ''"),
    "session": ("r.session", "r.session = ''"),
    "source": ("lower(r.source)", "r.source = ''"),
    "importance": ("r.importance", "r.importance is null"),
    "opened_at": (f"({_OPENED})", f"not exists ({_OPENED})"),
}
"""Field of results → what sorts it, and when a record has no value. A title is as it is shown."""


def fetch(connection: Connection, numbers: Sequence[int]) -> dict[int, Record]:
    """Hydrate: the records with these numbers, in one statement whatever their count."""
    records: dict[int, Record] = {}
    if not numbers:
        return records
    for (
        number, kind, source, source_id, title, body, created, updated, project, session, position,
        url, importance, archived, data, newer_kind, newer, tags, older, opened,
    ) in connection.execute(_RECORDS, (list(numbers),)):  # fmt: skip
        records[number] = Record(
            number=number,
            kind=kind,
            source=source,
            source_id=source_id,
            title=title,
            text=body,
            created_at=stored_time(created),
            updated_at=stored_time(updated),
            project=project,
            session=session,
            position=position,
            tags=tuple(from_json(tags) or ()),
            url=url,
            importance=importance,
            archived=bool(archived),
            metadata=from_json(data),
            superseded_by=Ref(newer_kind, newer) if newer is not None else None,
            supersedes=tuple(Ref(each, other) for each, other in from_json(older) or ()),
            opened_at=opened,
        )
    return records


def with_links(connection: Connection, numbers: Sequence[int]) -> list[RecordWithLinks]:
    """The records that exist, in the order of ``numbers``, with the links they came with."""
    links: dict[int, list[Link]] = {}
    for number, target, relation in connection.execute(
        "select from_id, target, relation from edges where from_id = any(%s::bigint[])"
        " and origin = 'given' order by target, relation",
        (list(numbers),),
    ):
        links.setdefault(number, []).append(Link(target, relation))
    return [
        (record, tuple(links.get(record.number, ()))) for record in _in_order(connection, numbers)
    ]


def browse(
    connection: Connection,
    where: tuple[str, list[Any]],
    order: Order,
    limit: int,
    offset: int,
    sort: Sequence[str] = (),
) -> list[int]:
    """Numbers of the records that pass the condition, by the fields of ``sort``, then by date.

    Relevance means newest first.
    """
    condition, values = where
    direction = "asc" if order == "date_asc" else "desc"
    first = ""
    for key in sort:
        if (name := key.removeprefix("-")) in SORTED:
            value, is_missing = SORTED[name]
            first += f"{is_missing}, " if is_missing else ""
            first += f"{value} {'desc' if name != key else 'asc'}, "
    return connection.column(
        f"select r.id from records r where {condition}"
        f" order by {first}r.created_at {direction}, r.id {direction} limit %s offset %s",
        (*values, limit, offset),
    )


def around(
    connection: Connection,
    anchor: tuple[int, int],
    before: int,
    after: int,
    where: tuple[str, list[Any]],
) -> tuple[list[int], list[int]]:
    """Numbers of the records just before and just after ``(created_at, id)``, oldest first."""
    condition, values = where

    def side(comparison: str, direction: str, count: int) -> list[int]:
        return connection.column(
            f"select r.id from records r where (r.created_at, r.id) {comparison} (%s, %s)"
            f" and {condition} order by r.created_at {direction}, r.id {direction} limit %s",
            (*anchor, *values, count),
        )

    return side("<", "desc", before)[::-1], side(">", "asc", after)


def counts(connection: Connection, where: tuple[str, list[Any]]) -> dict[str, int]:
    """How many records pass the condition, by kind."""
    condition, values = where
    rows = connection.execute(
        f"select r.kind, count(*) from records r where {condition} group by r.kind order by r.kind",
        values,
    )
    return dict(rows.fetchall())


def sort_values(
    connection: Connection, numbers: Numbers, names: Sequence[str]
) -> dict[str, Numbers]:
    """See ``SearchSnapshot``."""
    named = [name for name in SORTED if name in names]
    if not named or not len(numbers):
        return dict.fromkeys(named, numbers)
    places = [
        f"case when {is_missing or 'false'} then -1 else dense_rank() over (order by {value}) end"
        f" as {name}"
        for name, (value, is_missing) in ((name, SORTED[name]) for name in named)
    ]
    # One row, because Python waits for its lock at each row of SQLite.
    row = connection.one(
        f"select jsonb_agg(id), {', '.join(f'jsonb_agg({name})' for name in named)} from"
        f" (select r.id as id, {', '.join(places)} from records r"
        " where r.id = any(%s::bigint[])) s",
        (numbers.tolist(),),
    )
    known, *ranks = [np.array(from_json(column) or (), np.int64) for column in row]
    if not len(known):
        return {name: np.full(len(numbers), -1) for name in named}
    rows = np.argsort(known)
    at = rows[np.searchsorted(known, numbers, sorter=rows).clip(max=len(known) - 1)]
    return {
        name: np.where(known[at] == numbers, values[at], -1)
        for name, values in zip(named, ranks, strict=True)
    }


MAX_ALIKE: Final = 10
"""Commits whose hashes begin alike that are looked at: of seven letters two are rare."""


def called(connection: Connection, wanted: RecordId) -> list[int]:
    """The records that an id means, in the order they were stored."""
    if wanted.foreign:
        return []
    if wanted.alias:
        return connection.column(
            "select record_id from names where name = %s order by record_id",
            (f"id:{wanted.alias}",),
        )
    if wanted.commit:
        return connection.column(
            "select id from records where source = %s and source_id >= %s and source_id < %s"
            " order by id limit %s",
            (VARIETIES["commit"][1], wanted.commit, f"{wanted.commit}g", MAX_ALIKE),
        )
    return connection.column(
        "select id from records where id = %s and %s in ('', kind)", (wanted.number, wanted.kind)
    )


class Records(Repository):
    """The stored records."""

    def __init__(self, database: Any, where: Where) -> None:
        super().__init__(database)
        self._where = where

    @reads
    def fetch(self, connection: Connection, numbers: Sequence[int]) -> dict[int, Record]:
        """number → record, without the numbers that no record has."""
        return fetch(connection, numbers)

    @reads
    def with_links(self, connection: Connection, numbers: Sequence[int]) -> list[RecordWithLinks]:
        """The records that exist, in the order of ``numbers``, with the links they came with."""
        return with_links(connection, numbers)

    @reads
    def named(self, connection: Connection, source: str, source_id: str) -> Record | None:
        """The record with this identity."""
        numbers = connection.column(
            "select id from records where source = %s and source_id = %s", (source, source_id)
        )
        return next(iter(fetch(connection, numbers).values()), None)

    @reads
    def stored_at(self, connection: Connection, number: int) -> int:
        """When the record was stored, in ms since 1970; 0 for one that is gone."""
        (at,) = connection.one("select max(stored_at) from records where id = %s", (number,))
        return int(at or 0)

    @reads
    def passages(self, connection: Connection, number: int) -> list[Passage]:
        """The passages of a record, in their order; first the one about the whole, if any."""
        rows = connection.execute(
            "select ordinal, span_start, span_end, field, page, above from passages"
            " where record_id = %s order by ordinal",
            (number,),
        )
        return [Passage(*row) for row in rows]

    @reads
    def embedded(self, connection: Connection, number: int, fingerprint: str) -> set[int]:
        """The ordinals of a record's passages with a vector of the model ``fingerprint``."""
        return set(
            connection.column(
                "select p.ordinal from passages p join vectors v on v.entry_id = 2 * p.id"
                " join embedding_models m on m.id = v.model_id"
                " where p.record_id = %s and m.fingerprint = %s",
                (number, fingerprint),
            )
        )

    @reads
    def page(
        self, connection: Connection, filters: Filters, order: Order, limit: int, offset: int
    ) -> tuple[list[RecordWithLinks], int]:
        """A page of the records that pass ``filters``, by date, and how many pass.

        The order "relevance" means the newest first.
        """
        condition, values = where = self._where(connection, filters)
        total = connection.count(f"select count(*) from records r where {condition}", values)
        return with_links(connection, browse(connection, where, order, limit, offset)), total

    @reads
    def newest(self, connection: Connection, filters: Filters, limit: int) -> list[Record]:
        """The newest records that pass ``filters``."""
        return self._newest(connection, filters, limit)

    @reads
    def recent_sessions(
        self, connection: Connection, filters: Filters, limit: int, observations: int
    ) -> tuple[list[Record], list[Record]]:
        """The newest session summaries and their observations, at most so many a session.

        If the sessions have none, the newest observations that pass ``filters``. Newest first.
        """
        sessions = self._newest(connection, replace(filters, kinds=("session_summary",)), limit)
        observed = replace(filters, kinds=("observation",))
        named = dict.fromkeys((s.project, s.session) for s in sessions if s.session)
        newest = [
            record
            for project, session in named
            for record in self._newest(
                connection, replace(observed, project=project, session=session), observations
            )
        ] or self._newest(connection, observed, observations)
        return sessions, sorted(newest, key=lambda r: (r.created_at, r.number), reverse=True)

    @reads
    def export_page(
        self, connection: Connection, filters: Filters, after: int, size: int
    ) -> list[RecordWithLinks]:
        """The next records after the number ``after``, in the order they were stored."""
        condition, values = self._where(connection, filters)
        numbers = connection.column(
            f"select r.id from records r where r.id > %s and {condition} order by r.id limit %s",
            (after, *values, size),
        )
        return with_links(connection, numbers)

    @reads
    def projects(self, connection: Connection, platform: str = "") -> list[ProjectTotals]:
        """Projects, the one with the newest record first; of all platforms or of one."""
        rows = connection.execute(
            "select project, count(*), max(created_at) from records where project != ''"
            " and (%(platform)s = '' or id in (select record_id from facets"
            " where name = 'platform' and value_lower = %(platform)s))"
            " group by project order by 3 desc, project",
            {"platform": ascii_lower(platform)},
        )
        return [ProjectTotals(name, count, stored_time(last)) for name, count, last in rows]

    @reads
    def project_at(self, connection: Connection, place: ProjectPlace) -> KnownProject | None:
        """The project of the place as far as it is recorded."""
        return projects.at(connection, place)

    @reads
    def projects_meant(self, connection: Connection, name: str) -> list[str]:
        """The name, and those of projects that it means in a filter, too."""
        return projects.names_meant(connection, name)

    @reads
    def is_project(self, connection: Connection, name: str) -> bool:
        """Whether a project that is recorded somewhere has the name of this folder."""
        same = 'lower(folder) = lower(%s::text collate "C")'
        row = connection.maybe(f"select 1 from projects where {same} and root != ''", (name,))
        return row is not None

    @reads
    def content_hashes(self, connection: Connection, numbers: Sequence[int]) -> dict[int, str]:
        """number → hash of the record's content in hex, of the records that exist."""
        rows = connection.execute(
            "select id, content_hash from records where id = any(%s::bigint[])", (list(numbers),)
        )
        return {number: digest.hex() for number, digest in rows}

    @reads
    def revision(self, connection: Connection) -> int:
        """How often a record or a scope was stored, changed or removed."""
        return connection.count("select max(revision) from record_changes")

    def _newest(self, connection: Connection, filters: Filters, limit: int) -> list[Record]:
        numbers = browse(connection, self._where(connection, filters), "date_desc", limit, 0)
        return _in_order(connection, numbers)


def _in_order(connection: Connection, numbers: Sequence[int]) -> list[Record]:
    records = fetch(connection, numbers)
    return [records[number] for number in numbers if number in records]
