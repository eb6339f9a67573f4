"""Tokens, granted requests and logins of browsers: what all workers of a store decide alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple
from typing import Final

from mem_search.model.access import Allowance, Policy, Token
from mem_search.storage.postgres.connection import Connection
from mem_search.storage.postgres.database import Repository, reads, writes_beside
from mem_search.storage.rules.future_times import SKEW_MS
from mem_search.storage.rules.rate_windows import allowance

_TOKENS: Final = 'name, "user", digest, read_only, created_at, expires_at, last_used_at'


class PostgresTokens(Repository):
    """``ports.TokenStore`` over the table ``tokens``."""

    @reads
    def find(self, connection: Connection, digest: bytes) -> Token | None:
        row = connection.maybe(f"select {_TOKENS} from tokens where digest = %s", (digest,))
        return None if row is None else Token(*row)

    @reads
    def all(self, connection: Connection) -> list[Token]:
        rows = connection.execute(f"select {_TOKENS} from tokens order by name")
        return [Token(*row) for row in rows]

    @writes_beside
    def add(self, connection: Connection, token: Token) -> bool:
        added = connection.execute(
            f"insert into tokens({_TOKENS}) values(%s, %s, %s, %s, %s, %s, %s)"
            " on conflict(owner, name) do nothing",
            astuple(token),
        )
        return bool(added.rowcount)

    @writes_beside
    def remove(self, connection: Connection, names: Sequence[str]) -> list[Token]:
        rows = connection.execute(
            f"delete from tokens where name = any(%s::text[]) returning {_TOKENS}", (list(names),)
        )
        return sorted((Token(*row) for row in rows), key=lambda token: token.name)

    @writes_beside
    def note_used(self, connection: Connection, at: Mapping[str, int]) -> None:
        # "greatest": another worker may have answered with it later.
        connection.many(
            "update tokens set last_used_at = greatest(%s, last_used_at) where name = %s",
            [(moment, name) for name, moment in sorted(at.items())],
        )


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
        where budget = %(budget)s and policy = %(policy)s and at <= now + %(skew)s
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
            "lasting": 1000 * policy.seconds, "now": now, "skew": SKEW_MS,
        }  # fmt: skip
        connection.execute(_ONE_AT_A_TIME, values)
        at, taken, granted, leaving = connection.one(_TAKE, values)
        taken += count if granted else 0
        return allowance(policy, granted, taken, at if leaving is None else leaving, at, count)

    @writes_beside
    def expire(self, connection: Connection, before: int) -> None:
        connection.execute("delete from granted_requests where at < %s", (before,))


class PostgresLogins(Repository):
    """``ports.LoginStore`` over the tables ``login_links`` and ``login_keys``."""

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

    @writes_beside  # the role of searches may not read them
    def keys(self, connection: Connection) -> list[bytes]:
        return connection.column("select distinct key from login_keys")
