"""The step ``m020_phrases``."""

from __future__ import annotations

import sqlite3

from mem_search.storage.sqlite.migrations._script import run


def m020_phrases(connection: sqlite3.Connection) -> None:
    """Phrases of reports and pages, by which citations without a link are found.

    They are numbers (``text/shared_phrases.py``), with their places. A phrase that many documents
    have says nothing: it moves to ``common_phrases`` and is not looked for any more.
    """
    run(
        connection,
        """
        create table phrases(
            hash integer not null,
            record_id integer not null references records(id) on delete cascade,
            start integer not null,
            primary key(hash, record_id)
        ) without rowid;
        create index phrases_by_record on phrases(record_id);
        create table common_phrases(hash integer primary key);
    """,
    )
