"""Storing and removing records with everything derived from them, inside one transaction.

Derived are facets, edges, passages, phrases, sketches and the outbox: all rows of a record change
together. Writers of one owner wait for each other, so numbers and revisions grow in the order of
the commits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

from mem_search.model import Draft
from mem_search.model.ingest import PreparedDraft, Stored
from mem_search.storage.postgres import edges, similar, tombstones, words
from mem_search.storage.postgres.connection import Connection, Jsonb
from mem_search.text.dates import now_ms


class _Same(NamedTuple):
    """The key of a passage: equal keys of one record are the same passage."""

    digest: bytes
    kind: str
    field: str


class RecordWriter:
    """Writes records of one transaction. Making it waits for other writers of this owner."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._records, self._passages = connection.one(
            "select records, passages from stores for update"
        )
        self._tied: set[int] = set()
        self._words: Counter[str] = Counter()

    def store(self, items: Sequence[PreparedDraft]) -> list[Stored]:
        """Insert or update by ``(source, source_id)``; skip unchanged and forgotten drafts."""
        stored = [self._store(item) for item in items]
        self._connection.execute(
            "update stores set records = %s, passages = %s", (self._records, self._passages)
        )
        self._count_words()
        self._settle([item.number for item in stored if item.outcome in ("new", "changed")])
        return stored

    def relate(self, items: Sequence[tuple[int, int, PreparedDraft]]) -> None:
        """Write the edges, names and phrases of stored records (number, created at) again."""
        for number, created, item in items:
            self._unrelate(number)
            edges.write(self._connection, number, item.edges, item.names, created)
            similar.write(self._connection, number, item.phrases)
        self._settle([number for number, *_ in items])

    def remove(self, numbers: Collection[int], *, forget: bool) -> int:
        """Delete records with everything derived from them; returns how many existed.

        ``forget`` leaves a tombstone, which refuses them when a source offers them again.
        """
        wanted = (list(numbers),)
        rows = self._connection.execute(
            "select source, source_id, kind from records where id = any(%s)", wanted
        ).fetchall()
        if forget:
            tombstones.put(self._connection, rows, now_ms())
        self._tied |= edges.claimed_with(self._connection, numbers)
        similar.clear(self._connection, numbers)
        self._words.subtract(words.of_stored(self._connection, numbers))
        passages = self._connection.column(
            "delete from passages where record_id = any(%s) returning id", wanted
        )
        _drop_work(self._connection, passages)
        self._connection.execute("delete from records where id = any(%s)", wanted)
        self._count_words()
        edges.settle_successions(self._connection, self._tied)
        return len(rows)

    def _count_words(self) -> None:
        words.count(self._connection, self._words)
        self._words.clear()

    def _settle(self, written: Sequence[int]) -> None:
        """Find the other ends of what was written."""
        edges.resolve(self._connection, written)
        similar.settle(self._connection, written)
        edges.settle_successions(self._connection, {*written, *self._tied})

    def _unrelate(self, number: int) -> None:
        """Remove the edges and names of a record, and note whose successor they may decide."""
        self._tied |= edges.claimed_with(self._connection, [number])
        similar.clear(self._connection, [number])
        edges.clear(self._connection, number)

    def _store(self, item: PreparedDraft) -> Stored:
        draft, connection = item.draft, self._connection
        key = (draft.source, draft.source_id)
        forgotten_at = tombstones.forgotten_at(connection, *key, draft.kind)
        if forgotten_at is not None:
            return Stored(0, "forgotten", forgotten_at)
        now = now_ms()
        known = connection.maybe(
            "select id, content_hash, created_at, updated_at, session, project, kind, position"
            " from records where source = %s and source_id = %s",
            key,
        )
        created = draft.created_at if draft.created_at is not None else (known[2] if known else now)
        updated = draft.updated_at if draft.updated_at is not None else created
        if known is not None and known[1:4] == (item.content_hash, created, updated):
            return Stored(known[0], "unchanged")
        forgotten_at = _forgotten_since(connection, draft, updated if known else created)
        if forgotten_at is not None:
            return Stored(known[0], "unchanged") if known else Stored(0, "forgotten", forgotten_at)
        conversation = (draft.session, draft.project, draft.kind)
        stays = known is not None and known[4:7] == conversation
        values: dict[str, Any] = {
            "kind": draft.kind,
            "source": draft.source,
            "source_id": draft.source_id,
            "project": draft.project,
            "session": draft.session,
            "position": known[7] if known and stays else _next_position(connection, *conversation),
            "created_at": created,
            "updated_at": updated,
            "stored_at": now,
            "importance": draft.importance,
            "archived": bool(draft.metadata.get("archived")),
            "content_hash": item.content_hash,
            "title": draft.title,
            "url": draft.url,
            "data": Jsonb(draft.metadata),
            "body": draft.text,
        }
        if known is None:
            self._records += 1
            number = self._records
            marks = ", ".join(f"%({name})s" for name in values)
            connection.execute(
                f"insert into records(id, {', '.join(values)}) values(%(id)s, {marks})",
                {**values, "id": number},
            )
            kept: dict[_Same, list[int]] = {}
        else:
            number = known[0]
            self._words.subtract(words.of_stored(connection, [number]))
            kept = self._take_out_passages(number)
            connection.execute(
                f"update records set {', '.join(f'{n} = %({n})s' for n in values)}"
                " where id = %(id)s",
                {**values, "id": number},
            )
            connection.execute("delete from facets where record_id = %s", (number,))
            self._unrelate(number)
        self._words.update(words.of_record(draft.source, draft.title, draft.text))
        self._write_passages(number, item, kept)
        tags = [("tag", tag) for tag in draft.tags]
        connection.many(
            "insert into facets(name, value, record_id) values(%s, %s, %s) on conflict do nothing",
            [(name, value, number) for name, value in (*item.facets, *tags)],
        )
        edges.write(connection, number, item.edges, item.names, created)
        similar.write(connection, number, item.phrases)
        connection.execute(
            "insert into sketches(record_id, sketch) values(%s, %s)"
            " on conflict(owner, record_id) do update set sketch = excluded.sketch",
            (number, item.sketch),
        )
        return Stored(number, "new" if known is None else "changed")

    def _take_out_passages(self, number: int) -> dict[_Same, list[int]]:
        """The ids of a record's passages, which are ready to take other places.

        What is known of a passage by its number must never change, so an id is only used again
        for the same kind and field.
        """
        kept: dict[_Same, list[int]] = {}
        for passage, *same in self._connection.execute(
            "select id, content_hash, kind, field from passages where record_id = %s"
            " order by ordinal",
            (number,),
        ):
            kept.setdefault(_Same(*same), []).append(passage)
        # Ordinals are moved first, so that kept passages can take their new ones.
        self._connection.execute(
            "update passages set ordinal = -3 - ordinal where record_id = %s", (number,)
        )
        return kept

    def _write_passages(
        self, number: int, item: PreparedDraft, kept: dict[_Same, list[int]]
    ) -> None:
        """Write the passages; one whose hash is known keeps its id, and so its vector."""
        again, new = [], []
        for passage, parts, digest in zip(item.passages, item.parts, item.hashes, strict=True):
            people = item.people if passage.ordinal == 0 else ""
            values = (
                passage.ordinal, item.draft.kind, passage.field, passage.start, passage.end,
                passage.page, digest, parts, people, passage.above, number,
            )  # fmt: skip
            if reusable := kept.get(_Same(digest, item.draft.kind, passage.field)):
                again.append((*values, reusable.pop(0)))
            else:
                self._passages += 1
                new.append((*values, self._passages))
        gone = [passage for passages in kept.values() for passage in passages]
        self._connection.execute("delete from passages where id = any(%s)", (gone,))
        _drop_work(self._connection, gone)
        columns = (
            "ordinal, kind, field, span_start, span_end, page, content_hash, parts, people, above,"
            " record_id"
        )
        marks = ", ".join(["%s"] * 11)
        self._connection.many(f"update passages set ({columns}) = ({marks}) where id = %s", again)
        self._connection.many(f"insert into passages({columns}, id) values({marks}, %s)", new)
        self._connection.many(
            "insert into outbox(passage_id, step) values(%s, 'embed')",
            [(values[-1],) for values in new],
        )


def remove_by_source_id(
    connection: Connection, writer: RecordWriter, source: str, source_ids: Sequence[str]
) -> int:
    """Delete what a source reports as gone, without a tombstone: it may come back."""
    if not source_ids:
        return 0
    numbers = connection.column(
        "select id from records where source = %s and source_id = any(%s::text[])",
        (source, list(source_ids)),
    )
    return writer.remove(numbers, forget=False)


def _drop_work(connection: Connection, passages: Iterable[int]) -> None:
    """Delete the vectors of passages that are gone, and queue their deletion from the index."""
    gone = list(passages)
    if not gone:
        return
    # At once, and not when the index has acknowledged it: the index may be down for days.
    connection.execute(
        "delete from vectors where entry_id = any(%s)",
        ([entry for passage in gone for entry in (2 * passage, 2 * passage + 1)],),
    )
    connection.execute(
        "insert into outbox(passage_id, step) select unnest(%s::bigint[]), 'delete'"
        " on conflict(owner, passage_id) do update set step = 'delete'",
        (gone,),
    )


def _forgotten_since(connection: Connection, draft: Draft, made: int) -> int | None:
    """When words of a draft of that time were forgotten under an earlier id; None if never."""
    times = (
        tombstones.forgotten_at(connection, draft.source, source_id, kind)
        for kind, source_id in draft.earlier
    )
    return max((at for at in times if at is not None and made <= at), default=None)


def _next_position(connection: Connection, session: str, project: str, kind: str) -> int:
    """The place after the last of its kind in the conversation; 0 outside of conversations."""
    if not session:
        return 0
    return connection.count(
        "select coalesce(max(position), 0) + 1 from records"
        " where session = %s and project = %s and kind = %s",
        (session, project, kind),
    )
