"""The tier ``elsewhere`` plays a Mac: each process of it is really without what a Mac lacks."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import forked
from mem_search.platform import SYSTEM

ROOT = Path(__file__).parents[1]
LOOK = """
import ctypes, json, os, select, socket
from pathlib import Path

def works(what):
    try:
        what()
    except (AttributeError, OSError):
        return False
    return True

print(json.dumps([name for name, what in {
    "epoll": lambda: select.epoll(),
    "files in memory": lambda: os.memfd_create("a"),
    "affinity": lambda: os.sched_getaffinity(0),
    "netlink": lambda: socket.AF_NETLINK,
    "packets": lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET),
    "peers": lambda: socket.SO_PEERCRED,
    "death signals": lambda: ctypes.CDLL(None).prctl,
    "heaps": lambda: ctypes.CDLL(None).malloc_trim,
    "namespaces": lambda: ctypes.CDLL(None).unshare,
    "/proc": lambda: open("/proc/self/stat"),
    "a folder of /proc": lambda: os.listdir("/proc/self/fd"),
    "/proc by pathlib": lambda: Path("/proc/self/stat").read_text(),
}.items() if works(what)]))
"""


def looked(environ: dict[str, str]) -> list[str]:
    """What a new process has of Linux."""
    done = subprocess.run(
        [sys.executable, "-c", LOOK], env=environ, check=True, capture_output=True, text=True
    )
    return list(json.loads(done.stdout))


@pytest.mark.skipif(sys.platform != "linux", reason="it takes away what Linux has")
def test_a_process_of_the_tier_has_nothing_that_linux_alone_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("MEM_SEARCH_SYSTEM", raising=False)
    there = looked({"PATH": os.defpath})
    assert {"epoll", "death signals", "/proc", "packets"} <= {*there}
    monkeypatch.setenv("MEM_SEARCH_SYSTEM", "plain")
    assert looked(forked.environment()) == []


@pytest.mark.skipif(SYSTEM != "plain", reason="for the tier elsewhere")
def test_the_tier_has_few_files_and_deep_folders_for_temporary_ones() -> None:
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == 256
    assert len(tempfile.gettempdir()) > len("/var/folders/zz/zyxvpxvq6csfxvn_n0000000000000/T")


def test_each_line_of_the_tier_is_a_file_of_tests() -> None:
    lines = (ROOT / "tests" / "elsewhere.txt").read_text("utf-8").splitlines()
    assert lines == sorted({*lines})
    assert [each for each in lines if not (ROOT / each.partition("::")[0]).is_file()] == []
