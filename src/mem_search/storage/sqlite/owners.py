"""Whose a passage is, in memory: record, kind, field and length by passage number.

A search looks up thousands of passages; joining them in SQL costs more than ranking them. What
is kept here never changes for a passage (``records.store`` gives a passage a new number when it
would), so the arrays only grow, and numbers of passages that are gone are simply never asked for.
About 14 bytes a passage.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from mem_search.contracts import Candidate
from mem_search.model import KINDS
from mem_search.storage.sqlite.database import Database

Numbers = NDArray[np.int64]
T = TypeVar("T", bound=np.generic)


@dataclass(frozen=True, slots=True)
class Best:
    """Records with their best passage and its score: columns in order of the record number."""

    records: Numbers
    passages: Numbers
    scores: NDArray[np.float64]

    def by_record(self) -> dict[int, float]:
        return dict(zip(self.records.tolist(), self.scores.tolist(), strict=True))


@dataclass(frozen=True, slots=True)
class Owners:
    """Arrays indexed by passage number; ``kinds`` and ``fields`` hold indices into the names."""

    records: Numbers
    kinds: NDArray[np.uint8]
    fields: NDArray[np.uint8]
    lengths: NDArray[np.int32]
    field_names: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """One more than the highest passage number known."""
        return len(self.records)

    def best(self, passages: Numbers, scores: NDArray[np.float64]) -> Best:
        """One row a record, that of its best passage (the first of equal ones).

        A passage that is gone and was never known here has no owner and is left out.
        """
        records = self.records[passages]
        owned = np.flatnonzero(records > 0)
        # Passages come in order of their number, and mostly that is the order of their records.
        order = owned[np.argsort(records[owned], kind="stable")]
        records, scores = records[order], scores[order]
        starts = np.flatnonzero(np.r_[True, records[1:] != records[:-1]][: len(records)])
        if len(starts) == len(records):
            return Best(records, passages[order], scores)
        most = np.maximum.reduceat(scores, starts)
        sizes = np.diff(np.append(starts, len(records)))
        is_most = np.flatnonzero(scores == np.repeat(most, sizes))
        _, first = np.unique(records[is_most], return_index=True)
        chosen = is_most[first]
        return Best(records[chosen], passages[order[chosen]], scores[chosen])

    def candidates(self, best: Best, depth: int) -> list[Candidate]:
        """The first ``depth`` of ``best``, and a tenth as many of each kind that is rarer."""
        rows = [_first(best, np.arange(len(best.records)), depth)]
        kinds = self.kinds[best.passages]
        if len(best.records) > depth:
            among = np.bincount(kinds[rows[0]], minlength=len(KINDS))
            rows += [
                _first(best, np.flatnonzero(kinds == kind), depth // 10)
                for kind in np.flatnonzero(among < depth // 10)
            ]
        wanted = np.unique(np.concatenate(rows))
        wanted = wanted[np.lexsort((best.records[wanted], -best.scores[wanted]))]
        chosen = best.passages[wanted]
        return list(
            map(
                Candidate,
                best.records[wanted].tolist(),
                self.kind_names(chosen),
                self.names_of_fields(chosen),
                chosen.tolist(),
                best.scores[wanted].tolist(),
            )
        )

    def kind_names(self, passages: Numbers) -> list[str]:
        return [KINDS[kind] for kind in self.kinds[passages].tolist()]

    def names_of_fields(self, passages: Numbers) -> list[str]:
        return [self.field_names[name] for name in self.fields[passages].tolist()]


def _first(best: Best, rows: Numbers, count: int) -> Numbers:
    """The ``count`` of ``rows`` with the best scores, ties by record number; in no order."""
    if len(rows) <= count or not count:
        return rows[:count]
    # Whole columns are not sorted for the sake of their beginning.
    last = np.partition(-best.scores[rows], count - 1)[count - 1]
    near = rows[-best.scores[rows] <= last]
    best_first: Numbers = near[np.argsort(-best.scores[near], kind="stable")]
    return best_first[:count]


@dataclass(slots=True)
class PassageOwners:
    """The owners of one store, read further whenever a passage beyond them is asked about."""

    database: Database
    _known: Owners = field(
        default_factory=lambda: Owners(
            np.zeros(0, np.int64),
            np.zeros(0, np.uint8),
            np.zeros(0, np.uint8),
            np.zeros(0, np.int32),
        )
    )
    _reading: threading.Lock = field(default_factory=threading.Lock)

    async def up_to(self, passage: int) -> Owners:
        """Owners that include ``passage``, if it exists."""
        if passage >= self._known.size:
            return await self.database.read(self.within, passage)
        return self._known

    def within(self, connection: sqlite3.Connection, passage: int) -> Owners:
        """The same inside a read that has seen ``passage``."""
        if passage >= self._known.size:
            with self._reading:
                if passage >= self._known.size:
                    rows = _after(connection, self._known.size)
                    self._known = _extended(self._known, rows, passage)
        return self._known


def _after(connection: sqlite3.Connection, first: int) -> Sequence[Sequence[int | str]]:
    """Columns id, record, kind, field, length of the passages from ``first`` on."""
    row = connection.execute(
        "select json_group_array(id), json_group_array(record_id), json_group_array(kind),"
        " json_group_array(field), json_group_array(end - start) from passages where id >= ?",
        (first,),
    ).fetchone()
    return [json.loads(column) for column in row]


def _extended(known: Owners, rows: Sequence[Sequence[int | str]], passage: int) -> Owners:
    ids, records, kinds, fields, lengths = rows
    places = np.array(ids, dtype=np.int64)
    size = max(int(places.max(initial=-1)), passage) + 1
    names = list(known.field_names)
    names += sorted({str(name) for name in fields} - set(names))
    index = {name: place for place, name in enumerate(names)}
    kind_index = {name: place for place, name in enumerate(KINDS)}
    found = Owners(
        records=_grown(known.records, size),
        kinds=_grown(known.kinds, size),
        fields=_grown(known.fields, size),
        lengths=_grown(known.lengths, size),
        field_names=tuple(names),
    )
    found.records[places] = np.array(records, dtype=np.int64)
    found.kinds[places] = [kind_index[kind] for kind in kinds]  # type: ignore[index]
    found.fields[places] = [index[str(name)] for name in fields]
    found.lengths[places] = np.array(lengths, dtype=np.int32)
    return found


def _grown(column: NDArray[T], size: int) -> NDArray[T]:
    larger = np.zeros(size, column.dtype)
    larger[: len(column)] = column
    return larger
