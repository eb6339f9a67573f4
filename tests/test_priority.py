"""Work that no search waits for has a lower priority than searches."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mem_search.platform import IS_LINUX, lower_thread
from mem_search.storage.sqlite.database import Connection, Database

pytestmark = pytest.mark.skipif(not IS_LINUX, reason="priorities of threads are Linux's")

_LATE = """
import os, threading
from concurrent.futures.thread import ThreadPoolExecutor
from mem_search.platform import lower_thread

os.nice(40)  # which is 19, the most there is
if os.getuid() == 0:
    os.setuid(65534)  # for whom there is no way back
thread = ThreadPoolExecutor(1, initializer=lower_thread)
print(thread.submit(lambda: os.getpriority(os.PRIO_PROCESS, threading.get_native_id())).result())
"""


def priority(_: Connection | None = None) -> int:
    """That of the calling thread."""
    return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())


def test_a_thread_is_five_steps_nicer_than_what_started_it() -> None:
    with ThreadPoolExecutor(1, initializer=lower_thread) as lower:
        assert lower.submit(priority).result() == min(19, priority() + 5)


def test_a_process_that_is_nice_already_goes_on() -> None:
    """A service manager may start the worker so; only a privileged process may go back."""
    ran = subprocess.run([sys.executable, "-c", _LATE], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "19"


async def test_searches_come_before_writes(tmp_path: Path) -> None:
    database = await Database.open(tmp_path / "mem-search.db")
    try:
        assert await database.read(priority) < await database.write(priority)
    finally:
        await database.close()
