"""The command line as a whole process, against an empty Python program and the bare request."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from figures import Bar, median
from process import Worker, worker

TURNS = 25
_QUERY = "auth"


def measure(home: Path, embedder: str) -> tuple[dict[str, Any], list[Bar]]:
    """Medians over ``TURNS`` turns of the three, on the store in ``home``."""
    whole: list[float] = []
    nothing: list[float] = []
    request: list[float] = []
    environ = dict(os.environ, MEM_SEARCH_HOME=str(home))
    with worker(home, embedder) as running:
        for turn in range(TURNS + 2):
            took = (
                _run([*_command(), "unified", _QUERY], environ),
                _run([sys.executable, "-c", "pass"], environ),
                _request(running),
            )
            if turn >= 2:
                for times, seconds in zip((whole, nothing, request), took, strict=True):
                    times.append(seconds * 1000)
    overhead = (median(whole) - median(request)) / median(nothing)
    figures = {
        "mem-search unified auth ms": median(whole),
        "python -c pass ms": median(nothing),
        "the request alone ms": median(request),
        "(command - request) / python": overhead,
    }
    return figures, [Bar("cli: (command - request) / python", overhead, 2.5)]


def _command() -> list[str]:
    """The installed script, or the module when only the sources are available."""
    script = Path(sys.executable).with_name("mem-search")
    return [str(script)] if script.exists() else [sys.executable, "-m", "mem_search"]


def _run(command: list[str], environ: dict[str, str]) -> float:
    started = time.perf_counter()
    done = subprocess.run(command, env=environ, capture_output=True, check=False)
    if done.returncode not in (0, 1):  # 1: nothing found
        raise RuntimeError(f"{command}: {done.stderr.decode()}")
    return time.perf_counter() - started


def _request(running: Worker) -> float:
    """The request of the command, on a new connection as there."""
    started = time.perf_counter()
    with socket.create_connection(("127.0.0.1", running.port)) as connection:
        connection.sendall(
            f"GET /api/search/unified?query={_QUERY} HTTP/1.0\r\nHost: 127.0.0.1:{running.port}"
            "\r\nAccept: text/plain\r\n\r\n".encode()
        )
        while connection.recv(65536):
            pass
    return time.perf_counter() - started
