"""What sources left behind: cursors, the ledger, tombstones."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping
from typing import Any

from mem_search.model import LedgerEntry, Location
from mem_search.model.ingest import FollowedLocation
from mem_search.text.dates import now_ms


def cursor(connection: sqlite3.Connection, location: Location) -> dict[str, Any]:
    """Where reading stopped; empty for a location never read."""
    row = connection.execute(
        "select cursor from cursors where source = ? and location = ?",
        (location.source, location.path),
    ).fetchone()
    return dict(json.loads(row[0])) if row else {}


def save_cursor(
    connection: sqlite3.Connection, location: Location, value: Mapping[str, Any], *, followed: bool
) -> None:
    connection.execute(
        "insert into cursors(source, location, label, options, cursor, followed, read_at)"
        " values(?, ?, ?, ?, ?, ?, ?) on conflict(source, location) do update set"
        " label = excluded.label, options = excluded.options, cursor = excluded.cursor,"
        " followed = excluded.followed or followed, read_at = excluded.read_at, error = ''",
        (
            location.source, location.path, location.label, json.dumps(dict(location.options)),
            json.dumps(value), int(followed), now_ms(),
        ),
    )  # fmt: skip


def save_quiet(connection: sqlite3.Connection, location: Location, *, followed: bool) -> None:
    """A look that found nothing new: the location is known, followed if asked, and well."""
    connection.execute(
        "insert into cursors(source, location, label, options, followed, read_at)"
        " values(?, ?, ?, ?, ?, ?) on conflict(source, location) do update set"
        " followed = excluded.followed or followed, read_at = excluded.read_at, error = ''"
        # Followed locations are looked at all day: nothing is written while nothing changes.
        " where error != '' or followed < excluded.followed",
        (
            location.source, location.path, location.label, json.dumps(dict(location.options)),
            int(followed), now_ms(),
        ),
    )  # fmt: skip


def save_error(
    connection: sqlite3.Connection, location: Location, error: str, *, followed: bool
) -> None:
    """Keep the cursor, note why the last look failed.

    A location that is not to be ``followed`` and was never read is not kept for its failure alone.
    """
    if not followed:
        connection.execute(
            "update cursors set read_at = ?, error = ? where source = ? and location = ?",
            (now_ms(), error, location.source, location.path),
        )
        return
    connection.execute(
        "insert into cursors(source, location, label, options, followed, read_at, error)"
        " values(?, ?, ?, ?, ?, ?, ?) on conflict(source, location) do update set"
        " read_at = excluded.read_at, error = excluded.error",
        (
            location.source, location.path, location.label, json.dumps(dict(location.options)),
            int(followed), now_ms(), error,
        ),
    )  # fmt: skip


def drop_cursor(connection: sqlite3.Connection, location: Location) -> bool:
    """Forget that the location was read, and follow it no more; whether it was known."""
    dropped = connection.execute(
        "delete from cursors where source = ? and location = ?", (location.source, location.path)
    )
    return dropped.rowcount > 0


def locations(connection: sqlite3.Connection) -> list[FollowedLocation]:
    rows = connection.execute(
        "select source, location, label, options, followed, read_at, error from cursors"
        " order by source, location"
    )
    return [
        FollowedLocation(
            Location(source, path, label, json.loads(options)), bool(followed), at, error
        )
        for source, path, label, options, followed, at, error in rows
    ]


def note(
    connection: sqlite3.Connection, location: Location, entries: Iterable[LedgerEntry]
) -> None:
    """Write what became of items; the newest word on an item replaces the older one."""
    now = now_ms()
    connection.executemany(
        "insert or replace into ledger(source, location, item, outcome, reason, records, at)"
        " values(?, ?, ?, ?, ?, ?, ?)",
        [
            (location.source, location.path, e.item, e.outcome, e.reason, e.records, now)
            for e in entries
        ],
    )


def strike(connection: sqlite3.Connection, location: Location, items: Iterable[str]) -> None:
    """Drop what was said of ``items`` and of what lies in them, ``name:7`` in ``name``.

    An empty item is the whole location.
    """
    for item in items:
        place = (location.source, location.path, item)
        if not item:
            connection.execute("delete from ledger where source = ? and location = ?", place[:2])
        else:
            connection.execute(
                "delete from ledger where source = ?1 and location = ?2"
                # The key finds the range that both of the last line are in.
                " and item >= ?3 and item < ?3 || ';'"
                " and (item = ?3 or item > ?3 || ':')",
                place,
            )


def ledger(
    connection: sqlite3.Connection, source: str, item: str, limit: int, offset: int
) -> list[dict[str, Any]]:
    """Newest first; ``source`` and ``item`` narrow it down when not empty.

    ``item`` is part of the item with the place that it is in: ``notes.jsonl/line 2``.
    """
    rows = connection.execute(
        "select source, location, item, outcome, reason, records, at from ledger"
        " where (?1 = '' or source = ?1) and (?2 = '' or instr(location || '/' || item, ?2) > 0)"
        " order by at desc, item limit ?3 offset ?4",
        (source, item, limit, offset),
    )
    names = ("source", "location", "item", "outcome", "reason", "records", "at")
    return [dict(zip(names, row, strict=True)) for row in rows]


def ledger_counts(connection: sqlite3.Connection) -> list[tuple[str, str, int]]:
    """(source, outcome, items)."""
    return connection.execute(
        "select source, outcome, count(*) from ledger group by source, outcome order by 1, 2"
    ).fetchall()
