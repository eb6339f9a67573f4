"""Forgetting: records, whatever quotes them, and the rows that a deletion leaves in the files.

Rows go in transactions of ``AT_ONCE`` records, so a search sees a record whole or not at all. What
remains to be done is in tables: the next start continues there.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

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
from mem_search.storage.postgres import quotes, tombstones
from mem_search.storage.postgres.connection import Connection, Jsonb
from mem_search.storage.postgres.filters import where
from mem_search.storage.postgres.migrations import KEYS
from mem_search.storage.postgres.record_writer import RecordWriter
from mem_search.storage.rules.tombstones import numbers_of
from mem_search.storage.sql.connection import Repository, reads, writes
from mem_search.text.dates import now_ms

AT_ONCE: Final = 100
"""Records of one transaction: some tens of milliseconds in which no other record is written."""

_KEPT: Final = 20
"""Finished receipts that are kept."""

_COLUMNS = "id, purge, removed, pending, waiting, begun_at, done_at, copies"


class PostgresForgetting(Repository):
    """``ports.ForgetStore``."""

    @reads
    def matching(self, connection: Connection, filters: Filters, limit: int) -> list[int]:
        condition, values = where(connection, filters)
        return connection.column(
            f"select r.id from records r where {condition} order by r.created_at desc limit %s",
            (*values, limit),
        )

    @reads
    def saved_searches_naming(self, connection: Connection, numbers: Sequence[int]) -> list[str]:
        return quotes.saved_searches_naming(connection, numbers)

    @reads
    def sessions(self, connection: Connection, numbers: Sequence[int]) -> list[str]:
        return connection.column(
            "select distinct session from records where id = any(%s) and session != ''",
            (list(numbers),),
        )

    @writes
    def begin(self, connection: Connection, numbers: Sequence[int]) -> str:
        receipt = _open(connection, purge=False)
        connection.execute(
            "insert into forget_records(record_id, receipt)"
            " select id, %s from records where id = any(%s) on conflict do nothing",
            (receipt, list(numbers)),
        )
        return receipt

    @writes
    def begin_purge(self, connection: Connection) -> str:
        return _open(connection, purge=True)

    @writes
    def remove_some(self, connection: Connection, receipt: str = "") -> int:
        writer = RecordWriter(connection)  # first: of two workers, the second finds them gone
        rows = connection.execute(
            "select record_id, receipt from forget_records where %s in ('', receipt)"
            " order by receipt limit %s",
            (receipt, AT_ONCE),
        ).fetchall()
        rows = [row for row in rows if row[1] == rows[0][1]]
        numbers = [number for number, _ in rows]
        removed = _removed_with(connection, numbers)
        quotes.note_traces(connection, numbers)
        removed["records"] = writer.remove(numbers, forget=True)
        removed["notifications"] = connection.execute(
            "delete from notifications n where count > 0 and not exists"
            " (select 1 from notification_matches m where m.notification_id = n.id)"
        ).rowcount
        connection.execute("delete from forget_records where record_id = any(%s)", (numbers,))
        if rows:
            _count(connection, removed, rows[0][1])
        return len(rows)

    @writes
    def remove_quotes(self, connection: Connection, *, last: bool = False, uploads: int = 0) -> int:
        removed = quotes.remove_quotes(connection, quotes.traces_left(connection))
        removed["uploads"] = uploads
        if connection.maybe("select 1 from forget_receipts where purge and done_at is null"):
            removed += quotes.remove_dangling(connection)
        _count(connection, removed)
        if last:
            connection.execute(
                "delete from forget_traces where not exists (select 1 from forget_records)"
                " and not exists (select 1 from forget_receipts where 'copies' = any(pending))"
            )
        return removed.total()

    @reads
    def read_uploads(self, connection: Connection) -> list[str]:
        return connection.column(
            "select params ->> 'spooled' from jobs"
            " where ended_at is not null and params ->> 'spooled' is not null"
        )

    @reads
    def traces(self, connection: Connection) -> Traces:
        return quotes.traces_left(connection)

    @writes
    def note_copies(self, connection: Connection, receipts: Sequence[str], copies: Copies) -> None:
        connection.execute(
            "update forget_receipts set copies = %s where id = any(%s::text[]) and not purge",
            (Jsonb(asdict(copies)), list(receipts)),
        )

    async def merge_words(self) -> None:
        """Nothing is left to do: the words are rows, and went with their records."""

    async def rewrite_file(self) -> None:
        """Free the space of deleted rows, so that others are written over them.

        The files belong to all users together, so they are not written anew. What the server's
        write-ahead log and its backups keep is up to who runs it (ADR 0017).
        """
        await self._database.apart(_vacuumed)

    @writes
    def finish_step(
        self,
        connection: Connection,
        step: ForgetStep,
        receipts: Sequence[str],
        removed: Mapping[str, int],
    ) -> None:
        for receipt in receipts:
            _count(connection, removed, receipt)
        connection.execute(
            "update forget_receipts set waiting = '', pending = array_remove(pending, %s),"
            " done_at = case when pending <@ array[%s] then %s else done_at end"
            " where id = any(%s::text[]) and done_at is null",
            (step, step, now_ms(), list(receipts)),
        )
        connection.execute(
            "delete from forget_receipts where done_at is not null and id not in"
            " (select id from forget_receipts order by begun_at desc limit %s)",
            (_KEPT,),
        )

    @writes
    def note_waiting(self, connection: Connection, reason: str) -> None:
        connection.execute(
            "update forget_receipts set waiting = %s where done_at is null", (reason,)
        )

    @reads
    def receipt(self, connection: Connection, receipt: str) -> Receipt | None:
        row = connection.maybe(f"select {_COLUMNS} from forget_receipts where id = %s", (receipt,))
        return _receipt(row) if row else None

    @reads
    def receipts(self, connection: Connection, *, unfinished: bool = False) -> list[Receipt]:
        rows = connection.execute(
            f"select {_COLUMNS} from forget_receipts where done_at is null or not %s"
            " order by begun_at desc, id",
            (unfinished,),
        )
        return [_receipt(row) for row in rows]

    @reads
    def forgotten(self, connection: Connection, identities: Sequence[Identity]) -> set[Identity]:
        return set(tombstones.times(connection, identities))

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
    connection.execute(
        "insert into forget_receipts(id, purge, pending, begun_at) values(%s, %s, %s::text[], %s)",
        (receipt, purge, list(FORGET_STEPS), now_ms()),
    )
    return receipt


def _receipt(row: Sequence[Any]) -> Receipt:
    name, purge, removed, pending, waiting, begun, done, copies = row
    steps = tuple(step for step in FORGET_STEPS if step in pending)
    seen = Copies.of(copies)
    return Receipt(name, purge, removed, steps, waiting, begun, done, seen)


def _count(connection: Connection, removed: Mapping[str, int], receipt: str = "") -> None:
    """Add to what is removed in ``receipt``, or in the newest one that is not done."""
    row = connection.maybe(
        "select id, removed from forget_receipts"
        " where id = %(receipt)s or (%(receipt)s = '' and done_at is null)"
        " order by begun_at desc limit 1 for update",
        {"receipt": receipt},
    )
    if row is not None:
        total = Counter(row[1]) + Counter(removed)
        connection.execute(
            "update forget_receipts set removed = %s where id = %s", (Jsonb(total), row[0])
        )


def _removed_with(connection: Connection, numbers: Sequence[int]) -> Counter[str]:
    """How many rows go with these records."""
    statements = {
        "passages": "select count(*) from passages where record_id = any(%s)",
        "vectors": "select count(*) from vectors where entry_id = any(array(select unnest("
        "array[2 * id, 2 * id + 1]) from passages where record_id = any(%s)))",
        "links": "select count(*) from edges where from_id = any(%s)",
    }
    return Counter(
        {
            place: connection.count(statement, (list(numbers),))
            for place, statement in statements.items()
        }
    )


def _vacuumed(connection: Connection) -> None:
    connection.execute(f"vacuum {', '.join(KEYS)}")
