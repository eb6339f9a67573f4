"""The contract of what access control keeps in a store, the same for every store.

Several workers of one store decide alike: where a store can have several, each test has two.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest

from mem_search.access.callers import RateLimits
from mem_search.access.tokens import Tokens
from mem_search.errors import NotFound
from mem_search.http.access.browser_sessions import BrowserSessions
from mem_search.model.access import Allowance, BrowserSession, Policy, Token
from mem_search.storage.postgres.store import PostgresStore
from mem_search.storage.sql.access import Window
from mem_search.storage.sqlite.store import SqliteStore
from mem_search.storage.store import Store
from postgres_server import address

NOON = 1_700_000_000_000
THREE = Policy("search", 3)


async def _sqlite(folder: Path, _home: str) -> Store:
    return await SqliteStore.open(folder / "mem-search.db")


async def _postgres(folder: Path, home: str) -> Store:
    return cast(Store, await PostgresStore.open(address(), str(folder), home))


STORES = {"sqlite": _sqlite, "postgres": _postgres}


@dataclass
class Workers:
    """Two workers of one store; where only one can open it, it is both."""

    first: Store
    second: Store
    open: Callable[[str], Awaitable[Store]]

    async def close(self) -> None:
        await self.first.close()
        if self.second is not self.first:
            await self.second.close()

    async def restarted(self) -> None:
        """Both end and start again."""
        alone = self.first is self.second
        await self.close()
        self.first = await self.open("one")
        self.second = self.first if alone else await self.open("two")


@pytest.fixture(params=STORES)
async def workers(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Workers]:
    async def opened(home: str) -> Store:
        return await STORES[request.param](tmp_path, home)

    first = await opened("one")
    second = first if request.param == "sqlite" else await opened("two")
    both = Workers(first, second, opened)
    yield both
    await both.close()


class TestTokens:
    async def test_a_token_is_found_by_its_digest_until_it_is_removed(
        self, workers: Workers
    ) -> None:
        tokens = [Token("b", "ada", b"1", True, 5, 9), Token("a", "", b"2", False, 6)]
        for token in tokens:
            assert await workers.first.tokens.add(token)
        assert not await workers.second.tokens.add(Token("a", "bob", b"3", False, 7))
        other = workers.second.tokens
        assert await other.all() == tokens[::-1]
        assert [await other.find(digest) for digest in (b"1", b"2", b"3")] == [*tokens, None]
        await other.note_used({"a": 77, "unknown": 1})
        await workers.first.tokens.note_used({"a": 70})  # noted late
        assert [token.last_used_at for token in await other.all()] == [77, None]
        assert [token.name for token in await other.remove(["b", "a", "unknown"])] == ["a", "b"]
        assert await workers.first.tokens.remove(["a"]) == []
        assert await workers.first.tokens.all() == []
        assert await workers.first.tokens.find(b"1") is None

    async def test_any_worker_takes_a_token_and_refuses_it_once_another_one_revoked_it(
        self, workers: Workers
    ) -> None:
        first, second = Tokens(workers.first.tokens), Tokens(workers.second.tokens)
        _, secret = await first.create("laptop", user="ada")
        caller = await second.caller(secret)
        assert caller is not None
        assert caller.user == "ada"
        await second.revoke("laptop")
        assert await first.caller(secret) is None
        assert await first.listed() == await second.listed() == []


class TestLimits:
    async def test_workers_count_together_and_go_on_after_a_restart(self, workers: Workers) -> None:
        def take(store: Store, budget: str = "ada", count: int = 1) -> Awaitable[Allowance]:
            return store.limits.take(budget, THREE, count, now=NOON)

        assert (await take(workers.first)).remaining == 2
        assert (await take(workers.second)).remaining == 1
        assert (await take(workers.first, "bob")).remaining == 2
        await workers.restarted()
        assert not (await take(workers.first, count=2)).granted
        assert (await take(workers.second)).granted
        for store in (workers.first, workers.second):
            refused = await take(store)
            assert (refused.granted, refused.remaining, refused.reset) == (False, 0, 3600)
        other = Policy("research", 1)
        assert (await workers.first.limits.take("ada", other, now=NOON)).granted

    async def test_a_store_decides_as_a_window_does(self, workers: Workers) -> None:
        window, now = Window(), NOON
        steps = [(0, 1), (90_000, 2), (0, 1), (3_509_999, 1), (1, 1), (0, 4), (90_000, 3), (1, 1)]
        for number, (pause, count) in enumerate(steps * 2):
            now += pause
            store = (workers.first, workers.second)[number % 2]
            allowance = await store.limits.take("ada", THREE, count, now=now)
            assert allowance == window.take(THREE, now, count), (number, pause, count)

    async def test_a_lowered_quota_counts_earlier_requests(self, workers: Workers) -> None:
        window = Window()
        for second in range(5):
            for count in (workers.first.limits.take, _async(window)):
                await count("ada", Policy("search", 5), 1, now=NOON + 1000 * second)
        now = NOON + 5000
        refused = await workers.second.limits.take("ada", Policy("search", 2), now=now)
        assert refused == window.take(Policy("search", 2), now)
        assert (refused.granted, refused.reset) == (False, 3600 + 3 - 5)

    async def test_what_a_clock_that_was_ahead_has_counted_makes_nobody_wait(
        self, workers: Workers
    ) -> None:
        for _ in range(3):
            await workers.first.limits.take("ada", THREE, now=NOON + 86_400_000)
        await workers.restarted()
        for _ in range(3):
            assert (await workers.first.limits.take("ada", THREE, now=NOON)).granted
        refused = await workers.first.limits.take("ada", THREE, now=NOON)
        assert (refused.granted, refused.reset) == (False, 3600)

    async def test_what_is_old_is_dropped_and_the_rest_counts(self, workers: Workers) -> None:
        for at in (NOON, NOON + 1000):
            await workers.first.limits.take("ada", THREE, now=at)
        await workers.restarted()
        await workers.first.limits.expire(NOON + 1000)
        left = await workers.second.limits.take("ada", THREE, now=NOON + 1000)
        assert (left.granted, left.remaining) == (True, 1)

    async def test_of_many_requests_at_once_as_many_pass_as_the_quota_has(
        self, workers: Workers
    ) -> None:
        policy = Policy("search", 7)
        limits = [RateLimits(store.limits) for store in (workers.first, workers.second)]
        said = await asyncio.gather(*(limits[i % 2].count("ada", policy) for i in range(30)))
        assert sum(each.granted for each in said if each) == 7

    async def test_requests_are_counted_by_the_stores_own_clock(self, workers: Workers) -> None:
        said = [await workers.first.limits.take("ada", Policy("p", 1)) for _ in range(2)]
        assert [each.granted for each in said] == [True, False]
        assert 0 < said[1].reset <= 3600


PLACE = "box.lan"
"""A name by which browsers reach all workers of a store."""


class TestLogins:
    async def test_a_link_of_one_worker_works_once_at_any(self, workers: Workers) -> None:
        first = BrowserSessions(workers.first.logins, "a token")
        second = BrowserSessions(workers.second.logins, "another token")
        code, _ = await first.link(PLACE)
        found = await asyncio.gather(
            *(each.redeem(code, PLACE, "") for each in (first, second, first))
        )
        assert len([each for each in found if each is not None]) == 1
        assert await second.redeem("unknown", PLACE, "") is None

    async def test_a_session_of_one_worker_is_known_to_any_until_its_worker_starts_again(
        self, workers: Workers
    ) -> None:
        first = BrowserSessions(workers.first.logins, "a token")
        second = first
        if workers.second is not workers.first:
            second = BrowserSessions(workers.second.logins, "another token")
            assert await second.listed() == []
        found = await first.redeem((await first.link(PLACE))[0], PLACE, "Firefox/140.0 Linux")
        assert found is not None
        session, secret = found
        assert await second.is_valid(secret, PLACE)
        assert not await second.is_valid(f"9{secret}", PLACE)
        assert await second.listed() == [session]
        await workers.restarted()
        # The worker of the first home has started again; that of the second goes on.
        renewed = BrowserSessions(workers.first.logins, "a token, a later start")
        assert not await renewed.is_valid(secret, PLACE)
        assert not await BrowserSessions(workers.second.logins, "another token").is_valid(
            secret, PLACE
        )
        assert await renewed.listed() == []

    async def test_a_session_that_one_worker_ends_has_ended_at_any(self, workers: Workers) -> None:
        first = BrowserSessions(workers.first.logins, "a token")
        second = BrowserSessions(workers.second.logins, "a token")
        kept, gone = [await first.redeem((await first.link(PLACE))[0], PLACE, "") for _ in range(2)]
        assert kept is not None
        assert gone is not None
        await second.end(gone[0].id)
        assert [await first.is_valid(secret, PLACE) for _, secret in (kept, gone)] == [True, False]
        with pytest.raises(NotFound):
            await first.end(gone[0].id)

    async def test_the_last_use_is_the_latest_and_who_was_not_used_is_dropped(
        self, workers: Workers
    ) -> None:
        logins = workers.first.logins
        await logins.put_key(b"key")
        for number in range(4):
            session = BrowserSession(f"s{number}", bytes([number]), b"key", "", 0, 10 * number)
            await logins.begin(session, 0, 3)
        assert [each.id for each in await logins.sessions()] == ["s3", "s2", "s1"]
        await workers.second.logins.note_session("s1", 90)
        await logins.note_session("s1", 80)
        found = await logins.session(bytes([1]))
        assert found is not None
        assert found.used_at == 90
        await logins.begin(BrowserSession("s5", b"5", b"key", "", 0, 91), 30, 9)
        assert [each.id for each in await logins.sessions()] == ["s5", "s1", "s3"]

    async def test_of_too_many_links_the_oldest_go(self, workers: Workers) -> None:
        logins = workers.first.logins
        for number in range(4):
            await logins.keep_link(bytes([number]), 100, 2)
        taken = [await logins.take_link(bytes([number]), 50) for number in range(4)]
        assert taken == [False, False, True, True]
        await logins.keep_link(b"x", 100, 2)
        assert not await logins.take_link(b"x", 100)


def _async(window: Window) -> Callable[..., Awaitable[Allowance]]:
    async def take(_budget: str, policy: Policy, count: int, *, now: int) -> Allowance:
        return window.take(policy, now, count)

    return take
