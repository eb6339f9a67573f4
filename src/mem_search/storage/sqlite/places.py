"""Where records stand: conversation and position, passages' spans. Slim reads for ranking."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence


def of_records(
    connection: sqlite3.Connection, records: Sequence[int]
) -> list[tuple[int, str, str, str, int]]:
    """(record, kind, project, session, position)."""
    return connection.execute(
        "select id, kind, project, session, position from records"
        " where id in (select value from json_each(?))",
        (json.dumps(list(records)),),
    ).fetchall()


def spans(
    connection: sqlite3.Connection, passages: Sequence[int]
) -> dict[int, tuple[int, int, int | None]]:
    """passage → (start, end, page)."""
    return {
        passage: (start, end, page)
        for passage, start, end, page in connection.execute(
            "select id, start, end, page from passages"
            " where id in (select value from json_each(?))",
            (json.dumps(list(passages)),),
        )
    }
