"""Hooks that start the worker: however many sessions begin, one worker and one Chroma stay."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from chosen_store import in_a_file
from homes import Home, make
from patience import PATIENCE, until

HOOK = Path(__file__).parent.parent / "plugin" / "bin" / "hook.py"
SESSIONS = 50

pytestmark = [
    pytest.mark.worker,
    pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="it looks into /proc"),
]


@pytest.fixture
def mem(tmp_path: Path) -> Iterator[Home]:
    command = tmp_path / "mem-search"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m mem_search "$@"\n')
    command.chmod(0o700)
    home = make(tmp_path, MEM_SEARCH_EMBEDDER="hashing", MEM_SEARCH_COMMAND=str(command))
    yield home
    home.run("worker", "stop")
    home.end()


def tell(mem: Home, name: str) -> None:
    """Fifty sessions say ``name`` at the same time."""
    hooks = [
        subprocess.Popen(
            [sys.executable, "-I", "-S", str(HOOK)], stdin=subprocess.PIPE, env=mem.environ
        )
        for _ in range(SESSIONS)
    ]
    for number, hook in enumerate(hooks):
        event = {"hook_event_name": name, "session_id": f"s{number}", "cwd": str(mem.path.parent)}
        hook.communicate(json.dumps(event).encode(), timeout=PATIENCE)
        assert hook.returncode == 0


def processes(mem: Home) -> dict[int, tuple[int, str]]:
    """pid → (parent, command) of the processes of this home, and of their children."""
    everything: dict[int, tuple[int, str]] = {}
    ours: set[int] = set()
    for place in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((place / "stat").read_text().rpartition(")")[2].split()[1])
            command = (place / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            environ = (place / "environ").read_bytes().split(b"\0")
        except OSError:  # it has just ended, or is another user's
            continue
        everything[int(place.name)] = parent, command
        if f"MEM_SEARCH_HOME={mem.path}".encode() in environ:
            ours.add(int(place.name))
    return {pid: of for pid, of in everything.items() if of[1] and (pid in ours or of[0] in ours)}


@in_a_file("no Chroma starts")
def test_fifty_sessions_leave_one_worker_and_one_chroma(mem: Home) -> None:
    tell(mem, "SessionStart")
    tell(mem, "SessionEnd")
    until(lambda: (mem.path / "worker.json").exists())
    until(lambda: any(parent == mem.pid() for parent, _ in processes(mem).values()))
    until(lambda: not any("worker start" in command for _, command in processes(mem).values()))
    tell(mem, "SessionStart")
    found = processes(mem)
    workers = [pid for pid, (parent, _) in found.items() if parent not in found]
    chromas = [
        pid
        for pid, (parent, command) in found.items()
        if parent in workers and "storage/chroma" in command  # not git, which it asks for a branch
    ]
    assert (workers, len(chromas)) == ([mem.pid()], 1), found
