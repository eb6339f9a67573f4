"""The columns of ``rules.passage_map``, read from SQLite."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from typing import Any


def after(connection: sqlite3.Connection, first: int) -> Sequence[Sequence[Any]]:
    """Columns id, record, kind, is it code, length of the passages from ``first`` on."""
    row = connection.execute(
        "select json_group_array(id), json_group_array(record_id), json_group_array(kind),"
        " json_group_array(field = 'code'), json_group_array(end - start)"
        " from passages where id >= ?",
        (first,),
    ).fetchone()
    return [json.loads(column) for column in row]
