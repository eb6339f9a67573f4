"""Citations counted: of one document, of an archive, or of the whole store.

The citations are read as rows and counted in memory. Pages are told apart by the key of their
edge, so one that is not stored counts as well.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from statistics import median_low
from typing import Final, NamedTuple, TypeVar

from mem_search.model.archives import (
    HOLDINGS,
    CitationReport,
    CountedDocument,
    CountedPage,
    Freshness,
    PagePair,
)
from mem_search.model.graph import CITES
from mem_search.storage.sqlite.graph import labels

PAIRED: Final = 50
"""Pages whose pairs are counted, the most cited ones: 1,000 pages have 500,000 pairs."""

READ: Final = 20_000
"""Citations read to find what is cited together with one document, and by which others."""

_IN: Final = "in (select value from json_each(?))"
T = TypeVar("T", int, str, tuple[str, str])


class _Citation(NamedTuple):
    document: int
    key: str
    page: int | None
    strength: float


def made(
    connection: sqlite3.Connection, *, number: int | None, project: str, most: int
) -> CitationReport:
    """See ``ports.ArchiveStore.citation_report``."""
    documents = _documents(connection, project) if number is None else [number]
    own = _read(connection, "e.from_id", documents)
    towards = _read(connection, "e.to_id", documents)
    if number is None:
        seen = beside = own
        paired = {key for key, _ in _top(Counter(each.key for each in own), PAIRED)}
        ways: Iterable[tuple[str, str]] = _pairs(own, paired)
    else:
        seen = _read(connection, "e.key", sorted({each.key for each in own}), READ)
        beside = _read(connection, "e.from_id", sorted({each.document for each in towards}), READ)
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
    read = _Reader(connection, [*own, *towards, *beside])
    paired_pages = read.pages([(key, counts[key]) for pair, _ in pairs for key in pair])
    return CitationReport(
        documents=len(documents),
        citing=len(cites),
        citations=len(own),
        implicit=sum(each.strength < 1 for each in own),
        places=_places(connection, list(cites)),
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
        freshness=_freshness(connection, list(stored.values())),
        coupled=()
        if number is None
        else read.documents(
            _top(Counter(each.document for each in seen if each.document != number), most), {}
        ),
    )


class _Reader:
    """Reads how pages and documents are called."""

    def __init__(self, connection: sqlite3.Connection, cited: Iterable[_Citation]) -> None:
        self._connection = connection
        self._stored = {each.key: each.page for each in cited if each.page is not None}

    def pages(self, counted: Sequence[tuple[str, int]]) -> tuple[CountedPage, ...]:
        keys = [key for key, _ in counted]
        urls = dict(
            self._connection.execute(
                f"select key, min(target) from edges where key {_IN} and relation = '{CITES}'"
                " group by key",
                (json.dumps(keys),),
            ).fetchall()
        )
        known = labels(self._connection, [self._stored[key] for key in keys if key in self._stored])
        found = []
        for key, count in counted:
            label = known.get(self._stored.get(key, 0))
            ref, title = (label.ref, label.title) if label else (None, "")
            found.append(CountedPage(urls.get(key, key), ref, title, count))
        return tuple(found)

    def documents(
        self, counted: Sequence[tuple[int, int]], shared: Mapping[int, int]
    ) -> tuple[CountedDocument, ...]:
        known = labels(self._connection, [number for number, _ in counted])
        return tuple(
            CountedDocument(known[number].ref, known[number].title, count, shared.get(number, 0))
            for number, count in counted
            if number in known
        )


def _documents(connection: sqlite3.Connection, project: str) -> list[int]:
    rows = connection.execute(
        f"select id from records where kind {_IN} and (? = '' or project = ?) order by id",
        (json.dumps(list(HOLDINGS)), project, project),
    )
    return [number for (number,) in rows]


def _read(
    connection: sqlite3.Connection, column: str, values: Sequence[int | str], most: int = -1
) -> list[_Citation]:
    """The citations with one of ``values`` in ``column``, one for each document and page."""
    rows = connection.execute(
        f"select e.from_id, e.key, max(e.to_id), max(e.strength) from edges e"
        f" where {column} {_IN} and e.relation = '{CITES}' group by e.from_id, e.key limit ?",
        (json.dumps(values), most),
    )
    return [_Citation(*row) for row in rows.fetchall()]


def _pairs(cited: Iterable[_Citation], keys: set[str]) -> Iterable[tuple[str, str]]:
    """Each pair of ``keys``, as often as a document cites both."""
    together: dict[int, list[str]] = defaultdict(list)
    for each in cited:
        if each.key in keys:
            together[each.document].append(each.key)
    for found in together.values():
        yield from combinations(sorted(found), 2)


def _top(counts: Counter[T], most: int) -> list[tuple[T, int]]:
    """The ``most`` frequent ones, those of equal counts in order."""
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:most]


def _places(connection: sqlite3.Connection, documents: Sequence[int]) -> int:
    (count,) = connection.execute(
        "select count(*) from edges e join cites c on c.edge_id = e.id"
        f" where e.from_id {_IN} and e.relation = '{CITES}'",
        (json.dumps(documents),),
    ).fetchone()
    return int(count)


def _freshness(connection: sqlite3.Connection, numbers: Sequence[int]) -> Freshness:
    dates = [
        at
        for (at,) in connection.execute(
            f"select created_at from records where id {_IN}", (json.dumps(numbers),)
        )
    ]
    return (
        Freshness(len(dates), min(dates), max(dates), median_low(dates)) if dates else Freshness()
    )
