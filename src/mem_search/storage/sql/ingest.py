"""What sources have read: places with their cursors, the ledger, what a language model said, and
what records keep of their readings.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Final

from mem_search.errors import Conflict
from mem_search.model import Draft, Location, Record
from mem_search.model.ingest import (
    IngestCounts,
    PreparedBatch,
    PreparedDraft,
    Stored,
)
from mem_search.model.jobs import counted_of, with_counted
from mem_search.model.records import CONTENT_ID, READING, SESSIONS
from mem_search.storage.rules import identities, readings
from mem_search.storage.rules.identities import lifted_with, with_own_ids
from mem_search.storage.rules.readings import ReadBefore
from mem_search.storage.rules.summaries import SUMMARY, KnownSummary
from mem_search.storage.sql import ingest
from mem_search.storage.sql.connection import (
    Connection,
    Json,
    from_json,
    reads,
    writes,
)
from mem_search.storage.sql.locations import Locations, delete_entries, note, save_cursor
from mem_search.storage.sql.projects import ProjectPlaces
from mem_search.storage.sql.record_writer import Writer
from mem_search.text.search_fields import FROM_MODEL


class Ingest(ProjectPlaces, Locations, ABC):
    """Imports: batches with their cursor, followed locations, and the ledger."""

    writer: ClassVar[type[Writer]]
    """What stores and removes records in a transaction."""

    @abstractmethod
    async def count_tokens(self, task: str, day: str, tokens: int) -> int:
        """Add ``tokens`` that a model used for ``task`` on ``day``; returns those of the day."""

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
        """Store a batch, its ledger entries and its cursor in one transaction.

        The ``job`` that reads counts it, in the same transaction: see ``counted``.

        A draft whose ``source_id`` a record of another kind has gets an id of its own. Unchanged
        and forgotten drafts change nothing. Passages without a vector go to the outbox.
        """
        batch = prepared.batch
        writer = self.writer(connection)
        offered = with_own_ids(prepared.drafts, taken_ids(connection, prepared.drafts))
        tombstones = self.writer.tombstones(connection)
        tombstones.add(batch.tombstones)
        if batch.even_forgotten:
            for item in offered:
                tombstones.lift([*lifted_with(item.draft)])
        decided = readings.settled(offered, ingest.read_before(connection, offered))
        # A record that is one with another gives up its id, which a later draft may take.
        deleted = writer.remove(decided.merged, forget=False)
        for number, source_id in decided.renamed.items():
            writer.rename(number, source_id)
        stored = _written(writer, decided.items)
        back = [
            item.draft.source_id
            for item, done in zip(offered, stored, strict=True)
            if done.outcome == "new"
        ]
        note_readings(connection, decided.noted)
        deleted += writer.remove(ingest.told_before(connection, decided.until), forget=False)
        deleted += writer.remove_by_source_id(location.source, batch.deletions)
        deleted += writer.remove_released(location.source, batch.released)
        delete_entries(connection, location, [*batch.outdated, *back])
        note(connection, location, [*prepared.ledger(stored), *decided.ledger])
        save_cursor(connection, location, batch.cursor, followed=followed)
        counts = prepared.counts(stored, deleted)
        if job:
            result = with_counted(result_of(connection, job), location, counts)
            connection.execute("update jobs set result = %s where id = %s", (Json(result), job))
        return counts

    @writes
    def store_one(
        self,
        connection: Connection,
        prepared: PreparedDraft,
        *,
        replace: bool,
        even_forgotten: bool,
    ) -> Stored:
        """Store one record that belongs to no location.

        Raises Conflict for a record that is known and other, unless ``replace``, and for one that
        was forgotten, unless ``even_forgotten``.
        """
        writer = self.writer(connection)
        (offered,) = with_own_ids([prepared], taken_ids(connection, [prepared]))
        draft = offered.draft
        if even_forgotten:
            self.writer.tombstones(connection).lift([*lifted_with(draft)])
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
    def counted(self, connection: Connection, location: Location, job: str) -> IngestCounts:
        """What the job has read of the location so far, also before it was interrupted."""
        return counted_of(result_of(connection, job), location)

    @reads
    def first_read(
        self, connection: Connection, drafts: Sequence[Draft]
    ) -> dict[tuple[str, str], tuple[str, str]]:
        """(source, source id) → project and branch of the stored record."""
        rows = connection.execute(
            "select source, source_id, project, coalesce(data ->> 'branch', '') from records"
            " where source = any(%s::text[]) and source_id = any(%s::text[])",
            (sorted({draft.source for draft in drafts}), [draft.source_id for draft in drafts]),
        )
        offered = {(draft.source, draft.source_id) for draft in drafts}
        return {
            (source, name): (project, branch)
            for source, name, project, branch in rows
            if (source, name) in offered
        }

    @reads
    def observations_of(
        self, connection: Connection, source: str, sessions: Sequence[str]
    ) -> list[ReadBefore]:
        """The observations of ``sessions``."""
        rows = connection.execute(
            f"select {ingest.KNOWN} from records"
            " where session = any(%s::text[]) and kind = 'observation' and source = %s",
            (list(sessions), source),
        )
        return [ReadBefore.of(row) for row in rows]

    @reads
    def summaries_of(
        self, connection: Connection, drafts: Sequence[Draft]
    ) -> dict[tuple[str, str], KnownSummary]:
        """(source, source id) → the stored summary of the session that one of ``drafts`` is of."""
        rows = connection.execute(
            "select source, source_id, title, created_at, updated_at, project, project_id, data"
            " from records where source = any(%s::text[]) and source_id = any(%s::text[])"
            " and kind = %s",
            (sorted({each.source for each in drafts}), [each.source_id for each in drafts],
             SUMMARY),
        )  # fmt: skip
        return {
            (source, name): KnownSummary(title, began, ended, project, of, from_json(data))
            for source, name, title, began, ended, project, of, data in rows
        }

    @writes
    def note_from_model(
        self, connection: Connection, record: Record, said: Mapping[str, Any]
    ) -> bool:
        """Store in the metadata what a model said of ``record``; False if its text changed."""
        row = connection.maybe(
            "select data from records where id = %s and title = %s and body = %s for update",
            (record.number, record.title, record.text),
        )
        if row is None:
            return False
        data = {**from_json(row[0]), FROM_MODEL: dict(said)}
        connection.execute(
            "update records set data = %s where id = %s", (Json(data), record.number)
        )
        return True

    @writes
    def take_back(self, connection: Connection, kinds: Sequence[str]) -> int:
        """Drop all that models said of records of these ``kinds``; returns of how many."""
        rows = connection.execute(
            f"select id, data from records where kind = any(%s::text[])"
            f" and data ->> '{FROM_MODEL}' is not null for update",
            (list(kinds),),
        ).fetchall()
        without = [
            (Json({k: v for k, v in from_json(data).items() if k != FROM_MODEL}), number)
            for number, data in rows
        ]
        connection.many("update records set data = %s where id = %s", without)
        return len(without)


def taken_ids(
    connection: Connection, items: Sequence[PreparedDraft]
) -> Callable[[str, str, str], list[identities.TakenId]]:
    """What ``with_own_ids`` asks about ``items``, read by one statement."""
    drafts = [item.draft for item in items]
    names = [n for draft in drafts for n in (draft.source_id, f"{draft.source_id}#{draft.kind}")]
    rows = connection.execute(
        f"select source, source_id, kind, data ->> '{CONTENT_ID}' from records"
        " where source = any(%s::text[]) and source_id = any(%s::text[])",
        (sorted({draft.source for draft in drafts}), names),
    )
    taken = {(source, row[0]): identities.TakenId(*row) for source, *row in rows}
    return lambda source, *ids: [taken[source, each] for each in ids if (source, each) in taken]


def _written(writer: Writer, items: Sequence[PreparedDraft | Stored]) -> list[Stored]:
    """What became of ``items``, of which those that stay as they are are not written."""
    written = iter(writer.store([each for each in items if isinstance(each, PreparedDraft)]))
    return [next(written) if isinstance(each, PreparedDraft) else each for each in items]


def result_of(connection: Connection, job: str) -> dict[str, Any]:
    """What the job has counted so far."""
    row = connection.maybe("select result from jobs where id = %s", (job,))
    return dict(from_json(row[0])) if row else {}


KNOWN: Final = (
    "source_id, id, kind, session, created_at, updated_at, data ->> 'agent',"
    f" data ->> '{READING}', data ->> '{SESSIONS}'"
)
"""The columns of a ``ReadBefore``."""


def read_before(
    connection: Connection, items: Sequence[PreparedDraft]
) -> dict[tuple[str, str], ReadBefore]:
    """What ``readings.settled`` asks about ``items``, read by one statement."""
    drafts = [item.draft for item in items]
    names = list(dict.fromkeys(readings.ids_of(drafts)))
    if not names:
        return {}
    done = ", ".join(f"data ->> '{name}'" for name in readings.DONE)
    rows = connection.execute(
        f"select source, {KNOWN}, {readings.SAID}, {done} from records"
        " where source = any(%s::text[]) and source_id = any(%s::text[])",
        (sorted({draft.source for draft in drafts}), names),
    )
    return {(source, row[0]): ReadBefore.of(row) for source, *row in rows}


def note_readings(
    connection: Connection, noted: Mapping[tuple[str, str], Mapping[str, Any]]
) -> None:
    """Note on records how much of their sessions was read, and which sessions share them."""
    for (source, source_id), kept in noted.items():
        row = connection.maybe(
            "select id, data from records where source = %s and source_id = %s for update",
            (source, source_id),
        )
        if row is not None and (data := {**from_json(row[1]), **kept}) != from_json(row[1]):
            connection.execute("update records set data = %s where id = %s", (Json(data), row[0]))


def told_before(connection: Connection, until: Mapping[tuple[str, str], int]) -> list[int]:
    """The records that hooks told of a session, and that its transcript has by now."""
    numbers: list[int] = []
    for (source, session), at in until.items():
        rows = connection.execute(
            f"select {KNOWN} from records where source = %s and session = %s and updated_at <= %s",
            (source, session, at),
        )
        numbers += [known.number for known in map(ReadBefore.of, rows) if known.is_told]
    return numbers
