"""The step ``m016_redacted_by``."""

from __future__ import annotations

import sqlite3

from mem_search.text.redaction import rules


def m016_redacted_by(connection: sqlite3.Connection) -> None:
    """The store knows by which rules its texts were redacted; those of older stores are unknown."""
    (filled,) = connection.execute("select exists(select 1 from records)").fetchone()
    connection.execute(
        "insert into meta(key, value) values('redacted_by', ?)", ("" if filled else rules(),)
    )
