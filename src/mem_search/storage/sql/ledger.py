"""The ledger: what became of each item that a source saw, and why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from mem_search.model import LedgerEntry, Location
from mem_search.model.ingest import LedgerRow
from mem_search.storage.sql.connection import Connection, Repository, reads, writes
from mem_search.text.dates import now_ms

_LEDGER: Final = "select source, location, item, outcome, reason, records, at from ledger"


class Ledger(Repository):
    """Writes and reads the entries of items."""

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
            " order by at desc",
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


def strike(connection: Connection, location: Location, items: Iterable[str]) -> None:
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
