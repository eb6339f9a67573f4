"""What can be searched, by whole records: the numbers that ``/api/v2/search/stats`` tells."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Final

_WAITING: Final = (
    "select p.record_id from outbox o join passages p on p.id = o.passage_id"
    " where o.step in ('embed', 'index')"
)


@dataclass(frozen=True, slots=True)
class Searchable:
    """``complete`` records have every passage in the vector index; ``last_at`` is when the newest
    of these was stored, in milliseconds. ``relationships`` are stored edges with both ends here.
    """

    records: dict[str, int]
    complete: int
    relationships: int
    last_at: int | None

    @property
    def coverage(self) -> float:
        """The share of records that are complete, 1 for an empty store."""
        total = sum(self.records.values())
        return self.complete / total if total else 1.0


def searchable(connection: sqlite3.Connection) -> Searchable:
    """Exact counts."""
    records = dict(
        connection.execute("select kind, count(*) from records group by kind").fetchall()
    )
    (incomplete,) = connection.execute(
        f"select count(*) from (select distinct record_id from ({_WAITING}))"
    ).fetchone()
    (relationships,) = connection.execute(
        "select count(*) from edges where to_id is not null"
    ).fetchone()
    return Searchable(
        records, sum(records.values()) - incomplete, relationships, last_indexed(connection)
    )


def last_indexed(connection: sqlite3.Connection) -> int | None:
    """When the newest of the complete records was stored; None while there is none."""
    (last,) = connection.execute(
        f"select max(stored_at) from records where id not in ({_WAITING})"
    ).fetchone()
    return None if last is None else int(last)
