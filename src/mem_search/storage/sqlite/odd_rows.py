"""Rows of what runs by itself, put right before anything runs: jobs, saved searches, deliveries …

SQLite stores a word in a column of numbers, and a file can be changed by another program. One such
row must not keep the worker from starting, nor everything else of its table from being used. A
value that can be told from the rest is put right; a job is set aside; any other row is moved to
``meta`` with the reason, where ``doctor`` finds it, until something is forgotten.

Times that a clock has left in the future are put back, too (``rules.future_times``).

What is stored of a record is not made again from anything, so a value that nothing can read gives
way to one that can be read when it is met, and what it was stays in ``meta``, too. A text that is
not UTF-8 stays as it is, and is read with U+FFFD where it is damaged (``connection.as_read``).
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from mem_search.model.jobs import DAMAGED, TRIED
from mem_search.storage.rules import future_times
from mem_search.text.dates import FIRST_TIME, LAST_TIME, now_ms

KEY: Final = "odd_rows"
MAX_ROWS: Final = 100
"""Rows that are kept in ``meta``; the oldest give way."""

MAX_CHARACTERS: Final = 2000
"""Of a row that is kept: enough to make a search again."""

MAX_TOLD: Final = 100
"""Rows with a text that is not UTF-8 that are named."""

MAX_POSITION: Final = 2**53
"""The largest whole number that readers of JSON keep; no text and no session is so long."""

IS_UTF8: Final = " and is_utf8(cast({0} as blob))"
"""Of a column, in SQL, after ``can_tell_utf8``."""

_NUMBER = "typeof({0}) = 'integer'"
_NUMBER_OR_NONE = "typeof({0}) in ('integer', 'null')"
_TIME = f"typeof({{0}}) = 'integer' and {{0}} between {FIRST_TIME} and {LAST_TIME}"
_TIME_OR_NONE = f"{{0}} is null or {_TIME}"
_TEXT = f"typeof({{0}}) = 'text'{IS_UTF8}"
_JSON = (
    "typeof({{0}}) = 'text'"
    " and case when json_valid({{0}}) then json_type({{0}}) = '{0}' else 0 end"
)
_WHOLE = f"typeof({{0}}) = 'integer' and {{0}} between 0 and {MAX_POSITION}"
_REAL_OR_NONE = "typeof({0}) in ('integer', 'real', 'null')"
_OBJECT, _LIST = _JSON.format("object"), _JSON.format("array")


@dataclass(frozen=True, slots=True)
class Column:
    """What a value has to be, in SQL, and what takes its place; without that the row goes."""

    name: str
    test: str
    otherwise: str = ""


def _columns(test: str, names: str, otherwise: str = "") -> tuple[Column, ...]:
    return tuple(Column(name, test, otherwise) for name in names.split())


TABLES: Final[Mapping[str, tuple[Column, ...]]] = {
    "jobs": _columns(_TEXT, "id"),
    "saved_searches": (
        *_columns(_OBJECT, "request"), *_columns(_TEXT, "name"),
        *_columns(_TIME, "created_at since", ":now"), *_columns(_NUMBER, "newest_record", "0"),
        *_columns(_TEXT, "schedule", "'1d'"),
        *_columns(_TIME_OR_NONE, "ran_at", "null"), *_columns(_TIME_OR_NONE, "next_at", ":now"),
        *_columns(_NUMBER, "inbox", "1"), *_columns(_TEXT, "webhook_url email error", "''"),
    ),
    "webhook_deliveries": (
        *_columns("typeof({0}) = 'blob'", "body"), *_columns(_TEXT, "id url event"),
        *_columns(_NUMBER, "attempts", "0"), *_columns(_TIME, "next_at created_at", ":now"),
        *_columns(_NUMBER_OR_NONE, "status", "null"),
        *_columns(_TIME_OR_NONE, "ended_at", "null"), *_columns(_TEXT, "error", "''"),
    ),
    "cursors": (
        *_columns(_OBJECT, "options cursor", "'{{}}'"), *_columns(_TEXT, "source location"),
        *_columns(_NUMBER, "followed", "0"), *_columns(_TIME, "read_at", ":now"),
        *_columns(_TEXT, "label error", "''"),
    ),
    # Refused rather than used: nobody knows what was granted.
    "tokens": (
        *_columns("typeof({0}) = 'blob' and length({0}) = 32", "digest"),
        *_columns(_TEXT, "name user scope shared_with"), *_columns(_NUMBER, "read_only", "1"),
        *_columns(_TIME, "created_at", ":now"), *_columns(_TIME_OR_NONE, "expires_at", "0"),
        *_columns(_TIME_OR_NONE, "last_used_at", "null"),
    ),
    "login_links": (*_columns("typeof({0}) = 'blob'", "digest"), *_columns(_NUMBER, "ends")),
    "login_sessions": (
        *_columns(_TEXT, "id browser"), *_columns("typeof({0}) = 'blob'", "digest key"),
        *_columns(_TIME, "began_at used_at"),
    ),
    "login_keys": _columns("typeof({0}) = 'blob'", "key"),
    "granted_requests": (
        *_columns(_TEXT, "budget policy"), *_columns(_TIME, "at"),
        *_columns("typeof({0}) = 'integer' and {0} between 1 and 1000000", "count"),
    ),
    "scopes": (*_columns(_TEXT, "name filter"), *_columns(_TIME, "created_at", ":now")),
    "archives": (
        *_columns(_TEXT, "name"), *_columns(_TEXT, "research pages schedule", "''"),
        *_columns(_OBJECT, "statistics", "'{{}}'"), *_columns(_NUMBER, "watch", "0"),
        *_columns(_TIME_OR_NONE, "next_at", ":now"), *_columns(_TIME_OR_NONE, "indexed_at",
                                                                 "null"),
    ),
    "search_jobs": (
        *_columns(_OBJECT, "request"), *_columns(_TEXT, "id surface"),
        *_columns(_TEXT, "webhook_url step error", "''"), *_columns(_NUMBER, "done total", "0"),
        *_columns(_TIME, "created_at", ":now"),
        *_columns(_TIME_OR_NONE, "started_at completed_at", "null"),
        *_columns("typeof({0}) in ('text', 'null')", "result", "null"),
    ),
    "search_operations": (
        *_columns(_OBJECT, "request report index_state"),
        *_columns(_LIST, "content_types results"), *_columns(_TEXT, "id query mode"),
        *_columns(_NUMBER, "redacted total_count", "0"), *_columns(_TIME, "created_at", ":now"),
        *_columns("typeof({0}) in ('real', 'integer')", "took_ms", "0"),
    ),
    "notifications": (
        *_columns(_NUMBER, "search_id"), *_columns(_TIME, "at", ":now"),
        *_columns(_NUMBER, "count inbox", "1"), *_columns(_TIME_OR_NONE, "read_at", "null"),
    ),
    "forget_receipts": (
        *_columns(_OBJECT, "removed copies", "'{{}}'"), *_columns(_LIST, "pending"),
        *_columns(_TIME, "begun_at", ":now"), *_columns(_TIME_OR_NONE, "done_at", "null"),
    ),
    "ledger": (*_columns(_TEXT, "item outcome reason"), *_columns(_NUMBER, "records", "0"),
               *_columns(_TIME, "at", ":now")),
    "openings": (*_columns(_TIME, "at", ":now"), *_columns(_NUMBER, "times", "1")),
    "clicks": (*_columns(_TEXT, "query"), *_columns(_TIME, "at", ":now")),
    "search_log": (*_columns(_TEXT, "query filters mode surface"), *_columns(_TIME, "at", ":now"),
                   *_columns(_NUMBER, "total", "0"),
                   *_columns("typeof({0}) in ('real', 'integer')", "took_ms", "0")),
}  # fmt: skip
"""Table → its columns that code reads. What a model may say later is not looked at."""

RECORDS: Final[Mapping[str, tuple[Column, ...]]] = {
    "records": (
        *_columns("typeof({0}) = 'text'", "kind source source_id project session title url body",
                  "coalesce(cast({0} as text), '')"),
        *_columns(_WHOLE, "position archived", "0"),
        *_columns(_TIME, "created_at updated_at stored_at", "0"),
        *_columns("{0} is null or typeof({0}) in ('integer', 'real') and {0} between 0 and 1",
                  "importance", "null"),
        *_columns(_REAL_OR_NONE, "superseded_by", "null"), *_columns(_OBJECT, "data", "'{{}}'"),
    ),
    "passages": (
        *_columns("typeof({0}) = 'text'", "kind field parts people above",
                  "coalesce(cast({0} as text), '')"),
        *_columns(_WHOLE, "span_start span_end", "0"), *_columns(_REAL_OR_NONE, "page", "null"),
    ),
}  # fmt: skip
"""The same for records; nothing of them goes."""

_LARGE: Final = ("ledger", "search_log", "search_operations")
"""Tables whose texts are not decoded at each start: what is odd there holds nothing up."""

_JOB: Final = (
    (_OBJECT.format("params"), "its parameters are not JSON"),
    (_OBJECT.format("result"), "its result is not JSON"),
    (
        "typeof(state) = 'text' and state in"
        " ('queued', 'running', 'done', 'failed', 'cancelled', 'set_aside')",
        "its state is none of a job",
    ),
    (_TIME.format("created_at"), "its time is none"),
    (_TIME_OR_NONE.format("started_at"), "the time of its start is none"),
    (_TIME_OR_NONE.format("ended_at"), "the time of its end is none"),
    (f"{_NUMBER.format('done')} and {_NUMBER.format('total')}", "its progress is not a number"),
    (f"{_TEXT.format('name')} and {_TEXT.format('message')}", "its name or message is not a text"),
    (f"{_TEXT.format('params')} and {_TEXT.format('result')}", "its parameters are no text"),
)


def put_right(connection: sqlite3.Connection) -> int:
    """Put odd rows right, or move them; how many."""
    now = now_ms()
    can_tell_utf8(connection)
    moved = list(_moved(connection, now))
    changed = len(moved) + _jobs_set_aside(connection, now)
    for table, columns in TABLES.items():
        for column in columns:
            if column.otherwise:
                changed += connection.execute(
                    f"update {table} set {column.name} = {column.otherwise.format()}"
                    f" where not ({column.test.format(column.name)})",
                    {"now": now} if ":now" in column.otherwise else {},
                ).rowcount
    note(connection, moved)
    for statement in future_times.STATEMENTS:
        changed += connection.execute(statement.format(now=":now"), {"now": now}).rowcount
    return changed


def any_odd_value(connection: sqlite3.Connection) -> bool:
    """Whether a value of a record or a passage is none; reads all rows."""
    return any(
        connection.execute(
            f"select 1 from {table} where not ({_all_right(columns)}) limit 1"
        ).fetchone()
        for table, columns in RECORDS.items()
    )


def put_values_right(connection: sqlite3.Connection) -> None:
    """Put odd values of records and passages right, and note what each was."""
    for table, columns in RECORDS.items():
        for column in columns:
            condition = f"not ({column.test.format(column.name)})"
            rows = connection.execute(
                f"select id, {column.name} from {table} where {condition}"
            ).fetchall()
            reason = f"{column.name} was not what is written there"
            note(
                connection,
                [
                    {"table": table, "row": repr(row), "reason": reason, "at": now_ms()}
                    for row in rows
                ],
            )
            connection.execute(
                f"update or ignore {table} set {column.name} ="
                f" {column.otherwise.format(column.name)} where {condition}"
            )


def note(connection: sqlite3.Connection, rows: Iterable[dict[str, Any]]) -> None:
    """Keep what rows or values were that gave way; ``listed`` returns them."""
    if new := [{**each, "row": each["row"][:MAX_CHARACTERS]} for each in rows]:
        connection.execute(
            "insert or replace into meta(key, value) values(?, ?)",
            (KEY, json.dumps([*listed(connection), *new][-MAX_ROWS:])),
        )


def any_odd(connection: sqlite3.Connection, *, times: bool = True) -> bool:
    """Whether there is something to put right; a look at tables that are small, or read in order.

    Ask it first: a start that changes nothing writes nothing. ``times`` are those in the future.
    """
    can_tell_utf8(connection)
    tests = [f"select 1 from jobs where not ({' and '.join(f'({test})' for test, _ in _JOB)})"]
    for table, columns in TABLES.items():
        right = _all_right(columns)
        if table in _LARGE:
            right = right.replace("is_utf8(", "true or (")
        tests.append(f"select 1 from {table} where not ({right})")
    for statement in future_times.STATEMENTS if times else ():
        table = statement.removeprefix("delete from ").removeprefix("update ").partition(" ")[0]
        condition = statement.rpartition(" where ")[2].format(now=now_ms())
        tests.append(f"select 1 from {table} where {condition}")
    return any(connection.execute(f"{test} limit 1").fetchone() for test in tests)


def listed(connection: sqlite3.Connection) -> list[dict[str, Any]]:
    """The rows that were moved: table, row, reason, and when."""
    row = connection.execute("select value from meta where key = ?", (KEY,)).fetchone()
    try:
        return list(json.loads(row[0])) if row else []
    except ValueError:
        return []


def _all_right(columns: Iterable[Column]) -> str:
    return " and ".join(f"({each.test.format(each.name)})" for each in columns)


def _moved(connection: sqlite3.Connection, now: int) -> Iterator[dict[str, Any]]:
    """Delete the rows that nothing can put right; each with the reason."""
    for table, columns in TABLES.items():
        for column in columns:
            if column.otherwise:
                continue
            condition = f"not ({column.test.format(column.name)})"
            for row in connection.execute(f"select * from {table} where {condition}").fetchall():
                yield {
                    "table": table,
                    "row": repr(row),
                    "reason": f"{column.name} is not what is written there",
                    "at": now,
                }
            connection.execute(f"delete from {table} where {condition}")


def _jobs_set_aside(connection: sqlite3.Connection, now: int) -> int:
    """A job that cannot be read is set aside for a person, with the reason."""
    changed = 0
    for test, reason in _JOB:
        message = f"its row in the store is damaged: {reason}; start it again"
        changed += connection.execute(
            "update jobs set params = json_object(:tried, 1, :damaged, 1), result = '{}', done = 0,"
            " total = 0, state = 'set_aside', message = :message,"
            f" name = iif({_TEXT.format('name')}, name, 'damaged'),"
            " started_at = null,"
            f" created_at = iif({_TIME.format('created_at')}, created_at, :now), ended_at = :now"
            f" where not ({test})",
            {"tried": TRIED, "damaged": DAMAGED, "message": message, "now": now},
        ).rowcount
    return changed


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
