"""The owned child process: started, watched, restarted, never left behind."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mem_search.errors import IndexUnavailable
from mem_search.storage.chroma.connection import Connect
from mem_search.storage.chroma.launch import _environment
from mem_search.storage.chroma.process import ChromaProcess, Restarts
from patience import PATIENCE, comes_true


async def accept(connect: Connect) -> None:
    """Take any server: its first heartbeat was answered."""


async def refuse(connect: Connect) -> None:
    raise IndexUnavailable("cannot be read")


def alive(pid: int) -> bool:
    """Whether a process runs; one that only waits to be reaped does not."""
    state = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False
    ).stdout
    return bool(state.strip()) and not state.startswith("Z")


def process(home: Path) -> ChromaProcess:
    return ChromaProcess(home / "chroma", home / "logs" / "chroma.log", Restarts(100, waits=[0.05]))


@pytest.fixture
async def chroma(tmp_path: Path) -> AsyncIterator[ChromaProcess]:
    chroma = process(tmp_path)
    yield chroma
    await chroma.stop()


async def test_starting_and_stopping_leaves_no_process(tmp_path: Path) -> None:
    for _ in range(5):
        chroma = process(tmp_path)
        chroma.start(accept)
        assert chroma.state == "starting"
        await chroma.wait_ready(PATIENCE)
        pid = chroma.pid
        assert pid is not None
        assert alive(pid)
        await chroma.stop()
        assert not alive(pid)
        assert chroma.state == "down"
    assert not (tmp_path / "chroma" / "child.json").exists()


async def test_stopping_in_the_middle_of_a_start_leaves_no_process(chroma: ChromaProcess) -> None:
    chroma.start(accept)
    await comes_true(lambda: chroma.pid)
    pid = chroma.pid
    await chroma.stop()
    assert pid is not None
    assert not alive(pid)


async def test_a_killed_child_is_started_again(chroma: ChromaProcess) -> None:
    chroma.start(accept)
    await chroma.wait_ready(PATIENCE)
    first = chroma.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    await comes_true(lambda: chroma.state != "ready")
    assert "SIGKILL" in chroma.detail or chroma.state == "starting"
    await chroma.wait_ready(PATIENCE)
    assert chroma.pid not in (None, first)
    assert chroma.quarantines == 0


@pytest.mark.parametrize("full", ["os.pwrite", "mem_search.storage.chroma.directory.shutil.rmtree"])
async def test_a_disk_that_is_full_at_the_start_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, full: str
) -> None:
    def no_space(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    (tmp_path / "chroma" / "old").mkdir(parents=True)
    starting = process(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(full, no_space)
        starting.start(accept)
        await comes_true(lambda: starting.state == "down")
        assert "No space left on device" in starting.detail
    await starting.wait_ready(PATIENCE)
    await starting.stop()


async def test_a_second_owner_waits_until_the_first_has_left(
    chroma: ChromaProcess, tmp_path: Path
) -> None:
    chroma.start(accept)
    await chroma.wait_ready(PATIENCE)
    second = process(tmp_path)
    second.start(accept)
    await comes_true(lambda: second.state == "down")
    with pytest.raises(IndexUnavailable, match=f"in use by process {os.getpid()}"):
        second.require_ready()
    await chroma.stop()
    await second.wait_ready(PATIENCE)
    await second.stop()


async def test_the_child_ends_with_a_worker_that_is_killed(tmp_path: Path) -> None:
    worker = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        "import asyncio, sys\n"
        "from pathlib import Path\n"
        "from mem_search.storage.chroma.process import ChromaProcess\n"
        "async def accept(connect): pass\n"
        "async def main():\n"
        "    chroma = ChromaProcess(Path(sys.argv[1]), Path(sys.argv[1]) / 'log')\n"
        "    chroma.start(accept)\n"
        f"    await chroma.wait_ready({PATIENCE})\n"
        "    print(chroma.pid, flush=True)\n"
        "    await asyncio.sleep(60)\n"
        "asyncio.run(main())\n",
        str(tmp_path),
        stdout=asyncio.subprocess.PIPE,
    )
    assert worker.stdout is not None
    pid = int(await worker.stdout.readline())
    assert alive(pid)
    worker.kill()
    await worker.wait()
    await comes_true(lambda: not alive(pid))


async def test_data_that_cannot_be_opened_goes_to_quarantine(
    chroma: ChromaProcess, tmp_path: Path
) -> None:
    data = tmp_path / "chroma" / "data"
    data.mkdir(parents=True)
    (data / "chroma.sqlite3").write_bytes(b"not a database" * 1000)
    chroma.start(accept)
    await chroma.wait_ready(PATIENCE)
    assert chroma.quarantines == 1
    (aside,) = (tmp_path / "chroma").glob("quarantine-*")
    assert (aside / "chroma.sqlite3").read_bytes().startswith(b"not a database")


async def test_data_that_is_not_to_blame_is_put_back(chroma: ChromaProcess, tmp_path: Path) -> None:
    chroma.start(accept)
    await chroma.wait_ready(PATIENCE)
    await chroma.stop()
    before = (tmp_path / "chroma" / "data" / "chroma.sqlite3").stat().st_ino
    chroma.start(refuse)
    await comes_true(lambda: chroma.quarantines == 1)
    await comes_true(lambda: not list((tmp_path / "chroma").glob("quarantine-*")))
    await comes_true(lambda: "cannot be read" in chroma.detail)
    assert (tmp_path / "chroma" / "data" / "chroma.sqlite3").stat().st_ino == before


async def test_a_child_that_fails_too_often_stays_down_and_says_why(tmp_path: Path) -> None:
    log = tmp_path / "chroma.log"
    chroma = ChromaProcess(tmp_path / "chroma", log, Restarts(2, waits=[0.05]))
    chroma.start(refuse)
    await comes_true(lambda: "too many failures" in chroma.detail)
    assert str(log) in chroma.detail
    assert "cannot be read" in chroma.detail
    async with asyncio.timeout(PATIENCE):  # a stop that waited for a child would wait for ever
        await chroma.stop()


async def test_a_long_log_is_started_afresh(chroma: ChromaProcess, tmp_path: Path) -> None:
    log = tmp_path / "logs" / "chroma.log"
    log.parent.mkdir()
    log.write_bytes(b"x" * (5 * 1024 * 1024 + 1))
    chroma.start(accept)
    await chroma.wait_ready(PATIENCE)
    assert log.stat().st_size < 100_000


async def test_waiting_for_a_server_that_does_not_come_ends(chroma: ChromaProcess) -> None:
    chroma.start(refuse)
    with pytest.raises(IndexUnavailable):
        await chroma.wait_ready(0.05)


def test_the_child_gets_no_proxy_no_secret_and_no_settings_of_another_chroma() -> None:
    given = {
        "PATH": "/bin",
        "HTTPS_PROXY": "http://proxy",
        "all_proxy": "http://proxy",
        "CHROMA_SERVER_HOST": "elsewhere",
        "OTEL_EXPORTER_OTLP_ENDPOINT": "http://elsewhere",
        "OPENAI_API_KEY": "secret",
        "MEM_SEARCH_TOKEN": "secret",
        "ANONYMIZED_TELEMETRY": "TRUE",
    }
    kept = _environment(given)
    assert set(kept) & set(given) == {"PATH", "ANONYMIZED_TELEMETRY"}
    assert kept["ANONYMIZED_TELEMETRY"] == "FALSE"
