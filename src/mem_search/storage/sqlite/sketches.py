"""Sketches of records, which show near-duplicates. They have a separate table, because each would
cost a page after the body of a long record.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection

from mem_search.storage.rules.checksums import is_whole
from mem_search.storage.sqlite.derived import DerivedDamaged
from mem_search.text import sketch
from mem_search.text.sketch import Sketches


def of_records(
    connection: sqlite3.Connection, numbers: Collection[int]
) -> tuple[list[int], Sketches]:
    """The existing records, and a row of sketches for each. Raises DerivedDamaged."""
    rows = connection.execute(
        "select record_id, sketch from sketches"
        " where record_id in (select value from json_each(?))",
        (json.dumps(list(numbers)),),
    ).fetchall()
    return [number for number, _ in rows], sketch.read(whole(rows))


def whole(rows: Collection[tuple[int, bytes]]) -> bytes:
    """The sketches of rows of record and stored value. Raises DerivedDamaged."""
    for number, stored in rows:
        if not is_whole(stored, number, sketch.SIZE):
            raise DerivedDamaged(("sketches",), f"the one of record {number} was changed")
    return b"".join([stored[: sketch.SIZE] for _, stored in rows])
