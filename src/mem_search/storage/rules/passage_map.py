"""The passage map of one store, in memory: the record, kind and length of each passage.

A search looks up thousands of passages; joining them in SQL costs more than ranking them. These
values never change for a passage (a changed passage gets a new number), so the arrays only grow;
numbers of deleted passages are never looked up. About 14 bytes a passage.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from mem_search.model.rankings import (
    KIND_CODES,
    Codes,
    Numbers,
    PassageColumns,
    PassageContext,
)

C = TypeVar("C")
T = TypeVar("T", bound=np.generic)


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
            found = columns_for(passages)
            put(found, known, self.of(passages[known]))
            return found
        return PassageColumns(
            passages,
            self.records[passages],
            self.kinds[passages],
            self.code[passages],
            self.lengths[passages],
        )


@dataclass(slots=True)
class PassageMapCache(Generic[C]):
    """The map of one store, which grows when a passage beyond it is looked up.

    ``after(connection, first)`` reads the columns id, record, kind, is it code, and length in
    characters of the passages from ``first`` on.
    """

    after: Callable[[C, int], Sequence[Any]]

    known: PassageMap = field(default_factory=lambda: empty(0))
    begin: Callable[[C], PassageMap] = lambda _: empty(0)
    """``begin(connection)`` is the first map, where there is a quicker way to it than ``after``."""

    _reading: threading.Lock = field(default_factory=threading.Lock)

    def up_to(self, connection: C, passage: int) -> PassageMap:
        """A map with at least every passage up to ``passage`` that ``connection`` sees.

        It ends with the newest passage, so a number that no passage ever had costs no memory.
        """
        if passage >= len(self.known.records):
            with self._reading:
                if not len(self.known.records):
                    self.known = self.begin(connection)
                if passage >= len(self.known.records):
                    rows = self.after(connection, len(self.known.records))
                    self.known = _extended(self.known, rows)
        return self.known


def columns_for(passages: Numbers) -> PassageColumns:
    """Columns that say of none of ``passages`` that it exists; to be filled."""
    size = len(passages)
    return PassageColumns(
        passages,
        np.zeros(size, np.int64),
        np.zeros(size, np.uint8),
        np.zeros(size, np.bool_),
        np.zeros(size, np.int32),
    )


def put(into: PassageColumns, rows: slice | NDArray[np.intp], columns: PassageColumns) -> None:
    """Set the columns at ``rows``."""
    into.records[rows] = columns.records
    into.kinds[rows] = columns.kinds
    into.code[rows] = columns.code
    into.lengths[rows] = columns.lengths


def empty(size: int) -> PassageMap:
    """A map with room for ``size`` passages, of no record."""
    return PassageMap(
        np.zeros(size, np.int64),
        np.zeros(size, np.uint8),
        np.zeros(size, np.bool_),
        np.zeros(size, np.int32),
    )


def fill(known: PassageMap, rows: Sequence[Any]) -> None:
    """Put ``rows``, which are columns as those of ``PassageMapCache.after``, into ``known``."""
    ids, records, kinds, code, lengths = rows
    places = np.array(ids, dtype=np.int64)
    known.records[places] = np.array(records, dtype=np.int64)
    known.kinds[places] = KIND_CODES.codes(kinds)
    known.code[places] = np.array(code, dtype=np.bool_)
    known.lengths[places] = np.array(lengths, dtype=np.int32)


def _extended(known: PassageMap, rows: Sequence[Any]) -> PassageMap:
    size = max(len(known.records), max(rows[0], default=-1) + 1)
    found = PassageMap(
        records=_grown(known.records, size),
        kinds=_grown(known.kinds, size),
        code=_grown(known.code, size),
        lengths=_grown(known.lengths, size),
    )
    fill(found, rows)
    return found


def _grown(column: NDArray[T], size: int) -> NDArray[T]:
    larger = np.zeros(size, column.dtype)
    larger[: len(column)] = column
    return larger


def with_neighbours(
    rows: list[tuple[int, int, int]], passage: int | None, reach: int
) -> PassageContext:
    """The ``passage`` among the (passage, start, end) of its record, or else the first one."""
    place = next((at for at, row in enumerate(rows) if row[0] == passage), 0)
    near = rows[max(0, place - reach) : place + reach + 1]
    return PassageContext(
        ordinal=place,
        count=len(rows),
        start=min(start for _, start, _ in near),
        end=max(end for _, _, end in near),
    )
