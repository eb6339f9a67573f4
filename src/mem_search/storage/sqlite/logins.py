"""Logins of browsers. A file has one home, and so one key."""

from __future__ import annotations

from mem_search.storage.sql.connection import Repository, reads, writes
from mem_search.storage.sqlite.database import Connection


class SqliteLogins(Repository):
    """``ports.LoginStore`` over the tables ``login_links`` and ``login_keys``."""

    @writes
    def keep_link(self, connection: Connection, digest: bytes, ends: int, most: int) -> None:
        connection.execute("insert or replace into login_links values(?, ?)", (digest, ends))
        connection.execute(
            "delete from login_links where digest not in"
            " (select digest from login_links order by ends desc, rowid desc limit ?)",
            (most,),
        )

    @writes
    def take_link(self, connection: Connection, digest: bytes, now: int) -> bool:
        taken = connection.execute(
            "delete from login_links where digest = ? returning ends", (digest,)
        ).fetchone()
        return taken is not None and taken[0] > now

    @writes
    def put_key(self, connection: Connection, key: bytes) -> None:
        connection.execute("delete from login_keys where key != ?", (key,))
        connection.execute("insert or ignore into login_keys values(?)", (key,))

    @reads
    def keys(self, connection: Connection) -> list[bytes]:
        return [key for (key,) in connection.execute("select key from login_keys")]
