"""Logins of browsers: links that log one in, and sessions that go on, known by their digests."""

from __future__ import annotations

from dataclasses import astuple
from typing import ClassVar, Final

from mem_search.model.access import BrowserSession
from mem_search.storage.sql.connection import Connection, Repository, writes_beside

_SESSIONS: Final = (
    "select id, digest, key, browser, began_at, used_at from login_sessions"
    " where key in (select key from login_keys)"
)


class Logins(Repository):
    """Logins of browsers: links by the digest of their code, sessions by that of their secret.

    A role that only searches reads none of them, so each statement is one that writes.
    """

    _ADDED: ClassVar[str] = "rowid"
    """The column by which rows of one moment follow each other."""

    @writes_beside
    def keep_link(self, connection: Connection, digest: bytes, ends: int, most: int) -> None:
        """Keep a link until the second ``ends``; of more than ``most`` the oldest go."""
        connection.execute(
            "insert into login_links(digest, ends) values(%s, %s) on conflict do nothing",
            (digest, ends),
        )
        connection.execute(
            "delete from login_links where digest not in (select digest from login_links"
            f" order by ends desc, {self._ADDED} desc limit %s)",
            (most,),
        )

    @writes_beside
    def take_link(self, connection: Connection, digest: bytes, now: int) -> bool:
        """Use a link up. True for one caller only, and only before it has ended."""
        taken = connection.maybe(
            "delete from login_links where digest = %s returning ends", (digest,)
        )
        return taken is not None and taken[0] > now

    @writes_beside
    def put_key(self, connection: Connection, key: bytes) -> None:
        """The key of the worker's home, in place of the one that this home had before.

        A session counts while its key is that of a home whose workers use the store.
        """
        # A file has one home, and so one key.
        connection.execute("delete from login_keys where key != %s", (key,))
        connection.execute("insert into login_keys values(%s) on conflict do nothing", (key,))

    @writes_beside
    def begin(
        self, connection: Connection, session: BrowserSession, unused_since: int, most: int
    ) -> None:
        """Add a session. Sessions that were not used since then are gone; of more than ``most``
        those that were not used for longest.
        """
        connection.execute(
            "delete from login_sessions where used_at < %s or key not in"
            " (select key from login_keys)",
            (unused_since,),
        )
        connection.execute(
            "insert into login_sessions(id, digest, key, browser, began_at, used_at)"
            " values(%s, %s, %s, %s, %s, %s)",
            astuple(session),
        )
        connection.execute(
            "delete from login_sessions where id not in (select id from login_sessions"
            f" order by used_at desc, {self._ADDED} desc limit %s)",
            (most,),
        )

    @writes_beside
    def session(self, connection: Connection, digest: bytes) -> BrowserSession | None:
        """The session whose secret has this digest, whichever worker began it."""
        row = connection.maybe(f"{_SESSIONS} and digest = %s", (digest,))
        return None if row is None else BrowserSession(*row)

    @writes_beside
    def note_session(self, connection: Connection, name: str, at: int) -> None:
        """When the session was last used."""
        connection.execute(
            "update login_sessions set used_at = greatest(used_at, %s) where id = %s", (at, name)
        )

    @writes_beside
    def sessions(self, connection: Connection) -> list[BrowserSession]:
        """All sessions, the last used first."""
        rows = connection.execute(f"{_SESSIONS} order by used_at desc, {self._ADDED} desc")
        return [BrowserSession(*row) for row in rows]

    @writes_beside
    def end_session(self, connection: Connection, name: str) -> bool:
        """End a session; False when there is none with this id."""
        ended = connection.execute("delete from login_sessions where id = %s", (name,))
        return bool(ended.rowcount)
