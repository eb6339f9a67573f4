"""Filters as SQL for a file: letters of ASCII count in either case by its collation and by LIKE.

The values of metadata fields that searches filter by are in memory. Reading one field of 100,000
records out of their JSON takes some 70 ms, and a filter by an author reads five. So a field is read
once, when the first filter asks for it, and from then on only what was written since
(``record_changes``). Different values are few, so a condition is decided for each of them once, by
SQLite, which therefore means the same as in a statement.
"""

from __future__ import annotations

import json
import sqlite3
from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mem_search.model import Filters, MetadataTest, Term
from mem_search.storage.sql.connection import folded_name
from mem_search.storage.sql.filters import FilterSql, Sql, word_query
from mem_search.storage.sqlite import words
from mem_search.storage.sqlite.column_blocks import newest_write, oldest_write


class SqliteFilters(FilterSql):
    """``FilterSql`` over JSON as text and the full-text index; it needs no connection."""

    like = r"like %s escape '\'"
    like_exactly = like
    text = "text"
    has = "v.type not in ('null', 'false') and v.value not in ('', 0)"
    is_word = "v.type = lower(%s)"

    def among(self, column: str, values: Collection[str]) -> Sql:
        return f"{column} in ({', '.join(['%s'] * len(values))})", list(values)

    def same(self, connection: object, column: str, values: Collection[str]) -> Sql:
        if not all(map(str.isascii, values)):
            return self.among(f"folded({column})", [*map(folded_name, values)])
        if len(values) == 1:
            return f"{column} = %s collate nocase", list(values)
        return self.among(f"{column} collate nocase", values)

    def alike(self, connection: object, column: str, pattern: str) -> Sql:
        if pattern.isascii():
            return f"{column} {self.like}", [pattern]
        return f"folded({column}) {self.like}", [folded_name(pattern)]

    def words(self, connection: object, term: Term) -> Sql:
        expression = words.expression(word_query(term))
        if term.column:
            expression = f"{term.column} : ({expression})"
        return (
            "r.id in (select q.record_id from passages_fts"
            " join passages q on q.id = passages_fts.rowid where passages_fts match %s)",
            [expression],
        )

    def in_metadata(self, name: str, held: Sql) -> Sql:
        condition, values = held
        # Most records have no such key, and looking for it costs less than parsing JSON.
        key = json.dumps(name.partition(".")[0], ensure_ascii=False)
        return (
            "instr(r.data, %s)"
            f" and exists (select 1 from json_each(r.data, %s) v where {condition})",
            [key, metadata_path(name), *values],
        )

    def number(self, sign: str) -> str:
        return f"v.type in ('integer', 'real') and v.value {sign} %s"

    def time(self, sign: str, bound: str) -> str:
        return f"v.type = 'text' and strftime('%s', v.value) * 1000 {sign} {bound}"


FILTERS: Final = SqliteFilters()


def metadata_path(name: str) -> str:
    """The path of a field of metadata in JSON; a full stop leads into objects.

    A NUL, which no stored name has, would end the path for SQLite.
    """
    return "$" + "".join(f'."{key}"' for key in name.replace("\0", "").split("."))


def passing(connection: sqlite3.Connection, records: Collection[int], filters: Filters) -> set[int]:
    """Those of ``records`` that are within ``filters``."""
    return FILTERS.passing(connection, records, filters)


MAX_BYTES: Final = 16 << 20
"""Memory of all fields. The authors of 60,000 records, 2,000 different ones, take 0.7 MB."""

VALUE_BYTES: Final = 150
"""Memory of a value beside its characters."""

# As JSON, exactly: SQLite writes 15 digits of a number, and 17 tell all apart.
_VALUE: Final = (
    "case v.type when 'text' then json_quote(v.value)"
    " when 'real' then printf('%!.17g', v.value) when 'integer' then printf('%d', v.value)"
    " when 'object' then v.value when 'array' then v.value else v.type end"
)


@dataclass(frozen=True, slots=True)
class MetadataColumn:
    """The values of one field: ``records[n]`` has the value ``numbers[n]`` of ``values`` (JSON).

    A record with a list is there for each of its items.
    """

    records: NDArray[np.int64]
    numbers: NDArray[np.int64]
    values: Mapping[str, int]
    revision: int

    @property
    def bytes(self) -> int:
        """Its size in memory."""
        texts = sum(map(len, self.values)) + VALUE_BYTES * len(self.values)
        return self.records.nbytes + self.numbers.nbytes + texts


@dataclass(slots=True)
class MetadataColumns:
    """The fields of one store that were asked for; the last ones are kept."""

    most_bytes: int = MAX_BYTES
    _known: OrderedDict[str, MetadataColumn] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def passing(self, connection: sqlite3.Connection, test: MetadataTest) -> NDArray[np.int64]:
        """The records that pass ``test`` by their metadata, perhaps newer ones, too."""
        condition, values = FILTERS.value_condition(test)
        records = []
        for name in test.names:
            column = self._current(connection, name)
            (passed,) = connection.execute(
                f"select json_group_array(v.key) from json_each(?) v where {condition}",
                (f"[{','.join(column.values)}]", *values),
            ).fetchone()
            records.append(column.records[np.isin(column.numbers, json.loads(passed))])
        return np.concatenate(records)

    def _current(self, connection: sqlite3.Connection, name: str) -> MetadataColumn:
        newest, oldest = newest_write(connection), oldest_write(connection)
        with self._lock:
            column = self._known.pop(name, None)
            if column is None or oldest > column.revision + 1:
                column = _read(connection, name, newest)
            elif column.revision < newest:
                column = _refreshed(connection, name, newest, column)
            self._known[name] = column
            while sum(each.bytes for each in self._known.values()) > self.most_bytes:
                self._known.popitem(last=False)
            return column


def _read(connection: sqlite3.Connection, name: str, revision: int) -> MetadataColumn:
    records, values = _values(connection, name, None)
    numbers: dict[str, int] = {}
    codes = [numbers.setdefault(value, len(numbers)) for value in values]
    return MetadataColumn(np.array(records, np.int64), np.array(codes, np.int64), numbers, revision)


def _refreshed(
    connection: sqlite3.Connection, name: str, revision: int, known: MetadataColumn
) -> MetadataColumn:
    """``known`` with the records that were written since read again."""
    (listed,) = connection.execute(
        "select json_group_array(distinct record_id) from record_changes where revision > ?",
        (known.revision,),
    ).fetchone()
    changed = json.loads(listed)
    records, values = _values(connection, name, changed)
    stays = ~np.isin(known.records, changed)
    if len(known.values) > 2 * int(stays.sum()) + len(values):  # most are of no record any more
        return _read(connection, name, revision)
    numbers = dict(known.values)
    codes = [numbers.setdefault(value, len(numbers)) for value in values]
    return MetadataColumn(
        np.concatenate([known.records[stays], np.array(records, np.int64)]),
        np.concatenate([known.numbers[stays], np.array(codes, np.int64)]),
        numbers,
        revision,
    )


def _values(
    connection: sqlite3.Connection, name: str, only: Iterable[int] | None
) -> tuple[Sequence[int], Sequence[str]]:
    """Records with values of the field ``name``, and the values; of those in ``only``, or all."""
    condition = "" if only is None else " where r.id in (select value from json_each(?))"
    parameters = () if only is None else (json.dumps([*only]),)
    # One row, because Python waits for its lock at each row.
    records, values = connection.execute(
        f"select json_group_array(id), json_group_array(value) from (select r.id as id, {_VALUE}"
        f" as value from records r, json_each(r.data, ?) v{condition} limit -1)",
        (metadata_path(name), *parameters),
    ).fetchone()
    return json.loads(records), json.loads(values)
