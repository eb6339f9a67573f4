"""Citations without a link: reports that quote a stored page or share rare phrases with it.

The transaction that stores a report or a page compares it with the documents that share a phrase,
in the windows around it. What it finds is an edge ``cites`` of the origin ``similar``, with a
strength below 1 and the shared runs as its places. The outcome does not depend on the order in
which documents come: a phrase that becomes common takes back what it had shown.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from mem_search.model.graph import CITES
from mem_search.storage.rules.similar import ANCHORS, SIMILAR, compared, to_compare
from mem_search.storage.sql.connection import Connection
from mem_search.text.cites import context_of

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
        (report, page, ANCHORS),
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
    found = compared(text, other, [(here, there) for here, there in anchors])
    if found is None:
        return
    runs, strength = found
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
