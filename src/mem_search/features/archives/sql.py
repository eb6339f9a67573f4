"""The table ``archives``, and citations: the tables ``edges`` and ``cites``.

A report of citations, of one document, of an archive or of the whole store, is read as rows and
counted in memory. Pages are told apart by the key of their edge, so one that is not stored counts
as well.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from statistics import median_low
from typing import Any, Final, NamedTuple, TypeVar

from mem_search.features.archives.model import (
    Archive,
    CitationReport,
    CountedDocument,
    CountedPage,
    Freshness,
    PagePair,
)
from mem_search.model import Ref
from mem_search.model.graph import CITES, CitePlace, GraphLabel, PageCitation
from mem_search.model.records import HOLDINGS
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


MAX_PAIRED_PAGES: Final = 50
"""Pages whose pairs are counted, the most cited ones: 1,000 pages have 500,000 pairs."""

MAX_CITATIONS: Final = 20_000
"""Citations read to find what is cited together with one document, and by which others."""

T = TypeVar("T", int, str, tuple[str, str])

_NO_LIMIT: Final = 2**62


class Citation(NamedTuple):
    """A document cites a page (``key``), which is stored as the record ``page`` or not."""

    document: int
    key: str
    page: int | None
    strength: float


class CitationReader:
    """What a report reads, all of one moment."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def documents(self, project: str) -> list[int]:
        """The reports and pages of a project, or of all, in order."""
        return self._connection.column(
            "select id from records where kind = any(%s::text[]) and %s in ('', project)"
            " order by id",
            (list(HOLDINGS), project),
        )

    def citations(self, end: str, values: Sequence[int | str], most: int | None) -> list[Citation]:
        """The citations with one of ``values`` at ``end``, one for each document and page."""
        sort = "text[]" if end == "key" else "bigint[]"
        rows = self._connection.execute(
            "select from_id, key, max(to_id), max(strength) from edges"
            f" where {end} = any(%s::{sort}) and relation = %s group by from_id, key"
            " order by from_id, key limit %s",
            (list(values), CITES, _NO_LIMIT if most is None else most),
        )
        return [Citation(*row) for row in rows]

    def urls(self, keys: Sequence[str]) -> dict[str, str]:
        """Key → the first address that cites it."""
        rows = self._connection.execute(
            "select key, min(target) from edges where key = any(%s::text[]) and relation = %s"
            " group by key",
            (list(keys), CITES),
        )
        return dict(rows.fetchall())

    def labels(self, numbers: Iterable[int]) -> dict[int, GraphLabel]:
        """Number → what the record is called."""
        return labels(self._connection, numbers)

    def places(self, documents: Sequence[int]) -> int:
        """At how many places these documents cite."""
        return self._connection.count(
            "select count(*) from edges e join cites c on c.edge_id = e.id"
            " where e.from_id = any(%s::bigint[]) and e.relation = %s",
            (list(documents), CITES),
        )

    def dates(self, numbers: Sequence[int]) -> list[int]:
        """When these records were created."""
        return self._connection.column(
            "select created_at from records where id = any(%s::bigint[])", (list(numbers),)
        )


def counted(
    reader: CitationReader, *, number: int | None, project: str, most: int
) -> CitationReport:
    """See ``ArchiveStore.citation_report``."""
    documents = reader.documents(project) if number is None else [number]
    own = reader.citations("from_id", documents, None)
    towards = reader.citations("to_id", documents, None)
    if number is None:
        seen = beside = own
        paired = {key for key, _ in _top(Counter(each.key for each in own), MAX_PAIRED_PAGES)}
        ways: Iterable[tuple[str, str]] = _pairs(own, paired)
    else:
        seen = reader.citations("key", sorted({each.key for each in own}), MAX_CITATIONS)
        beside = reader.citations(
            "from_id", sorted({each.document for each in towards}), MAX_CITATIONS
        )
        names = {each.key for each in towards}
        ways = ((min(names), each.key) for each in beside if each.key not in names)
    counts = Counter(each.key for each in seen)  # a document has one row for each page
    pages = {each.key: each.page for each in own}
    stored = {key: page for key, page in pages.items() if page is not None}
    cites = Counter(each.document for each in own)
    shared = Counter(each.document for each in own if counts[each.key] > 1)
    cited = {each.page for each in towards}
    orphans = [each for each in documents if each not in cites and each not in cited]
    pairs = _top(Counter(ways), most)
    read = _Names(reader, [*own, *towards, *beside])
    paired_pages = read.pages([(key, counts[key]) for pair, _ in pairs for key in pair])
    return CitationReport(
        documents=len(documents),
        citing=len(cites),
        citations=len(own),
        implicit=sum(each.strength < 1 for each in own),
        places=reader.places(list(cites)),
        pages=len(pages),
        stored=len(stored),
        cited_by=len({each.document for each in towards}),
        most_cited=read.pages(_top(Counter({key: counts[key] for key in pages}), most)),
        hubs=read.documents(_top(cites, most), shared),
        together=tuple(
            PagePair(one, other, count)
            for one, other, (_, count) in zip(
                paired_pages[::2], paired_pages[1::2], pairs, strict=True
            )
        ),
        dead_ends=read.pages(
            _top(Counter({key: counts[key] for key in pages if key not in stored}), most)
        ),
        orphan_count=len(orphans),
        orphans=read.documents([(each, 0) for each in orphans[:most]], {}),
        freshness=_freshness(reader.dates(list(stored.values()))),
        coupled=()
        if number is None
        else read.documents(
            _top(Counter(each.document for each in seen if each.document != number), most), {}
        ),
    )


class _Names:
    """Reads how pages and documents are called."""

    def __init__(self, reader: CitationReader, cited: Iterable[Citation]) -> None:
        self._reader = reader
        self._stored = {each.key: each.page for each in cited if each.page is not None}

    def pages(self, counted: Sequence[tuple[str, int]]) -> tuple[CountedPage, ...]:
        keys = [key for key, _ in counted]
        urls = self._reader.urls(keys)
        known = self._reader.labels([self._stored[key] for key in keys if key in self._stored])
        pages = []
        for key, count in counted:
            label = known.get(self._stored.get(key, 0))
            ref, title = (label.ref, label.title) if label else (None, "")
            pages.append(CountedPage(urls.get(key, key), ref, title, count))
        return tuple(pages)

    def documents(
        self, counted: Sequence[tuple[int, int]], shared: Mapping[int, int]
    ) -> tuple[CountedDocument, ...]:
        known = self._reader.labels([number for number, _ in counted])
        return tuple(
            CountedDocument(known[number].ref, known[number].title, count, shared.get(number, 0))
            for number, count in counted
            if number in known
        )


def _pairs(cited: Iterable[Citation], keys: set[str]) -> Iterable[tuple[str, str]]:
    """Each pair of ``keys``, as often as a document cites both."""
    by_document: dict[int, list[str]] = defaultdict(list)
    for each in cited:
        if each.key in keys:
            by_document[each.document].append(each.key)
    for cited_keys in by_document.values():
        yield from combinations(sorted(cited_keys), 2)


def _top(counts: Counter[T], most: int) -> list[tuple[T, int]]:
    """The ``most`` frequent ones, those of equal counts in order."""
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:most]


def _freshness(dates: Sequence[int]) -> Freshness:
    return (
        Freshness(len(dates), min(dates), max(dates), median_low(dates)) if dates else Freshness()
    )
