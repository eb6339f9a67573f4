"""The index while its server dies, hangs, forgets or is damaged."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mem_search.errors import IndexUnavailable, InputError
from mem_search.model.ingest import VectorEntry
from mem_search.platform import IS_LINUX
from mem_search.storage.chroma import connection
from mem_search.storage.chroma.connection import Connection
from mem_search.storage.chroma.index import ChromaIndex, OffIndex
from mem_search.storage.chroma.process import ChromaProcess, Restarts
from mem_search.storage.chroma.wire import SocketWire
from mem_search.storage.opening import open_index
from patience import PATIENCE, comes_true
from unit_vectors import unit_vectors

DIMENSIONS = 8
vectors = partial(unit_vectors, dimensions=DIMENSIONS)


def entries(count: int) -> list[VectorEntry]:
    return [VectorEntry(number, number // 2, "note", 1) for number in range(count)]


def only_child(pid: int | None) -> int:
    (child,) = Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split()
    return int(child)


def intruder(index: ChromaIndex) -> Connection:
    """The index's own connection, used behind its back."""
    assert isinstance(index._work, Connection)
    return index._work


@pytest.fixture
def process(tmp_path: Path) -> ChromaProcess:
    return ChromaProcess(tmp_path / "chroma", tmp_path / "log", Restarts(100, waits=[0.05]))


@pytest.fixture
async def index(process: ChromaProcess) -> AsyncIterator[ChromaIndex]:
    index = ChromaIndex(process, "space", DIMENSIONS, patience=1.0)
    index.start()
    await index.ready(PATIENCE)
    yield index
    await index.close()


async def test_a_killed_child_costs_answers_but_no_vectors(
    index: ChromaIndex, process: ChromaProcess
) -> None:
    rows = vectors(20)
    await index.upsert(entries(20), rows)
    generation = index.generation
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    with pytest.raises(IndexUnavailable):
        await asyncio.gather(*(index.query(rows[:1], 1) for _ in range(50)))
    await comes_true(lambda: index.generation > generation)
    await index.ready(PATIENCE)
    assert index.generation == generation + 1
    assert (await index.query(rows[3:4], 1))[0][0] == 3
    assert await index.entries() == set(range(20))


async def test_a_child_that_hangs_is_not_waited_for(
    index: ChromaIndex, process: ChromaProcess
) -> None:
    await index.upsert(entries(2), vectors(2))
    assert process.pid is not None
    os.kill(process.pid, signal.SIGSTOP)
    try:
        with pytest.raises(IndexUnavailable, match="in time"):
            await index.query(vectors(1), 1)
        await comes_true(lambda: index.state == "down")
        with pytest.raises(IndexUnavailable, match="checking whether"):  # at once
            await index.query(vectors(1), 1)
    finally:
        os.kill(process.pid, signal.SIGCONT)
    pid = process.pid
    await index.ready(PATIENCE)
    assert len(await index.query(vectors(1), 2)) == 2
    assert (process.pid, process.quarantines) == (pid, 0)


async def test_a_child_that_hangs_for_good_is_replaced(
    index: ChromaIndex, process: ChromaProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mem_search.storage.chroma.process._SILENCE", 0.2)
    await index.upsert(entries(2), vectors(2))
    hanging = process.pid
    assert hanging is not None
    os.kill(hanging, signal.SIGSTOP)
    with pytest.raises(IndexUnavailable, match="in time"):
        await index.query(vectors(1), 1)
    await comes_true(lambda: process.pid not in (None, hanging))
    await index.ready(PATIENCE)
    assert len(await index.query(vectors(1), 2)) == 2
    assert process.quarantines == 0


@pytest.mark.skipif(not IS_LINUX, reason="namespaces are Linux's")
async def test_a_lost_way_into_the_namespace_leads_to_a_new_child(
    index: ChromaIndex, process: ChromaProcess
) -> None:
    if process.protection != "namespace":
        pytest.skip("this system allows no network namespace")
    await index.upsert(entries(2), vectors(2))
    pid = process.pid
    os.kill(only_child(pid), signal.SIGKILL)
    wire = intruder(index)._wire
    assert isinstance(wire, SocketWire)
    idle = wire._idle
    while idle:  # as after Chroma closed them
        idle.pop().close()
    with pytest.raises(IndexUnavailable):
        await index.entries()
    await comes_true(lambda: process.pid not in (None, pid))
    await index.ready(PATIENCE)
    assert await index.entries() == {0, 1}
    assert process.quarantines == 0


async def test_a_damaged_collection_is_replaced_by_an_empty_one(
    process: ChromaProcess, tmp_path: Path
) -> None:
    resets: list[str] = []
    index = ChromaIndex(process, "space", DIMENSIONS, on_reset=lambda: resets.append(index.state))
    index.start()
    await index.ready(PATIENCE)
    await index.upsert(entries(1500), vectors(1500))
    await process.stop()
    for file in (tmp_path / "chroma" / "data").glob("*/*"):
        file.write_bytes(b"torn")
    index.start()
    await index.ready(PATIENCE)
    assert process.quarantines == 1
    assert index.generation == len(resets) >= 2
    assert await index.entries() == set()
    await index.upsert(entries(1), vectors(1))
    assert await index.entries() == {0}
    await index.close()


async def test_a_lost_collection_is_created_again_and_reported(
    index: ChromaIndex, process: ChromaProcess
) -> None:
    await index.upsert(entries(3), vectors(3))
    generation = index.generation

    def delete_behind_its_back() -> None:
        intruder(index)._delete()

    await asyncio.to_thread(delete_behind_its_back)
    assert await index.query(vectors(1), 3) == []
    await comes_true(lambda: index.generation == generation + 1)
    await index.upsert(entries(1), vectors(1))
    assert await index.entries() == {0}


async def test_each_space_has_a_collection_of_its_own(
    index: ChromaIndex, process: ChromaProcess
) -> None:
    await index.upsert(entries(3), vectors(3))
    await process.stop()
    other = ChromaIndex(process, "another space", DIMENSIONS)
    other.start()
    await other.ready(PATIENCE)
    assert other.name != index.name
    assert await other.entries() == set()
    await other.close()


async def test_proxies_of_the_environment_do_not_stand_before_this_machine(
    process: ChromaProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.setenv(name, "example.org")
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    index = ChromaIndex(process, "space", DIMENSIONS)
    index.start()
    await index.ready(PATIENCE)
    assert await index.entries() == set()
    await index.close()


async def test_settings_of_another_chroma_are_not_taken(
    process: ChromaProcess, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / ".env").write_text("CHROMA_SERVER_HOST=elsewhere\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CHROMA_SERVER_HTTP_PORT", "1")
    index = ChromaIndex(process, "space", DIMENSIONS)
    index.start()
    await index.ready(PATIENCE)
    await index.close()


async def test_vectors_of_another_shape_are_a_defect_of_the_caller(index: ChromaIndex) -> None:
    with pytest.raises(ValueError, match="vectors"):
        await index.upsert(entries(2), vectors(1))
    with pytest.raises(ValueError, match="one vector"):
        await index.query(vectors(2), 1)


async def test_an_index_that_was_not_started_or_was_closed_says_so(process: ChromaProcess) -> None:
    index = ChromaIndex(process, "space", DIMENSIONS)
    with pytest.raises(IndexUnavailable, match="not started"):
        await index.entries()
    await index.close()
    with pytest.raises(IndexUnavailable, match="stopped"):
        await index.entries()


def test_the_setting_chooses_the_index(tmp_path: Path) -> None:
    def chosen(url: str) -> object:
        return open_index(
            url, chroma_dir=tmp_path, logs_dir=tmp_path, fingerprint="space", dimensions=8
        )

    assert isinstance(chosen(""), ChromaIndex)
    assert isinstance(chosen("http://localhost:8000"), ChromaIndex)
    assert isinstance(chosen("off"), OffIndex)
    with pytest.raises(InputError) as caught:
        chosen("localhost:8000")
    assert caught.value.field == "chroma_url"


@given(
    st.lists(
        st.one_of(
            st.integers(-5, 2**63).map(str),
            st.sampled_from(["007", "１２", "1_0", " 3", "+3", "note-7", "", "²"]),
        )
    )
)
def test_only_ids_that_we_gave_count(names: list[str]) -> None:
    distances = [place / 8 for place in range(len(names))]
    ours = [(connection.number(name), 1.0 - at) for name, at in zip(names, distances, strict=True)]
    assert connection.nearest(names, distances) == [each for each in ours if each[0] is not None]
