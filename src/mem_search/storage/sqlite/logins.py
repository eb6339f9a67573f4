"""Logins of browsers. A file has one home, and so one key."""

from __future__ import annotations

from dataclasses import astuple
from typing import Final

from mem_search.model.access import BrowserSession
from mem_search.storage.sql.connection import Repository, reads, writes
from mem_search.storage.sqlite.database import Connection

_SESSIONS: Final = (
    "select id, digest, key, browser, began_at, used_at from login_sessions"
    " where key in (select key from login_keys)"
)


class SqliteLogins(Repository):
    """``ports.LoginStore`` over ``login_links``, ``login_keys`` and ``login_sessions``."""

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

    @writes
    def begin(
        self, connection: Connection, session: BrowserSession, unused_since: int, most: int
    ) -> None:
        connection.execute(
            "delete from login_sessions where used_at < ? or key not in"
            " (select key from login_keys)",
            (unused_since,),
        )
        connection.execute(
            "insert into login_sessions(id, digest, key, browser, began_at, used_at)"
            " values(?, ?, ?, ?, ?, ?)",
            astuple(session),
        )
        connection.execute(
            "delete from login_sessions where id not in"
            " (select id from login_sessions order by used_at desc, rowid desc limit ?)",
            (most,),
        )

    @reads
    def session(self, connection: Connection, digest: bytes) -> BrowserSession | None:
        row = connection.execute(f"{_SESSIONS} and digest = ?", (digest,)).fetchone()
        return None if row is None else BrowserSession(*row)

    @writes
    def note_session(self, connection: Connection, name: str, at: int) -> None:
        connection.execute(
            "update login_sessions set used_at = max(used_at, ?) where id = ?", (at, name)
        )

    @reads
    def sessions(self, connection: Connection) -> list[BrowserSession]:
        rows = connection.execute(f"{_SESSIONS} order by used_at desc, rowid desc")
        return [BrowserSession(*row) for row in rows]

    @writes
    def end_session(self, connection: Connection, name: str) -> bool:
        return bool(connection.execute("delete from login_sessions where id = ?", (name,)).rowcount)
