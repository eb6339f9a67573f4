"""Storing what sources read: batches with their cursor, followed locations, the ledger."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
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
from mem_search.storage.postgres import tombstones
from mem_search.storage.postgres.connection import Connection, Jsonb
from mem_search.storage.postgres.record_writer import (
    RecordWriter,
    remove_by_source_id,
    remove_released,
)
from mem_search.storage.postgres.workers import HERE
from mem_search.storage.rules.own_ids import Known, with_own_ids
from mem_search.storage.sql.connection import Repository, reads, writes
from mem_search.text.dates import now_ms
from mem_search.text.search_fields import FROM_MODEL

_LEDGER: Final = "select source, location, item, outcome, reason, records, at from ledger"

_HOME: Final = "current_setting('mem_search.home')"
"""The home that reads a location: its files may be nowhere else."""


class PostgresIngest(Repository):
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
        writer = RecordWriter(connection)
        offered = with_own_ids(prepared.drafts, _known(connection, prepared.drafts))
        tombstones.add(connection, batch.tombstones)
        if batch.even_forgotten:
            for item in offered:
                draft = item.draft
                tombstones.lift(connection, draft.source, draft.source_id, draft.kind)
        stored = writer.store(offered)
        back = [
            item.draft.source_id
            for item, done in zip(offered, stored, strict=True)
            if done.outcome == "new"
        ]
        deleted = remove_by_source_id(connection, writer, location.source, batch.deletions)
        deleted += remove_released(connection, writer, location.source, batch.released)
        _strike(connection, location, [*batch.outdated, *back])
        _note(connection, location, prepared.ledger(stored))
        connection.execute(
            "insert into cursors(source, location, label, options, cursor, followed, read_at, home)"
            f" values(%s, %s, %s, %s, %s, %s, %s, {_HOME})"
            " on conflict(owner, source, location) do update set home = excluded.home,"
            " label = excluded.label, options = excluded.options, cursor = excluded.cursor,"
            " followed = excluded.followed or cursors.followed, read_at = excluded.read_at,"
            " error = ''",
            (
                location.source, location.path, location.label, Jsonb(dict(location.options)),
                Jsonb(batch.cursor), followed, now_ms(),
            ),
        )  # fmt: skip
        counts = prepared.counts(stored, deleted)
        if job:
            result = with_counted(_result(connection, job), location, counts)
            connection.execute("update jobs set result = %s where id = %s", (Jsonb(result), job))
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
        writer = RecordWriter(connection)
        (offered,) = with_own_ids([prepared], _known(connection, [prepared]))
        draft = offered.draft
        if even_forgotten:
            tombstones.lift(connection, draft.source, draft.source_id, draft.kind)
        (stored,) = writer.store([offered])
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
        rows = connection.execute(
            "select r.source, r.source_id, r.project, coalesce(r.data ->> 'branch', '')"
            " from unnest(%s::text[], %s::text[]) d(source, source_id) join records r"
            " on r.source = d.source and r.source_id = d.source_id",
            ([draft.source for draft in drafts], [draft.source_id for draft in drafts]),
        )
        return {(source, name): (project, branch) for source, name, project, branch in rows}

    @reads
    def observations_of(
        self, connection: Connection, source: str, sessions: Sequence[str]
    ) -> list[tuple[str, str, int]]:
        rows = connection.execute(
            "select session, source_id, created_at from records"
            " where session = any(%s) and kind = 'observation' and source = %s",
            (list(sessions), source),
        )
        return [tuple(row) for row in rows]

    @reads
    def cursor(self, connection: Connection, location: Location) -> dict[str, Any]:
        row = connection.maybe(
            "select cursor from cursors where source = %s and location = %s",
            (location.source, location.path),
        )
        return dict(row[0]) if row else {}

    @writes
    def note_unchanged(self, connection: Connection, location: Location, *, followed: bool) -> None:
        connection.execute(
            "insert into cursors(source, location, label, options, followed, read_at, home)"
            f" values(%s, %s, %s, %s, %s, %s, {_HOME})"
            " on conflict(owner, source, location) do update set home = excluded.home,"
            " followed = excluded.followed or cursors.followed, read_at = excluded.read_at,"
            " error = ''"
            # Followed locations are read again and again; nothing is written while nothing changes.
            " where cursors.error != '' or cursors.followed < excluded.followed"
            " or cursors.home != excluded.home",
            (
                location.source, location.path, location.label, Jsonb(dict(location.options)),
                followed, now_ms(),
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
            "update records set data = data || %s where id = %s and title = %s and body = %s",
            (Jsonb({FROM_MODEL: dict(said)}), record.number, record.title, record.text),
        )
        return changed.rowcount == 1

    @writes
    def take_back(self, connection: Connection, kinds: Sequence[str]) -> int:
        return connection.execute(
            "update records set data = data - %(key)s"
            " where kind = any(%(kinds)s::text[]) and data ? %(key)s",
            {"key": FROM_MODEL, "kinds": list(kinds)},
        ).rowcount

    @writes
    def count_tokens(self, connection: Connection, task: str, day: str, tokens: int) -> int:
        if not tokens:
            row = connection.maybe(
                "select tokens from model_tokens where task = %s and day = %s", (task, day)
            )
            return int(row[0]) if row else 0
        return connection.count(
            "insert into model_tokens(task, day, tokens) values(%s, %s, %s)"
            " on conflict(owner, task) do update set day = excluded.day, tokens = excluded.tokens"
            " + case when model_tokens.day = excluded.day then model_tokens.tokens else 0 end"
            " returning tokens",
            (task, day, tokens),
        )

    @writes
    def note_error(
        self, connection: Connection, location: Location, error: str, *, followed: bool
    ) -> None:
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
            (
                location.source, location.path, location.label, Jsonb(dict(location.options)),
                now_ms(), error,
            ),
        )  # fmt: skip

    @writes
    def drop_location(self, connection: Connection, location: Location) -> bool:
        dropped = connection.execute(
            "delete from cursors where source = %s and location = %s",
            (location.source, location.path),
        )
        return dropped.rowcount > 0

    @reads
    def locations(self, connection: Connection) -> list[FollowedLocation]:
        rows = connection.execute(
            f"select source, location, label, options, followed, read_at, error, {HERE}"
            " from cursors order by source, location"
        )
        return [
            FollowedLocation(Location(source, path, label, options), *rest)
            for source, path, label, options, *rest in rows
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
            f"{_LEDGER} where %(source)s in ('', source)"
            " and (%(item)s = '' or strpos(location || '/' || item, %(item)s) > 0)"
            " and %(outcome)s in ('', outcome)"
            " order by at desc, item limit %(limit)s offset %(offset)s",
            {"source": source, "item": item, "outcome": outcome, "limit": limit, "offset": offset},
        )
        return [LedgerRow(*row) for row in rows]

    @reads
    def ledger_at(self, connection: Connection, paths: Sequence[str]) -> list[LedgerRow]:
        rows = connection.execute(
            f"{_LEDGER} where rtrim(location, '/') || '/' || item = any(%(paths)s::text[])"
            " or (location = any(%(paths)s::text[])"
            " and right(location, length(item) + 1) = '/' || item) order by at desc",
            {"paths": list(paths)},
        )
        return [LedgerRow(*row) for row in rows]

    @reads
    def ledger_counts(
        self, connection: Connection, location: str = "", below: str = ""
    ) -> list[tuple[str, str, int]]:
        rows = connection.execute(
            "select source, outcome, count(*) from ledger where %s in ('', location)"
            " and starts_with(item, %s) group by source, outcome order by 1, 2",
            (location, below),
        )
        return [(source, outcome, count) for source, outcome, count in rows]


def _result(connection: Connection, job: str) -> dict[str, Any]:
    row = connection.maybe("select result from jobs where id = %s", (job,))
    return dict(row[0]) if row else {}


def _known(
    connection: Connection, items: Sequence[PreparedDraft]
) -> Callable[[str, str, str], list[Known]]:
    """What ``with_own_ids`` asks about ``items``, read by one statement."""
    drafts = [item.draft for item in items]
    names = {
        (draft.source, name)
        for draft in drafts
        for name in (draft.source_id, f"{draft.source_id}#{draft.kind}")
    }
    rows = connection.execute(
        f"select r.source, r.source_id, r.kind, r.data ->> '{CONTENT_ID}'"
        " from unnest(%s::text[], %s::text[]) d(source, source_id) join records r"
        " on r.source = d.source and r.source_id = d.source_id",
        ([source for source, _ in names], [name for _, name in names]),
    )
    found = {(source, row[0]): Known(*row) for source, *row in rows}
    return lambda source, *ids: [found[source, each] for each in ids if (source, each) in found]


def _note(connection: Connection, location: Location, entries: Iterable[LedgerEntry]) -> None:
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


def _strike(connection: Connection, location: Location, items: Iterable[str]) -> None:
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
