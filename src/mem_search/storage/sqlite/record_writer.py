"""Storing and removing records with everything derived from them, inside one transaction.

Derived are facets, edges, passages, full text, phrases, sketches and the outbox: all rows of a
record change together.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from mem_search.model import Draft
from mem_search.model.forgetting import of_session
from mem_search.model.ingest import PreparedDraft, Stored
from mem_search.model.records import CONTENT_ID, SUMMARY
from mem_search.storage.rules.own_ids import apart
from mem_search.storage.rules.tombstones import akin, forgotten_since, of_words
from mem_search.storage.sqlite import edges, phrases, sketches, successions, tombstones
from mem_search.text.dates import now_ms


def store(connection: sqlite3.Connection, items: Sequence[PreparedDraft]) -> list[Stored]:
    """Insert or update by ``(source, source_id)``; skip unchanged and forgotten drafts."""
    tied: set[int] = set()
    stored = [_store(connection, item, tied) for item in items]
    written = [item.number for item in stored if item.outcome in ("new", "changed")]
    _settle(connection, written, tied)
    return stored


def relate(connection: sqlite3.Connection, items: Sequence[tuple[int, int, PreparedDraft]]) -> None:
    """Write the edges, names and phrases of stored records (number, created at) again."""
    tied: set[int] = set()
    for number, created, item in items:
        _unrelate(connection, number, tied)
        edges.write(connection, number, item.edges, item.names, created)
        phrases.write(connection, number, item.phrases)
    _settle(connection, [number for number, *_ in items], tied)


def _unrelate(connection: sqlite3.Connection, number: int, tied: set[int]) -> None:
    """Remove the edges and names of a record; add to ``tied`` whose successor they may decide."""
    tied |= successions.around(connection, [number])
    phrases.clear(connection, number)
    edges.clear(connection, number)


def _settle(connection: sqlite3.Connection, written: Sequence[int], tied: set[int]) -> None:
    """Find the other ends of what was written."""
    edges.resolve(connection, written)
    phrases.settle(connection, written)
    successions.settle(connection, {*written, *tied})


def _forgotten_since(connection: sqlite3.Connection, draft: Draft, made: int) -> int | None:
    times = {each: tombstones.forgotten_at(connection, *each) for each in akin(draft)}
    return forgotten_since({each: at for each, at in times.items() if at is not None}, draft, made)


def _store(connection: sqlite3.Connection, item: PreparedDraft, tied: set[int]) -> Stored:
    """Store one draft; add to ``tied`` the records whose successor its old edges may decide."""
    draft = item.draft
    key = (draft.source, draft.source_id)
    forgotten_at = tombstones.forgotten_at(connection, *key, draft.kind)
    if forgotten_at is not None:
        return Stored(0, "forgotten", forgotten_at)
    now = now_ms()
    known = connection.execute(
        "select id, content_hash, created_at, updated_at, session, project, kind, position"
        " from records where source = ? and source_id = ?",
        key,
    ).fetchone()
    created = draft.created_at if draft.created_at is not None else (known[2] if known else now)
    updated = draft.updated_at if draft.updated_at is not None else created
    if known is not None and known[1:4] == (item.content_hash, created, updated):
        return Stored(known[0], "unchanged")
    forgotten_at = _forgotten_since(connection, draft, updated if known else created)
    if forgotten_at is not None:
        return Stored(known[0], "unchanged") if known else Stored(0, "forgotten", forgotten_at)
    values: dict[str, Any] = {
        "kind": draft.kind,
        "source": draft.source,
        "source_id": draft.source_id,
        "project": draft.project,
        "session": draft.session,
        "created_at": created,
        "updated_at": updated,
        "stored_at": now,
        "importance": draft.importance,
        "archived": int(bool(draft.metadata.get("archived"))),
        "content_hash": item.content_hash,
        "title": draft.title,
        "url": draft.url,
        "data": json.dumps(draft.metadata, ensure_ascii=False, sort_keys=True),
        "body": draft.text,
    }
    conversation = (draft.session, draft.project, draft.kind)
    stays = known is not None and known[4:7] == conversation
    values["position"] = known[7] if stays else _next_position(connection, *conversation)
    if known is None:
        number = _insert(connection, values)
        _write_passages(connection, number, item, {})
    else:
        number = known[0]
        kept = _take_out_passages(connection, number)
        connection.execute(
            f"update records set {', '.join(f'{n} = :{n}' for n in values)} where id = :id",
            {**values, "id": number},
        )
        _write_passages(connection, number, item, kept)
        connection.execute("delete from facets where record_id = ?", (number,))
        _unrelate(connection, number, tied)
    tags = [("tag", tag) for tag in draft.tags]
    connection.executemany(
        "insert or ignore into facets(name, value, record_id) values(?, ?, ?)",
        [(name, value, number) for name, value in (*item.facets, *tags)],
    )
    edges.write(connection, number, item.edges, item.names, created)
    phrases.write(connection, number, item.phrases)
    sketches.write(connection, number, item.sketch)
    return Stored(number, "new" if known is None else "changed")


def _insert(connection: sqlite3.Connection, values: dict[str, Any]) -> int:
    cursor = connection.execute(
        f"insert into records({', '.join(values)}) values({', '.join(':' + n for n in values)})",
        values,
    )
    assert cursor.lastrowid is not None
    return cursor.lastrowid


def _next_position(connection: sqlite3.Connection, session: str, project: str, kind: str) -> int:
    """The place after the last of its kind in the conversation; 0 outside of conversations."""
    if not session:
        return 0
    (position,) = connection.execute(
        "select coalesce(max(position), 0) + 1 from records"
        " where session = ? and project = ? and kind = ?",
        (session, project, kind),
    ).fetchone()
    return int(position)


class _Same(NamedTuple):
    """The key of a passage: equal keys of one record are the same passage."""

    digest: bytes
    kind: str
    field: str


def _take_out_passages(connection: sqlite3.Connection, number: int) -> dict[_Same, list[int]]:
    """Remove a record's passages from the full text; return their ids for reuse.

    Values by passage number (see ``passage_map``) must never change, so an id is only reused for
    the same kind and field.
    """
    # The text is read once: SQLite reads all of a long one for each passage that is cut from it.
    title, body = connection.execute(
        "select title, body from records where id = ?", (number,)
    ).fetchone()
    kept: dict[_Same, list[int]] = {}
    for passage, ordinal, start, end, parts, people, *same in connection.execute(
        "select id, ordinal, start, end, parts, people, content_hash, kind, field from passages"
        " where record_id = ? order by ordinal",
        (number,),
    ).fetchall():
        if ordinal != SUMMARY:
            # An external-content FTS5 table needs the old values to delete a row
            # (https://sqlite.org/fts5.html#the_delete_command).
            connection.execute(
                "insert into passages_fts(passages_fts, rowid, title, text, parts, people)"
                " values('delete', ?, ?, ?, ?, ?)",
                (passage, title, body[start:end], parts, people),
            )
        kept.setdefault(_Same(*same), []).append(passage)
    # Ordinals are moved first, so that kept passages can take their new ones.
    connection.execute("update passages set ordinal = -3 - ordinal where record_id = ?", (number,))
    return kept


def _write_passages(
    connection: sqlite3.Connection, number: int, item: PreparedDraft, kept: dict[_Same, list[int]]
) -> None:
    """Write the passages; one whose hash is known keeps its id, and so its vector."""
    for passage, parts, digest in zip(item.passages, item.parts, item.hashes, strict=True):
        people = item.people if passage.ordinal == 0 else ""
        values = (
            passage.ordinal, item.draft.kind, passage.field, passage.start, passage.end,
            passage.page, digest, parts, people, passage.above, number,
        )  # fmt: skip
        if reusable := kept.get(_Same(digest, item.draft.kind, passage.field)):
            rowid = reusable.pop(0)
            connection.execute(
                "update passages set ordinal = ?, kind = ?, field = ?, start = ?, end = ?,"
                " page = ?, content_hash = ?, parts = ?, people = ?, above = ?, record_id = ?"
                " where id = ?",
                (*values, rowid),
            )
        else:
            cursor = connection.execute(
                "insert into passages(ordinal, kind, field, start, end, page, content_hash,"
                " parts, people, above, record_id) values(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                values,
            )
            assert cursor.lastrowid is not None
            rowid = cursor.lastrowid
            connection.execute("insert into outbox(passage_id, step) values(?, 'embed')", (rowid,))
        if passage.ordinal != SUMMARY:  # its words are those of the text, or not the document's
            text = item.draft.text[passage.start : passage.end]
            connection.execute(
                "insert into passages_fts(rowid, title, text, parts, people) values(?, ?, ?, ?, ?)",
                (rowid, item.draft.title, text, parts, people),
            )
    for rowid in (rowid for rowids in kept.values() for rowid in rowids):
        _drop_passage(connection, rowid)


def _drop_passage(connection: sqlite3.Connection, passage: int) -> None:
    connection.execute("delete from passages where id = ?", (passage,))
    # At once, and not when the index has acknowledged it: the index may be down for days.
    connection.execute(
        "delete from vectors where entry_id in (?, ?)", (2 * passage, 2 * passage + 1)
    )
    connection.execute(
        "insert into outbox(passage_id, step) values(?, 'delete')"
        " on conflict(passage_id) do update set step = 'delete'",
        (passage,),
    )


def remove(connection: sqlite3.Connection, numbers: Iterable[int], *, forget: bool) -> int:
    """Delete records with everything derived from them; returns how many existed.

    ``forget`` leaves a tombstone, which refuses them when a source offers them again.
    """
    removed = 0
    tied: set[int] = set()
    for number in numbers:
        row = connection.execute(
            "select source, source_id, kind, session, body from records where id = ?", (number,)
        ).fetchone()
        if row is None:
            continue
        for digest_ids in _take_out_passages(connection, number).values():
            for passage in digest_ids:
                _drop_passage(connection, passage)
        tied |= successions.around(connection, [number])
        phrases.clear(connection, number)
        connection.execute("delete from records where id = ?", (number,))
        if forget:
            _refuse(connection, *row)
        removed += 1
    successions.settle(connection, tied)
    return removed


def _refuse(
    connection: sqlite3.Connection, source: str, source_id: str, kind: str, session: str, body: str
) -> None:
    """Leave tombstones of a record that was removed."""
    refused = [(source, source_id, kind)]
    if session:
        refused.append(of_words(session, body))
        if not connection.execute(
            "select 1 from records where session = ? limit 1", (session,)
        ).fetchone():
            refused.append(of_session(session))
    for each in refused:
        tombstones.put(connection, *each, now_ms())


def remove_by_source_id(
    connection: sqlite3.Connection, source: str, source_ids: Sequence[str]
) -> int:
    """Delete what a source reports as gone, without a tombstone: it may come back."""
    numbers = [
        number
        for source_id in source_ids
        for (number,) in connection.execute(
            "select id from records where source = ? and source_id = ?", (source, source_id)
        )
    ]
    return remove(connection, numbers, forget=False)


def remove_released(connection: sqlite3.Connection, source: str, released: Sequence[str]) -> int:
    """The same for ``Batch.released``, whose names may have the content of the record."""
    numbers = [
        number
        for name in released
        for (number,) in connection.execute(
            "select id from records where source = ?1 and (source_id = ?2"
            f" or (source_id = ?3 and json_extract(data, '$.{CONTENT_ID}') = ?4))",
            (source, name, *apart(name)),
        )
    ]
    return remove(connection, numbers, forget=False)
