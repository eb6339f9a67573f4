"""Sketches of records, which show near-duplicates (``text.sketch``)."""

from __future__ import annotations

from mem_search.storage.postgres.connection import Connection
from mem_search.text import sketch


def remade(connection: Connection) -> int:
    """Make the sketches again that are missing, or are of another shape; how many were."""
    rows = connection.execute(
        "select r.id, r.title, r.body from records r left join sketches s on s.record_id = r.id"
        " where s.record_id is null or octet_length(s.sketch) != %s",
        (sketch.SIZE,),
    ).fetchall()
    for number, title, body in rows:
        connection.execute(
            "insert into sketches(record_id, sketch) values(%s, %s)"
            " on conflict(owner, record_id) do update set sketch = excluded.sketch",
            (number, sketch.sketch(title, body)),
        )
    return len(rows)
