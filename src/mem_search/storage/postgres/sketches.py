"""Sketches of records, which show near-duplicates (``text.sketch``)."""

from __future__ import annotations

from mem_search.storage.postgres.connection import Connection
from mem_search.storage.rules.checksums import is_whole, with_checksum
from mem_search.text import sketch


def remade(connection: Connection) -> int:
    """Make the sketches again that are missing, or not what was written; how many were."""
    rows = connection.execute(
        "select r.id, s.sketch from records r left join sketches s on s.record_id = r.id"
    ).fetchall()
    wrong = [number for number, stored in rows if not is_whole(stored, number, sketch.SIZE)]
    texts = connection.execute("select id, title, body from records where id = any(%s)", (wrong,))
    for number, title, body in texts.fetchall():
        connection.execute(
            "insert into sketches(record_id, sketch) values(%s, %s)"
            " on conflict(owner, record_id) do update set sketch = excluded.sketch",
            (number, with_checksum(sketch.sketch(title, body), number)),
        )
    return len(wrong)
