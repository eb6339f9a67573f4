"""Sketches of records, which show near-duplicates. They have a separate table, because each would
cost a page after the body of a long record.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection

from mem_search.text import sketch
from mem_search.text.sketch import Sketches


def of_records(
    connection: sqlite3.Connection, numbers: Collection[int]
) -> tuple[list[int], Sketches]:
    """The existing records, and a row of sketches for each."""
    # One row, because Python waits for its lock at each row.
    found, rows = connection.execute(
        "select json_group_array(record_id), group_concat(hex(sketch), '') from sketches"
        " where record_id in (select value from json_each(?))",
        (json.dumps(list(numbers)),),
    ).fetchone()
    return json.loads(found), sketch.read(bytes.fromhex(rows or ""))
