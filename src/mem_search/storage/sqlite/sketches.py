"""Sketches of records: what near-duplicates are told by, read for a whole ranking at once.

They lie in a table of their own: behind the body of a long record they would cost a page each.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection

from mem_search.text import sketch
from mem_search.text.sketch import Sketches


def write(connection: sqlite3.Connection, number: int, made: bytes) -> None:
    """Keep the sketch of a record, in place of an older one."""
    connection.execute(
        "insert or replace into sketches(record_id, sketch) values(?, ?)", (number, made)
    )


def of_records(
    connection: sqlite3.Connection, numbers: Collection[int]
) -> tuple[list[int], Sketches]:
    """The records that there are, and a row of sketches for each."""
    # One row: each that Python takes costs a turn at its lock.
    found, rows = connection.execute(
        "select json_group_array(record_id), group_concat(hex(sketch), '') from sketches"
        " where record_id in (select value from json_each(?))",
        (json.dumps(list(numbers)),),
    ).fetchone()
    return json.loads(found), sketch.read(bytes.fromhex(rows or ""))
