"""Forgetting: records, whatever quotes them, and what a deletion leaves in the files.

Rows go in transactions of ``AT_ONCE`` records, so a search sees a record whole or not at all. What
remains to be done is in tables: the next start continues there.
"""

from __future__ import annotations

import uuid
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, ClassVar, Final

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
from mem_search.storage.rules.identities import numbers_of
from mem_search.storage.sql import projects
from mem_search.storage.sql.connection import (
    Connection,
    Json,
    Repository,
    from_json,
    reads,
    writes,
)
from mem_search.storage.sql.quotes import Quotes
from mem_search.storage.sql.record_writer import Writer
from mem_search.text.dates import now_ms

AT_ONCE: Final = 100
"""Records of one transaction: some tens of milliseconds in which no other record is written."""

_MAX_KEPT: Final = 20
"""Finished receipts that are kept."""

_COLUMNS: Final = "id, purge, removed, pending, waiting, begun_at, done_at, copies"


class StoredForgetting(Repository, ABC):
    """Records that are to be forgotten, and everything in the store that quotes them.

    A forgetting begins with ``begin`` and survives the end of the process: its records and its
    pending steps are stored. How an engine frees the bytes of what it deleted is its own.
    """

    writer: ClassVar[type[Writer]]
    """What removes records in a transaction."""
    quotes: ClassVar[type[Quotes]]
    where: ClassVar[Callable[..., tuple[str, list[Any]]]]

    @abstractmethod
    async def merge_words(self) -> None:
        """Merge the index of words, so that terms of removed records are in it no more."""

    @abstractmethod
    async def rewrite_file(self) -> None:
        """Write the stored data anew, without free space, and empty the log of writes."""

    @reads
    def matching(self, connection: Connection, filters: Filters, limit: int) -> list[int]:
        """The numbers of records that pass ``filters``, the newest first."""
        condition, values = self.where(connection, filters)
        return connection.column(
            f"select r.id from records r where {condition}"
            " order by r.created_at desc, r.id desc limit %s",
            (*values, limit),
        )

    @reads
    def saved_searches_naming(self, connection: Connection, numbers: Sequence[int]) -> list[str]:
        """The names of the saved searches that go when these records are forgotten."""
        return self.quotes(connection).saved_searches_naming(numbers)

    @reads
    def sessions(self, connection: Connection, numbers: Sequence[int]) -> list[str]:
        """The sessions that these records are of."""
        return connection.column(
            "select distinct session from records where id = any(%s) and session != ''",
            (list(numbers),),
        )

    @writes
    def begin(self, connection: Connection, numbers: Sequence[int]) -> str:
        """Remember that these records are to be forgotten; returns the id of the receipt."""
        receipt = self._open(connection, purge=False)
        connection.execute(
            "insert into forget_records(record_id, receipt)"
            " select id, %s from records where id = any(%s) on conflict do nothing",
            (receipt, list(numbers)),
        )
        return receipt

    @writes
    def begin_purge(self, connection: Connection) -> str:
        """Remember to clean up after all earlier deletions; returns the id of the receipt."""
        return self._open(connection, purge=True)

    def _open(self, connection: Connection, *, purge: bool) -> str:
        receipt = uuid.uuid4().hex[:12]
        connection.execute(
            "insert into forget_receipts(id, purge, pending, begun_at)"
            " values(%s, %s, %s::text[], %s)",
            (receipt, purge, list(FORGET_STEPS), now_ms()),
        )
        return receipt

    @writes
    def remove_some(self, connection: Connection, receipt: str = "") -> int:
        """Remove some records that are to be forgotten, of one receipt or of any.

        One transaction, with everything derived from them; each leaves a tombstone. Returns how
        many records were taken; 0 when none is left.
        """
        writer = self.writer(connection)  # first: of two workers, the second finds them gone
        rows = connection.execute(
            "select record_id, receipt from forget_records where %s in ('', receipt)"
            " order by receipt limit %s",
            (receipt, AT_ONCE),
        ).fetchall()
        rows = [row for row in rows if row[1] == rows[0][1]]
        numbers = [number for number, _ in rows]
        derived = _removed_with(connection, numbers)
        placed = projects.numbers_of(connection, numbers)
        self.quotes(connection).note_traces(numbers)
        removed = Counter(records=writer.remove(numbers, forget=True))
        removed.update(derived)
        removed["notifications"] = connection.execute(
            "delete from notifications where count > 0 and not exists (select 1"
            " from notification_matches m where m.notification_id = notifications.id)"
        ).rowcount
        connection.execute("delete from forget_records where record_id = any(%s)", (numbers,))
        if placed:
            projects.drop_empty(connection, placed)
        if rows:
            _count(connection, removed, rows[0][1])
        return len(rows)

    @writes
    def remove_quotes(self, connection: Connection, *, last: bool = False, uploads: int = 0) -> int:
        """Remove what quotes or names records forgotten so far; returns how many there were.

        ``uploads`` are counted with them: files that the caller removed.

        ``last`` also forgets what was looked for, unless a receipt has still to look for it. For a
        purge, whatever names a record that does not exist goes, too.
        """
        quotes = self.quotes(connection)
        removed = quotes.remove(quotes.traces_left())
        removed["uploads"] = uploads
        if connection.maybe("select 1 from forget_receipts where purge and done_at is null"):
            removed += quotes.remove_dangling()
        _count(connection, removed)
        if last:
            connection.execute(
                "delete from forget_traces where not exists (select 1 from forget_records)"
                " and not exists (select 1 from forget_receipts where pending::text like %s)",
                ("%copies%",),
            )
        return removed.total()

    @reads
    def read_uploads(self, connection: Connection) -> list[str]:
        """The names of uploads in the spool whose job has ended."""
        return connection.column(
            "select params ->> 'spooled' from jobs"
            " where ended_at is not null and params ->> 'spooled' is not null"
        )

    @reads
    def traces(self, connection: Connection) -> Traces:
        """What gives the records away that were forgotten, until ``remove_quotes(last=True)``."""
        return self.quotes(connection).traces_left()

    @writes
    def note_copies(self, connection: Connection, receipts: Sequence[str], copies: Copies) -> None:
        """Store in these receipts what was found in other files."""
        connection.execute(
            "update forget_receipts set copies = %s where id = any(%s::text[]) and not purge",
            (Json(asdict(copies)), list(receipts)),
        )

    @writes
    def finish_step(
        self,
        connection: Connection,
        step: ForgetStep,
        receipts: Sequence[str],
        removed: Mapping[str, int],
    ) -> None:
        """``step`` of these receipts is done, and ``removed`` counts what it removed."""
        rows = connection.execute(
            "select id, removed, pending, done_at from forget_receipts where id = any(%s::text[])"
            " for update",
            (list(receipts),),
        ).fetchall()
        changed = []
        for name, before, pending, done_at in rows:
            total = Counter(from_json(before)) + Counter(removed)
            left = [each for each in from_json(pending) if each != step]
            changed.append((Json(total), left, done_at if left else done_at or now_ms(), name))
        connection.many(
            "update forget_receipts set waiting = '', removed = %s, pending = %s::text[],"
            " done_at = %s where id = %s",
            changed,
        )
        connection.execute(
            "delete from forget_receipts where done_at is not null and id not in"
            " (select id from forget_receipts order by begun_at desc limit %s)",
            (_MAX_KEPT,),
        )

    @writes
    def note_waiting(self, connection: Connection, reason: str) -> None:
        """Why the pending steps do not go on."""
        connection.execute(
            "update forget_receipts set waiting = %s where done_at is null", (reason,)
        )

    @reads
    def receipt(self, connection: Connection, receipt: str) -> Receipt | None:
        row = connection.maybe(f"select {_COLUMNS} from forget_receipts where id = %s", (receipt,))
        return _receipt(row) if row else None

    @reads
    def receipts(self, connection: Connection, *, unfinished: bool = False) -> list[Receipt]:
        """Receipts, the newest first; finished ones are kept for a while."""
        rows = connection.execute(
            f"select {_COLUMNS} from forget_receipts where done_at is null or not %s"
            " order by begun_at desc, id",
            (unfinished,),
        )
        return [_receipt(row) for row in rows]

    @reads
    def forgotten(self, connection: Connection, identities: Sequence[Identity]) -> set[Identity]:
        """Those of these records that were forgotten, whether by this store or another."""
        return set(self.writer.tombstones(connection).times(identities))

    @writes
    def refuse(self, connection: Connection, tombstones: Sequence[Tombstone]) -> None:
        """Refuse from now on what another store has forgotten. What is stored stays."""
        self.writer.tombstones(connection).add(tombstones)

    @reads
    def refused(self, connection: Connection, tombstones: Sequence[Tombstone]) -> list[int]:
        """The numbers of the stored records that these tombstones are of."""
        rows = connection.execute("select id, source, source_id, kind from records")
        return numbers_of(rows, tombstones)

    @reads
    def tombstones(
        self, connection: Connection, after: Tombstone | None, size: int
    ) -> list[Tombstone]:
        """The next tombstones after one, in a fixed order."""
        return self.writer.tombstones(connection).page(after, size)


_TOLD_FIRST: Final = ("records", "passages", "vectors", "links")


def _receipt(row: Sequence[Any]) -> Receipt:
    name, purge, removed, pending, waiting, begun, done, copies = row
    left = set(from_json(pending))
    steps = tuple(step for step in FORGET_STEPS if step in left)
    seen = Copies.of(from_json(copies) or {})
    counts = from_json(removed)  # whose order PostgreSQL does not keep
    told = {place: counts.pop(place) for place in _TOLD_FIRST if place in counts}
    told |= sorted(counts.items())
    return Receipt(name, bool(purge), told, steps, waiting, begun, done, seen)


def _count(connection: Connection, removed: Mapping[str, int], receipt: str = "") -> None:
    """Add to what is removed in ``receipt``, or in the newest one that is not done."""
    row = connection.maybe(
        "select id, removed from forget_receipts"
        " where id = %(receipt)s or (%(receipt)s = '' and done_at is null)"
        " order by begun_at desc limit 1 for update",
        {"receipt": receipt},
    )
    if row is not None:
        total = Counter(from_json(row[1])) + Counter(removed)
        connection.execute(
            "update forget_receipts set removed = %s where id = %s", (Json(total), row[0])
        )


def _removed_with(connection: Connection, numbers: Sequence[int]) -> Counter[str]:
    """How many rows go with these records."""
    passages = connection.column(
        "select id from passages where record_id = any(%s)", (list(numbers),)
    )
    entries = [entry for passage in passages for entry in (2 * passage, 2 * passage + 1)]
    return Counter(
        passages=len(passages),
        vectors=connection.count(
            "select count(*) from vectors where entry_id = any(%s::bigint[])", (entries,)
        ),
        links=connection.count(
            "select count(*) from edges where from_id = any(%s)", (list(numbers),)
        ),
    )
