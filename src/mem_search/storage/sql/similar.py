"""Citations without a link: reports that quote a stored page or share rare phrases with it.

The transaction that stores a report or a page compares it with the documents that share a phrase,
in the windows around it. What it finds is an edge ``cites`` of the origin ``similar``, with a
strength below 1 and the shared runs as its places. The outcome does not depend on the order in
which documents come: a phrase that becomes common takes back what it had shown.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import Final

from mem_search.model.graph import CITES
from mem_search.model.records import HOLDINGS
from mem_search.storage.sql.connection import Connection
from mem_search.text.cites import context_of
from mem_search.text.shared_phrases import LENGTH, SharedRun, shared

SIMILAR: Final = "similar"
"""The origin of these edges."""

MAX_PAGES: Final = 2
"""Different pages that may have a phrase; what more have does not tell which one was read."""

MAX_REPORTS: Final = 8
"""Reports that may have it; what more have is a turn of speech."""

MIN_SHARED_PHRASES: Final = 3
"""Shared phrases from which a report cites a page, such as six words in a row
(``scripts/evaluate implicit``; docs/lab/graph.md has the figures)."""

MAX_CONFIDENCE: Final = 0.95
"""No similarity is as sure as a link."""

MAX_COMPARED_DOCUMENTS: Final = 20
"""Documents with which one is compared: those that share the most phrases."""

MAX_ANCHOR_PHRASES: Final = 50
"""Shared phrases around which two texts are compared."""

_KINDS: Final = tuple(HOLDINGS)

Phrases = Iterable[tuple[int, int]]
"""Hash and place of each phrase that is kept of a text."""


def write(connection: Connection, records: Sequence[tuple[int, Phrases]]) -> None:
    """Store the phrases of records, replacing older ones, without those that are common."""
    connection.execute(
        "delete from phrases where record_id = any(%s::bigint[])",
        ([number for number, _ in records],),
    )
    first: dict[tuple[int, int], int] = {}
    for number, kept in records:
        for each, start in kept:
            first[each, number] = min(start, first.get((each, number), start))
    if not first:
        return
    common = {
        *connection.column(
            "select hash from common_phrases where hash = any(%s::bigint[])",
            ([*{each for each, _ in first}],),
        )
    }
    connection.insert(
        "phrases",
        ("hash bigint", "record_id bigint", "start integer"),
        [(*key, start) for key, start in first.items() if key[0] not in common],
    )


def clear(connection: Connection, numbers: Collection[int]) -> None:
    """Remove what similarity said about pages that change or leave."""
    connection.execute(
        "delete from edges where to_id = any(%s::bigint[]) and origin = %s",
        (list(numbers), SIMILAR),
    )


def settle(connection: Connection, numbers: Sequence[int]) -> None:
    """Compare these records, which were written, with those that share a phrase."""
    pairs: dict[tuple[int, int], None] = {}
    for number in connection.column(
        "select distinct record_id from phrases where record_id = any(%s::bigint[]) order by 1",
        (list(numbers),),
    ):
        pairs |= dict.fromkeys(_near(connection, number))
    for report, page in pairs:
        _compare(connection, report, page)


def _near(connection: Connection, number: int) -> list[tuple[int, int]]:
    """The pairs (report, page) to compare since ``number`` was written.

    Phrases that became common with it are removed first, and what they had shown is compared again.
    """
    rows = connection.execute(
        "select p.hash, r.id, r.kind, r.url from phrases x join phrases p on p.hash = x.hash"
        " join records r on r.id = p.record_id where x.record_id = %s order by p.hash, r.id",
        (number,),
    )
    common, pairs = to_compare(number, ((h, r, kind, url) for h, r, kind, url in rows))
    if common:
        connection.insert(
            "common_phrases", ("hash bigint",), [(each,) for each in common],
            "on conflict do nothing",
        )  # fmt: skip
        connection.execute("delete from phrases where hash = any(%s::bigint[])", (common,))
    return pairs


def _compare(connection: Connection, report: int, page: int) -> None:
    """Write the edge of a report to a page that its text shows, or remove it."""
    connection.execute(
        "delete from edges where from_id = %s and to_id = %s and origin = %s",
        (report, page, SIMILAR),
    )
    anchors = connection.execute(
        "select r.start, p.start from phrases r join phrases p on p.hash = r.hash"
        " where r.record_id = %s and p.record_id = %s order by r.start limit %s",
        (report, page, MAX_ANCHOR_PHRASES),
    ).fetchall()
    stated = connection.maybe(
        "select 1 from edges where from_id = %s and to_id = %s and relation = %s",
        (report, page, CITES),
    )
    if stated or not anchors:
        return
    text, created = connection.one("select body, created_at from records where id = %s", (report,))
    other, target, key = connection.one(
        "select body, url, coalesce((select min(name) from names where record_id = r.id"
        " and name >= 'url:' and name < 'url;'), 'ref:' || kind || ':' || id)"
        " from records r where id = %s",
        (page,),
    )
    comparison = compared(text, other, [(here, there) for here, there in anchors])
    if comparison is None:
        return
    runs, strength = comparison
    edge = connection.maybe(
        "insert into edges(from_id, target, relation, key, to_id, origin, strength, created_at)"
        " values(%s, %s, %s, %s, %s, %s, %s, %s) on conflict do nothing returning id",
        (report, target or key.removeprefix("ref:"), CITES, key, page, SIMILAR, strength, created),
    )
    if edge is not None:
        connection.insert(
            "cites",
            ("edge_id bigint", "place_start integer", "place_end integer",
             "context_start integer", "context_end integer", "form text"),
            [(edge[0], run.start, run.end, *context_of(text, run.start, run.end), "phrase")
             for run in runs],
            "on conflict do nothing",
        )  # fmt: skip


def to_compare(
    number: int, rows: Iterable[tuple[int, int, str, str]]
) -> tuple[list[int], list[tuple[int, int]]]:
    """The phrases that became common with the record ``number``, and the pairs (report, page) to
    compare since it was written; first those that share the most phrases.

    ``rows`` are (phrase, record, kind, url) for each phrase of ``number`` and each record that has
    it. What common phrases had shown is compared again.
    """
    holders: dict[int, list[tuple[int, str, str]]] = defaultdict(list)
    for each, record, kind, url in rows:
        holders[each].append((record, kind, url))
    shown: Counter[tuple[int, int]] = Counter()
    common: list[int] = []
    again: set[tuple[int, int]] = set()
    for each, records in holders.items():
        reports = [known for known, kind, _ in records if kind == _KINDS[0]]
        pages = {known: url or str(known) for known, kind, url in records if kind == _KINDS[1]}
        ways = [(r, p) for r in reports for p in pages]
        if len(set(pages.values())) > MAX_PAGES or len(reports) > MAX_REPORTS:
            common.append(each)
            again.update(ways)
        else:
            shown.update(way for way in ways if number in way)
    best = sorted(shown, key=lambda way: (-shown[way], way))[:MAX_COMPARED_DOCUMENTS]
    return common, [*best, *sorted(again.difference(best))]


def compared(
    report: str, page: str, anchors: Sequence[tuple[int, int]]
) -> tuple[Sequence[SharedRun], float] | None:
    """The runs that both texts have, and how sure the citation is; None if it is none."""
    runs = shared(report, page, anchors)
    phrases = sum(run.length - LENGTH + 1 for run in runs)
    return (runs, confidence(phrases)) if phrases >= MIN_SHARED_PHRASES else None


def confidence(phrases: int) -> float:
    """How sure a citation is by so many shared phrases: .6 for three, .8 for eight."""
    return round(min(MAX_CONFIDENCE, phrases / (phrases + 2)), 3)
