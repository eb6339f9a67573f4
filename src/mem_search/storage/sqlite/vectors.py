"""Stored vectors: the source of the vector index and of the rows for scoring; and the outbox.

Vectors are stored as little-endian float16 of unit length. The index gets the same rounded values,
so a rebuilt index equals the one that it replaces. Each has a checksum (``rules.checksums``), at
which is looked wherever vectors are read from the file: searches do so once, and have them then.
"""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import os
import shutil
import sqlite3
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from mmap import mmap
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from mem_search.contracts import Vectors
from mem_search.model.arrays import matvec, places_of
from mem_search.model.ingest import OutboxStep, ToEmbed, VectorEntry
from mem_search.model.rankings import Numbers, Values
from mem_search.platform.memory import let_go
from mem_search.storage.rules.checksums import is_whole, with_checksum
from mem_search.storage.sql.connection import reads
from mem_search.storage.sql.indexing import Indexing, waiting
from mem_search.storage.sqlite.connection import SqliteConnection
from mem_search.storage.sqlite.damage import BYTES, DerivedDamaged
from mem_search.storage.sqlite.database import Database
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
    connection.executemany(
        "insert or replace into vectors(entry_id, model_id, vector)"
        " select ?, ?, ? where exists (select 1 from passages where id = ? / 2)",
        [(entry, model, stored, entry) for entry, stored in sorted(pack(entries, vectors))],
    )


class SqliteIndexing(Indexing):
    """``sql.indexing.Indexing`` over the tables ``outbox`` and ``vectors``."""

    keep_embedder = "insert or replace into meta(key, value) values('embedder', %s)"
    kept_embedder = "select value from meta where key = 'embedder'"

    stored_vector = "v.vector"
    unpacked = staticmethod(unpack)

    async def model_number(self, fingerprint: str, name: str, dimensions: int) -> int:
        # A known one is only read: a store that cannot be written is opened, too.
        known = "select id from embedding_models where fingerprint = %s"
        row = await self._database.read(lambda c: c.maybe(known, (fingerprint,)))
        if row is None:
            return int(await self._database.write(model_id, fingerprint, name, dimensions))
        return int(row[0])

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
        by_digest: dict[bytes, dict[int, Vectors]] = {}
        dimensions = connection.count(
            "select dimensions from embedding_models where id = %s", (model,)
        )
        for digest in dict.fromkeys(hashes):
            rows = connection.execute(
                "select v.entry_id, v.vector from passages p"
                " join vectors v on v.entry_id in (2 * p.id, 2 * p.id + 1) and v.model_id = ?"
                " where p.content_hash = ?",
                (model, digest),
            ).fetchall()
            if rows:
                halves = [entry % 2 for entry, _ in rows]
                by_digest[digest] = dict(zip(halves, unpack(rows, dimensions), strict=True))
        return by_digest

    @reads
    def vectors(
        self, connection: SqliteConnection, model: int, dimensions: int, passages: Sequence[int]
    ) -> tuple[list[VectorEntry], Vectors]:
        rows = connection.execute(
            "select v.entry_id, p.record_id, p.kind, r.created_at, v.vector"
            " from passages p join records r on r.id = p.record_id"
            " join vectors v on v.entry_id in (2 * p.id, 2 * p.id + 1) and v.model_id = %s"
            " where p.id = any(%s) order by v.entry_id",
            (model, list(passages)),
        ).fetchall()
        entries = [VectorEntry(*row[:4]) for row in rows]
        return entries, unpack([(row[0], row[4]) for row in rows], dimensions)

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


log = logging.getLogger(__name__)

_CHUNK = 4096
"""Passages that are scored, or read from the store, at once: this bounds the memory."""

_FILL = 1000
"""Passages that are read ahead at once: some milliseconds of work, then a similar pause."""

_PAUSE = 0.02
_MIN_ROWS = 1 << 14

_BYTES = 4
"""Bytes of a number. Two would be enough, but widening costs three times the scoring."""

_MAX_BYTES = 4 << 30
"""The largest file; it also takes at most a quarter of the free disk."""

_GATHERED = 512
"""Rows that are gathered at once, so that they stay in the processor's cache."""

_SPREAD = 4
"""Rows for each requested one, up to which comparing all of them, in their order, is faster."""


@dataclass(frozen=True, slots=True)
class _Rows:
    """``first``: the row of each passage, 0 for unknown. Where ``two`` is set a second follows."""

    first: NDArray[np.int32]
    two: NDArray[np.bool_]
    matrix: NDArray[np.float32]


@dataclass(slots=True)
class VectorRows:
    """The vectors of one model, in a scratch file in ``folder``. Call ``close``."""

    folder: Path
    model: int
    dimensions: int
    _rows: _Rows = field(
        default_factory=lambda: _Rows(
            np.zeros(1, np.int32), np.zeros(1, np.bool_), np.zeros((1, 0), np.float32)
        )
    )
    _count: int = 1
    _file: IO[bytes] | None = None
    _full: bool = False
    _adding: threading.Lock = field(default_factory=threading.Lock)

    def cosines(self, connection: sqlite3.Connection, query: Vectors, passages: Numbers) -> Values:
        """For each of ``passages`` the cosine of its nearer half to ``query``, of shape
        (1, dimensions); NaN without a vector.
        """
        cosines = np.full(len(passages), np.nan)
        count = self._count  # before the rows: they have at least so many
        rows = self._rows
        near = None
        if 1 < count < _SPREAD * len(passages):
            near = matvec(rows.matrix[:count], query[0])

        def of_rows(numbers: NDArray[np.int32]) -> Values:
            if near is not None:
                return near[numbers].astype(np.float64)
            return _gathered(rows.matrix, numbers, query[0])

        for start in range(0, len(passages), _CHUNK):
            some = passages[start : start + _CHUNK]
            first = rows.first[np.where(some < len(rows.first), some, 0)]
            if near is not None:
                first = np.where(first < count, first, 0)
            kept = first > 0
            part = cosines[start : start + _CHUNK]
            if kept.any():
                own, two = first[kept], rows.two[some[kept]]
                scores = of_rows(own)
                if two.any():
                    scores[two] = np.maximum(scores[two], of_rows(own[two] + 1))
                part[kept] = scores
            if not kept.all():
                lacking = np.flatnonzero(~kept)
                places, vectors = self._read(connection, some[lacking])
                np.fmax.at(part, lacking[places], matvec(vectors, query[0]))
        return cosines

    def of_passages(
        self, connection: sqlite3.Connection, passages: Numbers
    ) -> tuple[NDArray[np.intp], Vectors]:
        """The position in ``passages`` of each vector, and the vectors, shape (n, dimensions).

        A passage with two halves has two rows, a passage without a vector has none.
        """
        rows = self._rows
        first = rows.first[np.where(passages < len(rows.first), passages, 0)]
        kept = np.flatnonzero(first)
        if not len(kept):
            return self._read(connection, passages)
        two = kept[rows.two[passages[kept]]]
        places = np.concatenate([kept, two])
        vectors = rows.matrix[np.concatenate([first[kept], first[two] + 1])]
        if len(kept) == len(passages):
            return places, vectors
        lacking = np.flatnonzero(first == 0)
        of, more = self._read(connection, passages[lacking])
        return np.concatenate([places, lacking[of]]), np.concatenate([vectors, more])

    async def fill(self, database: Database) -> None:
        """Read all stored vectors little by little, so that few are missing later."""
        after = 0
        while True:
            last = await database.read(self._read_ahead, after)
            if last is None or self._full:
                return
            after = last
            await asyncio.sleep(_PAUSE)

    def release_pages(self) -> None:
        """Let the system have the pages that were read."""
        mapped: Any = self._rows.matrix.base  # none before the first row
        if isinstance(mapped, mmap):
            let_go(mapped)

    def close(self) -> None:
        """Free the disk. A running scoring keeps the rows with which it began."""
        with self._adding:
            if self._file is not None:
                self._file.close()
            self._file, self._full = None, True

    def _read_ahead(self, connection: sqlite3.Connection, after: int) -> int | None:
        """Read the next batch after the passage ``after``; its last passage, None at the end."""
        (last,) = connection.execute(
            "select max(id) from (select id from passages where id > ? order by id limit ?)",
            (after, _FILL),
        ).fetchone()
        if last is None:
            return None
        rows = connection.execute(
            "select entry_id, vector from vectors where entry_id between ? and ? and model_id = ?"
            " order by entry_id",
            (2 * after + 2, 2 * last + 1, self.model),
        ).fetchall()
        self._keep(rows)
        return int(last)

    def _read(
        self, connection: sqlite3.Connection, passages: Numbers
    ) -> tuple[NDArray[np.intp], Vectors]:
        """The same as ``of_passages``, read from the store and added to the file."""
        # The cross join fixes the order; SQLite would read every vector and drop most.
        rows = connection.execute(
            "select v.entry_id, v.vector from json_each(?) j cross join vectors v"
            " on v.entry_id in (2 * j.value, 2 * j.value + 1) and v.model_id = ?",
            (json.dumps(passages.tolist()), self.model),
        ).fetchall()
        rows.sort()
        vectors = self._keep(rows)
        of = np.array([entry >> 1 for entry, _ in rows], dtype=np.int64)
        return places_of(of, passages), vectors

    def _keep(self, packed: list[tuple[int, bytes]]) -> Vectors:
        """Add rows in the order of their entries; both halves of a passage come together.

        Returns their vectors. Raises DerivedDamaged.
        """
        vectors = unpack(packed, self.dimensions)
        if not packed:
            return vectors
        entries = np.array([entry for entry, _ in packed], dtype=np.int64)
        passages, first, halves = np.unique(entries >> 1, return_index=True, return_counts=True)
        with self._adding:
            if self._full:
                return vectors
            try:
                rows = self._room(int(passages[-1]) + 1, self._count + len(packed))
                self._write(vectors.tobytes())
            except OSError as error:
                self._full = True
                log.warning("vectors are read from the store from now on: %s", error)
                return vectors
            rows.two[passages] = halves > 1
            rows.first[passages] = self._count + first  # last, because this makes them known
            self._count += len(packed)
        return vectors

    def _write(self, content: bytes) -> None:
        assert self._file is not None
        at = self._count * _BYTES * self.dimensions
        while content:
            written = os.pwrite(self._file.fileno(), content, at)
            content, at = content[written:], at + written

    def _room(self, passages: int, rows: int) -> _Rows:
        """The rows with room for ``count`` more; readers keep their mapping."""
        if self._file is None:
            self._file = tempfile.TemporaryFile(dir=self.folder, prefix="vectors-")  # noqa: SIM115
        known = self._rows
        size, held = len(known.first), len(known.matrix)
        if passages > size or rows > held:
            if passages > size:
                size = max(passages, size * 3 // 2)
            first, two = np.zeros(size, np.int32), np.zeros(size, np.bool_)
            first[: len(known.first)], two[: len(known.two)] = known.first, known.two
            matrix = known.matrix
            if rows > held:
                held = max(rows, held * 3 // 2, _MIN_ROWS)
                size_of_file = held * _BYTES * self.dimensions
                if size_of_file > min(_MAX_BYTES, shutil.disk_usage(self.folder).free // 4):
                    raise OSError(
                        errno.ENOSPC, f"no room for a scratch file of {size_of_file} bytes"
                    )
                self._file.truncate(size_of_file)
                matrix = np.memmap(
                    self._file, dtype=np.float32, mode="r", shape=(held, self.dimensions)
                )
            self._rows = _Rows(first, two, matrix)
        return self._rows


def _gathered(matrix: NDArray[np.float32], rows: NDArray[np.int32], query: Any) -> Values:
    return np.concatenate(
        [matvec(matrix[rows[at : at + _GATHERED]], query) for at in range(0, len(rows), _GATHERED)]
    ).astype(np.float64)
