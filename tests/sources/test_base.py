"""The builder of batches, which every source uses."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import drafts
from mem_search.model import Batch, LedgerEntry, Location
from mem_search.sources import base
from mem_search.sources.base import BaseSource, BatchBuilder, scratch_folder, sweep_scratch


def test_a_batch_holds_everything_since_the_last_one() -> None:
    found = BatchBuilder(total=4)
    assert not found
    first, second = drafts.draft("a"), drafts.draft("b")
    found.take(first, "line 1")
    found.take(second)
    found.leave("line 3", "empty")
    found.fail("line 4", "torn")
    found.delete("z", "no longer there")
    found.outdate("line 4")
    assert found
    assert found.build({"at": 4}, 4, item="lines 1-4") == Batch(
        drafts=(first, second),
        deletions=("z",),
        ledger=(
            LedgerEntry("line 3", "left", "empty"),
            LedgerEntry("line 4", "failed", "torn"),
            LedgerEntry("z", "deleted", "no longer there"),
        ),
        cursor={"at": 4},
        done=4,
        total=4,
        outdated=("line 4",),
        places=("line 1", "b"),
        item="lines 1-4",
    )
    assert not found
    assert found.taken == 2
    # The location may have grown since its size was taken.
    assert found.build({"at": 6}, 6) == Batch(cursor={"at": 6}, done=6, total=6)


def test_a_batch_is_full_by_what_was_found_or_by_the_time_that_it_took(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 100.0
    monkeypatch.setattr(base.time, "monotonic", lambda: now)
    monkeypatch.setattr(base, "BATCH_SIZE", 2)
    found = BatchBuilder()
    found.take(drafts.draft("a"))
    assert not found.is_full
    found.fail("b", "torn")
    assert found.is_full
    found.build({}, 2)
    now += 10 * base.BATCH_SECONDS  # the batch is being stored
    assert not found.is_full
    now += base.BATCH_SECONDS
    assert found.is_full


def test_a_source_that_says_nothing_else_takes_a_path_and_finds_nothing() -> None:
    class Attic(BaseSource):
        name = "attic"

    attic = Attic()
    assert attic.locate("/a/box") == Location("attic", "/a/box")
    assert not attic.follows


def test_what_a_killed_worker_unpacked_is_removed_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    killed = (
        "import os; from mem_search.sources.base import scratch_folder;"
        "folder = scratch_folder(); open(folder.name + '/a', 'w').close(); os._exit(9)"
    )
    environ = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", killed], env=environ, check=False)
    (left,) = tmp_path.iterdir()
    (tmp_path / f"{left.name}-link").symlink_to(left)
    (tmp_path / "mem-search-scratch-x-y").mkdir()
    with scratch_folder() as own:
        assert sweep_scratch() == 1
        assert not left.exists()
        assert len([*tmp_path.iterdir()]) == 3
        assert Path(own).is_dir()
