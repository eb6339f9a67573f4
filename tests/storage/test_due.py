"""Planned work keeps a store open."""

from __future__ import annotations

import sqlite3

import pytest

from mem_search.storage.sqlite import jobs, saved_searches, search_jobs, webhook_deliveries
from mem_search.storage.sqlite.saved_searches import has_due_work


def job(connection: sqlite3.Connection) -> None:
    jobs.create(connection, "j", "sync", {})


def no_job(connection: sqlite3.Connection) -> None:
    jobs.end(connection, "j", "done", "", {})


def search(connection: sqlite3.Connection) -> None:
    search_jobs.create(connection, "s", {}, surface="http", webhook_url="", at=1, most=1)


def no_search(connection: sqlite3.Connection) -> None:
    search_jobs.end(connection, "s", "cancelled", 2)


def message(connection: sqlite3.Connection) -> None:
    webhook_deliveries.add(connection, "m", "x", "https://example.org/", b"{}", 1)


def no_message(connection: sqlite3.Connection) -> None:
    webhook_deliveries.end(connection, "m", "failed", status=410, error="", at=2)


def saved(connection: sqlite3.Connection, every: int | None = 60) -> None:
    plan = {"every_seconds": every, "inbox": True, "webhook_url": "", "at": 1}
    saved_searches.create(connection, "news", {"search": {}}, **plan)  # type: ignore[arg-type]


def not_saved(connection: sqlite3.Connection) -> None:
    saved_searches.remove(connection, "news")


@pytest.mark.parametrize(
    ("begin", "end"),
    [(job, no_job), (search, no_search), (message, no_message), (saved, not_saved)],
)
def test_what_is_planned_is_told_until_it_has_ended(
    connection: sqlite3.Connection, begin: object, end: object
) -> None:
    assert callable(begin)
    assert callable(end)
    assert not has_due_work(connection)
    begin(connection)
    assert has_due_work(connection)
    end(connection)
    assert not has_due_work(connection)


def test_a_search_that_is_run_by_hand_is_no_plan(connection: sqlite3.Connection) -> None:
    saved(connection, every=None)
    assert not has_due_work(connection)
