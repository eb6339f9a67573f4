"""Tombstones (``storage.rules.tombstones``): asked for, written, lifted, and exported."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from mem_search.errors import StorageError
from mem_search.model import Draft
from mem_search.model.forgetting import Tombstone
from mem_search.storage.rules.tombstones import MAX_KEYS, digest, lifted_with


def _found(
    connection: sqlite3.Connection, source: str, source_id: str, kind: str
) -> list[tuple[bytes, int, int]]:
    """(digest, key, when) of every tombstone of this identity."""
    if connection.execute("select 1 from tombstones limit 1").fetchone() is None:
        return []
    found = []
    for number, key in connection.execute("select id, key from tombstone_keys").fetchall():
        for each in {digest(key, source, source_id, kind), digest(key, source, source_id, "")}:
            row = connection.execute(
                "select forgotten_at from tombstones where digest = ? and key_id = ?",
                (each, number),
            ).fetchone()
            if row is not None:
                found.append((each, number, row[0]))
    return found


def forgotten_at(
    connection: sqlite3.Connection, source: str, source_id: str, kind: str
) -> int | None:
    """When this record was forgotten, in ms; None for one that was not."""
    return max((at for _, _, at in _found(connection, source, source_id, kind)), default=None)


def put(connection: sqlite3.Connection, source: str, source_id: str, kind: str, at: int) -> None:
    """Refuse this record from now on."""
    (key,) = connection.execute("select key from tombstone_keys where id = 1").fetchone()
    connection.execute(
        "insert or replace into tombstones(digest, key_id, forgotten_at) values(?, 1, ?)",
        (digest(key, source, source_id, kind), at),
    )


def lift(connection: sqlite3.Connection, draft: Draft) -> None:
    """Accept this record again."""
    connection.executemany(
        "delete from tombstones where digest = ? and key_id = ?",
        [row[:2] for each in lifted_with(draft) for row in _found(connection, *each)],
    )


def page(connection: sqlite3.Connection, after: Tombstone | None, size: int) -> list[Tombstone]:
    """Tombstones in a fixed order, for an export."""
    rows = connection.execute(
        "select k.key, t.digest, t.forgotten_at from tombstones t"
        " join tombstone_keys k on k.id = t.key_id where (t.digest, k.key) > (?, ?)"
        " order by t.digest, k.key limit ?",
        (after.digest if after else b"", after.key if after else b"", size),
    )
    return [Tombstone(*row) for row in rows]


def add(connection: sqlite3.Connection, tombstones: Sequence[Tombstone]) -> None:
    """Take over the tombstones of another store. What is stored already stays."""
    for each in tombstones:
        connection.execute(
            "insert or ignore into tombstone_keys(key)"
            " select ? where (select count(*) from tombstone_keys) < ?",
            (each.key, MAX_KEYS),
        )
        connection.execute(
            "insert or ignore into tombstones(digest, key_id, forgotten_at)"
            " select ?, id, ? from tombstone_keys where key = ?",
            (each.digest, each.forgotten_at, each.key),
        )


def of_file(database: Path) -> list[Tombstone]:
    """All of a store that nobody has open, which stays as it is. Raises StorageError."""
    try:
        with closing(
            sqlite3.connect(f"{database.absolute().as_uri()}?mode=rw", uri=True)
        ) as opened:
            return page(opened, None, -1)
    except sqlite3.Error as error:
        raise StorageError(str(error)) from error
