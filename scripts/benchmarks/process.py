"""A worker process, started as users start it, and a connection that stays open."""

from __future__ import annotations

import http.client
import json
import os
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

_PATIENCE = 120.0

_LOOKED, _IDLE = 5.0, 0.05
"""Seconds between two looks at a worker, and the share of a processor below which it is idle."""


@dataclass
class Worker:
    """A running worker; ``spawned`` is when, on the clock of ``time.perf_counter``."""

    home: Path
    port: int
    process: subprocess.Popen[bytes]
    spawned: float

    def __post_init__(self) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=_PATIENCE)

    def get(self, path: str, accept: str = "application/json", **query: object) -> bytes:
        """The body of a 200. Raises ConnectionError for anything else."""
        target = f"{path}?{urlencode(query)}" if query else path
        return self._ask("GET", target, None, {"Accept": accept})

    def json(self, method: str, path: str, body: object = None, **query: object) -> Any:
        token = (self.home / "token").read_text("utf-8").strip()
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        target = f"{path}?{urlencode(query)}" if query else path
        data = None if body is None else json.dumps(body).encode()
        return json.loads(self._ask(method, target, data, headers))

    def post(self, path: str, body: bytes, headers: dict[str, str]) -> bytes:
        """The body of a 200 to JSON. Raises ConnectionError for anything else."""
        said = {"Content-Type": "application/json", "Accept": "application/json", **headers}
        return self._ask("POST", path, body, said)

    def pids(self) -> dict[str, int]:
        """The worker and its Chroma."""
        found = {"worker": self.process.pid}
        for line in ps("-A", "-o", "pid=,ppid="):
            pid, parent = line.split()
            if parent == str(self.process.pid):
                found["chroma"] = int(pid)
        return found

    def until_answering(self, path: str = "/health", **query: object) -> float:
        """Seconds from spawning to the first 200 of ``path``."""
        asked = time.perf_counter()
        while True:
            try:
                self.get(path, **query)
            except (OSError, http.client.HTTPException):
                self._connection.close()
                self._give_up_late(asked)
                time.sleep(0.005)
            else:
                return time.perf_counter() - self.spawned

    def imported(self, path: Path, source: str = "jsonl", every: float = 0.05) -> Any:
        """What became of an import of ``path``, looked at ``every`` so many seconds.

        Raises RuntimeError where it failed.
        """
        job = self.json("POST", "/api/import", {"source": source, "path": str(path)})["job"]
        while (state := self.json("GET", f"/api/jobs/{job}"))["state"] in ("queued", "running"):
            time.sleep(every)
        if state["state"] != "done":
            said = f"{state['state']}, {state['message']}"
            raise RuntimeError(f"{path} was not imported: {said}")
        return state["result"]

    def until_indexed(self, patience: float = _PATIENCE, every: float = 0.02) -> float:
        """Seconds from spawning until the vector index serves a store that is not empty."""
        asked = time.perf_counter()
        while True:
            search = self.json("GET", "/api/search", query="index ready", format="json")["search"]
            legs = {leg["name"]: leg for leg in search["legs"]}
            vector = legs["vector"]
            # A small store is scanned exactly, but degraded as long as the index is away.
            if search["coverage"] == 1 and vector["state"] == "ok":
                return time.perf_counter() - self.spawned
            self._give_up_late(asked, patience)
            time.sleep(every)

    def until_idle(self) -> None:
        """Wait until nothing runs in the background: a store opened for the first time is looked
        through for secrets, for example.
        """
        spent = cpu_seconds(self.process.pid)
        while True:
            time.sleep(_LOOKED)
            before, spent = spent, cpu_seconds(self.process.pid)
            if spent - before < _IDLE * _LOOKED:
                return

    def reconnect(self) -> None:
        """Use a new connection next: the worker closes one that is idle for long."""
        self._connection.close()

    def stop(self) -> None:
        self._connection.close()
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _give_up_late(self, since: float, patience: float = _PATIENCE) -> None:
        if self.process.poll() is not None:
            sys.exit(f"the worker ended; see {self.home}/logs")
        if time.perf_counter() - since > patience:
            self.stop()
            sys.exit(f"the worker did not get ready in {patience:g} s; see {self.home}/logs")

    def _ask(self, method: str, target: str, body: bytes | None, headers: dict[str, str]) -> bytes:
        self._connection.request(method, target, body, headers)
        with self._connection.getresponse() as reply:
            content = reply.read()
            if reply.status >= 300:
                raise ConnectionError(f"{reply.status} for {target}: {content[:300]!r}")
            return content


@contextmanager
def worker(
    home: Path,
    embedder: str = "bundled",
    source: Path | None = None,
    store: str = "",
    *,
    is_filled: bool = True,
) -> Iterator[Worker]:
    """A worker of ``home`` that is ready; of a store that ``is_filled`` the index is, too."""
    with spawned(home, embedder, source, store) as running:
        running.until_answering("/api/readiness")
        if is_filled:
            running.until_indexed()
        yield running


@contextmanager
def spawned(
    home: Path, embedder: str = "bundled", source: Path | None = None, store: str = ""
) -> Iterator[Worker]:
    """A worker of ``home`` on a free port, from its first moment; leaving the block stops it.

    ``source`` is the folder of other sources to run, with the installed packages; ``store`` is the
    address of a PostgreSQL server that has the records, instead of the home.
    """
    port = free_port()
    environ = {name: value for name, value in os.environ.items() if "MEM_SEARCH" not in name}
    environ |= {
        "MEM_SEARCH_HOME": str(home),
        "MEM_SEARCH_PORT": str(port),
        "MEM_SEARCH_FOLLOW": "0",
        "MEM_SEARCH_IDLE_TIMEOUT": "3600",  # one worker waits while the other one embeds
        "MEM_SEARCH_EMBEDDER": embedder,
        "MEM_SEARCH_STORE": store,
    }
    if source is not None:
        environ["PYTHONPATH"] = str(source)
    command = [sys.executable, "-m", "mem_search", "worker", "run"]
    spawned = time.perf_counter()
    process = subprocess.Popen(
        command, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    running = Worker(home, port, process, spawned)
    try:
        yield running
    finally:
        running.stop()


def one(home: Path, statement: str) -> int:
    """The number that ``statement`` gives of the store in ``home``."""
    with closing(sqlite3.connect(home / "mem-search.db")) as store:
        (found,) = store.execute(statement).fetchone()
    return int(found)


def free_port() -> int:
    """A port of 127.0.0.1 that nobody has at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def ps(*arguments: str) -> list[str]:
    """The lines that ``ps`` prints."""
    listed = subprocess.run(["ps", "-ww", *arguments], capture_output=True, text=True, check=True)
    return listed.stdout.splitlines()


def descendants(pid: int) -> list[int]:
    """``pid`` and every process below it."""
    children: dict[int, list[int]] = {}
    for line in ps("-A", "-o", "pid=,ppid="):
        child, parent = map(int, line.split())
        children.setdefault(parent, []).append(child)
    found = [pid]
    for each in found:
        found += children.get(each, [])
    return found


def megabytes(pid: int) -> float:
    """Memory of ``pid`` and all below it: shared pages in part (PSS), where the system says it."""
    total = 0
    for each in descendants(pid):
        rollup = Path(f"/proc/{each}/smaps_rollup")
        if rollup.exists():
            total += next(
                int(line.split()[1])
                for line in rollup.read_text().splitlines()
                if line.startswith("Pss:")
            )
        else:
            total += int("".join(ps("-o", "rss=", "-p", str(each))) or 0)
    return total / 1024


def cpu_seconds(pid: int) -> float:
    """Processor time of ``pid`` and all below it so far, also of those that have ended."""
    if Path("/proc/self/stat").exists():
        return sum(map(_ticks, descendants(pid))) / os.sysconf("SC_CLK_TCK")
    own, total = set(descendants(pid)), 0.0
    for line in ps("-A", "-o", "pid=,time="):
        each, clock = line.split()
        if int(each) in own:
            days, _, clock = clock.rpartition("-")
            parts = [float(part) for part in clock.split(":")]
            total += float(days or 0) * 86400
            total += sum(part * 60**power for power, part in enumerate(reversed(parts)))
    return total


def _ticks(pid: int) -> int:
    """Of a process and its children that have ended; 0 when it has ended itself."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return sum(int(value) for value in stat.rpartition(")")[2].split()[11:15])
