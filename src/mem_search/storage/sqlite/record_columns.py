"""The columns of all records, in memory, by record number. A search looks up filters and
conversations of up to tens of thousands of records; in SQL that costs more than ranking. About 70
bytes a record. The store stays the truth: each snapshot compares its revision (``record_changes``,
written by triggers, so whichever process writes) and reads again what was written since. At a start
most columns come from stored blocks (``column_blocks``). Which records pass a filter is a mask over
the columns; statements answer only what these do not know.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mem_search.model import AllOf, AnyOf, Condition, Demand, Filters, Not, Order, Term
from mem_search.model.kind_codes import KIND_CODES, MAX_CODES, Codes
from mem_search.model.rankings import Numbers
from mem_search.storage.sql.connection import folded_name
from mem_search.storage.sql.projects import names_meant
from mem_search.storage.sqlite import column_blocks, damage
from mem_search.storage.sqlite.column_blocks import Block, kinds_by_code, kinds_by_name
from mem_search.storage.sqlite.filters import FILTERS, MetadataColumns
from mem_search.text import sketch
from mem_search.text.sketch import SIZE, WORDS, Heads

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
    made = sketch.read(damage.whole_sketches([*zip(ids, stored, strict=True)]))
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


Mask = NDArray[np.bool_]
MAX_MASKS: Final = 32
"""Filters whose masks are cached until something is written; one byte a record each."""


def passes(
    connection: sqlite3.Connection, columns: Columns, filters: Filters, records: Numbers
) -> Mask:
    """For each of ``records`` whether it exists and is within ``filters``.

    ``records`` may hold a number several times, and numbers that ``columns`` do not have.
    """
    inside = records < len(columns.kinds)
    return inside & mask_of(connection, columns, filters)[np.where(inside, records, 0)]


def mask_of(connection: sqlite3.Connection, columns: Columns, filters: Filters) -> Mask:
    """The same for every number in ``columns``, as an array by record number. It is cached with the
    columns, because a search needs it several times.
    """
    mask = columns.masks.get(filters)
    if mask is None:
        mask = _by_columns(connection, columns, filters, np.arange(len(columns.kinds)))
        for asked in _by_statements(connection, columns, filters):
            mask &= asked
        while len(columns.masks) >= MAX_MASKS:
            columns.masks.pop(next(iter(columns.masks)), None)
        columns.masks[filters] = mask
    return mask


def _by_statements(
    connection: sqlite3.Connection, columns: Columns, filters: Filters
) -> Iterator[Mask]:
    """A mask for each filter on data that is not in the columns."""
    for condition, values in FILTERS.facets(connection, filters):
        statement = f"select json_group_array(x.record_id) from facets x where {condition}"
        yield _listed(connection, columns, statement, values)
    for test in filters.metadata:
        mask = _mask(columns, columns.metadata.passing(connection, test))
        if test.test == "has":  # tags and derived facets are not in the metadata
            condition, values = FILTERS.among("x.name", test.names)
            statement = f"select json_group_array(x.record_id) from facets x where {condition}"
            mask |= _listed(connection, columns, statement, values)
        yield mask
    rest = Filters(stored=filters.stored, url=filters.url)
    if rest:
        condition, values = FILTERS.where(connection, rest)
        statement = f"select json_group_array(r.id) from records r where {condition}"
        yield _listed(connection, columns, statement, values)
    if filters.demand is not None:
        yield _demanded(connection, columns, filters.demand)


def _demanded(connection: sqlite3.Connection, columns: Columns, demand: Demand) -> Mask:
    def asked(part: Demand) -> Mask:
        return _demanded(connection, columns, part)

    match demand:
        case Term():
            condition, values = FILTERS.demand(connection, demand)
            statement = f"select json_group_array(r.id) from records r where {condition}"
            return _listed(connection, columns, statement, values)
        case Condition():
            masks = [mask_of(connection, columns, filters) for filters in demand.any_of]
            return np.logical_or.reduce(masks) if masks else np.zeros(len(columns.kinds), np.bool_)
        case Not():
            return ~asked(demand.of)
        case AllOf():
            return np.asarray(np.logical_and.reduce([asked(part) for part in demand.of]))
        case AnyOf():
            return np.asarray(np.logical_or.reduce([asked(part) for part in demand.of]))


def _listed(
    connection: sqlite3.Connection, columns: Columns, statement: str, values: Sequence[Any]
) -> Mask:
    """The records whose numbers ``statement`` returns in one row."""
    (numbers,) = connection.execute(statement, values).fetchone()
    return _mask(columns, np.array(json.loads(numbers), dtype=np.int64))


def _mask(columns: Columns, numbers: Numbers) -> Mask:
    mask = np.zeros(len(columns.kinds), dtype=np.bool_)
    mask[numbers[numbers < len(columns.kinds)]] = True
    return mask


def _by_columns(
    connection: sqlite3.Connection, columns: Columns, filters: Filters, records: Numbers
) -> Mask:
    """Whether ``records`` exist and pass those of ``filters`` that the columns can decide."""
    kinds = columns.kinds[records]
    mask = np.isin(kinds, KIND_CODES.among(filters.kinds)) if filters.kinds else kinds != GONE
    if filters.project:
        wanted = set(map(folded_name, names_meant(connection, filters.project)))
        projects = columns.names["project"].among(lambda name: folded_name(name) in wanted)
        mask &= np.isin(columns.projects[records], projects)
    for column, name, numbers in (
        ("session", filters.session, columns.sessions),
        ("source", filters.source, columns.sources),
    ):
        if name:
            named = columns.names[column].among(name.__eq__)
            mask &= np.isin(numbers[records], named)
    for span, times in ((filters.created, columns.created), (filters.updated, columns.updated)):
        if span.start is not None:
            mask &= times[records] >= span.start
        if span.end is not None:
            mask &= times[records] <= span.end
    if filters.importance is not None:
        mask &= columns.importance[records] >= np.float64(filters.importance)
    if filters.archived is not None:
        mask &= columns.archived[records] == filters.archived
    if filters.without:
        mask &= ~np.isin(records, filters.without)
    if filters.superseded is not None:
        mask &= (columns.successors[records] > 0) == filters.superseded
    return np.asarray(mask, dtype=np.bool_)
