"""Starting and stopping a worker from outside, with certainty that it is the right process.

A worker of an older version is replaced. Where a service is installed, the system starts the
worker (``service``), else this process does.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import IO

from mem_search import __version__
from mem_search.daemon import service
from mem_search.daemon.connection import (
    NO_ANSWER_SECONDS,
    NoAnswer,
    Place,
    Unproved,
    address,
    connect,
    is_alive,
    is_locked,
    is_older,
    patience,
    url_host,
)
from mem_search.daemon.home_files import UMASK, refuse_odd_files
from mem_search.daemon.logs import FILE, OUTPUT, last_lines
from mem_search.daemon.probe import probe
from mem_search.daemon.state import WorkerState, read_state, start_lock
from mem_search.errors import UNWRITABLE, Conflict, Forbidden, InputError, StorageError, Unavailable
from mem_search.platform import scale_timeout
from mem_search.platform.processes import process_start, process_work
from mem_search.settings import Settings

_START_SECONDS = 60.0
"""Until then the worker has to answer, on a machine that is free. Usually it takes one."""

_MAX_START_SECONDS = 600.0

STARTING = "the worker is starting"
TELL_SECONDS = 3.0
"""A start that takes longer is told."""

_LOOK_SECONDS = 0.5

_FAILURES = {kind.exit_code: kind for kind in (InputError, Conflict, Forbidden)}
"""Exit code of a worker that ended by itself → the error that it had raised."""


def find(settings: Settings) -> tuple[WorkerState, str] | None:
    """The worker of this home with its state (``starting``, ``ok`` or ``failed``).

    None while none runs. Raises Unavailable when it runs and does not answer.
    """
    place = address(str(settings.home))
    state = read_state(settings.worker_file) if place else None
    if place is None or state is None:
        return None
    try:
        connect(place).close()
    except NoAnswer:
        if is_starting(settings):
            return state, "starting"
        raise no_answer(settings) from None
    except Unproved:
        raise no_proof(place) from None
    except OSError:
        return None  # it is just ending
    answer = probe(place[0], place[1], timeout=patience())
    return (state, answer.state) if answer else None


def running(settings: Settings) -> WorkerState | None:
    """The worker of this home if one runs; it may still be opening its store.

    Raises Unavailable when it runs and does not answer.
    """
    worker = find(settings)
    if worker is None and is_locked(str(settings.home)):
        raise Unavailable(f"{_named(settings)} is starting or stopping; try again in a few seconds")
    return worker[0] if worker else None


_MEND = "run: mem-search worker restart"


def is_starting(settings: Settings) -> bool:
    """Whether a worker that did not answer has begun lately, and works: it computes, waits for the
    disk, or answers now. It does once it has its imports: half a second from a warm disk.
    """
    state = read_state(settings.worker_file)
    if state is None or process_start(state.pid) != state.process:
        return False
    try:
        age = time.time() - settings.worker_file.stat().st_mtime
    except OSError:
        age = 0.0  # it has just ended, or wrote it elsewhere
    if age > start_patience():
        return False
    letter, spent = process_work(state.pid)
    if letter == "S":  # another of its threads may work
        place = address(str(settings.home))
        if place is not None and is_alive(place, _LOOK_SECONDS):
            return True
        return process_work(state.pid) != (letter, spent)
    return letter in ("R", "D")


def no_answer(settings: Settings) -> Unavailable:
    """The error for a worker that holds its lock and does not answer."""
    return Unavailable(f"{_named(settings)} does not answer: it is stopped or hangs; {_MEND}")


def no_proof(place: Place) -> Unavailable:
    """The error for a program that answers in place of the worker."""
    return Unavailable(
        f"what answers at {url_host(place[0])}:{place[1]} does not prove that it is the worker of"
        f" this home, so nothing was sent to it; {_MEND}"
    )


def no_state_file(settings: Settings) -> Unavailable:
    """The error for a worker whose file was deleted, so that nobody can reach or end it."""
    return Unavailable(
        f"a worker of {settings.home} runs without {settings.worker_file.name}, or it is damaged; "
        f"to end it: fuser -k -TERM {quote(str(settings.home))}"
    )


def _named(settings: Settings) -> str:
    state = read_state(settings.worker_file)
    return f"the worker (pid {state.pid})" if state else "the worker"


def start_patience() -> float:
    """Seconds that a start of the worker may take now."""
    return scale_timeout(_START_SECONDS, most=_MAX_START_SECONDS)


class Starting:
    """Watches a worker that starts: tells a long start, and notices one that hangs.

    A start takes long on a busy machine, so time alone says nothing. A worker hangs when its
    process is stopped, or neither computes nor waits for the disk, and does not answer either.
    ``tell`` gets one line. ``clock`` gives seconds, ``work`` is ``process_work``, ``patience``
    gives the seconds that a start may take.
    """

    def __init__(
        self,
        settings: Settings,
        tell: Callable[[str], object] = lambda _: None,
        *,
        clock: Callable[[], float] = time.monotonic,
        work: Callable[[int], tuple[str, str]] = process_work,
        patience: Callable[[], float] = start_patience,
    ) -> None:
        self._settings, self._tell, self._clock, self._work = settings, tell, clock, work
        self._patience = patience
        self._began = self._busy = clock()
        self._looked = -_LOOK_SECONDS
        self._seen: tuple[int, str] | None = None
        self._unnamed: float | None = None  # since when the lock is held without worker.json
        self._told = self._told_late = False

    @property
    def seconds(self) -> float:
        """How long it takes so far."""
        return self._clock() - self._began

    @property
    def is_late(self) -> bool:
        """Whether the patience is over."""
        return self.seconds > self._patience()

    def look(self, pid: int = 0, *, answers: bool = False) -> None:
        """Raise Unavailable when the worker hangs, or holds its lock and has no ``worker.json``,
        which it writes at once. ``pid`` is a child that may become the worker.

        ``answers``: it says itself that it starts.
        """
        now = self._clock()
        if not self._told and now - self._began > TELL_SECONDS:
            self._told = True
            self._tell(STARTING)
        if not self._told_late and now - self._began > self._patience() / 2:
            self._told_late = True
            self._tell(f"the worker has not started for {now - self._began:.0f} s; to start again:")
            self._tell("  mem-search worker restart")
        if answers:
            self._busy = now
        if answers or now - self._looked < _LOOK_SECONDS:
            return
        self._looked = now
        locked = is_locked(str(self._settings.home))
        state = read_state(self._settings.worker_file) if locked else None
        if state is not None:
            pid = state.pid
        if not locked or state is not None:
            self._unnamed = None
        elif self._unnamed is None:
            self._unnamed = now
        elif now - self._unnamed > patience():
            raise no_state_file(self._settings)
        letter, spent = self._work(pid) if pid else ("", "")
        if letter in ("T", "t"):
            raise no_answer(self._settings)
        if not letter or letter in "RD" or (pid, spent) != self._seen:
            self._seen, self._busy = (pid, spent), now
        elif now - self._busy > NO_ANSWER_SECONDS:
            raise no_answer(self._settings)


def start(
    settings: Settings, tell: Callable[[str], object] = lambda _: None
) -> tuple[WorkerState, bool]:
    """The worker of this home with its store open, and whether this call started it.

    A worker of an older version is ended first; the new one keeps its address. ``tell`` gets a
    line then, and when it takes long. Raises, with the last lines of its log, when it does
    not start: Conflict for a port in use, InputError or Forbidden for settings that it cannot use,
    else Unavailable.
    """
    if (worker := find(settings)) is not None and _serves(worker):
        return worker[0], False
    refuse_odd_files(settings.home)
    starting = Starting(settings, tell)
    with start_lock(settings.home, start_patience(), starting.look):
        settings = _without_older(settings, tell)
        child: subprocess.Popen[bytes] | None = None
        asked: float | None = None  # when the system was, to start it
        again = 0.0
        while not starting.is_late:
            if (worker := find(settings)) is not None and _serves(worker):
                return worker[0], asked is not None or child is not None
            if not is_locked(str(settings.home)):
                if asked is None and child is None:
                    if service.start(settings):
                        asked = again = time.monotonic()
                    else:
                        child = _spawn(settings)
                elif asked is not None and time.monotonic() - asked > patience():
                    raise Unavailable(f"the service did not start: {_last_words(settings, 1)}")
                elif asked is not None and time.monotonic() - again > ASK_AGAIN_SECONDS:
                    # While the worker before still ended, the system took the service for started.
                    service.start(settings)
                    again = time.monotonic()
            if child is not None and child.poll() is not None:
                failure = _FAILURES.get(child.returncode, Unavailable)
                raise failure(
                    f"the worker did not start: {_last_words(settings, child.returncode)}"
                )
            starting.look(child.pid if child else 0, answers=worker is not None)
            time.sleep(0.05)
    raise Unavailable(
        f"{_named(settings)} has been starting for {starting.seconds:.0f} s and goes on: a large"
        " store takes long after an upgrade. Try again in a minute, or see: mem-search worker logs"
    )


def _serves(worker: tuple[WorkerState, str]) -> bool:
    state, health = worker
    return health == "ok" and not is_older(state.version, __version__)


def _without_older(settings: Settings, tell: Callable[[str], object]) -> Settings:
    """End a worker of an older version; the settings with its address, which others know."""
    state = read_state(settings.worker_file) if is_locked(str(settings.home)) else None
    if state is None or not is_older(state.version, __version__):
        return settings
    tell(f"mem-search {__version__} replaces the running worker, which is {state.version}")
    place = address(str(settings.home))
    stop(settings)
    return replace(settings, host=place[0], port=place[1]) if place else settings


def _spawn(settings: Settings) -> subprocess.Popen[bytes]:
    environ = dict(os.environ)
    environ["MEM_SEARCH_HOME"] = str(settings.home)
    environ["MEM_SEARCH_HOST"] = settings.host
    environ["MEM_SEARCH_PORT"] = str(settings.port)
    if path := environ.get("PYTHONPATH"):  # relative to this directory; the worker has another
        environ["PYTHONPATH"] = os.pathsep.join(
            str(Path(part).absolute()) for part in path.split(os.pathsep) if part
        )
    try:
        with _output(settings) as output:
            return subprocess.Popen(
                # -P: no file of the working directory is imported in place of a module.
                [sys.executable, "-P", "-m", "mem_search", "worker", "run", "--background"],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=settings.home,
                env=environ,
                start_new_session=True,
                umask=UMASK,
            )
    except OSError as error:
        raise StorageError(
            f"cannot start a worker in {settings.home} ({error.strerror}); set MEM_SEARCH_HOME to a"
            " folder of your own",
            field="MEM_SEARCH_HOME",
        ) from error


def _output(settings: Settings) -> IO[bytes]:
    """Where a worker prints until it writes that itself; nowhere if nothing can be written."""
    try:
        settings.logs_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = os.open(settings.logs_dir / OUTPUT, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    except OSError as error:
        if error.errno not in UNWRITABLE:
            raise
        return open(os.devnull, "wb")  # noqa: PTH123
    return os.fdopen(file, "wb")


def _last_words(settings: Settings, code: int) -> str:
    """The last lines of the log of a worker that ended with ``code``."""
    for file in (OUTPUT, FILE):
        if lines := [line for line in last_lines(settings.logs_dir / file, 5) if line.strip()]:
            return "\n".join(line.removeprefix("mem-search: ") for line in lines)
    how = f"it was ended by {signal.Signals(-code).name}" if code < 0 else f"it exited with {code}"
    return f"{how} and wrote nothing to {settings.logs_dir}"


ASK_AGAIN_SECONDS = 2.0
"""Between two requests to the system to start the service."""

STOP_PATIENCE = 8.0
"""Seconds that a worker gets to end; it takes five at most, unless it hangs."""

KILL_PATIENCE = 5.0


def stop(settings: Settings) -> tuple[WorkerState, bool] | None:
    """End the worker of this home: (its state, whether it had to be killed); None without one.

    SIGTERM first. A worker that was stopped (SIGSTOP) is continued to end in order; one that does
    not end in ``STOP_PATIENCE`` seconds is killed, which loses nothing that was acknowledged.
    Raises Conflict, without a signal, when the pid in ``worker.json`` is not the worker's.
    """
    home = str(settings.home)
    state = _state_of_running(settings)
    if state is None:
        return None
    if not state.process or process_start(state.pid) != state.process:
        if not is_locked(home):
            return state, False
        raise Conflict(
            f"a worker of {home} runs, but pid {state.pid} in {settings.worker_file} is another "
            f"process; nothing was stopped; fuser {quote(str(home))} names the worker"
        )
    for number, seconds in ((signal.SIGTERM, STOP_PATIENCE), (signal.SIGKILL, KILL_PATIENCE)):
        try:
            os.kill(state.pid, number)
            os.kill(state.pid, signal.SIGCONT)
        except ProcessLookupError:
            return state, False
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if not is_locked(home):
                return state, number == signal.SIGKILL
            time.sleep(0.02)
    raise Unavailable(f"the worker (pid {state.pid}) does not end, not even after SIGKILL")


def _state_of_running(settings: Settings) -> WorkerState | None:
    """What ``worker.json`` says while a worker holds its lock, which it writes at once."""
    deadline = time.monotonic() + KILL_PATIENCE
    while is_locked(str(settings.home)):
        if (state := read_state(settings.worker_file)) is not None:
            return state
        if time.monotonic() > deadline:
            raise no_state_file(settings)
        time.sleep(0.02)
    return None
