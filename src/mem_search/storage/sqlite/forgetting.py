"""Forgetting: records, whatever quotes them, and the bytes that a deletion leaves in the file.

Rows go in transactions of ``AT_ONCE`` records, so a search sees a record whole or not at all. What
remains to be done is in the tables of ``m012_forgetting``: the next start continues there.
"""

from __future__ import annotations

import json
import sqlite3
import time
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from mem_search.errors import StorageError
from mem_search.model import Filters
from mem_search.model.forgetting import (
    FORGET_STEPS,
    Copies,
    ForgetStep,
    Identity,
    Receipt,
    Tombstone,
    Traces,
)
from mem_search.storage.rules.tombstones import numbers_of
from mem_search.storage.sql.connection import Repository, reads, writes
from mem_search.storage.sqlite import filters as sql_filters
from mem_search.storage.sqlite import fulltext, odd_rows, quotes, tombstones
from mem_search.storage.sqlite.database import Connection
from mem_search.storage.sqlite.record_writer import RecordWriter
from mem_search.text.dates import now_ms

AT_ONCE: Final = 100
"""Records of one transaction: some tens of milliseconds in which nothing else is written."""

_KEPT: Final = 20
"""Finished receipts that are kept."""

_PAGES: Final = 500
"""Pages of the full-text index that one step merges: about 30 ms."""

_IN_MEMORY: Final = 64 << 20
"""Bytes of a database that is written anew in memory; a larger one in an unnamed temporary file."""

_PATIENCE: Final = 10.0
_COLUMNS = "id, purge, removed, pending, waiting, begun_at, done_at, copies"


class SqliteForgetting(Repository):
    """``ports.ForgetStore``."""

    @reads
    def matching(self, connection: Connection, filters: Filters, limit: int) -> list[int]:
        condition, values = sql_filters.where(filters)
        rows = connection.execute(
            f"select r.id from records r where {condition} order by r.created_at desc limit ?",
            (*values, limit),
        )
        return [number for (number,) in rows]

    @reads
    def saved_searches_naming(self, connection: Connection, numbers: Sequence[int]) -> list[str]:
        return quotes.saved_searches_naming(connection, numbers)

    @reads
    def sessions(self, connection: Connection, numbers: Sequence[int]) -> list[str]:
        rows = connection.execute(
            "select distinct session from records"
            " where id in (select value from json_each(?)) and session != ''",
            (json.dumps(list(numbers)),),
        )
        return [session for (session,) in rows]

    @writes
    def begin(self, connection: Connection, numbers: Sequence[int]) -> str:
        receipt = _open(connection, purge=False)
        connection.executemany(
            "insert or ignore into forget_records(record_id, receipt)"
            " select id, ? from records where id = ?",
            [(receipt, number) for number in numbers],
        )
        return receipt

    @writes
    def begin_purge(self, connection: Connection) -> str:
        return _open(connection, purge=True)

    @writes
    def remove_some(self, connection: Connection, receipt: str = "") -> int:
        rows = connection.execute(
            "select record_id, receipt from forget_records where ?1 in ('', receipt)"
            " order by receipt limit ?2",
            (receipt, AT_ONCE),
        ).fetchall()
        rows = [row for row in rows if row[1] == rows[0][1]]
        numbers = [number for number, _ in rows]
        derived = _removed_with(connection, numbers)
        quotes.note_traces(connection, numbers)
        removed = Counter(records=RecordWriter(connection).remove(numbers, forget=True))
        removed.update(derived)
        removed["notifications"] = connection.execute(
            "delete from notifications where count > 0 and not exists"
            " (select 1 from notification_matches m where m.notification_id = notifications.id)"
        ).rowcount
        connection.execute(
            "delete from forget_records where record_id in (select value from json_each(?))",
            (json.dumps(numbers),),
        )
        if rows:
            _count(connection, removed, rows[0][1])
        return len(rows)

    @writes
    def remove_quotes(self, connection: Connection, *, last: bool = False, uploads: int = 0) -> int:
        removed = quotes.remove_quotes(connection, quotes.traces_left(connection))
        removed["uploads"] = uploads
        if connection.execute(
            "select 1 from forget_receipts where purge and done_at is null"
        ).fetchone():
            removed += quotes.remove_dangling(connection)
        _count(connection, removed)
        if last:
            connection.execute(
                "delete from forget_traces where not exists (select 1 from forget_records)"
                " and not exists (select 1 from forget_receipts where pending like '%\"copies\"%')"
            )
        return removed.total()

    @reads
    def read_uploads(self, connection: Connection) -> list[str]:
        rows = connection.execute(
            "select json_extract(params, '$.spooled') from jobs where ended_at is not null"
            " and json_extract(params, '$.spooled') is not null"
        )
        return [name for (name,) in rows]

    @reads
    def traces(self, connection: Connection) -> Traces:
        return quotes.traces_left(connection)

    @writes
    def note_copies(self, connection: Connection, receipts: Sequence[str], copies: Copies) -> None:
        connection.executemany(
            "update forget_receipts set copies = ? where id = ? and not purge",
            [(json.dumps(asdict(copies)), receipt) for receipt in receipts],
        )

    async def merge_words(self) -> None:
        # A first negative number takes all segments into one merge, the following continue it
        # until they change nothing (https://sqlite.org/fts5.html#the_merge_command).
        for table in fulltext.FILLED_BY:
            pages = -_PAGES
            while await self._database.write(_merged, table, pages):
                pages = _PAGES

    async def rewrite_file(self) -> None:
        await self._database.alone(_vacuumed)

    @writes
    def finish_step(
        self,
        connection: Connection,
        step: ForgetStep,
        receipts: Sequence[str],
        removed: Mapping[str, int],
    ) -> None:
        for receipt in receipts:
            _count(connection, Counter(removed), receipt)
            connection.execute(
                "update forget_receipts set waiting = '', pending ="
                " (select json_group_array(value) from json_each(pending) where value != ?)"
                " where id = ?",
                (step, receipt),
            )
        connection.execute(
            "update forget_receipts set done_at = ? where done_at is null and pending = '[]'",
            (now_ms(),),
        )
        connection.execute(
            "delete from forget_receipts where done_at is not null and id not in"
            " (select id from forget_receipts order by begun_at desc limit ?)",
            (_KEPT,),
        )

    @writes
    def note_waiting(self, connection: Connection, reason: str) -> None:
        connection.execute(
            "update forget_receipts set waiting = ? where done_at is null", (reason,)
        )

    @reads
    def receipt(self, connection: Connection, receipt: str) -> Receipt | None:
        row = connection.execute(
            f"select {_COLUMNS} from forget_receipts where id = ?", (receipt,)
        ).fetchone()
        return _receipt(row) if row else None

    @reads
    def receipts(self, connection: Connection, *, unfinished: bool = False) -> list[Receipt]:
        rows = connection.execute(
            f"select {_COLUMNS} from forget_receipts where done_at is null or not ?"
            " order by begun_at desc, id",
            (unfinished,),
        )
        return [_receipt(row) for row in rows]

    @reads
    def forgotten(self, connection: Connection, identities: Sequence[Identity]) -> set[Identity]:
        return {
            each
            for each in set(identities)
            if tombstones.forgotten_at(connection, *each) is not None
        }

    @writes
    def refuse(self, connection: Connection, tombstones_: Sequence[Tombstone]) -> None:
        tombstones.add(connection, tombstones_)

    @reads
    def refused(self, connection: Connection, tombstones_: Sequence[Tombstone]) -> list[int]:
        rows = connection.execute("select id, source, source_id, kind from records")
        return numbers_of(rows, tombstones_)

    @reads
    def tombstones(
        self, connection: Connection, after: Tombstone | None, size: int
    ) -> list[Tombstone]:
        return tombstones.page(connection, after, size)


def _open(connection: Connection, *, purge: bool) -> str:
    receipt = uuid.uuid4().hex[:12]
    # Rows that were set aside may quote what is forgotten, in no form that can be looked through.
    connection.execute("delete from meta where key = ?", (odd_rows.KEY,))
    connection.execute(
        "insert into forget_receipts(id, purge, pending, begun_at) values(?, ?, ?, ?)",
        (receipt, int(purge), json.dumps(FORGET_STEPS), now_ms()),
    )
    return receipt


def _receipt(row: tuple[Any, ...]) -> Receipt:
    name, purge, removed, pending, waiting, begun, done, copies = row
    left = set(json.loads(pending))
    steps = tuple(step for step in FORGET_STEPS if step in left)
    seen = Copies.of(json.loads(copies) or {})
    return Receipt(name, bool(purge), json.loads(removed), steps, waiting, begun, done, seen)


def _count(connection: Connection, removed: Mapping[str, int], receipt: str = "") -> None:
    """Add to what is removed in ``receipt``, or in the newest one that is not done."""
    row = connection.execute(
        "select id, removed from forget_receipts where id = ?1 or (?1 = '' and done_at is null)"
        " order by begun_at desc limit 1",
        (receipt,),
    ).fetchone()
    if row is not None:
        total = Counter(json.loads(row[1])) + Counter(removed)
        connection.execute(
            "update forget_receipts set removed = ? where id = ?", (json.dumps(total), row[0])
        )


def _removed_with(connection: Connection, numbers: Sequence[int]) -> Counter[str]:
    """How many rows go with these records."""
    wanted = (json.dumps(list(numbers)),)
    statements = {
        "passages": "select count(*) from passages where record_id in ({})",
        "vectors": "select count(*) from vectors where entry_id / 2 in"
        " (select id from passages where record_id in ({}))",
        "links": "select count(*) from edges where from_id in ({})",
    }
    return Counter(
        {
            place: connection.execute(
                statement.format("select value from json_each(?)"), wanted
            ).fetchone()[0]
            for place, statement in statements.items()
        }
    )


def _merged(connection: Connection, table: str, pages: int) -> bool:
    """Merge some pages of the full-text index; whether there was anything to merge."""
    before = connection.total_changes
    connection.execute(f"insert into {table}({table}, rank) values('merge', ?)", (pages,))
    return connection.total_changes - before >= 2


def _vacuumed(connection: sqlite3.Connection) -> None:
    """Write the file anew and empty its log.

    ``secure_delete`` zeroes what is deleted, but copies that a balanced page leaves behind go only
    with the page. Raises StorageError when another process reads for too long.
    """
    (pages,) = connection.execute("pragma page_count").fetchone()
    (size,) = connection.execute("pragma page_size").fetchone()
    # SQLite makes the new file in the place of temporary tables, and then copies it.
    connection.execute(f"pragma temp_store = {'file' if pages * size > _IN_MEMORY else 'memory'}")
    try:
        connection.execute("vacuum")
    finally:
        connection.execute("pragma temp_store = memory")
    deadline = time.monotonic() + _PATIENCE
    while True:
        (busy, *_) = connection.execute("pragma wal_checkpoint(truncate)").fetchone()
        if not busy:
            return
        if time.monotonic() > deadline:
            raise StorageError("the database's log is in use by another process")
        time.sleep(0.01)
