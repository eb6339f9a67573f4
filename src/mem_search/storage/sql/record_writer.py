"""Storing and removing records with everything derived from them, inside one transaction.

Derived are facets, edges, passages, their words, phrases, sketches and the outbox: all rows of a
record change together. The rows of a batch are written together, one statement a table where the
engine has one. The index of words is each engine's own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, NamedTuple

from mem_search.model import Draft
from mem_search.model.forgetting import Identity, of_session
from mem_search.model.ingest import PreparedDraft, Stored
from mem_search.model.records import CONTENT_ID
from mem_search.storage.rules.checksums import is_whole, with_checksum
from mem_search.storage.rules.identities import (
    akin,
    apart,
    forgotten_since,
    of_words,
    refused_with,
)
from mem_search.storage.sql import edges, passage_rows, projects, similar
from mem_search.storage.sql.passage_rows import Kept, Text
from mem_search.storage.sql.tombstones import Tombstones
from mem_search.text import sketch
from mem_search.text.dates import now_ms

Relation = tuple[int, int, PreparedDraft]
"""A record that is stored: its number, when it was created, what was prepared of it."""

Conversation = tuple[str, str, str]
"""Session, project and kind: what positions are counted in."""


class StoredBefore(NamedTuple):
    """What is stored of a record that is offered again."""

    number: int
    content_hash: bytes
    created_at: int
    updated_at: int
    session: str
    project: str
    kind: str
    position: int
    project_id: int | None


@dataclass(slots=True)
class Row:
    """A record to write, with its number and its times."""

    number: int
    item: PreparedDraft
    created: int
    updated: int
    known: StoredBefore | None
    position: int = 0

    @property
    def conversation(self) -> Conversation:
        draft = self.item.draft
        return draft.session, draft.project, draft.kind

    @property
    def stays(self) -> bool:
        """Whether it was in the same conversation before."""
        return self.known is not None and self.known[4:7] == self.conversation


_COLUMNS: Final = (
    "kind text", "source text", "source_id text", "project text", "session text",
    "position bigint", "created_at bigint", "updated_at bigint", "stored_at bigint",
    "importance float8", "archived bool", "content_hash bytea", "title text", "url text",
    "data jsonb", "body text", "project_id bigint",
)  # fmt: skip


class Writer(ABC):
    """Writes records of one transaction; ``_records`` and ``_passages`` are the last numbers."""

    tombstones: ClassVar[type[Tombstones]] = Tombstones

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._tied: set[int] = set()
        """Records whose successor may change by what is written."""
        self._records, self._passages = self._last_numbers()

    @abstractmethod
    def _last_numbers(self) -> tuple[int, int]:
        """The last number of a record and of a passage, which no other record had or gets."""

    @abstractmethod
    def _json(self, metadata: Mapping[str, Any]) -> str:
        """Metadata as the engine keeps it."""

    @abstractmethod
    def _last_positions(self, asked: Sequence[Conversation]) -> dict[Conversation, int]:
        """The last position in each conversation; 0 where it has none."""

    @abstractmethod
    def _unindex(self, numbers: Collection[int]) -> None:
        """Take the words of records, which still stand there, out of the index."""

    @abstractmethod
    def _index(self, items: Sequence[PreparedDraft], texts: Sequence[Text]) -> None:
        """Put the words of records and of their passages into the index."""

    @abstractmethod
    def _finish(self) -> None:
        """Note what the engine counts."""

    def store(self, items: Sequence[PreparedDraft]) -> list[Stored]:
        """Insert or update by ``(source, source_id)``; skip unchanged and forgotten drafts."""
        stored = [done for part in _distinct(items) for done in self._store(part)]
        self._finish()
        self._settle([item.number for item in stored if item.outcome in ("new", "changed")])
        return stored

    def relate(self, items: Sequence[Relation]) -> None:
        """Write the edges, names and phrases of stored records again."""
        numbers = [number for number, *_ in items]
        self._unrelate(numbers)
        self._relate(items)
        similar.write(self._connection, [(number, item.phrases) for number, _, item in items])
        self._settle(numbers)

    def _relate(self, records: Sequence[Relation]) -> None:
        edges.write(self._connection, [(n, item.edges, item.names, at) for n, at, item in records])

    def remove(self, numbers: Collection[int], *, forget: bool) -> int:
        """Delete records with everything derived from them; returns how many existed.

        ``forget`` leaves a tombstone, which refuses them when a source offers them again.
        """
        numbers = list(dict.fromkeys(numbers))
        if not numbers:
            return 0
        wanted = (numbers,)
        rows = self._connection.execute(
            "select source, source_id, kind, session, body from records"
            " where id = any(%s::bigint[])",
            wanted,
        ).fetchall()
        self._tied |= edges.claimed_with(self._connection, numbers)
        similar.clear(self._connection, numbers)
        self._unindex(numbers)
        passages = self._connection.column(
            "delete from passages where record_id = any(%s::bigint[]) returning id", wanted
        )
        passage_rows.drop_work(self._connection, passages)
        self._connection.execute("delete from records where id = any(%s::bigint[])", wanted)
        if forget:
            self.tombstones(self._connection).put(self._identities_of(rows), now_ms())
        self._finish()
        edges.settle_successions(self._connection, self._tied)
        return len(rows)

    def _identities_of(self, removed: Sequence[Sequence[str]]) -> list[Identity]:
        """What is refused of (source, source id, kind, session, body) that were removed."""
        refused = [each for row in removed for each in refused_with(*row[:3])]
        refused += [of_words(session, body) for *_, session, body in removed if session]
        sessions = sorted({session for *_, session, _ in removed if session})
        left = self._connection.column(
            "select distinct session from records where session = any(%s::text[])", (sessions,)
        )
        refused += [of_session(session) for session in sessions if session not in left]
        return list(dict.fromkeys(refused))

    def rename(self, number: int, source_id: str) -> None:
        """Give a record another id; the draft that has it is stored anew, with all of its names."""
        self._connection.execute(
            "update records set source_id = %s, content_hash = %s where id = %s",
            (source_id, b"", number),
        )

    def remove_by_source_id(self, source: str, source_ids: Sequence[str]) -> int:
        """Delete what a source reports as gone, without a tombstone: it may come back."""
        if not source_ids:
            return 0
        numbers = self._connection.column(
            "select id from records where source = %s and source_id = any(%s::text[])",
            (source, list(source_ids)),
        )
        return self.remove(numbers, forget=False)

    def remove_released(self, source: str, released: Sequence[str]) -> int:
        """The same for ``Batch.released``, whose names may have the content of the record."""
        if not released:
            return 0
        whole, named = {*released}, {*map(apart, released)}
        rows = self._connection.execute(
            f"select id, source_id, data ->> '{CONTENT_ID}' from records"
            " where source = %s and source_id = any(%s::text[])",
            (source, sorted(whole.union(source_id for source_id, _ in named))),
        )
        numbers = [
            number
            for number, source_id, content in rows
            if source_id in whole or (source_id, content) in named
        ]
        return self.remove(numbers, forget=False)

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
        refused = self.tombstones(self._connection).times(_identities(drafts))
        known = self._known(drafts)
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
                self._place(old, draft)
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

    def _place(self, known: StoredBefore, draft: Draft) -> None:
        """Let a record that is otherwise the same be of the project that the draft is of."""
        number, connection = draft.project_id, self._connection
        if number and known.project_id != number:
            connection.execute(
                "update records set project_id = %s where id = %s", (number, known.number)
            )
        if number and known.project != draft.project:
            projects.move(connection, "id = %s", [known.number], known.project, draft.project)

    def _known(self, drafts: Sequence[Draft]) -> dict[tuple[str, str], StoredBefore]:
        rows = self._connection.execute(
            "select source, source_id, id, content_hash, created_at, updated_at, session, project,"
            " kind, position, project_id from records"
            " where source = any(%s::text[]) and source_id = any(%s::text[])",
            (sorted({draft.source for draft in drafts}), [draft.source_id for draft in drafts]),
        )
        return {(source, source_id): StoredBefore(*row) for source, source_id, *row in rows}

    def _write(self, rows: Sequence[Row], now: int) -> None:
        connection = self._connection
        self._find_positions(rows)
        changed = [row for row in rows if row.known is not None]
        kept = self._take_out([row.number for row in changed])
        connection.insert(
            "records",
            ("id bigint", *_COLUMNS),
            [(row.number, *self._values(row, now)) for row in rows if row.known is None],
        )
        changes = ", ".join(
            f"{name} = %s::jsonb" if sort == "jsonb" else f"{name} = %s"
            for name, sort in map(str.split, _COLUMNS)
        )
        connection.many(
            f"update records set {changes} where id = %s",
            [(*self._values(row, now), row.number) for row in changed],
        )
        prepared = [(row.number, row.item) for row in rows]
        self._passages, texts = passage_rows.write(connection, prepared, kept, self._passages)
        connection.insert(
            "facets",
            ("name text", "value text", "record_id bigint"),
            [
                (name, value, number)
                for number, item in prepared
                for name, value in (*item.facets, *(("tag", tag) for tag in item.draft.tags))
            ],
            "on conflict do nothing",
        )
        self._relate([(row.number, row.created, row.item) for row in rows])
        similar.write(connection, [(number, item.phrases) for number, item in prepared])
        connection.insert(
            "sketches",
            ("record_id bigint", "sketch bytea"),
            [(number, with_checksum(item.sketch, number)) for number, item in prepared],
            "on conflict(owner, record_id) do update set sketch = excluded.sketch",
        )
        self._index([row.item for row in rows], texts)

    def _find_positions(self, rows: Sequence[Row]) -> None:
        """Give each row the place after the last of its kind in the conversation; 0 outside."""
        moving = [row for row in rows if not row.stays and row.conversation[0]]
        asked = list(dict.fromkeys(row.conversation for row in moving))
        last = self._last_positions(asked) if asked else {}
        for row in rows:
            if row.stays:
                assert row.known is not None
                row.position = row.known.position
            elif row.conversation in last:
                last[row.conversation] += 1
                row.position = last[row.conversation]

    def _values(self, row: Row, now: int) -> tuple[object, ...]:
        """The values of ``_COLUMNS``."""
        draft, known = row.item.draft, row.known
        kept = known.project_id if known and known.project == draft.project else None
        return (
            draft.kind, draft.source, draft.source_id, draft.project, draft.session, row.position,
            row.created, row.updated, now, draft.importance, bool(draft.metadata.get("archived")),
            row.item.content_hash, draft.title, draft.url, self._json(draft.metadata), draft.text,
            draft.project_id or kept,
        )  # fmt: skip

    def _take_out(self, numbers: Sequence[int]) -> Kept:
        """Take what is derived from these records away; the passages that may be used again."""
        if not numbers:
            return {}
        connection, wanted = self._connection, (list(numbers),)
        self._unindex(numbers)
        connection.execute("delete from facets where record_id = any(%s::bigint[])", wanted)
        self._unrelate(numbers)
        return passage_rows.take_out(connection, numbers)


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


def wrong_sketches(connection: Any) -> list[int]:
    """Records whose sketch is not what was written, or missing."""
    rows = connection.execute(
        "select r.id, s.sketch from records r left join sketches s on s.record_id = r.id"
    )
    return [number for number, stored in rows if not is_whole(stored, number, sketch.SIZE)]


def remake_sketches(connection: Any) -> int:
    """Make the sketches again that are not what was written; how many were."""
    wrong = wrong_sketches(connection)
    texts = connection.execute(
        "select id, title, body from records where id = any(%s::bigint[])", (wrong,)
    )
    for number, title, body in texts.fetchall():
        connection.execute(
            "insert into sketches(record_id, sketch) values(%s, %s)"
            " on conflict(owner, record_id) do update set sketch = excluded.sketch",
            (number, with_checksum(sketch.sketch(title, body), number)),
        )
    return len(wrong)
