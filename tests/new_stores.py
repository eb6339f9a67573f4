"""New stores of tests are copies of one: making the schema takes 17 ms, a copy of it 3 ms.

``migrate`` makes that one in each session. It also opens what is older, newer or foreign, and all
stores of processes that a test starts.
"""

from __future__ import annotations

import secrets
import sqlite3
import threading
import uuid
from functools import cache
from typing import Any

from mem_search.storage.rules.identities import KEY_BYTES
from mem_search.storage.sql.migrations import Schema
from mem_search.storage.sqlite import migrations
from mem_search.storage.sqlite.connection import SqliteConnection, prepared
from mem_search.storage.sqlite.migrations import migrate

_COPYING = threading.Lock()


@cache
def _made(_schema: Schema[SqliteConnection]) -> SqliteConnection:
    made = sqlite3.connect(
        ":memory:", isolation_level=None, check_same_thread=False, factory=SqliteConnection
    )
    migrate(made)
    return made


def migrate_by_copy(connection: SqliteConnection) -> None:
    """As ``migrate``; a new store has an id and a key of its own, too."""
    if connection.execute("select 1 from sqlite_master limit 1").fetchone() is None:
        with _COPYING:
            _made(migrations.STORE).backup(connection)
        connection.execute("begin immediate")
        connection.execute("update meta set value = ? where key = 'store_id'", (uuid.uuid4().hex,))
        connection.execute("update tombstone_keys set key = ?", (secrets.token_bytes(KEY_BYTES),))
        connection.commit()
    migrate(connection)


def prepared_without_disk(*of: Any, **options: Any) -> SqliteConnection:
    """As ``prepared``, and nothing waits for the disk: processes are killed here, no machine is."""
    connection = prepared(*of, **options)
    connection.execute("pragma synchronous = off")
    return connection
