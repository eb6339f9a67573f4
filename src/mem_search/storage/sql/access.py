"""Who may ask, and how often: tokens, logins of browsers and granted requests.

Tokens, links that log a browser in and sessions are known by digests of their secrets, never by the
secrets.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple
from typing import Any, ClassVar, Final

from mem_search.model.access import Allowance, BrowserSession, Policy, Token
from mem_search.storage.rules.future_times import SKEW_MS
from mem_search.storage.sql.connection import Connection, Repository, reads, writes_beside

_OF_TOKENS: Final = (
    'name, "user", digest, read_only, created_at, expires_at, last_used_at, scope, shared_with'
)


class StoredTokens(Repository):
    """Tokens by the digest of their secret, never the secret."""

    @reads
    def find(self, connection: Connection, digest: bytes) -> Token | None:
        """The token whose secret has this digest, whichever worker created it."""
        row = connection.maybe(f"select {_OF_TOKENS} from tokens where digest = %s", (digest,))
        return None if row is None else _token(row)

    @reads
    def all(self, connection: Connection) -> list[Token]:
        """All tokens by name."""
        return [*map(_token, connection.execute(f"select {_OF_TOKENS} from tokens order by name"))]

    @writes_beside
    def add(self, connection: Connection, token: Token) -> bool:
        """Add a token; False when the name is taken."""
        added = connection.execute(
            f"insert into tokens({_OF_TOKENS}) values(%s, %s, %s, %s, %s, %s, %s, %s, %s)"
            " on conflict(owner, name) do nothing",
            astuple(token),
        )
        return bool(added.rowcount)

    @writes_beside
    def remove(self, connection: Connection, names: Sequence[str]) -> list[Token]:
        """Remove tokens; returns those that there were, by name."""
        rows = connection.execute(
            f"delete from tokens where name = any(%s::text[]) returning {_OF_TOKENS}",
            (list(names),),
        )
        return sorted(map(_token, rows.fetchall()), key=lambda token: token.name)

    @writes_beside
    def note_used(self, connection: Connection, at: Mapping[str, int]) -> None:
        """name → when the token was last used. An earlier time changes nothing."""
        # "greatest": another worker may have answered with it later.
        connection.many(
            "update tokens set last_used_at = greatest(%s, coalesce(last_used_at, 0))"
            " where name = %s",
            [(moment, name) for name, moment in sorted(at.items())],
        )


def _token(row: Sequence[Any]) -> Token:
    name, user, digest, read_only, *times = row
    return Token(name, user, digest, bool(read_only), *times)


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


class Limits(Repository, ABC):
    """The requests that were granted within the last hour, by whose limit and by policy.

    The count is exact over any hour, whichever workers grant, and is kept over restarts.
    """

    @abstractmethod
    async def take(
        self, budget: str, policy: Policy, count: int = 1, *, now: int | None = None
    ) -> Allowance:
        """Grant ``count`` more requests of ``budget`` if the policy has room for all of them.

        ``now`` is milliseconds since 1970; the store's own clock when it is left out. A clock that
        was set back makes no request count for longer than from now on.
        """

    @writes_beside
    def expire(self, connection: Connection, before: int) -> None:
        """Drop what was granted before."""
        connection.execute("delete from granted_requests where at < %s", (before,))


class Window:
    """The requests that still count. Times are milliseconds."""

    def __init__(self, taken: Iterable[int] = ()) -> None:
        self._taken = deque(sorted(taken))

    def take(self, policy: Policy, now: int, count: int = 1) -> Allowance:
        """Grant ``count`` more requests if the policy has room for all of them."""
        taken, lasting = self._taken, 1000 * policy.seconds
        while taken and taken[0] <= now - lasting:
            taken.popleft()
        while taken and taken[-1] > now + SKEW_MS:  # of a clock that was ahead
            taken.pop()
        if taken and taken[-1] > now:  # the clock was set back a little
            taken = self._taken = deque(min(at, now) for at in taken)
        missing = len(taken) + count - policy.quota
        granted = missing <= 0
        if granted:
            taken.extend([now] * count)
        # Room for several requests at once, or after the quota was lowered, is there when more
        # than one request has left the window.
        leaving = taken[min(max(1, missing), len(taken)) - 1] if taken else now
        return allowance(policy, granted, len(taken), leaving, now, count)


def allowance(
    policy: Policy, granted: bool, taken: int, leaving: int, now: int, count: int
) -> Allowance:
    """What is left when ``taken`` requests count, and enough room is free after ``leaving``."""
    return Allowance(
        policy,
        granted,
        remaining=max(0, policy.quota - taken),
        reset=-(-(leaving + 1000 * policy.seconds - now) // 1000),
        count=count,
    )
