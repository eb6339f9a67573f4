"""The columns of all records, in memory, by record number. A search looks up filters and
conversations of up to tens of thousands of records; in SQL that costs more than ranking. About 70
bytes a record. The store stays the truth: each snapshot compares its revision (``record_changes``,
written by triggers, so whichever process writes) and reads again what was written since. At a start
most columns come from stored blocks (``column_blocks``).
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

from mem_search.model import Filters, Order
from mem_search.model.kind_codes import KIND_CODES, MAX_CODES, Codes
from mem_search.storage.sqlite import column_blocks, sketches
from mem_search.storage.sqlite.column_blocks import Block, kinds_by_code, kinds_by_name
from mem_search.storage.sqlite.metadata_columns import MetadataColumns
from mem_search.text import sketch
from mem_search.text.sketch import SIZE, WORDS, Heads

Numbers = NDArray[np.int64]
GONE: Final = MAX_CODES
"""The kind code of a number without a record."""

_NAMED: Final = {"projects": "project", "sessions": "session", "sources": "source"}
"""Columns that number names, and what these are the names of."""


class Names:
    """Numbers for the strings of a column; numbers are only added. 0 is the empty string."""

    def __init__(self) -> None:
        self._numbers = {"": 0}

    def number(self, name: str) -> int:
        return self._numbers.setdefault(name, len(self._numbers))

    def numbers(self, names: Iterable[str]) -> list[int]:
        """The number of each of ``names``; a new one for a name that has none."""
        return [self.number(name) for name in names]

    def texts(self, numbers: Iterable[int]) -> list[str]:
        """The strings of ``numbers``."""
        known = list(self._numbers)
        return [known[number] for number in numbers]

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
    metadata: MetadataColumns
    revision: int = -1
    """The revision of the newest change in these columns; -1 before the first read."""
    masks: dict[Filters, NDArray[np.bool_]] = field(default_factory=dict)
    """Which records pass the filters that were asked for lately (``mask_of``)."""

    def exist(self, records: Numbers) -> NDArray[np.bool_]:
        inside = records < len(self.kinds)
        return np.asarray(inside & (self.kinds[np.where(inside, records, 0)] != GONE))

    def by_date(self, records: Numbers, order: Order) -> Numbers:
        """``records`` by date, the newest first unless the order is ``date_asc``."""
        rows = np.lexsort((records, self.created[records]))
        return records[rows if order == "date_asc" else rows[::-1]]

    def counts(self, records: Numbers) -> dict[str, int]:
        """How many of ``records`` are of each kind."""
        counted = enumerate(np.bincount(self.kinds[records]).tolist())
        return dict(sorted((KIND_CODES.name(code), count) for code, count in counted if count))


def _empty(size: int, names: dict[str, Names], metadata: MetadataColumns) -> Columns:
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
        metadata=metadata,
    )


_ARRAYS: Final = tuple(
    column.name
    for column in fields(Columns)
    if column.name not in ("names", "metadata", "revision", "masks")
)


def _layout() -> np.dtype[Any]:
    """A row of a stored block: one field for each array of ``Columns``."""
    columns = _empty(0, {}, MetadataColumns())
    arrays = {name: getattr(columns, name) for name in _ARRAYS}
    return np.dtype([(name, array.dtype, array.shape[1:]) for name, array in arrays.items()])


LAYOUT: Final = _layout()


@dataclass(slots=True)
class RecordColumnsCache:
    """The columns of one store. ``on_change`` is called when records were written since."""

    on_change: Callable[[], None] = lambda: None
    _known: Columns = field(
        default_factory=lambda: _empty(
            1, {name: Names() for name in _NAMED.values()}, MetadataColumns()
        )
    )
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def is_read(self) -> bool:
        """Whether a search has read the columns."""
        return self._known.revision >= 0

    def current(self, connection: sqlite3.Connection) -> Columns:
        """Columns with every record that ``connection`` sees, and perhaps newer ones."""
        (last,) = connection.execute("select max(revision) from record_changes").fetchone()
        revision = last or 0
        if self._known.revision < revision:
            with self._lock:
                if self._known.revision < revision:
                    self._known = _refreshed(connection, self._known, revision)
                    self.on_change()
        known = self._known
        # Masks of an older snapshot do not hold for newer columns.
        return known if known.revision == revision else replace(known, masks={})


def _refreshed(connection: sqlite3.Connection, known: Columns, revision: int) -> Columns:
    """``known`` updated to ``revision``."""
    (oldest,) = connection.execute("select min(revision) from record_changes").fetchone()
    if known.revision < 0 or oldest > known.revision + 1:
        # Never read, or later changes were pruned.
        known = _whole(connection, known, revision)
    if known.revision == revision:
        return known
    (changed,) = connection.execute(
        "select json_group_array(distinct record_id) from record_changes where revision > ?",
        (known.revision,),
    ).fetchone()
    wanted = sorted(json.loads(changed))
    return replace(_read(connection, known, wanted), revision=revision)


def _whole(connection: sqlite3.Connection, known: Columns, revision: int) -> Columns:
    """All records, from stored blocks where there are any; not newer than ``revision``."""
    (last,) = connection.execute("select coalesce(max(id), 0) from records").fetchone()
    columns = _empty(last + 1, known.names, known.metadata)
    for part in column_blocks.parts(connection, "records", LAYOUT, last + 1):
        if isinstance(part, Block):
            _put(columns, part)
        else:
            _fill(columns, connection, "where id >= ? and id < ?", (part.start, part.stop))
    since = column_blocks.revision(connection)
    return replace(columns, revision=revision if since is None else since)


def _read(connection: sqlite3.Connection, known: Columns, wanted: Sequence[int]) -> Columns:
    """New columns with the rows of ``wanted``, in order of their number, read again."""
    (last,) = connection.execute("select coalesce(max(id), 0) from records").fetchone()
    columns = _grown(known, max(len(known.kinds), last + 1, (wanted or [0])[-1] + 1))
    columns.kinds[wanted] = GONE
    condition = "where id in (select value from json_each(?))"
    _fill(columns, connection, condition, (json.dumps(wanted),))
    return columns


def _fill(
    columns: Columns, connection: sqlite3.Connection, condition: str, values: Sequence[Any]
) -> None:
    """Read the rows of records that meet ``condition`` into ``columns``."""
    # One row for all records, because Python waits for its lock at each row.
    row = connection.execute(
        "select json_group_array(id), json_group_array(kind), json_group_array(project),"
        " json_group_array(session), json_group_array(source), json_group_array(position),"
        " json_group_array(created_at), json_group_array(updated_at),"
        " json_group_array(importance), json_group_array(archived),"
        " json_group_array(coalesce(superseded_by, 0)),"
        f" group_concat(coalesce(hex(sketch), hex(zeroblob({SIZE}))), ' ')"
        f" from records left join sketches on record_id = id {condition}",
        values,
    ).fetchone()
    ids, kinds, projects, sessions, sources, *others = (json.loads(column) for column in row[:-1])
    positions, created, updated, importance, archived, successors = others
    stored = map(bytes.fromhex, (row[-1] or "").split(" " if row[-1] else None))
    made = sketch.read(sketches.whole([*zip(ids, stored, strict=True)]))
    places = np.array(ids, dtype=np.int64)
    columns.kinds[places] = KIND_CODES.codes(kinds)
    columns.projects[places] = columns.names["project"].numbers(projects)
    columns.sessions[places] = columns.names["session"].numbers(sessions)
    columns.sources[places] = columns.names["source"].numbers(sources)
    columns.positions[places] = positions
    columns.created[places] = created
    columns.updated[places] = updated
    columns.importance[places] = np.array(importance, dtype=np.float64)
    columns.archived[places] = np.array(archived, dtype=np.bool_)
    columns.successors[places] = successors
    columns.heads[places] = sketch.heads(made)


def _grown(known: Columns, size: int) -> Columns:
    """A copy with room: searches under way keep the columns they began with."""
    larger = _empty(size, known.names, known.metadata)
    for name in _ARRAYS:
        values: NDArray[Any] = getattr(known, name)
        getattr(larger, name)[: len(known.kinds)] = values
    return larger


def block_of(columns: Columns, span: slice) -> Block:
    """The rows of ``span`` to be stored. Nothing of a deleted record is in them."""
    exist = columns.kinds[span] != GONE
    rows = np.zeros(len(exist), LAYOUT)
    for column in _ARRAYS:
        rows[column][exist] = getattr(columns, column)[span][exist]
    rows["kinds"][~exist] = GONE
    names = {}
    for column, name in _NAMED.items():
        numbers, rows[column] = np.unique(rows[column], return_inverse=True)
        names[column] = columns.names[name].texts(numbers)
    names["kinds"], rows["kinds"] = kinds_by_name(rows["kinds"])
    return Block(span.start, rows, names)


def _put(columns: Columns, block: Block) -> None:
    kinds = kinds_by_code(block.names["kinds"], block.rows["kinds"])
    places = block.first + np.flatnonzero(kinds != GONE)
    rows = block.rows[kinds != GONE]
    for column in _ARRAYS:
        if column in _NAMED:
            numbers = columns.names[_NAMED[column]].numbers(block.names[column])
            getattr(columns, column)[places] = np.array(numbers, np.int32)[rows[column]]
        else:
            getattr(columns, column)[places] = rows[column]
    columns.kinds[places] = kinds[kinds != GONE]
