"""The store under test: SQLite, or PostgreSQL with ``MEM_SEARCH_TEST_STORE=postgres``.

So a suite that knows no store runs over either. All that do, over a server that starts by itself:

    MEM_SEARCH_TEST_STORE=postgres scripts/test -n 3 tests/http tests/cli tests/test_crash.py

Runtimes, apps, and homes of the command line have it. What is about files is ``in_a_file``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from mem_search.storage.postgres.filters import FILTERS
from mem_search.storage.sql.filters import FilterSql
from mem_search.storage.sqlite.filters import FILTERS as SQLITE_FILTERS
from postgres_server import address

SERVER = os.environ.get("MEM_SEARCH_TEST_STORE", "sqlite") != "sqlite"

MAX_OWNER_CHARS = 200
"""Of ``MEM_SEARCH_STORE_OWNER``; the end of a path tells it from others."""

_LIVING = ("workers",)
"""Tables that say only that a worker lives."""


def in_a_file(reason: str) -> pytest.MarkDecorator:
    """Skips a test on a server, because of what only a store in a file has."""
    return pytest.mark.skipif(SERVER, reason=f"the store is not a file: {reason}")


def of_home(home: Path) -> dict[str, Any]:
    """The settings of the store of ``home``; on a server each home is an owner of its own."""
    return {"store": _server(), "store_owner": _owner(home)} if SERVER else {}


def _owner(home: Path) -> str:
    return str(home)[-MAX_OWNER_CHARS:]


def environment() -> dict[str, str]:
    """What a process that a test starts needs to choose the same store."""
    if not SERVER:
        return {}
    return {"MEM_SEARCH_TEST_STORE": "postgres", "MEM_SEARCH_TEST_POSTGRES": _server()}


def _server() -> str:
    """The server of the tests, for the processes that a test starts as well."""
    return os.environ.setdefault("MEM_SEARCH_TEST_POSTGRES", address())


def filters() -> FilterSql:
    """The filters of the store as SQL."""
    return FILTERS if SERVER else SQLITE_FILTERS


def statement(sqlite: str, postgres: str) -> str:
    """The one of two statements that the store understands."""
    return postgres if SERVER else sqlite


def rows_on_the_server(home: Path) -> Iterator[tuple[str, list[str]]]:
    """Each table of ``home`` and of each of its users, with its rows as text."""
    if not SERVER:
        return
    owners = [_owner(home), *(f"{_owner(home)}/{place.name}" for place in home.glob("users/*"))]
    with psycopg.connect(address(), autocommit=True) as connection:
        tables = connection.execute(
            "select table_name from information_schema.columns"
            " where table_schema = 'mem_search' and column_name = 'owner'"
        ).fetchall()
        for owner in owners:
            connection.execute("select set_config('mem_search.owner', %s, false)", (owner,))
            for table in {name for (name,) in tables}.difference(_LIVING):
                rows = connection.execute(
                    f'select t::text from mem_search."{table}" t where owner = %s', (owner,)
                )
                yield f"{owner} {table}", sorted(row for (row,) in rows)
