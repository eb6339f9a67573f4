"""The step ``m005_moving``."""

from __future__ import annotations

from mem_search.storage.postgres.connection import Connection


def m005_moving(connection: Connection) -> None:
    """``moving`` is the id of the store that is being moved here: until then nobody opens this."""
    connection.execute("alter table stores add column moving text not null default ''")
