"""Stored vectors as rows of one scratch file beside the store, for scoring.

Reading vectors one by one from SQLite costs ten times as much as scoring them, and a scan of the
passages of a filter was the slowest search. The rows of a passage never change (a changed text is a
new passage), so this cache cannot be stale: missing rows are read from the store, deleted ones are
never requested. The file has no name and ends with the process; the system decides how much of it
stays in memory.
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
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from mem_search.contracts import Vectors
from mem_search.model.rankings import Numbers, Values
from mem_search.storage.sqlite.database import Database
from mem_search.storage.sqlite.vectors import unpack

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
"""Rows of a range for each requested row, up to which scoring the whole range is faster."""


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
        """For each of ``passages`` the cosine of its nearer half; NaN without a vector.

        ``query`` has shape (1, dimensions).
        """
        cosines = np.full(len(passages), np.nan)
        for start in range(0, len(passages), _CHUNK):
            some = passages[start : start + _CHUNK]
            rows = self._rows
            first = rows.first[np.where(some < len(rows.first), some, 0)]
            kept = first > 0
            part = cosines[start : start + _CHUNK]
            if kept.any():
                part[kept] = _scored(rows, first[kept], some[kept], query[0])
            if not kept.all():
                lacking = np.flatnonzero(~kept)
                places, vectors = self._read(connection, some[lacking])
                np.fmax.at(part, lacking[places], vectors @ query[0])
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
        found = connection.execute(
            "select entry_id, vector from vectors where entry_id between ? and ? and model_id = ?"
            " order by entry_id",
            (2 * after + 2, 2 * last + 1, self.model),
        ).fetchall()
        self._keep(found)
        return int(last)

    def _read(
        self, connection: sqlite3.Connection, passages: Numbers
    ) -> tuple[NDArray[np.intp], Vectors]:
        """The same as ``of_passages``, read from the store and added to the file."""
        # The cross join fixes the order; SQLite would read every vector and drop most.
        found = connection.execute(
            "select v.entry_id, v.vector from json_each(?) j cross join vectors v"
            " on v.entry_id in (2 * j.value, 2 * j.value + 1) and v.model_id = ?",
            (json.dumps(passages.tolist()), self.model),
        ).fetchall()
        found.sort()
        vectors = self._keep(found)
        of = np.array([entry >> 1 for entry, _ in found], dtype=np.int64)
        order = np.argsort(passages)
        places = order[np.searchsorted(passages, of, sorter=order)]
        return places, vectors

    def _keep(self, found: list[tuple[int, bytes]]) -> Vectors:
        """Add rows in the order of their entries; both halves of a passage come together.

        Returns their vectors. Raises DerivedDamaged.
        """
        vectors = unpack(found, self.dimensions)
        if not found:
            return vectors
        entries = np.array([entry for entry, _ in found], dtype=np.int64)
        passages, first, halves = np.unique(entries >> 1, return_index=True, return_counts=True)
        with self._adding:
            if self._full:
                return vectors
            try:
                rows = self._room(int(passages[-1]) + 1, self._count + len(found))
                self._write(vectors.tobytes())
            except OSError as error:
                self._full = True
                log.warning("vectors are read from the store from now on: %s", error)
                return vectors
            rows.two[passages] = halves > 1
            rows.first[passages] = self._count + first  # last, because this makes them known
            self._count += len(found)
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


def _scored(rows: _Rows, first: NDArray[np.int32], passages: Numbers, query: Any) -> Values:
    cosines = _dots(rows.matrix, first, query)
    two = rows.two[passages]
    if two.any():
        cosines[two] = np.maximum(cosines[two], _dots(rows.matrix, first[two] + 1, query))
    return cosines


def _dots(matrix: NDArray[np.float32], rows: NDArray[np.int32], query: Any) -> Values:
    low, high = int(rows.min()), int(rows.max())
    if high - low < _SPREAD * len(rows):
        dots: Values = (matrix[low : high + 1] @ query)[rows - low].astype(np.float64)
        return dots
    return np.concatenate(
        [matrix[rows[at : at + _GATHERED]] @ query for at in range(0, len(rows), _GATHERED)]
    ).astype(np.float64)
