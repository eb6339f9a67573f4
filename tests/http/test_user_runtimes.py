"""Runtimes of users: opened on demand, lent, closed when idle, never twice at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from chosen_store import in_a_file
from drafts import draft
from mem_search.errors import Conflict, NotFound, StorageError
from mem_search.http.core import user_runtimes
from mem_search.http.core.user_runtimes import IDLE_SECONDS, MAX_IDLE, UserRuntimes
from mem_search.model import SearchRequest
from mem_search.wiring import Runtime, open_runtime
from patience import PATIENCE
from runtimes import fill, settled, small


class Clock:
    """Seconds that pass when they are told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def users(runtime: Runtime, clock: Clock) -> AsyncIterator[UserRuntimes]:
    users = UserRuntimes(runtime.settings, runtime.model, clock)
    yield users
    await users.close()


async def total(runtime: Runtime, text: str) -> int:
    return (await runtime.search.pipeline.search(SearchRequest(text))).total


async def test_a_runtime_is_opened_once_and_keeps_what_it_has(users: UserRuntimes) -> None:
    async with users.lease("ada") as one, users.lease("ada") as two:
        assert one is two
        await fill(one, draft("s1", "a note about tides"))
    async with users.lease("ada") as again:
        assert again is one
        assert await total(again, "tides") == 1
    async with users.lease("bob") as other:
        assert await total(other, "tides") == 0
    assert users.open == ["ada", "bob"]


async def test_many_who_ask_at_once_get_the_same_one(users: UserRuntimes) -> None:
    async def ask() -> Runtime:
        async with users.lease("ada") as runtime:
            await asyncio.sleep(0)
            return runtime

    assert len({id(runtime) for runtime in await asyncio.gather(*(ask() for _ in range(8)))}) == 1


async def test_the_model_is_shared_and_outlives_a_user(
    users: UserRuntimes, runtime: Runtime
) -> None:
    async with users.lease("ada") as theirs:
        assert theirs.model is runtime.model
        await fill(theirs, draft("s1", "a note about tides"))
    await users.close()
    await fill(runtime, draft("s1", "the harbour wall"))
    assert await total(runtime, "harbour") == 1


async def test_idle_ones_are_closed_and_come_back_with_everything(
    users: UserRuntimes, clock: Clock
) -> None:
    async with users.lease("ada") as runtime:
        await fill(runtime, draft("s1", "a note about tides"))
        clock.now += 2 * IDLE_SECONDS
        await users.close_idle()
        assert users.open == ["ada"]  # it is lent
    await users.close_idle()
    assert users.open == ["ada"]  # given back just now
    clock.now += IDLE_SECONDS
    await users.close_idle()
    assert users.open == []
    async with users.lease("ada") as again:
        assert again is not runtime
        assert await total(again, "tides") == 1


async def test_of_many_idle_ones_those_that_waited_longest_are_closed(
    users: UserRuntimes, clock: Clock
) -> None:
    names = [f"user{number}" for number in range(MAX_IDLE + 2)]
    for name in names:
        clock.now += 1
        async with users.lease(name):
            pass
    await users.close_idle()
    assert users.open == names[2:]


async def test_one_with_work_to_do_stays_open(users: UserRuntimes, clock: Clock) -> None:
    async with users.lease("ada") as runtime:
        await runtime.store.jobs.create("j1", "import", {})
    clock.now += 2 * IDLE_SECONDS
    await users.close_idle()
    assert users.open == ["ada"]
    async with users.lease("ada") as runtime:
        await runtime.store.jobs.finish("j1", "done", "", {})
    clock.now += 2 * IDLE_SECONDS
    await users.close_idle()
    assert users.open == []


async def test_work_of_an_earlier_worker_continues(
    users: UserRuntimes, runtime: Runtime, clock: Clock
) -> None:
    file = runtime.settings.home / "left.jsonl"
    file.write_text('{"kind": "note", "text": "what was left"}\n')
    for user in ("ada", "bob"):
        async with users.lease(user) as theirs:
            await fill(theirs, draft("s1", "a note about tides"))
            if user == "ada":
                await theirs.ingest.jobs.close()
                params = {"source": "jsonl", "path": str(file)}
                await theirs.store.jobs.create("j1", "import", params)
    await users.close()
    await users.wake()
    assert users.open == ["ada", "bob"]
    async with users.lease("ada") as theirs:
        async with asyncio.timeout(PATIENCE):
            while await theirs.store.jobs.unfinished():  # noqa: ASYNC110  it asks the store
                await asyncio.sleep(0.02)
        assert (await theirs.ingest.jobs.get("j1")).state == "done"


@in_a_file("it is damaged")
async def test_a_home_that_cannot_be_opened_is_said_and_tried_again(
    users: UserRuntimes, runtime: Runtime
) -> None:
    home = runtime.settings.home / "users" / "ada"
    home.mkdir(parents=True)
    (home / "mem-search.db").write_bytes(b"this is not a database, though it is long enough" * 9)
    for _ in range(2):
        with pytest.raises(StorageError, match="damaged"):
            async with users.lease("ada"):
                pass
    async with users.lease("bob"):
        pass
    await users.close()
    await users.wake()  # the others are woken all the same
    assert users.open == ["bob"]
    (home / "mem-search.db").unlink()
    async with users.lease("ada") as opened:
        assert await total(opened, "anything") == 0


async def test_removing_waits_for_who_is_being_answered(
    users: UserRuntimes, runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(NotFound):
        await users.remove("ada")
    monkeypatch.setattr(user_runtimes, "_PATIENCE", 0.05)
    async with users.lease("ada") as theirs:
        await fill(theirs, draft("s1", "a note about tides"))
        with pytest.raises(Conflict, match="being answered"):
            await users.remove("ada")
        assert await total(theirs, "tides") == 1
    await users.remove("ada")
    assert list((runtime.settings.home / "users").iterdir()) == []
    async with users.lease("ada") as anew:
        assert await total(anew, "tides") == 0


async def test_what_a_former_worker_was_removing_is_removed(runtime: Runtime) -> None:
    half = runtime.settings.home / "users" / ".removed-1"
    half.mkdir(parents=True)
    (half / "mem-search.db").write_text("x")
    user_runtimes.sweep_removed(runtime.settings.home)
    assert not half.exists()


async def test_few_vectors_are_searched_exactly_and_without_a_chroma(
    users: UserRuntimes, runtime: Runtime
) -> None:
    async with users.lease("ada") as theirs:
        await fill(theirs, *(draft(f"s{n}", f"note {n} about tides") for n in range(4)))
        page = await theirs.search.pipeline.search(SearchRequest("tides", mode="vector"))
        (leg,) = page.report.legs
        assert (page.total, leg.state, leg.detail, page.report.coverage) == (4, "ok", "exact", 1.0)
        assert theirs.index.state == "off"
        assert theirs.settings.home == runtime.settings.home / "users" / "ada"
        assert not theirs.settings.chroma_dir.exists()


async def test_many_vectors_get_a_chroma_of_their_own_at_the_next_opening(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mem_search.search_wiring.MAX_SCANNED_PASSAGES", 2)
    async with open_runtime(small(tmp_path / "home", chroma_url="")) as owner:
        users = UserRuntimes(owner.settings, owner.model)
        try:
            async with users.lease("ada") as theirs:
                await fill(theirs, *(draft(f"s{n}", f"note {n} about tides") for n in range(4)))
            await users.close()
            async with users.lease("ada") as theirs:
                await theirs.index.ready()
                await settled(theirs)
                async with asyncio.timeout(PATIENCE):
                    while len(await theirs.index.entries()) < 4:  # noqa: ASYNC110  it asks Chroma
                        await asyncio.sleep(0.05)
                page = await theirs.search.pipeline.search(SearchRequest("tides", mode="vector"))
                assert page.report.legs[0].state == "ok"
                assert page.total == 4
            assert await owner.index.entries() == set()
            assert theirs.settings.chroma_dir == owner.settings.home / "users" / "ada" / "chroma"
        finally:
            await users.close()
