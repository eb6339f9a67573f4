"""The worker under test: a real process in a home of its own, and what can be done to it."""

from __future__ import annotations

import http.client
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from mem_search.daemon import elsewhere

_CONFLICT: Final = 5
"""The exit code of a worker in a home that has one."""

DISK: Final = 1 << 30
"""Bytes of the small disk, where this process may mount one."""

_FAKETIME: Final = ("/usr/lib/*/faketime/libfaketimeMT.so.1", "/usr/local/lib/faketime/*MT*")
_ANSWER_SECONDS: Final = 60.0


class Refused(Exception):
    """The worker did not do it, and said so or was not there: nothing is promised."""


class Broken(Exception):
    """An answer that no fault explains, such as an internal error."""


@dataclass
class Worker:
    """One home and the process that works in it. Call ``close`` at the end."""

    folder: Path
    embedder: str
    process: subprocess.Popen[bytes] | None = None
    starts: int = 0
    mounted: bool = False
    clocks: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.home = self.folder / "home"
        self.home.mkdir(mode=0o700)
        mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK},mode=700", "tmpfs", str(self.home)]
        if os.geteuid() == 0 and sys.platform == "linux":
            done = subprocess.run(mount, capture_output=True, check=False)
            self.mounted = done.returncode == 0

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def start(self, clock: str = "") -> None:
        """Start it and wait until it answers; ``clock`` is an offset such as ``+40d``."""
        environ = self.environ()
        if clock:
            environ |= {
                "LD_PRELOAD": str(faketime()),
                "FAKETIME": clock,
                "FAKETIME_DONT_FAKE_MONOTONIC": "1",
                "FAKETIME_NO_CACHE": "1",
            }
            self.clocks.append(clock)
        output = (self.folder / "worker.out").open("ab")
        with output:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-m", "mem_search", "worker", "run", "--background"],
                env=environ, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=output,
                stderr=output, start_new_session=True,
            )  # fmt: skip
        self.starts += 1
        deadline = time.monotonic() + 120
        while True:
            with suppress(Refused, OSError, ValueError):
                if self.call("GET", "/api/health")["status"] == "ok":
                    return
            if self.process.poll() == _CONFLICT:
                self._end_other()
                self.start(clock)
                return
            if self.process.poll() is not None:
                raise Broken(f"the worker did not start: {self.last_words()}")
            if time.monotonic() > deadline:
                raise Broken("the worker does not answer two minutes after its start")
            time.sleep(0.05)

    def _end_other(self) -> None:
        """End the worker that a command has started, because it found none."""
        with suppress(OSError, ValueError, KeyError):
            os.kill(json.loads((self.home / "worker.json").read_text())["pid"], signal.SIGKILL)
        time.sleep(0.2)

    def environ(self) -> dict[str, str]:
        """The variables of a worker or a command of this home."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith("MEM_SEARCH_")}
        return kept | {
            "MEM_SEARCH_HOME": str(self.home),
            "MEM_SEARCH_PORT": "0",
            "MEM_SEARCH_EMBEDDER": self.embedder,
            "MEM_SEARCH_FOLLOW": "0",
        }

    def call(self, method: str, path: str, body: bytes | None = None, kind: str = "") -> Any:
        """The JSON of the reply. Raises Refused, or Broken for what is nobody's fault."""
        try:
            state = json.loads(elsewhere.read(str(self.home)) or self._state())
            if self.process is None or state["pid"] != self.process.pid:
                raise Refused("another worker's address")
            token = (self.home / "token").read_text().strip()
            connection = http.client.HTTPConnection(
                "127.0.0.1", state["port"], timeout=_ANSWER_SECONDS
            )
            headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
            if kind:
                headers["Content-Type"] = kind
            try:
                connection.request(method, path, body, headers)
                reply = connection.getresponse()
                status, content = reply.status, reply.read()
            finally:
                connection.close()
        except (OSError, ValueError, KeyError, http.client.HTTPException) as error:
            raise Refused(f"{type(error).__name__}: {error}") from error
        if status >= 400:
            said = content.decode("utf-8", "replace")
            if status >= 500 and status != 503:
                raise Broken(f"{method} {path.partition('?')[0]} answered {status}: {said}")
            raise Refused(f"{status}: {said}")
        return json.loads(content) if content else None

    def _state(self) -> str:
        return (self.home / "worker.json").read_text()

    def kill(self) -> None:
        """End it without warning."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        """End it as ``worker stop`` does."""
        assert self.process is not None
        self.process.terminate()
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.kill()
            raise Broken("the worker did not end within a minute of SIGTERM") from None

    def pause(self, seconds: float) -> None:
        """Stop it and let it go on, as a laptop that sleeps."""
        os.kill(self.pid, signal.SIGSTOP)
        time.sleep(seconds)
        os.kill(self.pid, signal.SIGCONT)

    def kill_chroma(self) -> bool:
        """End its child without warning; whether there was one."""
        for pid in self.children():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                return True
        return False

    def fill_disk(self) -> None:
        """From now on nothing can be written: a full disk, else a limit of the file size."""
        if self.mounted:
            with suppress(OSError), (self.home / "ballast").open("wb") as ballast:
                while ballast.write(bytes(1 << 20)):
                    ballast.flush()
        else:
            _, hard = resource.prlimit(self.pid, resource.RLIMIT_FSIZE)
            resource.prlimit(self.pid, resource.RLIMIT_FSIZE, (1 << 16, hard))

    def free_disk(self) -> None:
        (self.home / "ballast").unlink(missing_ok=True)
        if not self.mounted:
            _, hard = resource.prlimit(self.pid, resource.RLIMIT_FSIZE)
            resource.prlimit(self.pid, resource.RLIMIT_FSIZE, (hard, hard))

    def children(self) -> list[int]:
        """The processes of this home beside the worker."""
        return [pid for pid in processes_of(self.home) if self.process is None or pid != self.pid]

    def orphans(self, patience: float = 20) -> list[int]:
        """Processes of the home that are left when no worker runs; they get time to end."""
        deadline = time.monotonic() + patience
        while (left := processes_of(self.home)) and time.monotonic() < deadline:
            time.sleep(0.1)
        return left

    def memory(self) -> int:
        """Bytes that are resident and belong to no file, as swapping would have to keep them."""
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) * 1024
        return 0

    def handles(self) -> int:
        """Open file descriptors."""
        return len(list(Path(f"/proc/{self.pid}/fd").iterdir()))

    def last_words(self) -> str:
        """The end of what it and its commands printed, and of its log."""
        files = (self.folder / "worker.out", *sorted(self.home.glob("logs/*.log")))
        return " | ".join(
            " ".join(file.read_text(errors="replace").splitlines()[-6:])
            for file in files
            if file.is_file()
        )

    def close(self) -> None:
        for pid in processes_of(self.home):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if self.process is not None:
            self.process.wait()
        self.orphans()
        if self.mounted:
            subprocess.run(["umount", "-l", str(self.home)], check=False)
        shutil.rmtree(self.folder, ignore_errors=True)


def faketime() -> Path | None:
    """The library that shifts the clock of a process, where it is installed."""
    for pattern in _FAKETIME:
        if found := sorted(Path("/").glob(pattern.lstrip("/"))):
            return found[0]
    return None


def processes_of(home: Path) -> list[int]:
    """The living processes whose home this is, by their environment or command line."""
    mark = os.fsencode(home)
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            said = (place / "environ").read_bytes() + (place / "cmdline").read_bytes()
            dead = (place / "stat").read_text().rpartition(")")[2].split()[0] in "ZX"
        except OSError:
            continue
        if mark in said and not dead and int(place.name) != os.getpid():
            found.append(int(place.name))
    return found
