"""Granted requests and logins of browsers: what all workers of a store decide alike."""

from __future__ import annotations

from dataclasses import astuple
from typing import Final

from mem_search.model.access import Allowance, BrowserSession, Policy
from mem_search.storage.postgres.connection import Connection
from mem_search.storage.rules.rate_windows import allowance
from mem_search.storage.sql.connection import Repository, writes_beside

_ONE_AT_A_TIME: Final = """
    select pg_advisory_xact_lock(hashtextextended(
        concat_ws(chr(10), current_setting('mem_search.owner'), %(budget)s::text, %(policy)s::text),
        0))
"""
"""Of one caller and policy; a statement that comes after it sees what the others took."""

_TAKE: Final = """
    with clock as (
        select coalesce(
            %(now)s::bigint, floor(1000 * extract(epoch from clock_timestamp()))::bigint
        ) as now
    ), ours as (
        select id, least(at, now) as at, at > now as ahead, count from granted_requests, clock
        where budget = %(budget)s and policy = %(policy)s
    ), gone as (
        delete from granted_requests g using ours, clock
        where g.id = ours.id and ours.at <= now - %(lasting)s
    ), set_back as (
        update granted_requests g set at = now from ours, clock where g.id = ours.id and ours.ahead
    ), counting as (
        select at, sum(count) over (order by at, id) as upto from ours, clock
        where at > now - %(lasting)s
    ), room as (
        select coalesce(max(upto), 0)::bigint as taken from counting
    ), added as (
        insert into granted_requests(budget, policy, at, count)
        select %(budget)s, %(policy)s, now, %(count)s from clock, room
        where taken + %(count)s <= %(quota)s
        returning 1
    )
    select now, taken, exists(select from added), (
        select at from counting
        where upto >= greatest(1, least(taken + %(count)s - %(quota)s, taken))
        order by upto limit 1
    ) from clock, room
"""


class PostgresLimits(Repository):
    """``ports.LimitStore`` over the table ``granted_requests``; the clock is the server's."""

    @writes_beside
    def take(
        self,
        connection: Connection,
        budget: str,
        policy: Policy,
        count: int = 1,
        *,
        now: int | None = None,
    ) -> Allowance:
        values = {
            "budget": budget, "policy": policy.name, "quota": policy.quota, "count": count,
            "lasting": 1000 * policy.seconds, "now": now,
        }  # fmt: skip
        connection.execute(_ONE_AT_A_TIME, values)
        at, taken, granted, leaving = connection.one(_TAKE, values)
        taken += count if granted else 0
        return allowance(policy, granted, taken, at if leaving is None else leaving, at, count)

    @writes_beside
    def expire(self, connection: Connection, before: int) -> None:
        connection.execute("delete from granted_requests where at < %s", (before,))


_SESSIONS: Final = (
    "select id, digest, key, browser, began_at, used_at from login_sessions"
    " where key in (select key from login_keys)"
)


class PostgresLogins(Repository):
    """``ports.LoginStore`` over ``login_links``, ``login_keys`` and ``login_sessions``.

    The role of searches reads none of them, so each statement is one that writes.
    """

    @writes_beside
    def keep_link(self, connection: Connection, digest: bytes, ends: int, most: int) -> None:
        connection.execute(
            "insert into login_links(digest, ends) values(%s, %s) on conflict do nothing",
            (digest, ends),
        )
        connection.execute(
            "delete from login_links where digest in"
            " (select digest from login_links order by ends desc, seq desc offset %s)",
            (most,),
        )

    @writes_beside
    def take_link(self, connection: Connection, digest: bytes, now: int) -> bool:
        taken = connection.maybe(
            "delete from login_links where digest = %s returning ends", (digest,)
        )
        return taken is not None and taken[0] > now

    @writes_beside
    def put_key(self, connection: Connection, key: bytes) -> None:
        connection.execute(
            "insert into login_keys(home, key) values(current_setting('mem_search.home'), %s)"
            " on conflict(owner, home) do update set key = excluded.key",
            (key,),
        )

    @writes_beside
    def begin(
        self, connection: Connection, session: BrowserSession, unused_since: int, most: int
    ) -> None:
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
            "delete from login_sessions where id in"
            " (select id from login_sessions order by used_at desc, seq desc offset %s)",
            (most,),
        )

    @writes_beside
    def session(self, connection: Connection, digest: bytes) -> BrowserSession | None:
        row = connection.maybe(f"{_SESSIONS} and digest = %s", (digest,))
        return None if row is None else BrowserSession(*row)

    @writes_beside
    def note_session(self, connection: Connection, name: str, at: int) -> None:
        connection.execute(
            "update login_sessions set used_at = greatest(used_at, %s) where id = %s", (at, name)
        )

    @writes_beside
    def sessions(self, connection: Connection) -> list[BrowserSession]:
        rows = connection.execute(f"{_SESSIONS} order by used_at desc, seq desc")
        return [BrowserSession(*row) for row in rows]

    @writes_beside
    def end_session(self, connection: Connection, name: str) -> bool:
        ended = connection.execute("delete from login_sessions where id = %s", (name,))
        return bool(ended.rowcount)
