"""Filters as SQL for a file: letters of ASCII count in either case by its collation and by LIKE."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection
from typing import Final

from mem_search.model import Filters, Term
from mem_search.storage.sql.filters import FilterSql, Sql, word_query
from mem_search.storage.sqlite import fulltext


class SqliteFilters(FilterSql):
    """``FilterSql`` over JSON as text and the full-text index; it needs no connection."""

    like = r"like %s escape '\'"
    like_exactly = like
    text = "text"
    has = "v.type not in ('null', 'false') and v.value not in ('', 0)"
    is_word = "v.type = lower(%s)"

    def among(self, column: str, values: Collection[str]) -> Sql:
        return f"{column} in ({', '.join(['%s'] * len(values))})", list(values)

    def same(self, column: str, values: Collection[str]) -> Sql:
        if len(values) == 1:
            return f"{column} = %s collate nocase", list(values)
        return self.among(f"{column} collate nocase", values)

    def words(self, connection: object, term: Term) -> Sql:
        expression = fulltext.expression(word_query(term))
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
    """The path of a field of metadata in JSON; a full stop leads into objects."""
    return "$" + "".join(f'."{key}"' for key in name.split("."))


def where(filters: Filters) -> Sql:
    """A condition over ``records r`` and its parameters, see ``FilterSql.where``."""
    return FILTERS.where(None, filters)


def passing(connection: sqlite3.Connection, records: Collection[int], filters: Filters) -> set[int]:
    """Those of ``records`` that are within ``filters``."""
    return FILTERS.passing(connection, records, filters)
