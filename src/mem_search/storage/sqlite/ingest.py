"""Storing what sources read: batches with their cursor, followed locations, the ledger.

Whoever writes an exchange file may number each kind from one. So a record keeps the id of its
source unless a record of another kind has it: else prompt 5 would replace observation 5. A mail
that uses the message id of another one does not replace that one, either.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mem_search.errors import Conflict
from mem_search.model import Draft, LedgerEntry, Location, Record
from mem_search.model.ingest import (
    FollowedLocation,
    IngestCounts,
    LedgerRow,
    PreparedBatch,
    PreparedDraft,
    Stored,
)
from mem_search.model.records import CONTENT_ID
from mem_search.storage.sqlite import record_writer, tombstones
from mem_search.storage.sqlite.database import Connection, Repository, reads, writes
from mem_search.text.dates import now_ms
from mem_search.text.search_fields import FROM_MODEL


class SqliteIngest(Repository):
    """``ports.IngestStore``: stores what sources read."""

    @writes
    def store_batch(
        self, connection: Connection, location: Location, prepared: PreparedBatch, *, followed: bool
    ) -> IngestCounts:
        batch = prepared.batch
        offered = with_own_ids(connection, prepared.drafts)
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
        _strike(connection, location, [*batch.outdated, *back])
        _note(connection, location, prepared.ledger(stored))
        _save_cursor(connection, location, batch.cursor, followed=followed)
        return prepared.counts(stored, deleted)

    @writes
    def store_one(
        self,
        connection: Connection,
        prepared: PreparedDraft,
        *,
        replace: bool,
        even_forgotten: bool,
    ) -> Stored:
        (offered,) = with_own_ids(connection, [prepared])
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


def with_own_ids(connection: Connection, items: Sequence[PreparedDraft]) -> list[PreparedDraft]:
    """``items`` under ids that no record of another kind has: ``5``, else ``5#user_prompt``.

    The first record with an id keeps it, so reading the same again gives the same ids.
    """
    owners: dict[tuple[str, str], str] = {}
    return [_with_own_id(connection, item, owners) for item in items]


def _with_own_id(
    connection: Connection, item: PreparedDraft, owners: dict[tuple[str, str], str]
) -> PreparedDraft:
    """``owners`` are the kinds of earlier items of the batch, by (source, id)."""
    draft = item.draft
    apart = f"{draft.source_id}#{draft.kind}"
    rows = connection.execute(
        f"select source_id, kind, json_extract(data, '$.{CONTENT_ID}') from records"
        " where source = ? and source_id in (?, ?)",
        (draft.source, draft.source_id, apart),
    ).fetchall()
    stored = {source_id: kind for source_id, kind, _ in rows}
    contents = {source_id: content for source_id, _, content in rows}
    content = draft.metadata.get(CONTENT_ID)
    if content and contents.get(draft.source_id) not in (None, content):
        return replace(item, draft=replace(draft, source_id=f"{draft.source_id}#{content}"))
    key = (draft.source, draft.source_id)
    owner = stored.get(draft.source_id) or owners.get(key)
    if owner is None and apart not in stored:
        owners[key] = draft.kind
    elif owner != draft.kind:
        return replace(item, draft=replace(draft, source_id=apart))
    return item


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
