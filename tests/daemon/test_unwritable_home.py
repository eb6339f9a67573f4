"""A worker starts on a full disk and on one that is read-only: it searches, says so, and heals."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

import pytest

import homes
from chosen_store import in_a_file
from homes import Home
from mem_search.daemon import elsewhere
from mem_search.daemon.state import WorkerState, clear_state, read_state, write_state
from mem_search.errors import StorageError
from mem_search.platform import IS_LINUX
from patience import PATIENCE
from small_disk import room_for

SIZE = 48 << 20
"""Bytes of the small disk."""


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    made = homes.quick(tmp_path)
    made.path.mkdir(mode=0o700)
    mounted = False
    if os.geteuid() == 0 and IS_LINUX:
        mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=700", "tmpfs", str(made.path)]
        mounted = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    if not mounted:
        pytest.skip("this user may not mount a small disk")
    yield made
    made.run("worker", "stop")  # it may be named elsewhere
    subprocess.run(["umount", "-l", str(made.path)], check=False)


@contextmanager
def full(home: Path) -> Iterator[None]:
    ballast = home / "ballast"
    ballast.touch(0o600)
    with ballast.open("wb", buffering=0) as file:
        for piece in (1 << 20, 4096, 1):
            with suppress(OSError):
                while file.write(bytes(piece)):
                    pass
    yield
    ballast.unlink()


@contextmanager
def read_only(home: Path) -> Iterator[None]:
    subprocess.run(["mount", "-o", "remount,ro", str(home)], check=True)
    yield
    subprocess.run(["mount", "-o", "remount,rw", str(home)], check=True)


def stored(home: Home, title: str) -> bool:
    return home.run("add", "-", "--title", title, given=f"the {title} burns oil").returncode == 0


@in_a_file("its disk is full")
@pytest.mark.worker
@pytest.mark.parametrize("ending", ["stopped", "killed"])
@pytest.mark.parametrize("trouble", [full, read_only])
def test_a_worker_starts_where_nothing_can_be_written_and_heals_by_itself(
    home: Home, ending: str, trouble: Callable[[Path], AbstractContextManager[None]]
) -> None:
    assert stored(home, "lighthouse")
    if ending == "killed":
        os.kill(home.pid(), signal.SIGKILL)
        home.wait_until_free()
    else:
        home.ok("worker", "stop")
    with trouble(home.path):
        found = home.run("search", "lighthouse")
        assert found.returncode == 0, found.stderr
        assert "lighthouse" in found.stdout
        if trouble is full and ending == "killed":
            return  # the log of the killed worker was folded in, which made some room
        assert "nothing can be stored at the moment" in found.stdout
        refused = home.run("add", "-", "--title", "boat", given="a boat")
        assert refused.returncode == 3
        assert "free some space" in refused.stderr or "writable" in refused.stderr
        seen = home.run("doctor").stdout
        assert "FAIL  store: nothing can be stored, searches are answered" in seen
        assert "ok    search" in seen
        assert "damaged" not in seen
    deadline = time.monotonic() + PATIENCE
    while not stored(home, "boat"):
        assert time.monotonic() < deadline, "the worker did not heal"
        time.sleep(0.1)
    seen = home.ok("search", "boat")
    assert "Found 1 result(s)" in seen
    assert "nothing can be stored" not in seen


def state(home: Path) -> WorkerState:
    return WorkerState(1, 2, "http://127.0.0.1:2", "0", "", str(home), "i", "p", "k")


def test_a_worker_that_cannot_write_in_its_home_is_found_all_the_same(tmp_path: Path) -> None:
    file = tmp_path / "worker.json"
    with room_for(0), pytest.raises(StorageError, match="nor a file beside it"):
        write_state(file, state(tmp_path))
    place = Path(elsewhere.write(str(tmp_path), "{}"))
    try:
        assert place.stat().st_mode & 0o777 == 0o600
        place.write_text('{"pid": ')
        assert read_state(file) is None
        place.chmod(0o644)
        assert elsewhere.read(str(tmp_path)) == ""
    finally:
        clear_state(file)
    assert not place.exists()


def test_a_link_in_place_of_that_file_is_not_followed(tmp_path: Path) -> None:
    place = Path(elsewhere.write(str(tmp_path), "{}"))
    other = tmp_path / "other"
    other.write_text("{}")
    other.chmod(0o600)
    place.unlink()
    place.symlink_to(other)
    assert elsewhere.read(str(tmp_path)) == ""
    clear_state(tmp_path / "worker.json")
    assert other.exists()
    assert not place.is_symlink()
