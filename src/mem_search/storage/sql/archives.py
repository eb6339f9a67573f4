"""Archives of research, and the citations between records: ``ports.ArchiveStore``."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from mem_search.model import Ref
from mem_search.model.archives import HOLDINGS, Archive, CitationReport
from mem_search.model.graph import CITES, CitePlace, GraphLabel, PageCitation
from mem_search.storage.rules.citation_counts import Citation, counted
from mem_search.storage.sql.connection import (
    Connection,
    Json,
    Repository,
    from_json,
    reads,
    writes,
)
from mem_search.storage.sql.graph import labels

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
_ALL: Final = 2**62
_NEWEST: Final = "f.created_at desc, e.id"


class Archives(Repository):
    """``ports.ArchiveStore`` over the tables ``archives``, ``edges`` and ``cites``."""

    @writes
    def put(self, connection: Connection, archive: Archive) -> None:
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
        rows = connection.execute(f"select {_COLUMNS} from archives order by name")
        return [_archive(row) for row in rows]

    @writes
    def remove(self, connection: Connection, name: str) -> bool:
        return bool(connection.execute("delete from archives where name = %s", (name,)).rowcount)

    @writes
    def note_run(
        self, connection: Connection, name: str, at: int, statistics: Mapping[str, Any]
    ) -> None:
        connection.execute(
            "update archives set indexed_at = %s, statistics = %s where name = %s",
            (at, Json(dict(statistics)), name),
        )

    @writes
    def set_next(self, connection: Connection, name: str, next_at: int | None) -> None:
        connection.execute("update archives set next_at = %s where name = %s", (next_at, name))

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
        return counted(_Reader(connection), number=number, project=project, most=most)

    @reads
    def citation_counts(self, connection: Connection, project: str) -> tuple[int, int]:
        cited, stored = connection.one(
            "select count(*), count(e.to_id) from records f join edges e on e.from_id = f.id"
            " where f.project = %s and e.relation = %s",
            (project, CITES),
        )
        return cited, stored


class _Reader:
    """``CitationReader`` inside one snapshot."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def documents(self, project: str) -> list[int]:
        return self._connection.column(
            "select id from records where kind = any(%s::text[]) and %s in ('', project)"
            " order by id",
            (list(HOLDINGS), project),
        )

    def citations(self, end: str, values: Sequence[int | str], most: int | None) -> list[Citation]:
        sort = "text[]" if end == "key" else "bigint[]"
        rows = self._connection.execute(
            "select from_id, key, max(to_id), max(strength) from edges"
            f" where {end} = any(%s::{sort}) and relation = %s group by from_id, key"
            " order by from_id, key limit %s",
            (list(values), CITES, _ALL if most is None else most),
        )
        return [Citation(*row) for row in rows]

    def urls(self, keys: Sequence[str]) -> dict[str, str]:
        rows = self._connection.execute(
            "select key, min(target) from edges where key = any(%s::text[]) and relation = %s"
            " group by key",
            (list(keys), CITES),
        )
        return dict(rows.fetchall())

    def labels(self, numbers: Iterable[int]) -> dict[int, GraphLabel]:
        return labels(self._connection, numbers)

    def places(self, documents: Sequence[int]) -> int:
        return self._connection.count(
            "select count(*) from edges e join cites c on c.edge_id = e.id"
            " where e.from_id = any(%s::bigint[]) and e.relation = %s",
            (list(documents), CITES),
        )

    def dates(self, numbers: Sequence[int]) -> list[int]:
        return self._connection.column(
            "select created_at from records where id = any(%s::bigint[])", (list(numbers),)
        )


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
