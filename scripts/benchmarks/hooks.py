"""What a hook costs with the worker up, down and deaf, and what fifty sessions leave."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from figures import Bar, median, percentile, spread
from process import ps, worker

TURNS: Final = 15
SESSIONS: Final = 50
EVENTS: Final = ("SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "SessionEnd")
HOOK: Final = Path(__file__).parents[2] / "plugin" / "bin" / "hook.py"
_LINES: Final = "\n".join(f"tests/test_{n}.py::test_case PASSED" for n in range(400))
_PATIENCE: Final = 60.0


def measure(home: Path, embedder: str) -> tuple[dict[str, Any], list[Bar]]:
    """Wall and processor time of single hooks in ms, and the processes of fifty sessions."""
    figures: dict[str, Any] = {}
    bars: list[Bar] = []
    states: dict[str, list[tuple[float, float]]] = {"up": [], "down": [], "deaf": []}
    with worker(home, embedder):
        turn(home)
        for _ in range(TURNS):
            states["up"] += turn(home)
    for _ in range(TURNS):
        states["down"] += turn(home)
    with _deaf(home):
        for _ in range(TURNS // 4):
            states["deaf"] += turn(home)
    for state, times in states.items():
        wall, cpu = [each for each, _ in times], [each for _, each in times]
        figures[f"worker {state}"] = {
            **spread(wall, "wall"), **spread(cpu, "CPU"),
            "wall ms by event, p50 and slowest": {
                name: (median(wall[at :: len(EVENTS)]), max(wall[at :: len(EVENTS)]))
                for at, name in enumerate(EVENTS)
            },
        }  # fmt: skip
        limit = 150 if state == "up" else 300
        if state != "deaf":  # a start waits 1.5 s for a worker that hangs, by design
            bars.append(Bar(f"hooks: wall ms p95, worker {state}", percentile(wall, 0.95), limit))
        bars.append(Bar(f"hooks: CPU ms p95, worker {state}", percentile(cpu, 0.95), 60))
    # The turns before, with a command that starts nothing, said that a worker is on its way.
    (home / "hooks" / "worker-started").unlink(missing_ok=True)
    workers, chromas = _sessions(home, embedder)
    figures[f"{SESSIONS} sessions"] = {"workers": workers, "Chromas": chromas}
    for name, found in (("workers", workers), ("Chromas", chromas)):
        bars.append(Bar(f"hooks: {name} but one after {SESSIONS} sessions", abs(found - 1), 0))
    return figures, bars


def turn(home: Path, script: Path = HOOK) -> list[tuple[float, float]]:
    """(wall, processor time) in ms of the hooks of one turn of a session, run by ``script``."""
    session = f"bench-{time.monotonic_ns()}"
    common = {"session_id": session, "cwd": str(home)}
    content: tuple[dict[str, Any], ...] = (
        {},
        {"prompt": "Why does the token refresh fail twice?"},
        {
            "tool_name": "Bash",
            "tool_input": {"command": "pytest"},
            "tool_response": {"stdout": _LINES},
        },
        {"last_assistant_message": "The refresh is retried once."},
        {},
    )
    events = (
        {"hook_event_name": name, **common, **its}
        for name, its in zip(EVENTS, content, strict=True)
    )
    return [_hook(home, event, "/bin/true", script) for event in events]


def _hook(
    home: Path, event: dict[str, Any], command: str, script: Path = HOOK
) -> tuple[float, float]:
    environ = {
        "PATH": os.environ["PATH"], "HOME": str(home), "MEM_SEARCH_HOME": str(home),
        "MEM_SEARCH_COMMAND": command,
    }  # fmt: skip
    started = time.perf_counter()
    # The interpreter itself: a shim of pyenv or asdf costs more than the hook.
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", str(script)],
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=environ,
    )  # fmt: skip
    assert process.stdin is not None
    process.stdin.write(json.dumps(event).encode())
    process.stdin.close()
    _, status, usage = os.wait4(process.pid, 0)
    wall = (time.perf_counter() - started) * 1000
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"the hook ended with {process.returncode}")
    return wall, (usage.ru_utime + usage.ru_stime) * 1000


@contextmanager
def _deaf(home: Path) -> Iterator[None]:
    """A worker that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        (home / "worker.json").write_text(json.dumps({"url": url, "key": "k" * 64}))
        yield
    (home / "worker.json").unlink()


def _sessions(home: Path, embedder: str) -> tuple[int, int]:
    """The workers and their Chromas after so many sessions, several at once."""
    command = home / "start-worker"
    command.write_text(
        f"#!/bin/sh\nMEM_SEARCH_PORT=0 MEM_SEARCH_EMBEDDER={embedder}"
        f' PYTHONPATH={os.environ.get("PYTHONPATH", "")} exec {sys.executable} -m mem_search "$@"\n'
    )
    command.chmod(0o700)
    try:
        for number in range(SESSIONS):
            for name in ("SessionStart", "SessionEnd"):
                event = {"hook_event_name": name, "session_id": f"s{number}", "cwd": str(home)}
                _hook(home, event, str(command))
        deadline = time.monotonic() + _PATIENCE
        while _starting(home) and time.monotonic() < deadline:
            time.sleep(0.2)
        pids = _processes(home)
        workers = [pid for pid, parent in pids.items() if parent not in pids]
        chromas = [pid for pid in _commands(pids, "storage/chroma") if pids[pid] in workers]
        return len(workers), len(chromas)
    finally:
        environ = {**os.environ, "MEM_SEARCH_HOME": str(home)}
        stop = [str(command), "worker", "stop"]
        subprocess.run(stop, env=environ, check=False, capture_output=True)
        command.unlink()
        shutil.rmtree(home / "hooks", ignore_errors=True)


def _starting(home: Path) -> bool:
    """Whether a command that starts a worker still runs, or the worker has no child yet."""
    pids = _processes(home)
    return bool(_commands(pids, " start")) or not _commands(pids, "storage/chroma")


def _commands(pids: dict[str, str], words: str) -> list[str]:
    """Those of the processes that have ``words`` in their command."""
    return [pid for pid in pids if any(words in line for line in ps("-p", pid, "-o", "args="))]


def _processes(home: Path) -> dict[str, str]:
    """pid → parent of each process with this home in its environment (Linux)."""
    found = {}
    for line in ps("-A", "-o", "pid=,ppid="):
        pid, parent = line.split()
        try:
            environ = Path("/proc", pid, "environ").read_bytes()
        except OSError:
            continue
        if f"MEM_SEARCH_HOME={home}\0".encode() in environ + b"\0":
            found[pid] = parent
    return found
