"""Filters as SQL for a server: text has the collation "C", and columns in lower case beside it."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Final

from mem_search.model import Term
from mem_search.storage.postgres import words
from mem_search.storage.postgres.connection import Connection
from mem_search.storage.rules import bm25
from mem_search.storage.sql.connection import ascii_lower, folded_name
from mem_search.storage.sql.filters import FilterSql, Sql, word_query

_COMMON_DATES: Final = r"'^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?$'"


class PostgresFilters(FilterSql):
    """``FilterSql`` over jsonb; words are looked up at once."""

    like = "ilike %s"
    like_exactly = "like %s"
    text = "string"
    has = "v.type != 'null' and v.value not in ('', '0', 'false')"
    is_word = "v.type in ('boolean', 'null') and v.value = lower(%s::text collate \"C\")"

    def among(self, column: str, values: Collection[str]) -> Sql:
        return f"{column} = any(%s::text[])", [list(values)]

    def same(self, connection: Connection, column: str, values: Collection[str]) -> Sql:
        if not all(map(str.isascii, values)):
            wanted = set(map(folded_name, values))
            return self.among(column, _spelled(connection, column, wanted.__contains__))
        if len(values) == 1:
            return f"{column}_lower = %s", [*map(ascii_lower, values)]
        return self.among(f"{column}_lower", [*map(ascii_lower, values)])

    def alike(self, connection: Connection, column: str, pattern: str) -> Sql:
        if pattern.isascii():
            return f"{column} {self.like}", [pattern]
        alike = re.compile(_as_expression(folded_name(pattern)), re.DOTALL).fullmatch
        spelled = _spelled(connection, column, lambda name: alike(name) is not None)
        return self.among(column, spelled)

    def words(self, connection: Connection, term: Term) -> Sql:
        column = bm25.COLUMNS.index(term.column) if term.column else None
        passages = words.matched(connection, word_query(term), column)
        records = connection.column(
            "select distinct record_id from passages where id = any(%s)", (passages.tolist(),)
        )
        return "r.id = any(%s)", [records]

    def in_metadata(self, name: str, held: Sql) -> Sql:
        condition, values = held
        path = name.replace("\0", "").split(".")  # no stored name has one
        # A value that is no list is read as a list of one.
        return (
            "r.data ? %s and exists (select 1 from jsonb_array_elements("
            "case jsonb_typeof(r.data #> %s)"
            " when 'array' then r.data #> %s else jsonb_build_array(r.data #> %s) end) e(j),"
            " lateral (select e.j #>> '{}' collate \"C\" as value, jsonb_typeof(e.j) as type) v"
            f" where {condition})",
            [path[0], path, path, path, *values],
        )

    # "case" decides what is converted: PostgreSQL may reorder the parts of an "and".

    def number(self, sign: str) -> str:
        return f"case when v.type = 'number' then v.value::numeric {sign} %s else false end"

    def time(self, sign: str, bound: str) -> str:
        return (
            f"case when v.type = 'string' and v.value ~ {_COMMON_DATES} and pg_input_is_valid("
            "v.value, 'timestamptz') then extract(epoch from v.value::timestamptz)::bigint * 1000"
            f" {sign} {bound} else false end"
        )


_TABLES: Final = {"r": "records", "x": "facets"}


def _spelled(connection: Connection, column: str, meets: Callable[[str], bool]) -> list[str]:
    """The values of ``column`` whose folded name ``meets``: of those that are not ASCII, like it.

    The collation "C" knows no case of other letters.
    """
    table, name = column.split(".")
    stored = connection.column(
        f"select distinct {name} from {_TABLES[table]} where {name} ~ '[^\\x01-\\x7f]'"
    )
    return [value for value in stored if meets(folded_name(value))]


def _as_expression(pattern: str) -> str:
    """The regular expression of a pattern of LIKE."""
    parts = re.split(r"(\\.|%)", pattern)
    return "".join(".*" if part == "%" else re.escape(part.removeprefix("\\")) for part in parts)


FILTERS: Final = PostgresFilters()
where = FILTERS.where
passing = FILTERS.passing
