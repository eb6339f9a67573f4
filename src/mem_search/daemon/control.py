"""Starting and stopping a worker from outside, with certainty that it is the right process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from mem_search.daemon.address import address, is_locked
from mem_search.daemon.lock import start_lock
from mem_search.daemon.logs import FILE, OUTPUT, last_lines
from mem_search.daemon.probe import Answer, probe
from mem_search.daemon.state import WorkerState, read_state
from mem_search.errors import Conflict, Forbidden, InputError, StorageError, Unavailable
from mem_search.settings import Settings

START_PATIENCE = 15.0
"""Seconds until the worker has to answer. Usually it takes one."""

_FAILURES = {kind.exit_code: kind for kind in (InputError, Conflict, Forbidden)}
"""Exit code of a worker that ended by itself → the error that it had raised."""


def find(settings: Settings) -> tuple[WorkerState, Answer] | None:
    """The worker of this home from its state file, and its answer; None unless it answers."""
    where = address(str(settings.home))
    state = read_state(settings.worker_file) if where else None
    if where is None or state is None:
        return None
    answer = probe(*where)
    ours = answer is not None and answer.is_worker and answer.instance == state.instance_id
    return (state, answer) if ours and answer else None


def running(settings: Settings) -> WorkerState | None:
    """The worker of this home if it answers; it may still be opening its store."""
    found = find(settings)
    return found[0] if found else None


def unresponsive(settings: Settings) -> str:
    """A description of a worker that runs and does not answer; empty when none runs."""
    if not is_locked(str(settings.home)):
        return ""
    state = read_state(settings.worker_file)
    named = f" (pid {state.pid})" if state else ""
    return (
        f"the worker{named} holds its lock but does not answer: it is still starting, or it hangs"
    )


def start(settings: Settings) -> tuple[WorkerState, bool]:
    """The worker of this home with its store open, and whether this call started it.

    Raises, with the last lines of its log, when it does not start: Conflict for a port in use,
    InputError or Forbidden for settings that it cannot use, else Unavailable.
    """
    if (found := find(settings)) is not None and found[1].state == "ok":
        return found[0], False
    with start_lock(settings.home, START_PATIENCE):
        deadline = time.monotonic() + START_PATIENCE
        child: subprocess.Popen[bytes] | None = None
        while time.monotonic() < deadline:
            if (found := find(settings)) is not None and found[1].state == "ok":
                return found[0], child is not None
            if child is None and not is_locked(str(settings.home)):
                child = _spawn(settings)
            if child is not None and child.poll() is not None:
                failure = _FAILURES.get(child.returncode, Unavailable)
                raise failure(f"the worker did not start: {_last_log_lines(settings)}")
            time.sleep(0.05)
    raise Unavailable(
        f"the worker does not answer after {START_PATIENCE:g} s; see: mem-search worker logs"
    )


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
        settings.logs_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        with (settings.logs_dir / OUTPUT).open("wb") as output:
            return subprocess.Popen(
                # -P: no file of the working directory is imported in place of a module.
                [sys.executable, "-P", "-m", "mem_search", "worker", "run", "--background"],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=settings.home,
                env=environ,
                start_new_session=True,
            )
    except OSError as error:
        raise StorageError(f"cannot start a worker in {settings.home}: {error}") from error


def _last_log_lines(settings: Settings) -> str:
    for file in (OUTPUT, FILE):
        if lines := [line for line in last_lines(settings.logs_dir / file, 5) if line.strip()]:
            return "\n".join(line.removeprefix("mem-search: ") for line in lines)
    return f"it wrote nothing to {settings.logs_dir}"


STOP_PATIENCE = 10.0


def stop(settings: Settings) -> WorkerState | None:
    """Stop the worker of this home and wait for its end; None when there is none.

    Raises Conflict, without sending a signal, when another program answers at its address, and
    Unavailable when it has not ended after ``STOP_PATIENCE`` seconds.
    """
    home = str(settings.home)
    deadline = time.monotonic() + STOP_PATIENCE
    while (state := read_state(settings.worker_file)) is None or not is_locked(home):
        if not is_locked(home):
            return None
        if time.monotonic() > deadline:
            raise Unavailable(
                f"the worker of {home} is stuck while it starts or stops; "
                "see: mem-search worker logs"
            )
        time.sleep(0.05)  # it is starting or stopping
    host = state.url.removeprefix("http://").rpartition(":")[0].strip("[]")
    found = probe(host, state.port, timeout=STOP_PATIENCE / 2)
    if found is not None and not (found.is_worker and found.instance == state.instance_id):
        raise Conflict(
            f"another program than the worker of {home} (pid {state.pid}) answers at "
            f"{state.url}; nothing was stopped"
        )
    if found is None and is_locked(home):
        raise Unavailable(
            f"the worker (pid {state.pid}) holds its lock but does not answer; "
            f"to end it: kill {state.pid}"
        )
    try:
        os.kill(state.pid, signal.SIGTERM)
    except ProcessLookupError:
        return state
    while is_locked(home):
        if time.monotonic() > deadline:
            raise Unavailable(
                f"the worker (pid {state.pid}) is still stopping after {STOP_PATIENCE:g} s; "
                f"to end it at once: kill {state.pid}"
            )
        time.sleep(0.05)
    return state
