"""A forgetting goes on after SIGKILL, of the worker and of its Chroma, wherever it hits."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import forked
from chosen_store import in_a_file
from homes import Home, make
from patience import until

pytestmark = pytest.mark.worker

OTHERS = [
    {"kind": "note", "source_id": f"other{n}", "text": f"Plant {n} needs water and light."}
    for n in range(60)
]

WORKER = """
import os, signal, sys
from pathlib import Path
from mem_search.daemon.run import run
from mem_search.ingest.indexer import Indexer
from mem_search.settings import Settings
from mem_search.storage.chroma.directory import DataDirectory
from mem_search.storage.sqlite import records

place, left = sys.argv[1], int(sys.argv[2])

def at(process=0):
    global left
    if left == 0:
        os.kill(process or os.getpid(), signal.SIGKILL)
    left -= 1

def vacuumed(connection, original=records._vacuumed):
    # SQLite calls the handler after each 100 steps of its machine, also within VACUUM.
    connection.set_progress_handler(at, 100)
    try:
        original(connection)
    finally:
        connection.set_progress_handler(None, 0)

def take_over(self, data, original=DataDirectory.take_over, rename=Path.rename):
    def counted(path, target):
        at()
        return rename(path, target)
    Path.rename = counted
    try:
        original(self, data)
        at()
    finally:
        Path.rename = rename

async def filled(self, fresh, original=Indexer._fill):
    await original(self, fresh)
    at((fresh if place == "fresh" else self._index)._server.pid)
    await original(self, fresh)

if place == "vacuum":
    records._vacuumed = vacuumed
elif place == "swap":
    DataDirectory.take_over = take_over
else:
    Indexer._fill = filled
run(Settings.read())
"""
"""A worker that is killed, or kills its Chroma, at the n-th moment of one place."""


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    home = make(tmp_path, MEM_SEARCH_EMBEDDER="hashing", MEM_SEARCH_FOLLOW="0")
    home.ok("import", "jsonl", "-", given="".join(json.dumps(each) + "\n" for each in OTHERS))
    yield home
    home.end()


@contextmanager
def hooked(home: Home, place: str, moment: int) -> Iterator[forked.Process]:
    """The worker of ``home`` with a moment at which something is killed."""
    home.ok("worker", "stop")
    process = forked.start(["-c", WORKER, place, str(moment)], home.environ, home.path.parent)
    try:
        until(lambda: home.run("worker", "status").returncode == 0)
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def forget_secret(home: Home, word: str) -> str:
    """Store a record with ``word``, index it, and begin to forget it; returns the receipt."""
    record = json.dumps({"kind": "note", "text": f"The {word} harbour closes in March."})
    home.ok("import", "jsonl", "-", given=record + "\n")
    until(lambda: not home.call("GET", "/api/stats")["outbox"])
    return str(home.call("POST", "/api/forget", {"query": word})["receipt"]["id"])


def assert_forgotten(home: Home, receipt: str, word: str) -> None:
    """The forgetting is done, nothing of it is left, and everything else is as it was."""
    until(lambda: home.call("GET", f"/api/forget/{receipt}")["state"] == "done")
    until(lambda: home.call("GET", "/api/stats")["embedding_coverage"] == 1)
    stats = home.call("GET", "/api/stats")
    assert (stats["records"]["total"], stats["index"]["state"]) == (len(OTHERS), "ok")
    held = [
        file
        for file in home.path.rglob("*")
        if file.is_file() and word.encode() in file.read_bytes().lower()
    ]
    assert held == []
    assert not any((home.path / "chroma" / name).exists() for name in ("next", "old"))
    page = home.call("GET", "/api/search?query=plant+water&mode=vector&types=notes")
    assert page["total"] > 0


@in_a_file("it is written anew, and Chroma beside it")
@pytest.mark.parametrize(
    ("place", "moments"), [("vacuum", (0, 12)), ("swap", (0, 1, 2))], ids=["vacuum", "swap"]
)
def test_a_worker_that_is_killed_goes_on_at_the_next_start(
    home: Home, place: str, moments: tuple[int, ...]
) -> None:
    for moment in moments:
        word = f"zylophantic{place}{moment}"
        with hooked(home, place, moment) as process:
            receipt = forget_secret(home, word)
            assert process.wait() == -signal.SIGKILL
        home.ok("worker", "start")
        assert_forgotten(home, receipt, word)


@in_a_file("it is written anew, and Chroma beside it")
@pytest.mark.parametrize("which", ["fresh", "serving"])
def test_a_chroma_that_is_killed_while_its_files_are_rewritten_is_rewritten_again(
    home: Home, which: str
) -> None:
    with hooked(home, which, 0) as process:
        receipt = forget_secret(home, "quorvexel")
        assert_forgotten(home, receipt, "quorvexel")
        assert process.poll() is None
