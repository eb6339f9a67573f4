"""Citations without a link (``storage.rules.similar``): phrases are stored and compared.

The transaction that stores a report or a page compares it with the documents that share a phrase.
What it finds is an edge ``cites`` with a strength below 1 and the shared runs as its places.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from mem_search.model.graph import CITES
from mem_search.storage.postgres import edges
from mem_search.storage.postgres.connection import Connection
from mem_search.storage.rules.similar import ANCHORS, SIMILAR, compared, to_compare
from mem_search.text.cites import context_of


def write(connection: Connection, records: Sequence[tuple[int, Iterable[tuple[int, int]]]]) -> None:
    """Store the phrases of records, replacing older ones, without those that are common."""
    connection.execute(
        "delete from phrases where record_id = any(%s)", ([number for number, _ in records],)
    )
    rows = [(each, number, start) for number, kept in records for each, start in kept]
    if rows:
        hashes, numbers, starts = map(list, zip(*rows, strict=True))
        connection.execute(
            "insert into phrases(hash, record_id, start) select f.hash, f.record_id, min(f.start)"
            " from unnest(%s::bigint[], %s::bigint[], %s::integer[]) f(hash, record_id, start)"
            " where not exists (select 1 from common_phrases c where c.hash = f.hash)"
            " group by f.hash, f.record_id",
            (hashes, numbers, starts),
        )


def clear(connection: Connection, numbers: Collection[int]) -> None:
    """Remove what similarity said about pages that change or leave."""
    connection.execute(
        "delete from edges where to_id = any(%s) and origin = %s", (list(numbers), SIMILAR)
    )


def settle(connection: Connection, numbers: Sequence[int]) -> None:
    """Compare these records, which were written, with those that share a phrase."""
    pairs: dict[tuple[int, int], None] = {}
    for number in connection.column(
        "select distinct record_id from phrases where record_id = any(%s) order by 1",
        (list(numbers),),
    ):
        pairs |= dict.fromkeys(_near(connection, number))
    for report, page in pairs:
        _compare(connection, report, page)


def _near(connection: Connection, number: int) -> list[tuple[int, int]]:
    """The pairs (report, page) to compare since ``number`` was written."""
    rows = connection.execute(
        "select p.hash, r.id, r.kind, r.url from phrases x join phrases p on p.hash = x.hash"
        " join records r on r.id = p.record_id where x.record_id = %s order by p.hash, r.id",
        (number,),
    )
    common, pairs = to_compare(number, rows.fetchall())
    if common:
        connection.execute(
            "insert into common_phrases(hash) select unnest(%s::bigint[]) on conflict do nothing",
            (common,),
        )
        connection.execute("delete from phrases where hash = any(%s)", (common,))
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
        edges.write_cites(
            connection,
            [(edge[0], run.start, run.end, *context_of(text, run.start, run.end), "phrase")
             for run in runs],
        )  # fmt: skip
