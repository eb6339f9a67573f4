"""Citations without a link: reports that quote a stored page or share rare phrases with it.

The transaction that stores a report or a page compares it with the documents that share a phrase,
in the windows around it. What it finds is an edge ``cites`` of the origin ``similar``, with a
strength below 1 and the shared runs as its places. The outcome does not depend on the order in
which documents come: a phrase that becomes common takes back what it had shown.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence

from mem_search.model.graph import CITES
from mem_search.storage.rules.similar import ANCHORS, SIMILAR, compared, to_compare
from mem_search.text.cites import context_of


def write(connection: sqlite3.Connection, number: int, kept: Iterable[tuple[int, int]]) -> None:
    """Store the phrases of a record, replacing older ones, without those that are common."""
    connection.execute("delete from phrases where record_id = ?", (number,))
    connection.executemany(
        "insert into phrases(hash, record_id, start) select ?1, ?2, ?3"
        " where not exists (select 1 from common_phrases where hash = ?1)",
        ((each, number, start) for each, start in kept),
    )


def clear(connection: sqlite3.Connection, number: int) -> None:
    """Remove what similarity said about a page that changes or leaves."""
    connection.execute("delete from edges where to_id = ? and origin = ?", (number, SIMILAR))


def settle(connection: sqlite3.Connection, numbers: Sequence[int]) -> None:
    """Compare these records, which were written, with those that share a phrase."""
    pairs: dict[tuple[int, int], None] = {}
    for number in numbers:
        pairs |= dict.fromkeys(_near(connection, number))
    for report, page in pairs:
        _compare(connection, report, page)


def _near(connection: sqlite3.Connection, number: int) -> list[tuple[int, int]]:
    """The pairs (report, page) to compare since ``number`` was written.

    Phrases that became common with it are removed first, and what they had shown is compared again.
    """
    common, pairs = to_compare(
        number,
        connection.execute(
            "select p.hash, r.id, r.kind, r.url from phrases x join phrases p on p.hash = x.hash"
            " join records r on r.id = p.record_id where x.record_id = ? order by p.hash, r.id",
            (number,),
        ),
    )
    connection.executemany("insert into common_phrases(hash) values(?)", ((h,) for h in common))
    connection.executemany("delete from phrases where hash = ?", ((each,) for each in common))
    return pairs


def _compare(connection: sqlite3.Connection, report: int, page: int) -> None:
    """Write the edge of a report to a page that its text shows, or remove it."""
    connection.execute(
        "delete from edges where from_id = ? and to_id = ? and origin = ?", (report, page, SIMILAR)
    )
    anchors = connection.execute(
        "select r.start, p.start from phrases r join phrases p on p.hash = r.hash"
        " where r.record_id = ? and p.record_id = ? order by r.start limit ?",
        (report, page, ANCHORS),
    ).fetchall()
    stated = connection.execute(
        "select 1 from edges where from_id = ? and to_id = ? and relation = ?",
        (report, page, CITES),
    ).fetchone()
    if stated or not anchors:
        return
    text, created = connection.execute(
        "select body, created_at from records where id = ?", (report,)
    ).fetchone()
    other, target, key = connection.execute(
        "select body, url, coalesce((select min(name) from names where record_id = r.id"
        " and name >= 'url:' and name < 'url;'), 'ref:' || kind || ':' || id)"
        " from records r where id = ?",
        (page,),
    ).fetchone()
    found = compared(text, other, anchors)
    if found is None:
        return
    runs, strength = found
    done = connection.execute(
        "insert or ignore into edges(from_id, target, relation, key, to_id, origin, strength,"
        " created_at) values(?, ?, ?, ?, ?, ?, ?, ?)",
        (report, target or key.removeprefix("ref:"), CITES, key, page, SIMILAR,
         strength, created),
    )  # fmt: skip
    if done.rowcount:
        connection.executemany(
            "insert into cites(edge_id, start, end, context_start, context_end, form)"
            " values(?, ?, ?, ?, ?, 'phrase')",
            [(done.lastrowid, run.start, run.end, *context_of(text, run.start, run.end))
             for run in runs],
        )  # fmt: skip
