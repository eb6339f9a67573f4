"""Messages in delivery: retried, given up, kept over a restart, always the same."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mem_search.errors import StorageError
from mem_search.features.webhooks import service as deliveries
from mem_search.features.webhooks import sql as stored_deliveries
from mem_search.features.webhooks.service import (
    MAX_ATTEMPTS,
    Deliveries,
    Sender,
    new_message,
    new_secret,
    pause,
)
from mem_search.features.webhooks.sql import DeliveryStore
from mem_search.model.webhooks import Delivery, Message
from mem_search.storage.sqlite.store import SqliteStore
from patience import PATIENCE, becomes
from webhook_receiver import ids, receiving

SECRET = new_secret()
NOW = 1_700_000_000_000


@asynccontextmanager
async def delivering(
    store: SqliteStore, *allowed: str, part: DeliveryStore | None = None
) -> AsyncIterator[Deliveries]:
    out = Deliveries(part or store.part(DeliveryStore), Sender(lambda: SECRET, allowed))
    task = asyncio.create_task(out.run())
    try:
        yield out
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        await out.close()


async def told(store: SqliteStore, url: str, at: int = NOW, **data: Any) -> str:
    message = new_message("test.happened", url, at, data)
    await store.database.write(stored_deliveries.add, message)
    return message.id


async def until(store: SqliteStore, message: str, attempts: int) -> Delivery:
    async with asyncio.timeout(PATIENCE):
        while True:
            found = (await store.part(DeliveryStore).fetch([message]))[message]
            if found.attempts >= attempts:
                return found
            await asyncio.sleep(0.01)


async def make_due(store: SqliteStore) -> None:
    """As if the pause were over."""
    await store.database.write(
        lambda c: c.execute("update webhook_deliveries set next_at = 0 where state = 'pending'")
    )


@given(attempts=st.integers(1, MAX_ATTEMPTS), chance=st.floats(0, 1))
def test_pauses_grow_by_a_factor_and_spread_around_it(attempts: int, chance: float) -> None:
    usual = 5 * 4 ** (attempts - 1)
    assert 0.75 * usual <= pause(attempts, chance) <= 1.25 * usual
    assert pause(attempts, 1) < pause(attempts + 1, 0)


def test_a_message_says_its_type_and_when_it_happened() -> None:
    message = new_message("search_job.completed", "http://x/", 0, {"a": "ü\ud800"})
    assert message.id.startswith("msg_")
    assert json.loads(message.body) == {
        "type": "search_job.completed",
        "timestamp": "1970-01-01T00:00:00.000Z",
        "data": {"a": "ü\ud800"},
    }


async def test_what_is_added_is_delivered_and_remembered(store: SqliteStore) -> None:
    async with (
        receiving(200, secret=SECRET) as receiver,
        delivering(store, receiver.authority) as out,
    ):
        message = await told(store, receiver.url, n=1)
        out.wake()
        (got,) = await receiver.wait_for(1)
        found = await until(store, message, 1)
    assert got.id == message
    assert got.data["data"] == {"n": 1}
    assert (found.state, found.status, found.error) == ("delivered", 200, "")
    assert found.ended_at is not None


async def test_a_failure_is_tried_again_with_the_same_id_and_body(store: SqliteStore) -> None:
    async with (
        receiving(500, 503, 200, secret=SECRET) as receiver,
        delivering(store, receiver.authority) as out,
    ):
        message = await told(store, receiver.url)
        for attempts in (1, 2):
            before = time.time() * 1000
            out.wake()
            waiting = await until(store, message, attempts)
            assert waiting.state == "pending"
            assert waiting.next_at >= before + 1000 * pause(attempts, 0)
            await make_due(store)
        out.wake()
        found = await until(store, message, 3)
    assert (found.state, found.status) == ("delivered", 200)
    assert ids(receiver.messages) == [message] * 3
    assert len({m.body for m in receiver.messages}) == 1


async def test_a_message_is_given_up_after_the_last_attempt(store: SqliteStore) -> None:
    async with receiving(500) as receiver, delivering(store, receiver.authority) as out:
        message = await told(store, receiver.url)
        for attempts in range(1, MAX_ATTEMPTS + 1):
            out.wake()
            found = await until(store, message, attempts)
            await make_due(store)
    assert (found.state, found.attempts) == ("failed", MAX_ATTEMPTS)
    assert found.error == f"given up after {MAX_ATTEMPTS}: answered 500"


async def test_410_and_a_refused_receiver_end_it_at_once(store: SqliteStore) -> None:
    async with receiving(410) as receiver, delivering(store, receiver.authority) as out:
        gone = await told(store, receiver.url)
        refused = await told(store, "http://127.0.0.1:1/")
        out.wake()
        assert (await until(store, gone, 1)).state == "failed"
        found = await until(store, refused, 1)
    assert (found.state, found.status) == ("failed", None)
    assert "MEM_SEARCH_WEBHOOK_ALLOW" in found.error


async def test_what_waits_is_delivered_after_a_restart(store: SqliteStore) -> None:
    async with receiving(500, 200, secret=SECRET) as receiver:
        async with delivering(store, receiver.authority):
            message = await told(store, receiver.url)
        async with delivering(store, receiver.authority) as out:
            out.wake()
            await until(store, message, 1)
        await make_due(store)
        async with delivering(store, receiver.authority):
            found = await until(store, message, 2)
    assert found.state == "delivered"
    assert ids(receiver.messages) == [message] * 2


async def test_one_that_is_cut_off_by_the_end_of_the_worker_is_sent_again(
    store: SqliteStore,
) -> None:
    async with receiving(200, secret=SECRET) as receiver:
        receiver.hold = asyncio.Event()
        message = await told(store, receiver.url)
        async with delivering(store, receiver.authority):
            await receiver.wait_for(1)
        receiver.hold.set()
        async with delivering(store, receiver.authority):
            found = await until(store, message, 1)
    assert found.state == "delivered"
    assert ids(receiver.messages) == [message] * 2


async def test_a_slow_receiver_does_not_keep_the_others_waiting(store: SqliteStore) -> None:
    async with receiving(200) as slow, receiving(200) as quick:
        slow.hold = asyncio.Event()
        waiting = await told(store, slow.url)
        async with delivering(store, slow.authority, quick.authority) as out:
            await slow.wait_for(1)
            message = await told(store, quick.url)
            out.wake()
            assert (await until(store, message, 1)).state == "delivered"
            assert (await until(store, waiting, 0)).attempts == 0
            slow.hold.set()


async def test_messages_to_one_receiver_go_one_by_one_in_their_order(store: SqliteStore) -> None:
    async with receiving(200) as slow, receiving(200) as quick:
        slow.hold = asyncio.Event()
        # Two paths of it: whom a message is for is told by the host, which is what is slow.
        sent = [await told(store, f"{slow.url}/{n % 2}", at=NOW + n) for n in range(12)]
        message = await told(store, quick.url, at=NOW + 12)
        async with delivering(store, slow.authority, quick.authority):
            assert (await until(store, message, 1)).state == "delivered"
            assert ids(slow.messages) == sent[:1]
            slow.hold.set()
            assert ids(await slow.wait_for(12)) == sent
            assert (await until(store, sent[-1], 1)).state == "delivered"


async def test_a_limited_number_of_receivers_is_served_at_once(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deliveries, "AT_ONCE", 2)
    async with receiving(200) as first, receiving(200) as second, receiving(200) as third:
        receivers = (first, second, third)
        first.hold = second.hold = asyncio.Event()
        sent = [await told(store, r.url, at=NOW + n) for n, r in enumerate(receivers)]
        async with delivering(store, *(each.authority for each in receivers)):
            await first.wait_for(1)
            await second.wait_for(1)
            assert third.messages == []
            first.hold.set()
            for message in sent:
                assert (await until(store, message, 1)).state == "delivered"


class FullDeliveries(DeliveryStore):
    """A store in which it cannot be noted what became of ``message``."""

    message = ""

    async def finish(self, delivery: str, *args: Any, **kwargs: Any) -> None:  # type: ignore[override]
        if delivery == self.message:
            raise StorageError("the disk is full")
        await super().finish(delivery, *args, **kwargs)


async def test_what_was_sent_and_cannot_be_noted_is_not_sent_again_at_once(
    store: SqliteStore, caplog: pytest.LogCaptureFixture
) -> None:
    full = FullDeliveries(store.database)
    async with receiving(200) as receiver, receiving(200) as other:
        full.message = await told(store, receiver.url)
        async with delivering(store, receiver.authority, other.authority, part=full) as out:
            await receiver.wait_for(1)
            for _ in range(3):
                later = await told(store, other.url)
                out.wake()
                assert (await until(store, later, 1)).state == "delivered"
        assert ids(receiver.messages) == [full.message]
    assert "the disk is full" in caplog.text


async def test_what_ended_is_kept_for_a_week(store: SqliteStore) -> None:
    now = int(time.time() * 1000)
    for message, ended in (("old", now - deliveries.KEEP_MS - 1000), ("new", now)):
        queued = Message(message, "x", "http://x/", b"{}", ended)
        await store.database.write(stored_deliveries.add, queued)
        await store.part(DeliveryStore).finish(message, "delivered", status=200, error="", at=ended)
    async with receiving(200) as receiver, delivering(store, receiver.authority):
        message = await told(store, receiver.url)
        await until(store, message, 1)
        left = await becomes(
            lambda: store.part(DeliveryStore).fetch(["old", "new"]),
            lambda found: "old" not in found,
        )
    assert "new" in left
