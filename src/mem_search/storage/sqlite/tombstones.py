"""Tombstones in a file: their keys stand in a table of their own."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable
from contextlib import closing
from pathlib import Path

from mem_search.errors import StorageError
from mem_search.model.forgetting import Tombstone
from mem_search.storage.sql.tombstones import Row, Tombstones
from mem_search.storage.sqlite.connection import SqliteConnection


class SqliteTombstones(Tombstones):
    """Those of a file, in one transaction."""

    rows = (
        "(select t.digest, k.key, t.forgotten_at from tombstones t"
        " join tombstone_keys k on k.id = t.key_id)"
    )
    own_key = "select key from tombstone_keys where id = 1"
    known_keys = "select key from tombstone_keys"
    keys = f"{known_keys} where exists (select 1 from tombstones)"
    insert = (
        "insert into tombstones(digest, key_id, forgotten_at) select %(digest)s, id, %(at)s"
        " from tombstone_keys where key = %(key)s on conflict(digest, key_id)"
    )
    delete = (
        "delete from tombstones where digest = %s"
        " and key_id = (select id from tombstone_keys where key = %s)"
    )

    def _stored(self, wanted: Collection[tuple[bytes, bytes]]) -> Iterable[Row]:
        each = f"select digest, key, forgotten_at from {self.rows} where digest = ? and key = ?"
        return [row for place in wanted for row in self._connection.execute(each, place)]

    def _add_keys(self, keys: Collection[bytes]) -> None:
        self._connection.many("insert into tombstone_keys(key) values(%s)", [(k,) for k in keys])


def of_file(database: Path) -> list[Tombstone]:
    """All of a store that nobody has open, which stays as it is. Raises StorageError."""
    address = f"{database.absolute().as_uri()}?mode=rw"
    try:
        with closing(sqlite3.connect(address, uri=True, factory=SqliteConnection)) as opened:
            return SqliteTombstones(opened).page(None, -1)
    except sqlite3.Error as error:
        raise StorageError(str(error)) from error
