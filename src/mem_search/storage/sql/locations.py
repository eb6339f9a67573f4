"""Where is read: how far, and in the ledger what became of each item that a source saw, and why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from mem_search.model import LedgerEntry, Location
from mem_search.model.ingest import FollowedLocation, LedgerRow
from mem_search.storage.sql.connection import (
    HERE,
    Connection,
    Json,
    Repository,
    from_json,
    reads,
    writes,
)
from mem_search.text.dates import now_ms

_HOME: Final = "current_setting('mem_search.home')"
"""The home that reads a location: its files may be nowhere else."""

_LEDGER: Final = "select source, location, item, outcome, reason, records, at from ledger"


class Locations(Repository):
    """The cursors of locations, and the entries of their items."""

    @reads
    def cursor(self, connection: Connection, location: Location) -> dict[str, Any]:
        """The stored cursor of a location; empty for one that was never read."""
        row = connection.maybe(
            "select cursor from cursors where source = %s and location = %s",
            (location.source, location.path),
        )
        return dict(from_json(row[0])) if row else {}

    @writes
    def note_unchanged(self, connection: Connection, location: Location, *, followed: bool) -> None:
        """Store that the location has nothing new, and follow it if ``followed``."""
        connection.execute(
            "insert into cursors(source, location, label, options, followed, read_at, home)"
            f" values(%s, %s, %s, %s, %s, %s, {_HOME})"
            " on conflict(owner, source, location) do update set home = excluded.home,"
            " followed = excluded.followed or cursors.followed, read_at = excluded.read_at,"
            " error = ''"
            # Followed locations are read again and again; nothing is written while nothing changes.
            " where cursors.error != '' or cursors.followed < excluded.followed"
            " or cursors.home != excluded.home",
            (*_named(location), followed, now_ms()),
        )

    @writes
    def note_error(
        self, connection: Connection, location: Location, error: str, *, followed: bool
    ) -> None:
        """Keep the cursor and store why reading failed.

        A location that was never read and is not to be ``followed`` is not remembered.
        """
        if not followed:
            connection.execute(
                "update cursors set read_at = %s, error = %s where source = %s and location = %s",
                (now_ms(), error, location.source, location.path),
            )
            return
        connection.execute(
            "insert into cursors(source, location, label, options, followed, read_at, error, home)"
            f" values(%s, %s, %s, %s, true, %s, %s, {_HOME}) on conflict(owner, source, location)"
            " do update set read_at = excluded.read_at, error = excluded.error",
            (*_named(location), now_ms(), error),
        )

    @writes
    def drop_location(self, connection: Connection, location: Location) -> bool:
        """Forget the cursor and stop following; False when the location was never read."""
        dropped = connection.execute(
            "delete from cursors where source = %s and location = %s",
            (location.source, location.path),
        )
        return dropped.rowcount > 0

    @reads
    def locations(self, connection: Connection) -> list[FollowedLocation]:
        """Every location that was read, by source and path."""
        rows = connection.execute(
            f"select source, location, label, options, followed, read_at, error, {HERE}"
            " from cursors order by source, location"
        )
        return [
            FollowedLocation(
                Location(source, path, label, from_json(options)),
                bool(followed), at, error, bool(here),
            )
            for source, path, label, options, followed, at, error, here in rows
        ]  # fmt: skip

    @writes
    def note_items(
        self, connection: Connection, location: Location, entries: Sequence[LedgerEntry]
    ) -> None:
        """Write to the ledger what became of items."""
        note(connection, location, entries)

    @reads
    def ledger(
        self,
        connection: Connection,
        source: str,
        item: str,
        limit: int,
        offset: int,
        outcome: str = "",
    ) -> list[LedgerRow]:
        """Entries, newest first. What is not empty narrows them down.

        ``item`` is a part of the location and item: ``notes.jsonl/line 2``.
        """
        rows = connection.execute(
            f"{_LEDGER} where %(source)s in ('', source)"
            " and (%(item)s = '' or strpos(location || '/' || item, %(item)s) > 0)"
            " and %(outcome)s in ('', outcome)"
            " order by at desc, item limit %(limit)s offset %(offset)s",
            {"source": source, "item": item, "outcome": outcome, "limit": limit, "offset": offset},
        )
        return [LedgerRow(*row) for row in rows]

    @reads
    def ledger_at(self, connection: Connection, paths: Sequence[str]) -> list[LedgerRow]:
        """Entries about exactly these paths, newest first: location and item are a path."""
        rows = connection.execute(
            f"{_LEDGER} where rtrim(location, '/') || '/' || item = any(%(paths)s::text[])"
            " or (location = any(%(paths)s::text[])"
            " and substr(location, greatest(1, length(location) - length(item))) = '/' || item)"
            " order by at desc, item",
            {"paths": list(paths)},
        )
        return [LedgerRow(*row) for row in rows]

    @reads
    def ledger_counts(
        self, connection: Connection, location: str = "", below: str = ""
    ) -> list[tuple[str, str, int]]:
        """(source, outcome, number of items), of all locations or of one; of items that begin with
        ``below``."""
        rows = connection.execute(
            "select source, outcome, count(*) from ledger where %(location)s in ('', location)"
            " and substr(item, 1, length(%(below)s)) = %(below)s"
            " group by source, outcome order by 1, 2",
            {"location": location, "below": below},
        )
        return [(source, outcome, count) for source, outcome, count in rows]


def save_cursor(
    connection: Connection, location: Location, cursor: Mapping[str, Any], *, followed: bool
) -> None:
    """Note how far the location was read."""
    connection.execute(
        "insert into cursors(source, location, label, options, cursor, followed, read_at, home)"
        f" values(%s, %s, %s, %s, %s, %s, %s, {_HOME})"
        " on conflict(owner, source, location) do update set home = excluded.home,"
        " label = excluded.label, options = excluded.options, cursor = excluded.cursor,"
        " followed = excluded.followed or cursors.followed, read_at = excluded.read_at,"
        " error = ''",
        (*_named(location), Json(cursor), followed, now_ms()),
    )


def _named(location: Location) -> tuple[str, str, str, Json]:
    return location.source, location.path, location.label, Json(dict(location.options))


def note(connection: Connection, location: Location, entries: Iterable[LedgerEntry]) -> None:
    """Write ledger entries; the newest entry of an item replaces the older one."""
    now = now_ms()
    connection.many(
        "insert into ledger(source, location, item, outcome, reason, records, at)"
        " values(%s, %s, %s, %s, %s, %s, %s) on conflict(owner, source, location, item)"
        " do update set (outcome, reason, records, at) ="
        " (excluded.outcome, excluded.reason, excluded.records, excluded.at)",
        [
            (location.source, location.path, e.item, e.outcome, e.reason, e.records, now)
            for e in entries
        ],
    )


def delete_entries(connection: Connection, location: Location, items: Iterable[str]) -> None:
    """Delete the entries of ``items`` and of items inside them, ``name:7`` in ``name``. An empty
    item is the whole location.
    """
    at = {"source": location.source, "location": location.path}
    noted = "select 1 from ledger where source = %(source)s and location = %(location)s limit 1"
    if connection.maybe(noted, at) is None:
        return
    connection.many(
        "delete from ledger where source = %(source)s and location = %(location)s"
        " and (%(item)s::text = ''"
        # The key finds the range that has both of the last line.
        " or (item >= %(item)s::text and item < %(item)s::text || ';'"
        " and (item = %(item)s::text or item > %(item)s::text || ':')))",
        [{**at, "item": item} for item in items],
    )
