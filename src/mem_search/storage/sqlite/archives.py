"""Archives of research, and the citations between records: ``ports.ArchiveStore``."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from mem_search.model import Ref
from mem_search.model.archives import HOLDINGS, Archive, CitationReport
from mem_search.model.graph import CITES, CitePlace, PageCitation
from mem_search.storage.rules.citation_counts import counted
from mem_search.storage.sqlite.citation_report import SqliteCitationReader
from mem_search.storage.sqlite.database import Connection, Repository, reads, writes

_COLUMNS = "name, research, pages, schedule, watch, next_at, indexed_at, statistics"
_CITATIONS = """
    select e.id, f.kind, f.id, e.target, t.kind, t.id, e.strength
    from (
        select e.*, row_number() over (partition by e.{side} order by {order}) as place
        from edges e join records f on f.id = e.from_id
        where e.relation = ?1 and e.{side} in (select value from json_each(?2))
    ) e
    join records f on f.id = e.from_id left join records t on t.id = e.to_id
    where e.place <= ?3 order by e.{side}, e.place
"""
_IN_TEXT = "(select min(start) from cites c where c.edge_id = e.id), e.id"
_NEWEST = "f.created_at desc, e.id"


class SqliteArchives(Repository):
    """``ports.ArchiveStore`` over the tables ``archives``, ``edges`` and ``cites``."""

    @writes
    def put(self, connection: Connection, archive: Archive) -> None:
        connection.execute(
            "insert into archives(name, research, pages, schedule, watch, next_at)"
            " values(?, ?, ?, ?, ?, ?) on conflict(name) do update set"
            " research = excluded.research, pages = excluded.pages, watch = excluded.watch,"
            " schedule = excluded.schedule, next_at = excluded.next_at",
            (archive.name, archive.research, archive.pages, archive.schedule,
             int(archive.watch), archive.next_at),
        )  # fmt: skip

    @reads
    def get(self, connection: Connection, name: str) -> Archive | None:
        row = connection.execute(
            f"select {_COLUMNS} from archives where name = ?", (name,)
        ).fetchone()
        return _archive(row) if row else None

    @reads
    def listed(self, connection: Connection) -> list[Archive]:
        rows = connection.execute(f"select {_COLUMNS} from archives order by name")
        return [_archive(row) for row in rows]

    @writes
    def remove(self, connection: Connection, name: str) -> bool:
        return bool(connection.execute("delete from archives where name = ?", (name,)).rowcount)

    @writes
    def note_run(
        self, connection: Connection, name: str, at: int, statistics: Mapping[str, Any]
    ) -> None:
        connection.execute(
            "update archives set indexed_at = ?, statistics = ? where name = ?",
            (at, json.dumps(dict(statistics)), name),
        )

    @writes
    def set_next(self, connection: Connection, name: str, next_at: int | None) -> None:
        connection.execute("update archives set next_at = ? where name = ?", (next_at, name))

    @reads
    def references(
        self, connection: Connection, numbers: Sequence[int], each: int
    ) -> list[PageCitation]:
        return _read(connection, _CITATIONS.format(side="from_id", order=_IN_TEXT), numbers, each)

    @reads
    def citations(
        self, connection: Connection, numbers: Sequence[int], each: int
    ) -> list[PageCitation]:
        return _read(connection, _CITATIONS.format(side="to_id", order=_NEWEST), numbers, each)

    @reads
    def page(
        self, connection: Connection, names: Sequence[str], each: int
    ) -> tuple[list[int], list[PageCitation]]:
        numbers = connection.execute(
            "select distinct r.id from names n join records r on r.id = n.record_id"
            " where n.name in (select value from json_each(?))"
            " and r.kind in (select value from json_each(?))"
            " order by r.created_at desc, r.id limit ?",
            (json.dumps(list(names)), json.dumps(list(HOLDINGS)), each),
        ).fetchall()
        cited = _read(connection, _CITATIONS.format(side="key", order=_NEWEST), names, each)
        return [number for (number,) in numbers], cited

    @reads
    def citation_report(
        self,
        connection: Connection,
        *,
        number: int | None = None,
        project: str = "",
        most: int = 10,
    ) -> CitationReport:
        return counted(SqliteCitationReader(connection), number=number, project=project, most=most)

    @reads
    def citation_counts(self, connection: Connection, project: str) -> tuple[int, int]:
        row = connection.execute(
            "select count(*), count(e.to_id) from records f join edges e on e.from_id = f.id"
            " where f.project = ? and e.relation = ?",
            (project, CITES),
        ).fetchone()
        return row[0], row[1]


def _read(
    connection: Connection, statement: str, ends: Sequence[int] | Sequence[str], each: int
) -> list[PageCitation]:
    rows = connection.execute(statement, (CITES, json.dumps(list(ends)), each)).fetchall()
    places: dict[int, list[tuple[Any, ...]]] = defaultdict(list)
    for edge, *place in connection.execute(
        "select edge_id, form, start, end, context_start, context_end from cites"
        " where edge_id in (select value from json_each(?)) order by edge_id, start",
        (json.dumps([row[0] for row in rows]),),
    ):
        places[edge].append(tuple(place))
    # The text is read once: SQLite reads all of a long one for each span that is cut from it.
    texts = dict(
        connection.execute(
            "select id, body from records where id in (select value from json_each(?))",
            (json.dumps(sorted({row[2] for row in rows})),),
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


def _archive(row: tuple[Any, ...]) -> Archive:
    name, research, pages, schedule, watch, next_at, indexed_at, statistics = row
    return Archive(
        name, research, pages, schedule, bool(watch), next_at, indexed_at, json.loads(statistics)
    )
