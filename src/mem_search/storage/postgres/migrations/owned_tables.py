"""Making tables whose rows belong to owners."""

from __future__ import annotations

from collections.abc import Mapping

from mem_search.storage.postgres.connection import Connection


def create(connection: Connection, tables: str, keys: Mapping[str, str]) -> None:
    """Create ``tables``, statements that end in ``;`` and a line break, as rows of owners.

    ``owner`` is set by the connection and is the first column of every key, so that rows of one
    owner lie together, and a distributed PostgreSQL can shard by it. ``keys`` has for each table
    the rest of its key. Row-level security adds ``owner = …`` to each statement, for the owner of
    the tables too. Text compares by its bytes, as in SQLite: keys are read by ranges such as
    ``url:`` to ``url;``.
    """
    for statement in tables.replace(" text ", ' text collate "C" ').split(";\n"):
        connection.execute(statement)
    for table, key in keys.items():
        connection.execute(
            f'alter table {table} add column owner text collate "C" not null'
            " default current_setting('mem_search.owner')"
        )
        if key or table == "stores":
            columns = f"owner, {key}" if key else "owner"
            connection.execute(f"alter table {table} add primary key ({columns})")
        connection.execute(f"alter table {table} enable row level security")
        connection.execute(f"alter table {table} force row level security")
        connection.execute(
            f"create policy own on {table} using (owner = current_setting('mem_search.owner'))"
        )
