"""Waiting for a job of the worker, with a progress bar where somebody watches."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Mapping
from typing import Any

from mem_search.cli.client import Client
from mem_search.errors import Conflict, MemSearchError

_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 0.5
_BAR = 24


def wait(
    client: Client, job: str, failure: type[MemSearchError] = MemSearchError
) -> Mapping[str, Any]:
    """The ended job. Raises ``failure`` with the reason when it failed, Conflict if cancelled."""
    watched = sys.stderr.isatty()
    pause = _FIRST_PAUSE
    try:
        while True:
            state: Mapping[str, Any] = client.json("GET", f"/api/jobs/{job}")
            if state["state"] not in ("queued", "running"):
                break
            if watched:
                _draw(bar(state, shutil.get_terminal_size().columns))
            time.sleep(pause)
            pause = min(_LONGEST_PAUSE, pause * 1.5)
    except KeyboardInterrupt:
        _say(watched, f"the worker goes on; to end it: mem-search jobs {job} --cancel")
        raise
    if watched:
        _draw("")
    if state["state"] == "cancelled":
        raise Conflict(f"job {job} was cancelled; what it had stored stays")
    if state["state"] == "failed":
        raise failure(f"{state['name']} failed: {state['message']}")
    return state


def bar(state: Mapping[str, Any], width: int) -> str:
    """``[######......] 50% git mem-search: 120 new``, at most ``width`` - 1 characters."""
    done, total = int(state["done"]), int(state["total"])
    share = min(1.0, done / total) if total else 0.0
    full = round(share * _BAR)
    head = f"[{'#' * full}{'.' * (_BAR - full)}] {int(share * 100):3d}% " if total else ""
    message = " ".join(str(state["message"] or state["state"]).split())
    return (head + message)[: max(1, width - 1)]


def _draw(line: str) -> None:
    sys.stderr.write(f"\r\x1b[K{line}")
    sys.stderr.flush()


def _say(watched: bool, text: str) -> None:
    sys.stderr.write(f"{chr(10) if watched else ''}mem-search: {text}\n")
