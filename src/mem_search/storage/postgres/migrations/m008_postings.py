"""The step ``m008_postings``."""

from __future__ import annotations

from mem_search.storage.postgres.connection import Connection


def m008_postings(connection: Connection) -> None:
    """Lists of words are stored as they are. Decompressing took most of the time in which the list
    of a frequent word is read, and lists of other words are too short to be compressed.

    Rows of before stay as they are until they are merged or rewritten.
    """
    for column in ("entries", "places"):
        connection.execute(f"alter table postings alter column {column} set storage external")
