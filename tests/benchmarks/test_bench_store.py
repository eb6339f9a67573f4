"""A store for a benchmark: made once, filled on where a run was ended, never mixed with another."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2] / "scripts" / "benchmarks"))

import process
import store


def _records(home: Path) -> int:
    with closing(sqlite3.connect(home / "mem-search.db")) as opened:
        (count,) = opened.execute("select count(*) from records").fetchone()
    return int(count)


@pytest.mark.worker
def test_a_store_whose_filling_was_ended_is_filled_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"

    class Ended(Exception):
        pass

    async def ended(*_: object, **__: object) -> None:
        raise Ended

    with monkeypatch.context() as patch:
        patch.setattr("store.LocationReader.read", ended)  # the store is there, and empty
        with pytest.raises(Ended):
            store.ensure(home, 30, None, "hashing")
    assert _records(home) == 0
    store.ensure(home, 30, None, "hashing")
    assert _records(home) == 30
    with pytest.raises(SystemExit, match="holds another store"):
        store.ensure(home, 40, None, "hashing")


def test_processor_time_of_a_child_that_has_ended_still_counts() -> None:
    before = process.cpu_seconds(os.getpid())
    subprocess.run([sys.executable, "-c", "sum(range(10_000_000))"], check=True)
    assert process.cpu_seconds(os.getpid()) > before
    assert process._ticks(2**30) == 0
