"""The step ``m004_workers``."""

from __future__ import annotations

from typing import Final

from mem_search.storage.postgres.connection import Connection
from mem_search.storage.postgres.migrations import owned_tables

TABLES: Final = """
    -- The workers that live: each says so again before "until". What a worker claimed is free again
    -- once its row has expired or is gone. "home" is that of a worker, the same after a restart.
    create table workers(id text not null, home text not null, until timestamptz not null);
"""

KEYS: Final = {"workers": "id"}

_CLAIMED: Final = ("outbox", "jobs", "search_jobs", "webhook_deliveries", "saved_searches")


def m004_workers(connection: Connection) -> None:
    """Several workers on one store: who does what, and a notice of what there is to do.

    A job with a ``home`` reads files there, so that only the worker of that home runs it; a
    location with one is followed there.
    """
    owned_tables.create(connection, TABLES, KEYS)
    connection.execute("create index on workers(owner, home)")
    for table in _CLAIMED:
        connection.execute(f"alter table {table} add column worker text")
    connection.execute(
        "alter table jobs add column home text not null default '',"
        " add column seq bigint generated always as identity"
    )
    connection.execute("alter table cursors add column home text not null default ''")
    # Of the key that redacts names: workers with another one would redact them otherwise.
    connection.execute("alter table stores add column key_mark text")
    # A channel for each owner: nobody is woken by the work of another user.
    connection.execute("""
        create function note_work() returns trigger language plpgsql as $$
        begin
            perform pg_notify('mem_search_' || md5(current_setting('mem_search.owner')), '');
            return null;
        end $$
    """)
    for table in _CLAIMED:
        connection.execute(
            f"create trigger note_work after insert on {table}"
            " for each statement execute function note_work()"
        )
