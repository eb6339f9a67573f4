"""The passage map of one store, in memory: the record, kind and length of each passage.

A search looks up thousands of passages; joining them in SQL costs more than ranking them. These
values never change for a passage (a changed passage gets a new number), so the arrays only grow;
who takes numbers from the map itself leaves out those of deleted passages (``gone``). About 14
bytes a passage.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from mem_search.model.kind_codes import KIND_CODES, Codes
from mem_search.model.rankings import Numbers, PassageColumns
from mem_search.storage.sqlite import column_blocks
from mem_search.storage.sqlite.column_blocks import (
    Block,
    kinds_by_code,
    kinds_by_name,
    newest_write,
    oldest_write,
)

T = TypeVar("T", bound=np.generic)

LAYOUT: Final = np.dtype(
    [("records", np.int64), ("kinds", np.uint8), ("code", np.bool_), ("lengths", np.int32)]
)
"""A row of a stored block."""


@dataclass(frozen=True, slots=True)
class PassageMap:
    """Arrays indexed by passage number; ``kinds`` are codes of KIND_CODES."""

    records: Numbers
    kinds: Codes
    code: NDArray[np.bool_]
    lengths: NDArray[np.int32]

    def of(self, passages: Numbers) -> PassageColumns:
        """The columns of ``passages``; one beyond the map does not exist."""
        if len(passages) and passages.max() >= len(self.records):
            known = np.flatnonzero(passages < len(self.records))
            columns = PassageColumns.of_none(passages)
            columns.put(known, self.of(passages[known]))
            return columns
        return PassageColumns(
            passages,
            self.records[passages],
            self.kinds[passages],
            self.code[passages],
            self.lengths[passages],
        )


@dataclass(slots=True)
class PassageMapCache:
    """The map of one store, which grows when a passage beyond it is looked up."""

    known: PassageMap = field(default_factory=lambda: empty(0))
    _reading: threading.Lock = field(default_factory=threading.Lock)
    _gone: tuple[int, Numbers] = (-1, np.zeros(0, np.int64))
    """The revision up to which they are known."""

    def up_to(self, connection: sqlite3.Connection, passage: int) -> PassageMap:
        """A map with at least every passage up to ``passage`` that ``connection`` sees.

        It ends with the newest passage, so a number that no passage ever had costs no memory.
        """
        if passage >= len(self.known.records):
            with self._reading:
                if not len(self.known.records):
                    self.known = _whole(connection)
                if passage >= len(self.known.records):
                    rows = _read(connection, "id >= ?", (len(self.known.records),))
                    self.known = _extended(self.known, rows)
        return self.known

    def gone(self, connection: sqlite3.Connection) -> Numbers:
        """Passages of the map that were deleted, of records that may still be there.

        Those deleted before this process began may be missing: no vector of them was ever read.
        """
        revision, oldest = newest_write(connection), oldest_write(connection)
        with self._reading:
            since, gone = self._gone
            if since < revision:
                candidates = np.flatnonzero(self.known.records)
                among, values = (
                    "",
                    list[str](),
                )  # at first all, which is quicker than to look up all
                if since >= 0 and oldest <= since + 1:  # else later changes were pruned
                    (changed,) = connection.execute(
                        "select json_group_array(distinct record_id) from record_changes"
                        " where revision > ?",
                        (since,),
                    ).fetchone()
                    candidates = np.flatnonzero(np.isin(self.known.records, json.loads(changed)))
                    among = " where id in (select value from json_each(?))"
                    values.append(json.dumps(candidates.tolist()))
                (there,) = connection.execute(
                    f"select json_group_array(id) from passages{among}", values
                ).fetchone()
                # One that came after an older snapshot is there in this one.
                gone = np.setdiff1d(np.union1d(gone, candidates), json.loads(there))
                self._gone = revision, gone.astype(np.int64)
            return self._gone[1]


def empty(size: int) -> PassageMap:
    """A map with room for ``size`` passages, of no record."""
    return PassageMap(
        np.zeros(size, np.int64),
        np.zeros(size, np.uint8),
        np.zeros(size, np.bool_),
        np.zeros(size, np.int32),
    )


def block_of(known: PassageMap, owned: NDArray[np.bool_], span: slice) -> Block:
    """The rows of ``span`` to be stored: those that are ``owned``, by a record that exists."""
    rows = np.zeros(span.stop - span.start, LAYOUT)
    for column in ("records", "kinds", "code", "lengths"):
        rows[column][owned] = getattr(known, column)[span][owned]
    names, rows["kinds"] = kinds_by_name(rows["kinds"])
    return Block(span.start, rows, {"kinds": names})


def _whole(connection: sqlite3.Connection) -> PassageMap:
    """The map of all passages, from stored blocks where there are any."""
    (last,) = connection.execute("select coalesce(max(id), -1) from passages").fetchone()
    known = empty(last + 1)
    for part in column_blocks.parts(connection, "passages", LAYOUT, last + 1):
        if isinstance(part, Block):
            known.records[part.span] = part.rows["records"]
            known.kinds[part.span] = kinds_by_code(part.names["kinds"], part.rows["kinds"])
            known.code[part.span] = part.rows["code"]
            known.lengths[part.span] = part.rows["lengths"]
        else:
            _fill(known, _read(connection, "id >= ? and id < ?", (part.start, part.stop)))
    return known


def _extended(known: PassageMap, rows: Sequence[Any]) -> PassageMap:
    size = max(len(known.records), max(rows[0], default=-1) + 1)
    extended = PassageMap(
        records=_grown(known.records, size),
        kinds=_grown(known.kinds, size),
        code=_grown(known.code, size),
        lengths=_grown(known.lengths, size),
    )
    _fill(extended, rows)
    return extended


def _grown(column: NDArray[T], size: int) -> NDArray[T]:
    larger = np.zeros(size, column.dtype)
    larger[: len(column)] = column
    return larger


def _fill(known: PassageMap, rows: Sequence[Any]) -> None:
    """Put ``rows``, columns as those of ``_read``, into ``known``."""
    ids, records, kinds, code, lengths = rows
    places = np.array(ids, dtype=np.int64)
    known.records[places] = np.array(records, dtype=np.int64)
    known.kinds[places] = KIND_CODES.codes(kinds)
    known.code[places] = np.array(code, dtype=np.bool_)
    known.lengths[places] = np.array(lengths, dtype=np.int32)


def _read(
    connection: sqlite3.Connection, condition: str, values: Sequence[int]
) -> Sequence[Sequence[Any]]:
    """Columns id, record, kind, is it code, length in characters of passages."""
    row = connection.execute(
        "select json_group_array(id), json_group_array(record_id), json_group_array(kind),"
        " json_group_array(field = 'code'), json_group_array(span_end - span_start)"
        f" from passages where {condition}",
        values,
    ).fetchone()
    return [json.loads(column) for column in row]
