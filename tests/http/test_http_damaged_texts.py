"""A text that another program made unreadable is told, and every route answers about the rest."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from typing import Any

import pytest
from aiohttp.test_utils import TestClient, TestServer
from http_worker import AUTHORIZED, Client, lifecycle_of

from mem_search.http.core.app import build_app
from mem_search.settings import Settings

Damage = Callable[[sqlite3.Connection, str, str], object]

SEARCHES = (
    "/api/search?query=auth", "/api/search?query=auth&mode=keyword",
    "/api/search?query=auth&mode=vector",
    "/api/search?query=*uth", "/api/search?query=author:ann", "/api/search/unified?query=*",
    "/api/search?query=auth&project=shop", "/api/search?query=auth&orderBy=date_desc",
    "/api/search?query=auth&facets=kind,project",
)  # fmt: skip
READINGS = (
    "/api/stats", "/api/health", "/api/export", "/api/jobs", "/api/ledger", "/api/projects",
    "/api/v1/saved-searches", "/api/v1/scopes", "/api/v1/tokens", "/api/v1/search/operations",
    "/api/v1/search/jobs", "/api/v1/notifications", "/api/observations", "/api/summaries",
    "/api/prompts", "/api/timeline?anchor=1", "/api/context/recent",
    "/api/context/inject?projects=shop",
    "/api/suggest?prefix=au", "/api/search/popular", "/api/search/slow",
    "/api/archives", "/api/forget",
    "/api/citations?refs=session_summary:1", "/api/graph/export",
    "/api/v2/search/stats", "/api/why?path=/x", "/metrics",
    "/api/observation/2", "/api/jobs/j1",
)  # fmt: skip
ROWS = (
    "insert into jobs values('j1', 'sync', '{}', 'done', 0, 0, '', '{}', 1, null, 2)",
    "insert into jobs values('j2', 'sync', '{}', 'queued', 0, 0, '', '{}', 1, null, null)",
    "insert into saved_searches values(1, 's', '{}', 1, '', 1, 1, 0, null, 1, '', '1h', '')",
    "insert into scopes values('s', 'kind:note', 1)",
    "insert into search_log values(1, 1, 'q', '{}', 'hybrid', 1, 1.0, 'http')",
    "insert into ledger values('files', '/there', 'x', 'taken', '', 1, 1)",
    "insert into tokens values('t', 'ann', zeroblob(32), 0, 1, null, null, '', '')",
)


def not_utf8(connection: sqlite3.Connection, table: str, column: str) -> None:
    connection.execute(f"update {table} set {column} = cast(x'41ff42' || {column} as text)")


def one_byte_flipped(connection: sqlite3.Connection, table: str, column: str) -> None:
    connection.execute(
        f"update {table} set {column} = cast(cast(substr({column}, 1, 1) as blob) || x'c3' ||"
        f" cast(substr({column}, 3) as blob) as text)"
    )


def bytes_instead(connection: sqlite3.Connection, table: str, column: str) -> None:
    connection.execute(f"update {table} set {column} = cast({column} as blob)")


def texts(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    """Each column of texts of the tables that hold records and what runs by itself."""
    tables = (
        "records", "passages", "facets", "names", "edges", "phrases", "jobs", "saved_searches",
        "scopes", "search_log", "ledger", "tokens", "cursors",
    )  # fmt: skip
    return [
        (table, f'"{row[1]}"')
        for table in tables
        for row in connection.execute(f"pragma table_info({table})").fetchall()
        if row[2].lower() == "text"
    ]


def numbers(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    """Each column of times and other numbers of these tables, but for what numbers their rows."""
    tables = ("records", "jobs", "saved_searches", "scopes", "search_log", "ledger", "tokens",
              "cursors")  # fmt: skip
    return [
        (table, f'"{name}"')
        for table in tables
        for _, name, kind, *_, key in connection.execute(f"pragma table_info({table})").fetchall()
        if (name.endswith("_at") or name in ("at", "since", "importance", "position")) and not key
    ]


@pytest.mark.parametrize("number", ["9223372036854775807", "-9223372036854775808", "9e999", "4e18"])
async def test_no_number_that_is_none_keeps_a_route_from_answering(
    client: Client, settings: Settings, number: str
) -> None:
    if settings.store:
        pytest.skip("the server has types, and what they hold is not put right")
    await client.close()
    async with TestClient(TestServer(build_app(settings))) as again:
        await lifecycle_of(again).ready()
        with closing(sqlite3.connect(settings.database)) as connection:
            for row in ROWS:
                connection.execute(row)
            for table, column in numbers(connection):
                connection.execute(f"update or ignore {table} set {column} = {number}")
            connection.commit()
        failed: dict[str, Any] = {}
        for path in (*READINGS, *SEARCHES):
            reply = await again.get(path, headers=AUTHORIZED)
            if reply.status not in (200, 404):
                failed[path] = (reply.status, (await reply.text())[:300])
        assert not failed
        stats = await (await again.get("/api/stats", headers=AUTHORIZED)).json()
        assert any("created_at" in each for each in stats["database"]["odd_rows"])


@pytest.mark.parametrize("damage", [not_utf8, one_byte_flipped, bytes_instead])
@pytest.mark.parametrize("of", ["records", "others"])
async def test_no_text_that_is_none_keeps_a_route_from_answering(
    client: Client, settings: Settings, damage: Damage, of: str
) -> None:
    if settings.store:
        pytest.skip("the server has types and encodings")
    await client.close()
    with closing(sqlite3.connect(settings.database)) as connection:
        for row in ROWS:
            connection.execute(row)
        for table, column in texts(connection):
            if (table in ("records", "passages")) == (of == "records"):
                with suppress(sqlite3.IntegrityError):  # what SQLite itself refuses
                    damage(connection, table, column)
        connection.commit()
    async with TestClient(TestServer(build_app(settings))) as again:
        await lifecycle_of(again).ready()
        failed: dict[str, Any] = {}
        for path in (*SEARCHES, *READINGS):
            reply = await again.get(path, headers=AUTHORIZED)
            text = await reply.text(errors="replace")
            if reply.status not in (200, 404):  # a reference may be none any more
                failed[path] = (reply.status, text[:300])
        assert not failed
        stats = await (await again.get("/api/stats", headers=AUTHORIZED)).json()
        if damage is not bytes_instead:
            assert any("is not UTF-8" in each for each in stats["database"]["odd_rows"])
