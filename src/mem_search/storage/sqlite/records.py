"""Records and what hangs on them: facets, edges, passages, full text, sketch, outbox.

Everything here is one function over a connection. ``store`` and ``remove`` keep all derived
rows in step inside the caller's transaction.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from mem_search.model import Filters, Order, Record
from mem_search.model.ingest import PreparedDraft, Stored
from mem_search.storage.sqlite import edges, sketches, successions
from mem_search.storage.sqlite import filters as sql_filters
from mem_search.storage.sqlite.successions import Marks
from mem_search.text.dates import now_ms

_COLUMNS = (
    "r.id, r.kind, r.source, r.source_id, r.title, r.body, r.created_at, r.updated_at,"
    " r.project, r.session, r.position, r.url, r.importance, r.archived, r.data"
)


def store(connection: sqlite3.Connection, items: Sequence[PreparedDraft]) -> list[Stored]:
    """Insert or update by ``(source, source_id)``; unchanged and forgotten ones are not touched."""
    tied: set[int] = set()
    stored = [_store(connection, item, tied) for item in items]
    written = [item.number for item in stored if item.outcome in ("new", "changed")]
    edges.resolve(connection, written)
    successions.settle(connection, {*written, *tied})
    return stored


def _store(connection: sqlite3.Connection, item: PreparedDraft, tied: set[int]) -> Stored:
    """Store one; ``tied`` gets the records whose successor its old edges may have decided."""
    draft = item.draft
    key = (draft.source, draft.source_id)
    if connection.execute(
        "select 1 from tombstones where source = ? and source_id = ?", key
    ).fetchone():
        return Stored(0, "forgotten")
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
        tied |= successions.around(connection, [number])
        edges.clear(connection, number)
    tags = [("tag", tag) for tag in draft.tags]
    connection.executemany(
        "insert or ignore into facets(name, value, record_id) values(?, ?, ?)",
        [(name, value, number) for name, value in (*item.facets, *tags)],
    )
    edges.write(connection, number, item.edges, item.names, created)
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
    """What two passages of a record must share to be the same passage."""

    digest: bytes
    kind: str
    field: str


def _take_out_passages(connection: sqlite3.Connection, number: int) -> dict[_Same, list[int]]:
    """Remove a record's passages from the full text; return their ids for reuse.

    Whatever is known of a passage by its number (see ``owners``) must never change, so only
    one of the same kind and field is used again.
    """
    kept: dict[_Same, list[int]] = {}
    for passage, *same in connection.execute(
        "select id, content_hash, kind, field from passages where record_id = ? order by ordinal",
        (number,),
    ).fetchall():
        _unindex(connection, passage)
        kept.setdefault(_Same(*same), []).append(passage)
    # Ordinals move out of the way so that kept passages can take their new ones.
    connection.execute("update passages set ordinal = -1 - ordinal where record_id = ?", (number,))
    return kept


def _unindex(connection: sqlite3.Connection, passage: int) -> None:
    # An external-content FTS5 table needs the old values to delete a row
    # (https://sqlite.org/fts5.html#the_delete_command).
    connection.execute(
        "insert into passages_fts(passages_fts, rowid, title, text, parts)"
        " select 'delete', id, title, text, parts from passage_texts where id = ?",
        (passage,),
    )


def _write_passages(
    connection: sqlite3.Connection, number: int, item: PreparedDraft, kept: dict[_Same, list[int]]
) -> None:
    """Write the passages; one whose hash is known keeps its id, and so its vector."""
    for passage, parts, digest in zip(item.passages, item.parts, item.hashes, strict=True):
        values = (
            passage.ordinal, item.draft.kind, passage.field, passage.start, passage.end,
            passage.page, digest, parts, number,
        )  # fmt: skip
        if reusable := kept.get(_Same(digest, item.draft.kind, passage.field)):
            rowid = reusable.pop(0)
            connection.execute(
                "update passages set ordinal = ?, kind = ?, field = ?, start = ?, end = ?,"
                " page = ?, content_hash = ?, parts = ?, record_id = ? where id = ?",
                (*values, rowid),
            )
        else:
            cursor = connection.execute(
                "insert into passages(ordinal, kind, field, start, end, page, content_hash,"
                " parts, record_id) values(?, ?, ?, ?, ?, ?, ?, ?, ?)",
                values,
            )
            assert cursor.lastrowid is not None
            rowid = cursor.lastrowid
            connection.execute("insert into outbox(passage_id, step) values(?, 'embed')", (rowid,))
        connection.execute(
            "insert into passages_fts(rowid, title, text, parts)"
            " select id, title, text, parts from passage_texts where id = ?",
            (rowid,),
        )
    for rowid in (rowid for rowids in kept.values() for rowid in rowids):
        _drop_passage(connection, rowid)


def _drop_passage(connection: sqlite3.Connection, passage: int) -> None:
    connection.execute("delete from passages where id = ?", (passage,))
    connection.execute(
        "insert into outbox(passage_id, step) values(?, 'delete')"
        " on conflict(passage_id) do update set step = 'delete'",
        (passage,),
    )


def remove(connection: sqlite3.Connection, numbers: Iterable[int], *, forget: bool) -> int:
    """Delete records with everything derived from them; ``forget`` keeps them from coming back.

    Returns how many there were.
    """
    removed = 0
    tied: set[int] = set()
    for number in numbers:
        row = connection.execute(
            "select source, source_id from records where id = ?", (number,)
        ).fetchone()
        if row is None:
            continue
        for digest_ids in _take_out_passages(connection, number).values():
            for passage in digest_ids:
                _drop_passage(connection, passage)
        if forget:
            connection.execute(
                "insert or replace into tombstones(source, source_id, forgotten_at)"
                " values(?, ?, ?)",
                (*row, now_ms()),
            )
        tied |= successions.around(connection, [number])
        connection.execute("delete from records where id = ?", (number,))
        removed += 1
    successions.settle(connection, tied)
    return removed


def remove_by_source_id(
    connection: sqlite3.Connection, source: str, source_ids: Sequence[str]
) -> int:
    """Delete what a source says is gone (without a tombstone: it may come back)."""
    numbers = [
        number
        for source_id in source_ids
        for (number,) in connection.execute(
            "select id from records where source = ? and source_id = ?", (source, source_id)
        )
    ]
    return remove(connection, numbers, forget=False)


def fetch(connection: sqlite3.Connection, numbers: Sequence[int]) -> dict[int, Record]:
    """Hydrate: the records with these numbers, in three statements whatever their count."""
    if not numbers:
        return {}
    wanted = json.dumps(list(numbers))
    tags: dict[int, list[str]] = {}
    for number, tag in connection.execute(
        "select record_id, value from facets where name = 'tag'"
        " and record_id in (select value from json_each(?)) order by record_id, value",
        (wanted,),
    ):
        tags.setdefault(number, []).append(tag)
    marks = successions.marks(connection, numbers)
    rows = connection.execute(
        f"select {_COLUMNS} from records r where r.id in (select value from json_each(?))",
        (wanted,),
    )
    return {row[0]: _record(row, tuple(tags.get(row[0], ())), marks.get(row[0])) for row in rows}


def _record(row: tuple[Any, ...], tags: tuple[str, ...], marks: Marks | None) -> Record:
    (
        number, kind, source, source_id, title, body, created, updated,
        project, session, position, url, importance, archived, data,
    ) = row  # fmt: skip
    return Record(
        number=number,
        kind=kind,
        source=source,
        source_id=source_id,
        title=title,
        text=body,
        created_at=created,
        updated_at=updated,
        project=project,
        session=session,
        position=position,
        tags=tags,
        url=url,
        importance=importance,
        archived=bool(archived),
        metadata=json.loads(data),
        superseded_by=marks.superseded_by if marks else None,
        supersedes=tuple(marks.supersedes) if marks else (),
    )


def browse(
    connection: sqlite3.Connection, filters: Filters, order: Order, limit: int, offset: int
) -> list[int]:
    """Numbers of the records that pass the filters, by date; relevance means newest first."""
    condition, values = sql_filters.where(filters)
    direction = "asc" if order == "date_asc" else "desc"
    rows = connection.execute(
        f"select r.id from records r where {condition}"
        f" order by r.created_at {direction}, r.id {direction} limit ? offset ?",
        (*values, limit, offset),
    )
    return [number for (number,) in rows]


def counts(connection: sqlite3.Connection, filters: Filters) -> dict[str, int]:
    """How many records pass the filters, by kind."""
    condition, values = sql_filters.where(filters)
    return dict(
        connection.execute(
            f"select r.kind, count(*) from records r where {condition} group by r.kind",
            values,
        ).fetchall()
    )


def around(
    connection: sqlite3.Connection,
    anchor: tuple[int, int],
    before: int,
    after: int,
    filters: Filters,
) -> tuple[list[int], list[int]]:
    """Numbers of the records just before and just after ``(created_at, id)``, oldest first."""
    condition, values = sql_filters.where(filters)

    def side(comparison: str, direction: str, count: int) -> list[int]:
        rows = connection.execute(
            f"select r.id from records r where (r.created_at, r.id) {comparison} (?, ?)"
            f" and {condition} order by r.created_at {direction}, r.id {direction} limit ?",
            (*anchor, *values, count),
        )
        return [number for (number,) in rows]

    return side("<", "desc", before)[::-1], side(">", "asc", after)


def export_page(
    connection: sqlite3.Connection, filters: Filters, after: int, size: int
) -> list[int]:
    """The next numbers after ``after`` in the order records were stored."""
    condition, values = sql_filters.where(filters)
    rows = connection.execute(
        f"select r.id from records r where r.id > ? and {condition} order by r.id limit ?",
        (after, *values, size),
    )
    return [number for (number,) in rows]


def projects(connection: sqlite3.Connection, platform: str = "") -> list[tuple[str, int, int]]:
    """(project, records, newest created_at), newest first; of all platforms or of one."""
    return connection.execute(
        "select project, count(*), max(created_at) from records where project != ''"
        " and (?1 = '' or id in"
        " (select record_id from facets where name = 'platform' and value = ?1 collate nocase))"
        " group by project order by 3 desc, project",
        (platform,),
    ).fetchall()
