"""Values of records that are none, put right when met; and texts that are not UTF-8.

SQLite stores bytes in a column of texts and a word in one of numbers. What is stored of a record is
not made again from anything, so a value that nothing can read gives way to one that can be read,
and what it was stays in ``meta`` beside the rows of ``odd_rows``. A text that is not UTF-8 stays as
it is, and is read with U+FFFD in the places that are damaged (``connection.as_read``).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from typing import Any, Final

from mem_search.text.dates import FIRST_TIME, LAST_TIME, now_ms

MAX_TOLD: Final = 100
"""Rows with a text that is not UTF-8 that are named."""

MAX_POSITION: Final = 2**53
"""The largest whole number that readers of JSON keep; no text and no session is so long."""

IS_UTF8: Final = " and is_utf8(cast({0} as blob))"
"""Of a column, in SQL, after ``can_tell_utf8``."""

_TEXTS: Final = ("typeof({0}) = 'text'", "coalesce(cast({0} as text), '')")
_NUMBERS: Final = (f"typeof({{0}}) = 'integer' and {{0}} between 0 and {MAX_POSITION}", "0")
_TIMES: Final = (f"typeof({{0}}) = 'integer' and {{0}} between {FIRST_TIME} and {LAST_TIME}", "0")
_SHARE: Final = (
    "{0} is null or typeof({0}) in ('integer', 'real') and {0} between 0 and 1",
    "null",
)
_NONE: Final = ("typeof({0}) in ('integer', 'real', 'null')", "null")
_OBJECT: Final = (
    "typeof({0}) = 'text' and iif(json_valid({0}), json_type({0}) = 'object', 0)", "'{{}}'",
)  # fmt: skip

COLUMNS: Final[Mapping[str, tuple[tuple[str, tuple[str, str]], ...]]] = {
    "records": (
        *(
            (name, _TEXTS)
            for name in "kind source source_id project session title url body".split()
        ),
        *((name, _NUMBERS) for name in ("position", "archived")),
        *((name, _TIMES) for name in ("created_at", "updated_at", "stored_at")),
        ("importance", _SHARE),
        ("superseded_by", _NONE),
        ("data", _OBJECT),
    ),
    "passages": (
        *((name, _TEXTS) for name in "kind field parts people above".split()),
        *((name, _NUMBERS) for name in ("span_start", "span_end")),
        ("page", _NONE),
    ),
}
"""Table → column, what its value has to be, and what takes its place."""


def any_odd(connection: sqlite3.Connection) -> bool:
    """Whether a value of a record or a passage is none; reads all rows."""
    return any(
        connection.execute(
            f"select 1 from {table} where not ("
            + " and ".join(f"({test.format(name)})" for name, (test, _) in columns)
            + ") limit 1"
        ).fetchone()
        for table, columns in COLUMNS.items()
    )


def put_right(connection: sqlite3.Connection) -> Iterator[dict[str, Any]]:
    """Put odd values right; what each was, for ``odd_rows``."""
    for table, columns in COLUMNS.items():
        for name, (test, otherwise) in columns:
            condition = f"not ({test.format(name)})"
            for row, value in connection.execute(
                f"select id, {name} from {table} where {condition}"
            ).fetchall():
                reason = f"{name} was not what is written there"
                yield {"table": table, "row": repr((row, value)), "reason": reason, "at": now_ms()}
            connection.execute(
                f"update or ignore {table} set {name} = {otherwise.format(name)} where {condition}"
            )


def can_tell_utf8(connection: sqlite3.Connection) -> None:
    """Give statements of ``connection`` the function ``is_utf8``."""
    connection.create_function("is_utf8", 1, _is_utf8, deterministic=True)


def not_utf8(connection: sqlite3.Connection) -> list[str]:
    """Where texts are stored that are not UTF-8, in words; reads the whole file."""
    can_tell_utf8(connection)
    told: list[str] = []
    for (table,) in connection.execute(
        "select name from pragma_table_list where schema = 'main' and type = 'table' order by name"
    ).fetchall():
        columns = connection.execute(f'pragma table_info("{table}")').fetchall()
        key = next((f'"{each[1]}"' for each in columns if each[5]), "''")
        for name in (f'"{each[1]}"' for each in columns if "text" in str(each[2]).lower()):
            condition = f"typeof({name}) = 'text'{IS_UTF8.format(name)}"
            rows = connection.execute(
                f"select {key} from \"{table}\" where typeof({name}) = 'text' and not ({condition})"
                f" limit {MAX_TOLD}"
            )
            told += [
                f"a row of {table} ({row!s}): {name.strip(chr(34))} is not UTF-8, and is read with"
                " U+FFFD where it is damaged"
                for (row,) in rows
            ]
    return told[:MAX_TOLD]


def _is_utf8(value: bytes | None) -> bool:
    try:
        (value or b"").decode()
    except UnicodeDecodeError:
        return False
    return True
