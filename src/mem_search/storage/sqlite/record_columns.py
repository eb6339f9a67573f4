"""What a search needs to know of every record, in memory: columns by record number.

Filters and conversations are asked about hundreds to tens of thousands of records in one search;
as statements that costs more than ranking does. About 70 bytes a record. The store stays the
truth: each snapshot compares its revision (``record_changes``, written by triggers, so whichever
process writes) and reads again what was written since.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mem_search.model import Filters
from mem_search.model.kind_codes import KIND_CODES, MOST, Codes
from mem_search.text.sketch import HEAD, WORDS, Heads

Numbers = NDArray[np.int64]
GONE: Final = MOST
"""The kind code of a number that is not, or no longer, that of a record."""

_NAMED = ("project", "session", "source")


class Names:
    """Numbers for the strings of a column; they are only ever added. 0 is the empty string."""

    def __init__(self) -> None:
        self._numbers = {"": 0}

    def number(self, name: str) -> int:
        return self._numbers.setdefault(name, len(self._numbers))

    def among(self, passes: Callable[[str], bool]) -> list[int]:
        """Numbers of the names that pass."""
        return [number for name, number in list(self._numbers.items()) if passes(name)]


@dataclass(frozen=True, slots=True)
class Columns:
    """Arrays indexed by record number, all of one length; ``kinds`` are codes of KIND_CODES.

    ``projects``, ``sessions`` and ``sources`` are numbers of ``names``; times are milliseconds;
    an unknown importance is NaN; ``successors`` are 0 for a record that is current. ``heads`` are
    the beginnings of sketches (text/sketch.py).
    """

    kinds: Codes
    projects: NDArray[np.int32]
    sessions: NDArray[np.int32]
    sources: NDArray[np.int32]
    positions: NDArray[np.int32]
    created: Numbers
    updated: Numbers
    importance: NDArray[np.float64]
    archived: NDArray[np.bool_]
    successors: Numbers
    heads: Heads
    names: dict[str, Names]
    revision: int = -1
    """The last change of a record that is in these columns; -1 before anything was read."""
    masks: dict[Filters, NDArray[np.bool_]] = field(default_factory=dict)
    """Which records pass the filters that were asked for lately (``filter_masks``)."""

    @property
    def size(self) -> int:
        """One more than the highest record number known."""
        return len(self.kinds)

    def exist(self, records: Numbers) -> NDArray[np.bool_]:
        inside = records < self.size
        return np.asarray(inside & (self.kinds[np.where(inside, records, 0)] != GONE))

    def conversations(self, records: Numbers) -> Numbers:
        """A number for the session and project of each record; 0 outside of sessions."""
        sessions = self.sessions[records].astype(np.int64)
        return np.where(sessions > 0, (sessions << 32) | self.projects[records], 0)


def _empty(size: int, names: dict[str, Names]) -> Columns:
    return Columns(
        kinds=np.full(size, GONE, np.uint8),
        projects=np.zeros(size, np.int32),
        sessions=np.zeros(size, np.int32),
        sources=np.zeros(size, np.int32),
        positions=np.zeros(size, np.int32),
        created=np.zeros(size, np.int64),
        updated=np.zeros(size, np.int64),
        importance=np.full(size, np.nan, np.float64),
        archived=np.zeros(size, np.bool_),
        successors=np.zeros(size, np.int64),
        heads=np.zeros((size, WORDS), np.uint32),
        names=names,
    )


@dataclass(slots=True)
class RecordColumnsCache:
    """The columns of one store. ``on_change`` is called when records were written since."""

    on_change: Callable[[], None] = lambda: None
    _known: Columns = field(default_factory=lambda: _empty(1, {name: Names() for name in _NAMED}))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def current(self, connection: sqlite3.Connection) -> Columns:
        """Columns with every record that the read of ``connection`` sees; perhaps newer ones."""
        (last,) = connection.execute("select max(revision) from record_changes").fetchone()
        revision = last or 0
        if self._known.revision < revision:
            with self._lock:
                if self._known.revision < revision:
                    self._known = _refreshed(connection, self._known, revision)
                    self.on_change()
        known = self._known
        # What an older snapshot finds out about filters does not hold for newer columns.
        return known if known.revision == revision else replace(known, masks={})


def _refreshed(connection: sqlite3.Connection, known: Columns, revision: int) -> Columns:
    """``known`` with what was written up to ``revision``."""
    (oldest,) = connection.execute("select min(revision) from record_changes").fetchone()
    if known.revision < 0 or oldest > known.revision + 1:
        # Never read, or changes that are not in ``known`` were pruned.
        return replace(_read(connection, _empty(1, known.names), None), revision=revision)
    (changed,) = connection.execute(
        "select json_group_array(distinct record_id) from record_changes where revision > ?",
        (known.revision,),
    ).fetchone()
    return replace(_read(connection, known, json.loads(changed)), revision=revision)


def _read(connection: sqlite3.Connection, known: Columns, only: Iterable[int] | None) -> Columns:
    """New columns in which the rows of ``only``, or all, are as the store has them now."""
    wanted = None if only is None else sorted(only)
    condition = "" if wanted is None else "where id in (select value from json_each(?))"
    # One row, however many records: each that Python takes costs a turn at its lock.
    row = connection.execute(
        "select json_group_array(id), json_group_array(kind), json_group_array(project),"
        " json_group_array(session), json_group_array(source), json_group_array(position),"
        " json_group_array(created_at), json_group_array(updated_at),"
        " json_group_array(importance), json_group_array(archived),"
        " json_group_array(coalesce(superseded_by, 0)),"
        f" json_group_array(coalesce(hex(substr(sketch, 1, {HEAD})), hex(zeroblob({HEAD}))))"
        f" from records left join sketches on record_id = id {condition}",
        () if wanted is None else (json.dumps(wanted),),
    ).fetchone()
    ids, kinds, projects, sessions, sources, *others = (json.loads(column) for column in row)
    positions, created, updated, importance, archived, successors, heads = others
    size = max(known.size, max(ids, default=0) + 1, (wanted or [0])[-1] + 1)
    columns = _grown(known, size)
    if wanted is not None:
        columns.kinds[wanted] = GONE
    places = np.array(ids, dtype=np.int64)
    columns.kinds[places] = KIND_CODES.codes(kinds)
    columns.projects[places] = _numbers(known.names["project"], projects)
    columns.sessions[places] = _numbers(known.names["session"], sessions)
    columns.sources[places] = _numbers(known.names["source"], sources)
    columns.positions[places] = positions
    columns.created[places] = created
    columns.updated[places] = updated
    columns.importance[places] = np.array(importance, dtype=np.float64)
    columns.archived[places] = np.array(archived, dtype=np.bool_)
    columns.successors[places] = successors
    columns.heads[places] = np.frombuffer(bytes.fromhex("".join(heads)), np.uint32).reshape(
        -1, WORDS
    )
    return columns


def _numbers(names: Names, values: Sequence[str]) -> list[int]:
    return [names.number(value) for value in values]


def _grown(known: Columns, size: int) -> Columns:
    """A copy with room: searches under way keep the columns they began with."""
    larger = _empty(size, known.names)
    for column in fields(Columns):
        if column.name not in ("names", "revision", "masks"):
            values: NDArray[Any] = getattr(known, column.name)
            getattr(larger, column.name)[: known.size] = values
    return larger
