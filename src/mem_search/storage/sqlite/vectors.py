"""Stored vectors: the source of the vector index and of the rows for scoring; and the outbox.

Vectors are stored as little-endian float16 of unit length. The index gets the same rounded values,
so a rebuilt index equals the one that it replaces. Each has a checksum (``rules.checksums``), at
which is looked wherever vectors are read from the file: searches do so once, and have them then.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from typing import Any

import numpy as np

from mem_search.contracts import VectorEntry, Vectors
from mem_search.model.ingest import OutboxStep, ToEmbed
from mem_search.storage.rules.checksums import is_whole, with_checksum
from mem_search.storage.sql.connection import reads
from mem_search.storage.sql.indexing import Indexing, waiting
from mem_search.storage.sqlite.connection import SqliteConnection
from mem_search.storage.sqlite.damage import BYTES, DerivedDamaged
from mem_search.text.dates import now_ms


def model_id(connection: sqlite3.Connection, fingerprint: str, name: str, dimensions: int) -> int:
    """The number of an embedding space; the first call creates it."""
    connection.execute(
        "insert or ignore into embedding_models(fingerprint, name, dimensions, created_at)"
        " values(?, ?, ?, ?)",
        (fingerprint, name, dimensions, now_ms()),
    )
    (number,) = connection.execute(
        "select id from embedding_models where fingerprint = ?", (fingerprint,)
    ).fetchone()
    return int(number)


def known_model(connection: sqlite3.Connection, fingerprint: str) -> int | None:
    """The number of an embedding space that has been used."""
    row = connection.execute(
        "select id from embedding_models where fingerprint = ?", (fingerprint,)
    ).fetchone()
    return row[0] if row else None


def pack(entries: Sequence[int], vectors: Vectors) -> list[tuple[int, bytes]]:
    """Each entry with what is stored for it."""
    packed = (row.tobytes() for row in vectors.astype("<f2"))
    return [(entry, with_checksum(row, entry)) for entry, row in zip(entries, packed, strict=True)]


def content(entry: int, stored: object, size: int) -> bytes:
    """The ``size`` bytes of the stored vector of ``entry``. Raises DerivedDamaged."""
    if not is_whole(stored, entry, size):
        raise DerivedDamaged(("vectors",), f"the one of passage {entry // 2} was changed")
    return stored[:size]


def unpack(rows: Sequence[tuple[int, bytes]], dimensions: int) -> Vectors:
    """The vectors of rows of entry and stored value: shape (n, dimensions), float32.

    Raises DerivedDamaged when one is not what was written.
    """
    packed = [content(entry, stored, BYTES * dimensions) for entry, stored in rows]
    joined = np.frombuffer(b"".join(packed), dtype="<f2")
    return joined.reshape(len(rows), dimensions).astype(np.float32)


def save(
    connection: sqlite3.Connection, model: int, entries: Sequence[int], vectors: Vectors
) -> None:
    """Store the vectors of passages that still exist."""
    # In order, because the newest passages come first, and keys that fall split the pages badly.
    rows = sorted(pack(entries, vectors))
    connection.executemany(
        "insert or replace into vectors(entry_id, model_id, vector)"
        " select ?1, ?2, ?3 where exists (select 1 from passages where id = ?1 / 2)",
        [(entry, model, stored) for entry, stored in rows],
    )


def settled(
    connection: sqlite3.Connection, model: int, dimensions: int, after: int, limit: int
) -> tuple[list[int], Vectors]:
    """The next settled entries after the entry ``after``, and their vectors."""
    rows = connection.execute(
        "select v.entry_id, v.vector from vectors v where v.entry_id > ? and v.model_id = ?"
        " and not exists (select 1 from outbox o where o.passage_id = v.entry_id / 2)"
        " order by v.entry_id limit ?",
        (after, model, limit),
    ).fetchall()
    return [entry for entry, _ in rows], unpack(rows, dimensions)


def read(
    connection: sqlite3.Connection, model: int, dimensions: int, passages: Sequence[int]
) -> tuple[list[VectorEntry], Vectors]:
    """The entries of ``passages`` for the vector index, and their vectors."""
    rows = connection.execute(
        "select v.entry_id, p.record_id, p.kind, r.created_at, v.vector"
        " from passages p join records r on r.id = p.record_id"
        " join vectors v on v.entry_id in (2 * p.id, 2 * p.id + 1) and v.model_id = ?"
        " where p.id in (select value from json_each(?)) order by v.entry_id",
        (model, json.dumps(list(passages))),
    ).fetchall()
    entries = [VectorEntry(*row[:4]) for row in rows]
    return entries, unpack([(row[0], row[4]) for row in rows], dimensions)


def of_equal_content(
    connection: sqlite3.Connection, model: int, hashes: Sequence[bytes]
) -> dict[bytes, dict[int, Vectors]]:
    """Content hash → half → stored vector: equal content is embedded once."""
    found: dict[bytes, dict[int, Vectors]] = {}
    (dimensions,) = connection.execute(
        "select dimensions from embedding_models where id = ?", (model,)
    ).fetchone()
    for digest in dict.fromkeys(hashes):
        rows = connection.execute(
            "select v.entry_id, v.vector from passages p"
            " join vectors v on v.entry_id in (2 * p.id, 2 * p.id + 1) and v.model_id = ?"
            " where p.content_hash = ?",
            (model, digest),
        ).fetchall()
        if rows:
            halves = [entry % 2 for entry, _ in rows]
            found[digest] = dict(zip(halves, unpack(rows, dimensions), strict=True))
    return found


class SqliteIndexing(Indexing):
    """``sql.indexing.Indexing`` over the tables ``outbox`` and ``vectors``."""

    keep_embedder = "insert or replace into meta(key, value) values('embedder', %s)"
    kept_embedder = "select value from meta where key = 'embedder'"

    async def model_number(self, fingerprint: str, name: str, dimensions: int) -> int:
        # A known one is only read: a store that cannot be written is opened, too.
        known: int | None = await self._database.read(known_model, fingerprint)
        if known is None:
            known = await self._database.write(model_id, fingerprint, name, dimensions)
        return int(known)

    @reads
    def to_embed(self, connection: SqliteConnection, limit: int) -> list[ToEmbed]:
        newest = "select passage_id from outbox where step = 'embed' order by passage_id desc"
        condition = f"p.id in ({newest} limit %s) order by p.id desc"
        return self._to_embed(connection, condition, (limit,))

    @reads
    def waiting(self, connection: SqliteConnection, step: OutboxStep, limit: int) -> list[int]:
        return waiting(connection, step, limit)

    @reads
    def vectors_of_equal_content(
        self, connection: SqliteConnection, model: int, hashes: Sequence[bytes]
    ) -> dict[bytes, dict[int, Vectors]]:
        return of_equal_content(connection, model, hashes)

    @reads
    def vectors(
        self, connection: SqliteConnection, model: int, dimensions: int, passages: Sequence[int]
    ) -> tuple[list[VectorEntry], Vectors]:
        return read(connection, model, dimensions, passages)

    @reads
    def settled_vectors(
        self, connection: SqliteConnection, model: int, dimensions: int, after: int, limit: int
    ) -> tuple[list[int], Vectors]:
        return settled(connection, model, dimensions, after, limit)

    def _to_embed(
        self, connection: SqliteConnection, condition: str, values: Sequence[Any]
    ) -> list[ToEmbed]:
        rows = connection.execute(
            "select p.id, p.record_id, p.span_start, p.span_end, p.content_hash, p.above"
            f" from passages p where {condition}",
            values,
        ).fetchall()
        # Each text is read once: SQLite reads all of a long one for each passage cut from it.
        texts = {
            number: (title, body)
            for number, title, body in connection.execute(
                "select id, title, body from records where id = any(%s)",
                ([record for _, record, *_ in rows],),
            )
        }
        return [
            ToEmbed(passage, texts[record][0], texts[record][1][start:end], digest, above)
            for passage, record, start, end, digest, above in rows
        ]

    def _save(
        self, connection: SqliteConnection, model: int, entries: Sequence[int], rows: Vectors
    ) -> None:
        save(connection, model, entries, rows)
