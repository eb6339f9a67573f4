"""A connection to the file: it reads SQLite's own statements, and those of both engines.

The dialect of shared statements is PostgreSQL's, of which SQLite gets its own form:

=========================================  ==================================================
in a shared statement                      for SQLite
=========================================  ==================================================
``%s``, ``%(name)s``                       ``?``, ``:name``
``= any(%s::bigint[])``                    ``in (select value from json_each(?))``, a list is JSON
``!= all(%s)``                             ``not in (select value from json_each(?))``
``unnest(%s::text[]) d(name)``               ``(select value as name from json_each(?)) d``
``%s::bigint``, ``collate "C"``            no cast, no collation: compared by bytes anyway
``on conflict(owner, name)``               ``on conflict(name)``: a file has one owner
``on conflict(owner, lower(name))``        ``on conflict(name)``: its collation ignores case
``data ->> 'key'``, ``data -> 'key'``      ``json_extract(data, '$.key')``
``data || %s::jsonb``                      ``json_patch(data, ?)``: no null stays
``greatest``, ``least``, ``strpos``        ``max``, ``min``, ``instr``
``ctid``                                   ``rowid``
``is not distinct from``                   ``is``
``jsonb_agg``, ``string_agg``              ``json_group_array``, ``group_concat``
``jsonb_build_array``, ``…_object``        ``json_array``, ``json_object``
``chr(10)``                                ``char(10)``
``project_lower``                          ``lower(project)``: a column of PostgreSQL's
``, worker = …``, ``FREE``, ``claim``       nothing, true: a file has one worker
``for update skip locked``                 nothing: a file has one writer
``home``                                   nothing: all is read in the home of the file
=========================================  ==================================================

JSON goes in as ``Json`` and comes out through ``from_json``; truth values come out as ``bool()``.
"""

from __future__ import annotations

import json
import re
import sqlite3
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from mem_search.patterns import pattern
from mem_search.storage.sql.connection import (
    FREE,
    HERE,
    MINE,
    OWN_HOME,
    Asking,
    Json,
    Values,
    folded_name,
)
from mem_search.text.file_names import is_text

MAPPED: Final = 2**31 - 2**16
"""Bytes of the file that a connection may map."""

_PROBLEM: Final = """
select found.quick_check
from (
    select 'sqlite_schema' as name
    union all select name from sqlite_master
    where type = 'table' and sql not like 'create virtual table%'
) each_table, pragma_quick_check(each_table.name) found
where found.quick_check != 'ok' limit 1
"""

MAX_STATEMENTS: Final = 1024
"""Shared statements whose form is kept: those of filters have as many shapes as queries."""

_PRAGMAS: Final = f"""
pragma foreign_keys = on;
pragma synchronous = normal;
pragma temp_store = memory;
pragma cache_size = -8192;
pragma mmap_size = {MAPPED};
pragma journal_size_limit = 67108864;
pragma secure_delete = on;
"""

_CAST: Final = r"(?:::\w+(?:\[\])?)?"

_FORMS: Final = tuple(
    (pattern(form), own)
    for form, own in (
        (rf"= any\((%s|%\(\w+\)s){_CAST}\)", r"in (select value from json_each(\1))"),
        (rf"!= all\((%s|%\(\w+\)s){_CAST}\)", r"not in (select value from json_each(\1))"),
        (
            r"\bunnest\((%s)::\w+\[\]\) (\w+)\((\w+)\)",
            r"(select value as \3 from json_each(\1)) \2",
        ),
        (r"\b(\w+) \|\| (%s|%\(\w+\)s)::jsonb", r"json_patch(\1, \2)"),
        (r"::\w+(?:\[\])?", ""),
        (r' collate "C"', ""),
        (r"on conflict\(owner, lower\((\w+)\)\)", r"on conflict(\1)"),
        (r"on conflict\(owner, ", "on conflict("),
        (r"((?:\w+\.)?\w+) ->>? '(\w+)'", r"json_extract(\1, '$.\2')"),
        (r"\bctid\b", "rowid"),
        (r"\bgreatest\(", "max("),
        (r"\bleast\(", "min("),
        (r"\bstrpos\(", "instr("),
        (r"\bis not distinct from\b", "is"),
        (re.escape(FREE), "true"),
        (rf"(?:,| and) worker = (?:null\b|{re.escape(MINE)})", ""),
        (r", home = case home [^,]* end\b", ""),
        (rf"\b(and|or) {re.escape(OWN_HOME)}", r"\1 true"),
        (re.escape(HERE), "true"),
        (r", (?:home|current_setting\('mem_search.home'\))\)", ")"),
        (r"\bhome = excluded\.home,", ""),
        (r" or cursors\.home != excluded\.home", ""),
        (r" for update(?: skip locked)?", ""),
        (r"\bjsonb_agg\(", "json_group_array("),
        (r"\bstring_agg\(", "group_concat("),
        (r"\bjsonb_build_(array|object)\(", r"json_\1("),
        (r"\b((?:\w+\.)?\w+)_lower\b", r"lower(\1)"),
        (r"\bchr\(", "char("),
        (r"%\((\w+)\)s", r":\1"),
        (r"(?<!')%s", "?"),  # '%s' is a format of strftime
        (r"%%", "%"),
    )
)


def is_shared(statement: str) -> bool:
    """Whether ``statement`` has parameters or settings of the shared dialect."""
    return "%s" in statement or "%(" in statement or "current_setting(" in statement


@lru_cache(MAX_STATEMENTS)
def for_sqlite(statement: str) -> str:
    """``statement`` as SQLite reads it."""
    for form, own in _FORMS:
        statement = form.sub(own, statement)
    return statement


class SqliteConnection(Asking, sqlite3.Connection):
    """``storage.sql.connection.Connection``; a statement with ``?`` is run as it stands."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.create_function("folded", 1, folded_name, deterministic=True)

    def execute(self, statement: str, values: Any = (), /) -> sqlite3.Cursor:
        try:
            if not is_shared(statement):
                return sqlite3.Connection.execute(self, statement, values)
            return sqlite3.Connection.execute(self, for_sqlite(statement), _bound(values))
        except MemoryError as error:  # a damaged length in an index asks for any number of bytes
            raise sqlite3.DatabaseError("it needs more memory than there is") from error

    def many(self, statement: str, rows: Iterable[Values], /) -> int:
        return self.executemany(for_sqlite(statement), map(_bound, rows)).rowcount

    def insert(
        self, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], then: str = "", /
    ) -> None:
        names = ", ".join(column.split()[0] for column in columns)
        marks = ", ".join(["%s"] * len(columns))
        self.many(f"insert into {table}({names}) values({marks}) {then}", rows)

    def claim(self, table: str, rows: Sequence[int] | Sequence[str], /) -> None:
        """Nothing: a file has one worker."""

    def assign(self, table: str, column: str, values: Mapping[int, int | None], /) -> None:
        self.executemany(
            f"update {table} set {column} = :value where id = :id and {column} is not :value",
            [{"value": value, "id": number} for number, value in values.items()],
        )

    def lock_store(self) -> None:
        """Nothing: a file has one writer."""


def _bound(values: Values) -> Any:
    if isinstance(values, Mapping):
        return {name: _value(value) for name, value in values.items()}
    return [_value(value) for value in values]


def _value(value: Any) -> Any:
    match value:
        case Json():
            # As letters, as filters look for a key; of halves of surrogate pairs SQLite has none.
            text = json.dumps(value.value, ensure_ascii=False)
            return text if is_text(text) else json.dumps(value.value)
        case list() | tuple():
            return json.dumps(value)
        case _:
            return value


def as_read(text: bytes) -> str:
    """A stored text, with U+FFFD for what is not UTF-8: as ``text_factory`` it never raises."""
    return text.decode("utf-8", "replace")


def problem_in(connection: sqlite3.Connection) -> str:
    """The first error that SQLite finds in the file, or "". Raises sqlite3.Error.

    Each ordinary table is checked by itself. From SQLite 3.44 on, a check of the whole file also
    checks the indexes of FTS5. These are derived, so damage in them is no damage of the file; and a
    connection that has read them compares them with an older state.
    """
    (problem,) = connection.execute(_PROBLEM).fetchone() or ("",)
    return str(problem)


def prepared(
    opened: SqliteConnection | None, path: Path, busy_seconds: float, *, readonly: bool
) -> SqliteConnection:
    """``opened``, or a new connection, with our settings. Raises sqlite3.Error."""
    # check_same_thread is off only so that ``Database.close`` may close it from elsewhere.
    connection = opened or sqlite3.connect(
        path,
        timeout=busy_seconds,
        isolation_level=None,
        check_same_thread=False,
        factory=SqliteConnection,
    )
    try:
        connection.executescript(_PRAGMAS)
        if readonly:
            connection.execute("pragma query_only = on")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def log_ahead(connection: sqlite3.Connection, seconds: float) -> None:
    """Switch to the write-ahead log; SQLite does not wait here for others that open the file."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            connection.execute("pragma journal_mode = wal")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return
