"""The step ``m015_copies``."""

from __future__ import annotations

import sqlite3


def m015_copies(connection: sqlite3.Connection) -> None:
    """A receipt keeps what was found in other files of the home (``model.forgetting.Copies``)."""
    connection.execute("alter table forget_receipts add column copies text not null default '{}'")
