"""Storing and removing records with everything derived from them, inside one transaction.

Derived are facets, edges, passages, their words, phrases, sketches and the outbox: all rows of a
record change together. The rows of a batch are written together, one statement a table. Writers of
one owner wait for each other, so numbers and revisions grow in the order of the commits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from mem_search.model import Draft
from mem_search.model.forgetting import Identity, of_session
from mem_search.model.ingest import PreparedDraft, Stored
from mem_search.model.records import CONTENT_ID
from mem_search.storage.postgres import edges, passage_rows, postings, similar, tombstones, words
from mem_search.storage.postgres.connection import Connection, as_json
from mem_search.storage.postgres.passage_rows import drop_work
from mem_search.storage.rules.own_ids import apart
from mem_search.storage.rules.tombstones import akin, forgotten_since, of_words
from mem_search.text.dates import now_ms


class Known(NamedTuple):
    """What is stored of a record that is offered again."""

    number: int
    content_hash: bytes
    created_at: int
    updated_at: int
    session: str
    project: str
    kind: str
    position: int


@dataclass(slots=True)
class Row:
    """A record to write, with its number and its times."""

    number: int
    item: PreparedDraft
    created: int
    updated: int
    known: Known | None
    position: int = 0

    @property
    def conversation(self) -> tuple[str, str, str]:
        draft = self.item.draft
        return draft.session, draft.project, draft.kind

    @property
    def stays(self) -> bool:
        """Whether it was in the same conversation before."""
        return self.known is not None and self.known[4:7] == self.conversation


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
        stored = [done for part in _distinct(items) for done in self._store(part)]
        self._connection.execute(
            "update stores set records = %s, passages = %s", (self._records, self._passages)
        )
        self._count_words()
        self._settle([item.number for item in stored if item.outcome in ("new", "changed")])
        return stored

    def relate(self, items: Sequence[tuple[int, int, PreparedDraft]]) -> None:
        """Write the edges, names and phrases of stored records (number, created at) again."""
        numbers = [number for number, *_ in items]
        self._unrelate(numbers)
        edges.write(self._connection, [(n, i.edges, i.names, at) for n, at, i in items])
        similar.write(self._connection, [(number, item.phrases) for number, _, item in items])
        self._settle(numbers)

    def remove(self, numbers: Collection[int], *, forget: bool) -> int:
        """Delete records with everything derived from them; returns how many existed.

        ``forget`` leaves a tombstone, which refuses them when a source offers them again.
        """
        wanted = (list(numbers),)
        rows = self._connection.execute(
            "select source, source_id, kind, session, body from records where id = any(%s)", wanted
        ).fetchall()
        self._tied |= edges.claimed_with(self._connection, numbers)
        similar.clear(self._connection, numbers)
        self._words.subtract(words.of_stored(self._connection, numbers))
        postings.remove(self._connection, postings.texts_of(self._connection, numbers))
        passages = self._connection.column(
            "delete from passages where record_id = any(%s) returning id", wanted
        )
        drop_work(self._connection, passages)
        self._connection.execute("delete from records where id = any(%s)", wanted)
        if forget:
            self._refuse(rows)
        self._count_words()
        edges.settle_successions(self._connection, self._tied)
        return len(rows)

    def _refuse(self, removed: Sequence[Sequence[str]]) -> None:
        """Leave tombstones of (source, source id, kind, session, body) that were removed."""
        refused: list[Identity] = [(row[0], row[1], row[2]) for row in removed]
        refused += [of_words(session, body) for *_, session, body in removed if session]
        sessions = {session for *_, session, _ in removed if session}
        left = self._connection.column(
            "select distinct session from records where session = any(%s::text[])",
            (sorted(sessions),),
        )
        refused += map(of_session, sorted(sessions.difference(left)))
        tombstones.put(self._connection, dict.fromkeys(refused), now_ms())

    def _count_words(self) -> None:
        words.count(self._connection, self._words)
        self._words.clear()

    def _settle(self, written: Sequence[int]) -> None:
        """Find the other ends of what was written."""
        edges.resolve(self._connection, written)
        similar.settle(self._connection, written)
        edges.settle_successions(self._connection, {*written, *self._tied})

    def _unrelate(self, numbers: Sequence[int]) -> None:
        """Remove the edges and names of records, and note whose successor they may decide."""
        if numbers:
            self._tied |= edges.claimed_with(self._connection, numbers)
            similar.clear(self._connection, numbers)
            edges.clear(self._connection, numbers)

    def _store(self, items: Sequence[PreparedDraft]) -> list[Stored]:
        """Store ``items``, whose identities differ."""
        now = now_ms()
        drafts = [item.draft for item in items]
        refused = tombstones.times(self._connection, _identities(drafts))
        known = _known(self._connection, drafts)
        rows: list[Row] = []
        stored: list[Stored] = []
        for item in items:
            draft = item.draft
            forgotten_at = refused.get((draft.source, draft.source_id, draft.kind))
            if forgotten_at is not None:
                stored.append(Stored(0, "forgotten", forgotten_at))
                continue
            old = known.get((draft.source, draft.source_id))
            created = draft.created_at
            if created is None:
                created = old.created_at if old else now
            updated = draft.updated_at if draft.updated_at is not None else created
            if old is not None and old[1:4] == (item.content_hash, created, updated):
                stored.append(Stored(old.number, "unchanged"))
                continue
            since = forgotten_since(refused, draft, updated if old else created)
            if since is not None:
                stored.append(
                    Stored(old.number, "unchanged") if old else Stored(0, "forgotten", since)
                )
                continue
            if old is None:
                self._records += 1
            number = old.number if old else self._records
            rows.append(Row(number, item, created, updated, old))
            stored.append(Stored(number, "changed" if old else "new"))
        if rows:
            self._write(rows, now)
        return stored

    def _write(self, rows: Sequence[Row], now: int) -> None:
        connection = self._connection
        _find_positions(connection, rows)
        new = [row for row in rows if row.known is None]
        changed = [row for row in rows if row.known is not None]
        again = [row.number for row in changed]
        kept = self._take_out(again)
        _insert_records(connection, new, now)
        _update_records(connection, changed, now)
        for row in rows:
            draft = row.item.draft
            self._words.update(words.of_record(draft.source, draft.title, draft.text))
        prepared = [(row.number, row.item) for row in rows]
        self._passages, texts = passage_rows.write(connection, prepared, kept, self._passages)
        facets = [
            (name, value, number)
            for number, item in prepared
            for name, value in (*item.facets, *(("tag", tag) for tag in item.draft.tags))
        ]
        connection.insert(
            "facets", ("name text", "value text", "record_id bigint"), facets,
            "on conflict do nothing",
        )  # fmt: skip
        edges.write(connection, [(r.number, r.item.edges, r.item.names, r.created) for r in rows])
        similar.write(connection, [(number, item.phrases) for number, item in prepared])
        connection.insert(
            "sketches",
            ("record_id bigint", "sketch bytea"),
            [(number, item.sketch) for number, item in prepared],
            "on conflict(owner, record_id) do update set sketch = excluded.sketch",
        )
        postings.write(connection, texts)

    def _take_out(self, numbers: Sequence[int]) -> passage_rows.Kept:
        """Take what is derived from these records away; the passages that may be used again."""
        if not numbers:
            return {}
        self._words.subtract(words.of_stored(self._connection, numbers))
        postings.remove(self._connection, postings.texts_of(self._connection, numbers))
        self._connection.execute("delete from facets where record_id = any(%s)", (list(numbers),))
        self._unrelate(numbers)
        return passage_rows.take_out(self._connection, numbers)


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


def remove_released(
    connection: Connection, writer: RecordWriter, source: str, released: Sequence[str]
) -> int:
    """The same for ``Batch.released``, whose names may have the content of the record."""
    if not released:
        return 0
    ids, contents = zip(*map(apart, released), strict=True)
    numbers = connection.column(
        "select id from records where source = %s and source_id = any(%s::text[])"
        " union select r.id from records r"
        " join unnest(%s::text[], %s::text[]) as named(source_id, content)"
        " on r.source = %s and r.source_id = named.source_id"
        f" and r.data ->> '{CONTENT_ID}' = named.content",
        (source, list(released), list(ids), list(contents), source),
    )
    return writer.remove(numbers, forget=False)


def _distinct(items: Sequence[PreparedDraft]) -> Iterator[list[PreparedDraft]]:
    """``items`` in order, in parts in which no identity comes twice: the later one replaces it."""
    part: list[PreparedDraft] = []
    keys: set[tuple[str, str]] = set()
    for item in items:
        key = (item.draft.source, item.draft.source_id)
        if key in keys:
            yield part
            part, keys = [], set()
        part.append(item)
        keys.add(key)
    if part:
        yield part


def _identities(drafts: Sequence[Draft]) -> list[Identity]:
    """What may have been forgotten: the drafts, and what is akin to them."""
    own = [(draft.source, draft.source_id, draft.kind) for draft in drafts]
    return [*own, *(each for draft in drafts for each in akin(draft))]


def _known(connection: Connection, drafts: Sequence[Draft]) -> dict[tuple[str, str], Known]:
    rows = connection.execute(
        "select r.source, r.source_id, r.id, r.content_hash, r.created_at, r.updated_at, r.session,"
        " r.project, r.kind, r.position from unnest(%s::text[], %s::text[]) d(source, source_id)"
        " join records r on r.source = d.source and r.source_id = d.source_id",
        ([draft.source for draft in drafts], [draft.source_id for draft in drafts]),
    )
    return {(source, source_id): Known(*row) for source, source_id, *row in rows}


def _find_positions(connection: Connection, rows: Sequence[Row]) -> None:
    """Give each row the place after the last of its kind in the conversation; 0 outside of one."""
    moving = [row for row in rows if not row.stays and row.conversation[0]]
    asked = list(dict.fromkeys(row.conversation for row in moving))
    last: dict[tuple[str, str, str], int] = {}
    if asked:
        sessions, projects, kinds = map(list, zip(*asked, strict=True))
        for *conversation, position in connection.execute(
            "select c.session, c.project, c.kind, coalesce((select max(r.position) from records r"
            " where r.session = c.session and r.project = c.project and r.kind = c.kind), 0)"
            " from unnest(%s::text[], %s::text[], %s::text[]) c(session, project, kind)",
            (sessions, projects, kinds),
        ):
            last[tuple(conversation)] = position
    for row in rows:
        if row.stays:
            assert row.known is not None
            row.position = row.known.position
        elif row.conversation in last:
            last[row.conversation] += 1
            row.position = last[row.conversation]


_COLUMNS = (
    "kind text", "source text", "source_id text", "project text", "session text",
    "position bigint", "created_at bigint", "updated_at bigint", "stored_at bigint",
    "importance float8", "archived bool", "content_hash bytea", "title text", "url text",
    "data jsonb", "body text",
)  # fmt: skip


def _values(row: Row, now: int) -> tuple[object, ...]:
    """The values of ``_COLUMNS``."""
    draft = row.item.draft
    return (
        draft.kind, draft.source, draft.source_id, draft.project, draft.session, row.position,
        row.created, row.updated, now, draft.importance, bool(draft.metadata.get("archived")),
        row.item.content_hash, draft.title, draft.url, as_json(draft.metadata), draft.text,
    )  # fmt: skip


def _insert_records(connection: Connection, rows: Sequence[Row], now: int) -> None:
    columns = ("id bigint", *_COLUMNS)
    connection.insert("records", columns, [(row.number, *_values(row, now)) for row in rows])


def _update_records(connection: Connection, rows: Sequence[Row], now: int) -> None:
    changes = ", ".join(
        f"{name} = %s::jsonb" if sort == "jsonb" else f"{name} = %s"
        for name, sort in map(str.split, _COLUMNS)
    )
    connection.many(
        f"update records set {changes} where id = %s",
        [(*_values(row, now), row.number) for row in rows],
    )
