"""Storing what sources read: batches with their cursor, followed locations, the ledger."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from mem_search.errors import Conflict
from mem_search.model import Draft, LedgerEntry, Location, Record
from mem_search.model.ingest import (
    FollowedLocation,
    IngestCounts,
    LedgerRow,
    PreparedBatch,
    PreparedDraft,
    Stored,
    counted_of,
    with_counted,
)
from mem_search.model.records import CONTENT_ID
from mem_search.storage.rules.own_ids import Known, with_own_ids
from mem_search.storage.sql.connection import Repository, reads, writes
from mem_search.storage.sqlite import record_writer, tombstones
from mem_search.storage.sqlite.database import Connection
from mem_search.text.dates import now_ms
from mem_search.text.search_fields import FROM_MODEL

TOKENS: Final = "tokens "
"""The key of a task's tokens in ``meta`` begins so; the value is [day, count] as JSON."""


class SqliteIngest(Repository):
    """``ports.IngestStore``: stores what sources read."""

    @writes
    def store_batch(
        self,
        connection: Connection,
        location: Location,
        prepared: PreparedBatch,
        *,
        followed: bool,
        job: str = "",
    ) -> IngestCounts:
        batch = prepared.batch
        offered = with_own_ids(prepared.drafts, partial(_known, connection))
        tombstones.add(connection, batch.tombstones)
        if batch.even_forgotten:
            for item in offered:
                draft = item.draft
                tombstones.lift(connection, draft.source, draft.source_id, draft.kind)
        stored = record_writer.store(connection, offered)
        back = [
            item.draft.source_id
            for item, done in zip(offered, stored, strict=True)
            if done.outcome == "new"
        ]
        deleted = record_writer.remove_by_source_id(connection, location.source, batch.deletions)
        deleted += record_writer.remove_released(connection, location.source, batch.released)
        _strike(connection, location, [*batch.outdated, *back])
        _note(connection, location, prepared.ledger(stored))
        _save_cursor(connection, location, batch.cursor, followed=followed)
        counts = prepared.counts(stored, deleted)
        if job:
            result = with_counted(_result(connection, job), location, counts)
            connection.execute("update jobs set result = ? where id = ?", (json.dumps(result), job))
        return counts

    @reads
    def counted(self, connection: Connection, location: Location, job: str) -> IngestCounts:
        return counted_of(_result(connection, job), location)

    @writes
    def store_one(
        self,
        connection: Connection,
        prepared: PreparedDraft,
        *,
        replace: bool,
        even_forgotten: bool,
    ) -> Stored:
        (offered,) = with_own_ids([prepared], partial(_known, connection))
        draft = offered.draft
        if even_forgotten:
            tombstones.lift(connection, draft.source, draft.source_id, draft.kind)
        (stored,) = record_writer.store(connection, [offered])
        if stored.outcome == "changed" and not replace:
            raise Conflict(  # which takes the change back
                f"{draft.kind}:{stored.number} has this source_id and says something else;"
                " to replace it: replace=true",
                field="source_id",
            )
        if stored.outcome == "forgotten":
            raise Conflict(
                "this record was forgotten; to store it again: even_forgotten=true",
                field="source_id",
            )
        return stored

    @reads
    def first_read(
        self, connection: Connection, drafts: Sequence[Draft]
    ) -> dict[tuple[str, str], tuple[str, str]]:
        found: dict[tuple[str, str], tuple[str, str]] = {}
        for draft in drafts:
            key = (draft.source, draft.source_id)
            row = connection.execute(
                "select project, json_extract(data, '$.branch') from records"
                " where source = ? and source_id = ?",
                key,
            ).fetchone()
            if row is not None:
                found[key] = (row[0], row[1] or "")
        return found

    @reads
    def observations_of(
        self, connection: Connection, source: str, sessions: Sequence[str]
    ) -> list[tuple[str, str, int]]:
        return [
            tuple(row)
            for session in sessions
            for row in connection.execute(
                "select session, source_id, created_at from records"
                " where session = ? and kind = 'observation' and source = ?",
                (session, source),
            )
        ]

    @reads
    def cursor(self, connection: Connection, location: Location) -> dict[str, Any]:
        row = connection.execute(
            "select cursor from cursors where source = ? and location = ?",
            (location.source, location.path),
        ).fetchone()
        return dict(json.loads(row[0])) if row else {}

    @writes
    def note_unchanged(self, connection: Connection, location: Location, *, followed: bool) -> None:
        connection.execute(
            "insert into cursors(source, location, label, options, followed, read_at)"
            " values(?, ?, ?, ?, ?, ?) on conflict(source, location) do update set"
            " followed = excluded.followed or followed, read_at = excluded.read_at, error = ''"
            # Followed locations are read again and again; nothing is written while nothing changes.
            " where error != '' or followed < excluded.followed",
            (
                location.source, location.path, location.label, json.dumps(dict(location.options)),
                int(followed), now_ms(),
            ),
        )  # fmt: skip

    @writes
    def note_items(
        self, connection: Connection, location: Location, entries: Sequence[LedgerEntry]
    ) -> None:
        _note(connection, location, entries)

    @writes
    def note_from_model(
        self, connection: Connection, record: Record, said: Mapping[str, Any]
    ) -> bool:
        changed = connection.execute(
            "update records set data = json_set(data, ?, json(?))"
            " where id = ? and title = ? and body = ?",
            (f"$.{FROM_MODEL}", json.dumps(dict(said), ensure_ascii=False), record.number,
             record.title, record.text),
        )  # fmt: skip
        return changed.rowcount == 1

    @writes
    def take_back(self, connection: Connection, kinds: Sequence[str]) -> int:
        return connection.execute(
            "update records set data = json_remove(data, ?1) where"
            " kind in (select value from json_each(?2)) and json_type(data, ?1) is not null",
            (f"$.{FROM_MODEL}", json.dumps(list(kinds))),
        ).rowcount

    @writes
    def count_tokens(self, connection: Connection, task: str, day: str, tokens: int) -> int:
        key = f"{TOKENS}{task}"
        row = connection.execute("select value from meta where key = ?", (key,)).fetchone()
        then, before = json.loads(row[0]) if row else (day, 0)
        used = tokens + (int(before) if then == day else 0)
        if tokens:
            connection.execute(
                "insert or replace into meta(key, value) values(?, ?)",
                (key, json.dumps([day, used])),
            )
        return used

    @writes
    def note_error(
        self, connection: Connection, location: Location, error: str, *, followed: bool
    ) -> None:
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

    @writes
    def drop_location(self, connection: Connection, location: Location) -> bool:
        dropped = connection.execute(
            "delete from cursors where source = ? and location = ?",
            (location.source, location.path),
        )
        return dropped.rowcount > 0

    @reads
    def locations(self, connection: Connection) -> list[FollowedLocation]:
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
        rows = connection.execute(
            "select source, location, item, outcome, reason, records, at from ledger"
            " where (?1 = '' or source = ?1)"
            " and (?2 = '' or instr(location || '/' || item, ?2) > 0)"
            " and (?5 = '' or outcome = ?5)"
            " order by at desc, item limit ?3 offset ?4",
            (source, item, limit, offset, outcome),
        )
        return [LedgerRow(*row) for row in rows]

    @reads
    def ledger_at(self, connection: Connection, paths: Sequence[str]) -> list[LedgerRow]:
        rows = connection.execute(
            "select source, location, item, outcome, reason, records, at from ledger"
            " where rtrim(location, '/') || '/' || item in (select value from json_each(?1))"
            " or (location in (select value from json_each(?1))"
            " and substr(location, -length(item) - 1) = '/' || item)"
            " order by at desc",
            (json.dumps(paths),),
        )
        return [LedgerRow(*row) for row in rows]

    @reads
    def ledger_counts(
        self, connection: Connection, location: str = "", below: str = ""
    ) -> list[tuple[str, str, int]]:
        return connection.execute(
            "select source, outcome, count(*) from ledger where ?1 in ('', location)"
            " and substr(item, 1, length(?2)) = ?2"
            " group by source, outcome order by 1, 2",
            (location, below),
        ).fetchall()


def _result(connection: Connection, job: str) -> dict[str, Any]:
    row = connection.execute("select result from jobs where id = ?", (job,)).fetchone()
    return dict(json.loads(row[0])) if row else {}


def _known(connection: Connection, source: str, source_id: str, other: str) -> list[Known]:
    rows = connection.execute(
        f"select source_id, kind, json_extract(data, '$.{CONTENT_ID}') from records"
        " where source = ? and source_id in (?, ?)",
        (source, source_id, other),
    )
    return [Known(*row) for row in rows]


def _save_cursor(
    connection: Connection, location: Location, value: Mapping[str, Any], *, followed: bool
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


def _note(connection: Connection, location: Location, entries: Iterable[LedgerEntry]) -> None:
    """Write ledger entries; the newest entry of an item replaces the older one."""
    now = now_ms()
    connection.executemany(
        "insert or replace into ledger(source, location, item, outcome, reason, records, at)"
        " values(?, ?, ?, ?, ?, ?, ?)",
        [
            (location.source, location.path, e.item, e.outcome, e.reason, e.records, now)
            for e in entries
        ],
    )


def _strike(connection: Connection, location: Location, items: Iterable[str]) -> None:
    """Delete the entries of ``items`` and of items inside them, ``name:7`` in ``name``. An empty
    item is the whole location.
    """
    for item in items:
        place = (location.source, location.path, item)
        if not item:
            connection.execute("delete from ledger where source = ? and location = ?", place[:2])
        else:
            connection.execute(
                "delete from ledger where source = ?1 and location = ?2"
                # The key finds the range that has both of the last line.
                " and item >= ?3 and item < ?3 || ';'"
                " and (item = ?3 or item > ?3 || ':')",
                place,
            )
