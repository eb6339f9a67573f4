"""The step ``m018_filetypes``."""

from __future__ import annotations

import sqlite3

from mem_search.text.filetypes import filetypes


def m018_filetypes(connection: sqlite3.Connection) -> None:
    """Files can be filtered by their format, and attachments by who sent them."""
    rows = connection.execute(
        "select id, coalesce(json_extract(data, '$.path'), title),"
        " coalesce(json_extract(data, '$.media_type'), ''),"
        " json_extract(data, '$.ocr') is not null from records where kind = 'file'"
    ).fetchall()
    connection.executemany(
        "insert or ignore into facets(name, value, record_id) values('filetype', ?, ?)",
        [
            (each, number)
            for number, path, media_type, scanned in rows
            for each in filetypes(str(path), str(media_type), scanned=bool(scanned))
        ],
    )
    connection.execute(
        "insert or ignore into facets(name, value, record_id)"
        " select 'from', f.value, e.to_id from edges e"
        " join facets f on f.record_id = e.from_id and f.name = 'from'"
        " where e.relation = 'attachment' and e.to_id is not null"
    )
