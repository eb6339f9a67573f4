"""Every fault during every operation: `scripts/soak --all [--minutes 30] [--rounds 20] [--seed N]`.

A round begins an operation, breaks something under it a moment later, mends that, and waits until
all is done. Then what was acknowledged has to be there once, and what was forgotten not at all.
Where PostgreSQL can be started, a second worker has its store there, and the server is killed, too.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from main import Soak, ended, options
from truth import State
from worker import Broken, Refused, Worker, faketime

import postgres_server

_LONG: Final = 600
"""Words of a note that the process which prepares batches gets, and not a thread."""

_SETTLE_SECONDS: Final = 120.0
_DURING: Final = 1.5
"""Seconds within which a fault comes after its operation has begun."""

_MAX_MORE_HANDLES: Final = 12
OPERATIONS: Final = "upload capture forget reembed backup restore migrate".split()
FAULTS: Final = "kill_worker kill_chroma kill_preparing stop_chroma full_disk clock_back".split()
_STOPPED: Final = ("restore", "migrate")
"""Operations of a command while no worker runs; the command itself is killed."""


@dataclass
class Trial:
    """One store, what it has acknowledged, and the rounds that it went through."""

    soak: Soak
    chance: random.Random
    server: postgres_server.Server | None = None
    on_server: bool = False
    done: Counter[str] = field(default_factory=Counter)
    failed: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    _command: subprocess.Popen[bytes] | None = None
    _code: int = 1
    _made: Iterator[int] = field(default_factory=itertools.count)

    @property
    def worker(self) -> Worker:
        return self.soak.worker

    def faults(self, operation: str) -> list[str]:
        """The faults that ``operation`` can meet on this store."""
        if operation in _STOPPED:
            named = ["kill_worker", "full_disk"]
        else:
            named = [each for each in FAULTS if each != "clock_back" or faketime()]
        if self.on_server:
            named = [each for each in named if "chroma" not in each]
        return [*named, *(["kill_server"] if self.on_server or operation == "migrate" else [])]

    def operations(self) -> list[str]:
        if self.on_server:  # the server's own tools back it up
            return ["upload", "capture", "forget", "reembed"]
        return [each for each in OPERATIONS if each != "migrate" or self.server is not None]

    def round(self, operation: str, fault: str) -> None:
        """One operation with one fault; raises Broken when it does not come right again."""
        self.done[f"{operation} / {fault}"] += 1
        if operation in _STOPPED:
            self._code = 1
            self.prepare(operation)
        running = threading.Thread(target=self._guarded, args=(operation,), daemon=True)
        running.start()
        time.sleep(self.chance.uniform(0, _DURING))
        with self.broken(fault):
            running.join(3.0)
        running.join(_SETTLE_SECONDS)
        if running.is_alive():
            raise Broken(f"{operation} did not end within {_SETTLE_SECONDS:.0f} s of {fault}")
        if operation in _STOPPED:
            if self._code:  # the fault came before the end
                self.again(operation)
            self.worker.start()
        self.soak.settle_jobs(patience=_SETTLE_SECONDS)
        self.settle()
        self.soak.check(self.soak.truth.sample(self.chance, 12))

    def _guarded(self, operation: str) -> None:
        try:
            getattr(self, operation)()
        except Refused as error:
            self.soak.note(error)
        except Broken as error:
            self.soak.truth.fault(f"{operation}: {error}")

    @contextmanager
    def broken(self, fault: str) -> Iterator[None]:
        """Something is broken inside, and mended after."""
        worker = self.worker
        if fault in ("kill_worker", "clock_back"):
            if self._command is not None:
                with suppress(ProcessLookupError):
                    os.killpg(self._command.pid, signal.SIGKILL)
                yield
                return
            if worker.process is None or worker.process.poll() is not None:
                yield  # the command has ended before, and no worker runs
                return
            worker.kill()
            self.soak.leaked += [f"process {pid}" for pid in worker.orphans()]
            worker.start("-365d" if fault == "clock_back" else "")
            yield
            if fault == "clock_back":
                worker.kill()
                worker.start()
        elif fault == "full_disk":
            worker.fill_disk()
            yield
            worker.free_disk()
        elif fault == "kill_server":
            assert self.server is not None
            self.server.stop("immediate")
            yield
            self.server.start()
        else:
            name = b"mem_search.ingest.prepare:outcome" if fault == "kill_preparing" else b"chroma"
            number = signal.SIGSTOP if fault == "stop_chroma" else signal.SIGKILL
            hit = [pid for pid in worker.children() if name in _command_line(pid)]
            for pid in hit:
                with suppress(ProcessLookupError):
                    os.kill(pid, number)
            yield
            for pid in hit:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)

    def settle(self) -> None:
        """Wait until no job runs and nothing waits to be embedded. Raises Broken."""
        deadline = time.monotonic() + _SETTLE_SECONDS
        said: Any = None
        while time.monotonic() < deadline:
            with suppress(Refused):
                jobs = self.worker.call("GET", "/api/jobs?limit=100")["jobs"]
                said = [each for each in jobs if each["state"] in ("queued", "running")]
                waiting = self.worker.call("GET", "/api/stats")["outbox"]
                if not said and not waiting:
                    return
                said = said or f"{waiting} passages wait"
            time.sleep(0.2)
        raise Broken(f"it does not come to rest: {said}")

    # Operations

    def upload(self) -> None:
        self.soak.import_batch(words=_LONG)

    def capture(self) -> None:
        for _ in range(8):
            word = f"zc{next(self._made):08d}x"
            self.soak.truth.unsure([word])
            body = json.dumps({"text": f"{word} is captured", "title": word}).encode()
            self.worker.call("POST", "/api/memory/save", body, "application/json")
            self.soak.truth.stored([word])

    def forget(self) -> None:
        stored = self.soak.truth.words(State.STORED)
        for word in self.chance.sample(stored, min(4, len(stored))):
            self.soak.delete(word)

    def reembed(self) -> None:
        model = f"hashing:{self.chance.choice((128, 192, 256))}"
        body = json.dumps({"model": model}).encode()
        self.worker.call("POST", "/api/reembed", body, "application/json")

    @property
    def copy(self) -> Path:
        return self.worker.folder / "copy.zip"

    def backup(self) -> None:
        self.copy.unlink(missing_ok=True)
        self.run("backup", str(self.copy))

    def prepare(self, operation: str) -> None:
        """What goes before an operation without a worker."""
        if operation == "restore":
            self.copy.unlink(missing_ok=True)
            if self.run("backup", str(self.copy)):
                raise Broken(f"a backup without a fault failed: {self.worker.last_words()}")
        else:
            assert self.server is not None
            self._target = self.server.create_database(f"moved{next(self._made)}")
        self.worker.stop()

    def restore(self) -> None:
        self._code = self.run("restore", "--replace", str(self.copy))

    def migrate(self) -> None:
        self._code = self.run("migrate", "store", "--to", self._target)

    def again(self, operation: str) -> None:
        """What was ended goes on when it is run again. Raises Broken."""
        getattr(self, operation)()
        if self._code:
            raise Broken(f"{operation} does not go on: {self.worker.last_words()}")

    def run(self, *command: str) -> int:
        """A command of this home; its exit code."""
        with (self.worker.folder / "worker.out").open("ab") as output:
            self._command = subprocess.Popen(
                [sys.executable, "-P", "-m", "mem_search", *command], stdin=subprocess.DEVNULL,
                env=self.worker.environ(), stdout=output, stderr=output, start_new_session=True,
            )  # fmt: skip
            try:
                return self._command.wait(_SETTLE_SECONDS)
            finally:
                self._command = None

    def count(self) -> None:
        """Every acknowledged record is there once, and no forgotten one."""
        self.soak.check_all()
        for word in self.soak.truth.words(State.STORED):
            with suppress(Refused):
                found = self.soak.search(word)["results"]
                if sum(word in each["title"] for each in found) > 1:
                    self.doubled.append(word)


def _command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def trials(chance: random.Random) -> Iterator[Trial]:
    """A store in a file, and one on a server where there is one."""
    server = None
    with suppress(BaseException):  # pytest's skip is no Exception
        server = postgres_server.server()
    file = Worker(Path(tempfile.mkdtemp(prefix="mem-search-soak-")), "hashing")
    yield Trial(Soak(file, chance), chance, server)
    if server is not None:
        other = Worker(Path(tempfile.mkdtemp(prefix="mem-search-soak-")), "hashing")
        (other.home / "config.toml").write_text(f'store = "{server.address()}"\n', "utf-8")
        yield Trial(Soak(other, chance), chance, server, on_server=True)


def rounds(found: list[Trial], most: int, chance: random.Random) -> list[Callable[[], Trial]]:
    """Every fault of every operation of every trial, ``most`` times, in an order of chance."""
    wanted = [
        (trial, operation, fault)
        for trial in found
        for operation in trial.operations()
        for fault in trial.faults(operation)
    ]

    def one(trial: Trial, operation: str, fault: str) -> Trial:
        try:
            trial.round(operation, fault)
        except (Broken, Refused, subprocess.TimeoutExpired) as error:
            trial.failed.append(f"{operation} / {fault}: {str(error)[:400]}")
            if trial.worker.process is None or trial.worker.process.poll() is not None:
                trial.worker.start()
        return trial

    ordered = []
    for _ in range(most):
        chance.shuffle(wanted)
        ordered += [lambda each=each: one(*each) for each in wanted]  # type: ignore[misc]
    return ordered


def main() -> int:
    """Run it and print a report; 1 when anything is lost, doubled, found again, or leaks."""
    parser = options(__doc__)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--rounds", type=int, default=20)
    given = parser.parse_args()
    ends, chance = time.monotonic() + 60 * given.minutes, random.Random(given.seed)
    found = list(trials(chance))
    try:
        for trial in found:
            trial.worker.start()
            for _ in range(2):
                trial.upload()
            trial.settle()
        handles = [trial.worker.handles() for trial in found]
        for one in rounds(found, given.rounds, chance):
            if time.monotonic() > ends:
                break
            one()
        more = []
        for trial, before in zip(found, handles, strict=True):
            trial.soak.settle_jobs(patience=_SETTLE_SECONDS)
            trial.count()
            more.append(trial.worker.handles() - before)
            trial.worker.stop()
            trial.soak.leaked += [f"process {pid}" for pid in trial.worker.orphans()]
    finally:
        for trial in found:
            trial.worker.close()
    report = {
        "rounds": dict(sum((trial.done for trial in found), Counter())),
        "acknowledged": sum(trial.soak.truth.acknowledged for trial in found),
        "forgotten": sum(trial.soak.truth.deletions for trial in found),
        "checks": sum(trial.soak.truth.checked for trial in found),
        "lost": [each for trial in found for each in trial.soak.truth.lost],
        "doubled": [each for trial in found for each in trial.doubled],
        "wrong": [each for trial in found for each in trial.soak.truth.wrong],
        "failed": [each for trial in found for each in trial.failed],
        "leaked_processes": [each for trial in found for each in trial.soak.leaked],
        "more_handles": more,
        "clock": "libfaketime" if faketime() else "not set back: there is no libfaketime",
        "server": any(trial.on_server for trial in found),
    }
    names = ("lost", "doubled", "wrong", "failed", "leaked_processes")
    bad = [name for name in names if report[name]]
    bad += ["handles"] * (max(more, default=0) > _MAX_MORE_HANDLES)
    return ended(report, bad, given.json)


if __name__ == "__main__":
    sys.exit(main())
