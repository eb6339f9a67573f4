"""The table ``archives``, and citations: the tables ``edges`` and ``cites``."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final

from mem_search.features.archives.model import Archive, CitationReport
from mem_search.features.archives.report import CitationReader, counted
from mem_search.model import Ref
from mem_search.model.graph import CITES, CitePlace, PageCitation
from mem_search.model.records import HOLDINGS
from mem_search.storage.sql.connection import (
    Connection,
    Json,
    Repository,
    from_json,
    reads,
    writes,
)

_COLUMNS: Final = "name, research, pages, schedule, watch, next_at, indexed_at, statistics"
_CITATIONS: Final = """
    select e.id, f.kind, f.id, e.target, t.kind, t.id, e.strength
    from (
        select e.*, row_number() over (partition by e.{side} order by {order}) as place
        from edges e join records f on f.id = e.from_id
        where e.relation = %s and e.{side} = any(%s)
    ) e
    join records f on f.id = e.from_id left join records t on t.id = e.to_id
    where e.place <= %s order by e.{side}, e.place
"""
_IN_TEXT: Final = "(select min(c.place_start) from cites c where c.edge_id = e.id), e.id"
_NEWEST: Final = "f.created_at desc, e.id"


class ArchiveStore(Repository):
    """Archives by name, and the citations between records."""

    @writes
    def put(self, connection: Connection, archive: Archive) -> None:
        """Store an archive; one of this name gets other folders, schedule and next run."""
        connection.execute(
            "insert into archives(name, research, pages, schedule, watch, next_at)"
            " values(%s, %s, %s, %s, %s, %s) on conflict(owner, name) do update set"
            " research = excluded.research, pages = excluded.pages, watch = excluded.watch,"
            " schedule = excluded.schedule, next_at = excluded.next_at",
            (archive.name, archive.research, archive.pages, archive.schedule, archive.watch,
             archive.next_at),
        )  # fmt: skip

    @reads
    def get(self, connection: Connection, name: str) -> Archive | None:
        row = connection.maybe(f"select {_COLUMNS} from archives where name = %s", (name,))
        return _archive(row) if row else None

    @reads
    def listed(self, connection: Connection) -> list[Archive]:
        """Every archive, by name."""
        rows = connection.execute(f"select {_COLUMNS} from archives order by name")
        return [_archive(row) for row in rows]

    @writes
    def remove(self, connection: Connection, name: str) -> bool:
        """Remove an archive; its records stay. False when there is none of this name."""
        return bool(connection.execute("delete from archives where name = %s", (name,)).rowcount)

    @writes
    def note_run(
        self, connection: Connection, name: str, at: int, statistics: Mapping[str, Any]
    ) -> None:
        """An indexing of the archive ended ``at`` with these statistics."""
        connection.execute(
            "update archives set indexed_at = %s, statistics = %s where name = %s",
            (at, Json(dict(statistics)), name),
        )

    @writes
    def set_next(self, connection: Connection, name: str, next_at: int | None) -> None:
        """The next run of the archive's schedule."""
        connection.execute("update archives set next_at = %s where name = %s", (next_at, name))

    @reads
    def references(
        self, connection: Connection, numbers: Sequence[int], each: int
    ) -> list[PageCitation]:
        """What these records cite, at most ``each``; by record, in the order of its text."""
        return _read(connection, _CITATIONS.format(side="from_id", order=_IN_TEXT), numbers, each)

    @reads
    def citations(
        self, connection: Connection, numbers: Sequence[int], each: int
    ) -> list[PageCitation]:
        """What cites these records, at most ``each``; by record, the newest report first."""
        return _read(connection, _CITATIONS.format(side="to_id", order=_NEWEST), numbers, each)

    @reads
    def page(
        self, connection: Connection, names: Sequence[str], each: int
    ) -> tuple[list[int], list[PageCitation]]:
        """The documents that have one of ``names``, the newest first, and what cites such a page,
        stored or not; at most ``each`` of both. A name is that of an edge, such as ``url:…``.
        """
        numbers = connection.column(
            "select r.id from records r where r.kind = any(%s::text[]) and exists (select 1"
            " from names n where n.record_id = r.id and n.name = any(%s::text[]))"
            " order by r.created_at desc, r.id limit %s",
            (list(HOLDINGS), list(names), each),
        )
        return numbers, _read(connection, _CITATIONS.format(side="key", order=_NEWEST), names, each)

    @reads
    def citation_report(
        self,
        connection: Connection,
        *,
        number: int | None = None,
        project: str = "",
        most: int = 10,
    ) -> CitationReport:
        """Citations counted: of a record, of the records of a project, or of all.

        Its lists have at most ``most`` items.
        """
        return counted(CitationReader(connection), number=number, project=project, most=most)

    @reads
    def citation_counts(self, connection: Connection, project: str) -> tuple[int, int]:
        """How many pages the records of a project cite, and how many of those are stored."""
        cited, stored = connection.one(
            "select count(*), count(e.to_id) from records f join edges e on e.from_id = f.id"
            " where f.project = %s and e.relation = %s",
            (project, CITES),
        )
        return cited, stored


def _read(
    connection: Connection, statement: str, ends: Sequence[int] | Sequence[str], each: int
) -> list[PageCitation]:
    rows = connection.execute(statement, (CITES, list(ends), each)).fetchall()
    places: dict[int, list[tuple[Any, ...]]] = defaultdict(list)
    for edge, *place in connection.execute(
        "select edge_id, form, place_start, place_end, context_start, context_end from cites"
        " where edge_id = any(%s::bigint[]) order by edge_id, place_start",
        ([row[0] for row in rows],),
    ):
        places[edge].append(tuple(place))
    # A text is read once: SQLite reads all of a long one for each span that is cut from it.
    texts = dict(
        connection.execute(
            "select id, body from records where id = any(%s::bigint[])",
            (sorted({row[2] for row in rows}),),
        ).fetchall()
    )
    return [
        PageCitation(
            Ref(kind, number),
            target,
            Ref(cited_kind, cited) if cited is not None else None,
            strength,
            tuple(
                CitePlace(form, start, end, texts[number][low:high])
                for form, start, end, low, high in places[edge]
            ),
        )
        for edge, kind, number, target, cited_kind, cited, strength in rows
    ]


def _archive(row: Sequence[Any]) -> Archive:
    name, research, pages, schedule, watch, next_at, indexed_at, statistics = row
    return Archive(
        name, research, pages, schedule, bool(watch), next_at, indexed_at, from_json(statistics)
    )
