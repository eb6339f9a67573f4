"""Ending a worker from outside, certain that it is the right process."""

from __future__ import annotations

import os
import signal
import time

from mem_search.daemon.address import is_locked
from mem_search.daemon.probe import ask
from mem_search.daemon.state import WorkerState, read_state
from mem_search.errors import Conflict, Unavailable
from mem_search.settings import Settings

PATIENCE = 10.0


def stop(settings: Settings) -> WorkerState | None:
    """End the worker of this home and wait for it; None when there is none.

    Raises Conflict when what answers is not what ``worker.json`` names (no signal is sent
    then), Unavailable when it has not ended after ``PATIENCE`` seconds.
    """
    home = str(settings.home)
    deadline = time.monotonic() + PATIENCE
    while (state := read_state(settings.worker_file)) is None or not is_locked(home):
        if not is_locked(home):
            return None
        if time.monotonic() > deadline:
            raise Unavailable(
                f"a worker of {home} is neither up nor gone; see: mem-search worker logs"
            )
        time.sleep(0.05)  # it is starting or stopping
    host = state.url.removeprefix("http://").rpartition(":")[0].strip("[]")
    found = ask(host, state.port, timeout=PATIENCE / 2)
    if found is not None and not (found.is_worker and found.instance == state.instance_id):
        raise Conflict(
            f"{state.url} is not answered by the worker of {home} (pid {state.pid}); "
            "nothing was stopped",
        )
    if found is None and is_locked(home):
        raise Unavailable(
            f"the worker (pid {state.pid}) holds its lock but does not answer; "
            f"end it yourself: kill {state.pid}"
        )
    try:
        os.kill(state.pid, signal.SIGTERM)
    except ProcessLookupError:
        return state
    while is_locked(home):
        if time.monotonic() > deadline:
            raise Unavailable(
                f"the worker (pid {state.pid}) is still stopping after {PATIENCE:g} s; "
                f"to end it at once: kill {state.pid}"
            )
        time.sleep(0.05)
    return state
