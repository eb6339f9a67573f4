"""Reading records: whole records by number, pages of what passes filters, projects.

The functions of a connection are for statements that belong to one snapshot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mem_search.model import Filters, Link, Order, Passage, Record, Ref
from mem_search.model.records import RecordWithLinks
from mem_search.model.statistics import ProjectTotals
from mem_search.storage.postgres.connection import Connection
from mem_search.storage.postgres.database import Repository, reads
from mem_search.storage.postgres.filters import where
from mem_search.storage.postgres.listing import browse
from mem_search.storage.rules.names import ascii_lower

_RECORDS = """
    select r.id, r.kind, r.source, r.source_id, r.title, r.body, r.created_at, r.updated_at,
        r.project, r.session, r.position, r.url, r.importance, r.archived, r.data,
        s.kind, s.id,
        array(select x.value from facets x where x.record_id = r.id and x.name = 'tag' order by 1),
        array(select array[o.kind, o.id::text] from records o where o.superseded_by = r.id
            order by o.id)
    from records r left join records s on s.id = r.superseded_by where r.id = any(%s)
"""


def fetch(connection: Connection, numbers: Sequence[int]) -> dict[int, Record]:
    """Hydrate: the records with these numbers, in one statement whatever their count."""
    found = {}
    for (
        number, kind, source, source_id, title, body, created, updated, project, session, position,
        url, importance, archived, data, newer_kind, newer, tags, older,
    ) in connection.execute(_RECORDS, (list(numbers),)):  # fmt: skip
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
            tags=tuple(tags),
            url=url,
            importance=importance,
            archived=archived,
            metadata=data,
            superseded_by=Ref(newer_kind, newer) if newer is not None else None,
            supersedes=tuple(Ref(each, int(other)) for each, other in older),
        )
    return found


def with_links(connection: Connection, numbers: Sequence[int]) -> list[RecordWithLinks]:
    """The records that exist, in the order of ``numbers``, with the links they came with."""
    links: dict[int, list[Link]] = {}
    for number, target, relation in connection.execute(
        "select from_id, target, relation from edges where from_id = any(%s) and origin = 'given'"
        " order by target, relation",
        (list(numbers),),
    ):
        links.setdefault(number, []).append(Link(target, relation))
    return [
        (record, tuple(links.get(record.number, ()))) for record in _in_order(connection, numbers)
    ]


class PostgresRecords(Repository):
    """``ports.RecordStore`` over the table ``records``."""

    @reads
    def fetch(self, connection: Connection, numbers: Sequence[int]) -> dict[int, Record]:
        return fetch(connection, numbers)

    @reads
    def with_links(self, connection: Connection, numbers: Sequence[int]) -> list[RecordWithLinks]:
        return with_links(connection, numbers)

    @reads
    def named(self, connection: Connection, source: str, source_id: str) -> Record | None:
        numbers = connection.column(
            "select id from records where source = %s and source_id = %s", (source, source_id)
        )
        return next(iter(fetch(connection, numbers).values()), None)

    @reads
    def passages(self, connection: Connection, number: int) -> list[Passage]:
        rows = connection.execute(
            "select ordinal, span_start, span_end, field, page, above from passages"
            " where record_id = %s order by ordinal",
            (number,),
        )
        return [Passage(*row) for row in rows]

    @reads
    def embedded(self, connection: Connection, number: int, fingerprint: str) -> set[int]:
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
        condition, values = where(connection, filters)
        total = connection.count(f"select count(*) from records r where {condition}", values)
        numbers = browse(connection, filters, order, limit, offset)
        return with_links(connection, numbers), total

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
        condition, values = where(connection, filters)
        numbers = connection.column(
            f"select r.id from records r where r.id > %s and {condition} order by r.id limit %s",
            (after, *values, size),
        )
        return with_links(connection, numbers)

    @reads
    def projects(self, connection: Connection, platform: str = "") -> list[ProjectTotals]:
        rows = connection.execute(
            "select project, count(*), max(created_at) from records where project != ''"
            " and (%(platform)s = '' or id in (select record_id from facets"
            " where name = 'platform' and value_lower = %(platform)s))"
            " group by project order by 3 desc, project",
            {"platform": ascii_lower(platform)},
        )
        return [ProjectTotals(*row) for row in rows]

    @reads
    def content_hashes(self, connection: Connection, numbers: Sequence[int]) -> dict[int, str]:
        rows = connection.execute(
            "select id, encode(content_hash, 'hex') from records where id = any(%s)",
            (list(numbers),),
        )
        return dict(rows.fetchall())

    @reads
    def revision(self, connection: Connection) -> int:
        return connection.count("select max(revision) from record_changes")


def _newest(connection: Connection, filters: Filters, limit: int) -> list[Record]:
    return _in_order(connection, browse(connection, filters, "date_desc", limit, 0))


def _in_order(connection: Connection, numbers: Sequence[int]) -> list[Record]:
    found = fetch(connection, numbers)
    return [found[number] for number in numbers if number in found]
