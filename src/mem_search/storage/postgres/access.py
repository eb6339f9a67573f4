"""Granted requests and logins of browsers: what all workers of a store decide alike."""

from __future__ import annotations

from typing import Final

from mem_search.model.access import Allowance, Policy
from mem_search.storage.postgres.connection import Connection
from mem_search.storage.rules.future_times import SKEW_MS
from mem_search.storage.rules.rate_windows import allowance
from mem_search.storage.sql.connection import Repository, writes_beside
from mem_search.storage.sql.logins import Logins

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
    """``LimitStore`` over the table ``granted_requests``; the clock is the server's."""

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


class PostgresLogins(Logins):
    """A key for each home of the store, so that any worker takes what another one made."""

    _ADDED = "seq"

    @writes_beside
    def put_key(self, connection: Connection, key: bytes) -> None:
        connection.execute(
            "insert into login_keys(home, key) values(current_setting('mem_search.home'), %s)"
            " on conflict(owner, home) do update set key = excluded.key",
            (key,),
        )
