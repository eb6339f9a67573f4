"""On a server, too, times of a clock that was ahead hold nothing, and sketches are made again."""

from __future__ import annotations

from uuid import uuid4

import pytest

from drafts import draft, prepared
from mem_search.model import Location
from mem_search.model.access import HOUR, Policy
from mem_search.storage.postgres.store import PostgresStore
from mem_search.storage.rules.checksums import BYTES
from mem_search.text.dates import now_ms
from mem_search.text.sketch import SIZE
from postgres_server import server

YEAR = 365 * 86_400_000


@pytest.fixture
async def store() -> PostgresStore:
    return await PostgresStore.open(server().address(), uuid4().hex)


async def test_times_in_the_future_are_put_back(store: PostgresStore) -> None:
    late, policy = now_ms() + YEAR, Policy("p", 3, HOUR)
    for _ in range(3):
        assert (await store.limits.take("b", policy, now=late)).granted
    assert not (await store.limits.take("b", policy, now=late)).granted
    await store.jobs.create("j", "sync", {})
    await store.database.write(
        lambda c: c.execute("update jobs set created_at = %s where id = 'j'", (late,))
    )
    assert (await store.limits.take("b", policy)).granted
    await store.put_right()
    (job,) = await store.jobs.newest(10)
    assert job.created_at <= now_ms()
    await store.close()


async def _sketches(store: PostgresStore) -> list[tuple[bytes]]:
    return await store.database.read(
        lambda c: c.execute("select sketch from sketches order by record_id").fetchall()
    )


async def test_a_sketch_that_is_not_what_was_written_is_made_again(store: PostgresStore) -> None:
    batch = prepared(draft("a", "the lighthouse burns oil"), draft("b", "a boat in the harbour"))
    await store.ingest.store_batch(Location("test", "/there"), batch, followed=True)
    kept = await _sketches(store)
    await store.database.write(lambda c: c.execute("update sketches set sketch = '\\x00'"))
    assert await store.mend() == ["the sketches of near-duplicates"]
    again = await _sketches(store)
    assert again == kept
    assert all(len(made) == SIZE + BYTES for (made,) in again)
    assert await store.mend() == []
    flip = "update sketches set sketch = set_byte(sketch, 9, 255 - get_byte(sketch, 9))"
    await store.database.write(lambda c: c.execute(flip))
    assert await store.mend() == ["the sketches of near-duplicates"]
    assert await _sketches(store) == kept
    await store.close()
