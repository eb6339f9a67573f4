"""``mem-search jobs``, waiting for a job with a progress bar, and jobs in lines for people."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer

from mem_search.cli import completion
from mem_search.cli.client import Client, open_client
from mem_search.cli.options import Json, folded, show
from mem_search.cli.output import note, progress
from mem_search.errors import Conflict, MemSearchError

_FIRST_PAUSE, _MAX_PAUSE = 0.02, 0.5
_BAR = 24
_SIZES = ((1e6, "M"), (1e3, "k"))
_LONG_SECONDS = 5
"""Seconds of embedding that is told of."""

_SLOWLY = 20
"""Passages a second on a slow machine: what is assumed until the rate is known."""

_COUNTS = (
    ("new", "new"), ("changed", "changed"), ("deleted", "deleted"), ("failed", "failed"),
    ("forgotten", "skipped, forgotten before"),
)  # fmt: skip


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command()(jobs)


def jobs(
    job: Annotated[
        str, typer.Argument(help="The id of one job.", autocompletion=completion.jobs)
    ] = "",
    cancel: Annotated[bool, typer.Option("--cancel", help="Stop it at its next step.")] = False,
    retry: Annotated[
        bool, typer.Option("--retry", help="Run it again when it failed or was set aside.")
    ] = False,
    without_item: Annotated[
        bool, typer.Option("--without-item", help="Retry, and leave out what it was set aside for.")
    ] = False,
    as_json: Json = False,
) -> None:
    """List long-running work: what runs, what has ended and how."""
    retry = retry or without_item
    if (cancel or retry) and not job:
        raise typer.BadParameter(
            f"name the job: mem-search jobs ID {'--cancel' if cancel else '--retry'}"
        )
    if cancel and retry:
        raise typer.BadParameter("a job is cancelled or retried, not both")
    client = open_client()
    if cancel:
        answer = client.json("POST", f"/api/jobs/{job}/cancel", body={})
    elif retry:
        answer = client.json("POST", f"/api/jobs/{job}/retry", body={"without_item": without_item})
    elif job:
        answer = client.json("GET", f"/api/jobs/{job}")
    else:
        answer = client.json("GET", "/api/jobs")
    lines = [*map(job_line, [answer] if job else answer["jobs"])]
    if embedding := answer.get("embedding"):
        lines.insert(0, embedding_line(embedding))
    show(answer, lines, as_json=as_json, empty="no jobs in the last week")


def tell_embedding(client: Client) -> None:
    """Say that what was just stored is still being embedded, where that takes a while."""
    state = client.json("GET", "/api/jobs", [("limit", "1")]).get("embedding", {})
    waiting = state.get("total", 0) - state.get("done", 0)
    if state.get("seconds_left", waiting / _SLOWLY) >= _LONG_SECONDS:
        left = f", about {_duration(state['seconds_left'])} left" if "seconds_left" in state else ""
        note(
            f"mem-search: {waiting} passages are still waiting for their vectors{left}; until then"
            " searches find them by their words. To watch: mem-search jobs"
        )


def wait(
    client: Client, job: str, failure: type[MemSearchError] = MemSearchError
) -> Mapping[str, Any]:
    """The job once it has ended. Raises ``failure`` with the reason, or Conflict if cancelled."""
    watched = sys.stderr.isatty()
    pause, began = _FIRST_PAUSE, time.monotonic()

    def leave(_number: int, _frame: object) -> None:
        note(
            f"{chr(10) if watched else ''}mem-search: the worker continues the job; "
            f"to stop it: mem-search jobs {job} --cancel"
        )
        os._exit(130)

    before = signal.signal(signal.SIGINT, leave)
    while True:
        state: Mapping[str, Any] = client.json("GET", f"/api/jobs/{job}")
        if state["state"] not in ("queued", "running"):
            break
        if watched:
            waited = int(time.monotonic() - began)
            progress(bar(state, shutil.get_terminal_size().columns, waited))
        time.sleep(pause)
        pause = min(_MAX_PAUSE, pause * 1.5)
    signal.signal(signal.SIGINT, before)
    if watched:
        progress("")
    if state["state"] == "cancelled":
        raise Conflict(f"job {job} was cancelled; what it had stored remains")
    if state["state"] in ("failed", "set_aside"):
        raise failure(f"{state['name']} failed: {state['message']}")
    return state


def bar(state: Mapping[str, Any], width: int, waited: int = 0) -> str:
    """``[######......] 50% 80/s, 3 s left git web: 120 new``, at most ``width`` - 1 characters.

    Without a measure of what is left it has the seconds that somebody has ``waited``.
    """
    done, total = int(state["done"]), int(state["total"])
    share = min(1.0, done / total) if total else 0.0
    full = round(share * _BAR)
    head = f"[{'#' * full}{'.' * (_BAR - full)}] {int(share * 100):3d}% " if total else ""
    if total and state.get("seconds_left"):
        head += f"{_pace(state)} "
    elif share == 1.0:  # all is read; what it still does, such as keeping copies, has no measure
        head += "finishing "
    elif waited and not total:
        head = f"{waited} s  "
    return (head + folded(str(state["message"] or state["state"])))[: max(1, width - 1)]


def _pace(job: Mapping[str, Any]) -> str:
    """``1.2M/s, 45 s left``: the rate is in the unit of the work, such as bytes or records."""
    rate = float(job.get("rate") or 0)
    size, unit = next((each for each in _SIZES if rate >= each[0]), (1, ""))
    shown = f"{rate / size:.{0 if rate / size >= 10 else 1}f}{unit}/s"
    return f"{shown}, {_duration(int(job['seconds_left']))} left"


def _duration(seconds: int) -> str:
    """``45 s``, ``3 min``, ``2 h``: what is left is never known better."""
    if seconds < 100:
        return f"{seconds} s"
    return f"{seconds // 60} min" if seconds < 6000 else f"{seconds // 3600} h"


def job_line(job: Mapping[str, Any]) -> str:
    """``3f2a9c1b0d4e  sync  running  120/400  git web: 120 new``; no count once it is done."""
    count = "" if job["state"] == "done" else _done(job)
    parts = (job["id"], job["name"], job["state"], count, job["message"], _outcome(job))
    return "  ".join(str(part) for part in parts if part)


def _done(work: Mapping[str, Any]) -> str:
    """``120/400 (80/s, 3 s left)``."""
    pace = f" ({_pace(work)})" if work.get("seconds_left") else ""
    return f"{work['done']}/{work['total']}{pace}" if work["total"] else ""


def embedding_line(state: Mapping[str, Any]) -> str:
    """``embedding  120/400 (80/s, 3 s left)  passages; the others are found by their words``."""
    why = f"; it waits: {state['error']}" if state.get("error") else ""
    return f"embedding  {_done(state)}  passages; the others are found by their words{why}"


def _outcome(job: Mapping[str, Any]) -> str:
    """The result of a job that is done, in words."""
    if job["state"] != "done":
        return ""
    if "locations" in job["result"]:
        return "; ".join(import_lines(job["result"]))
    return ", ".join(
        f"{name.replace('_', ' ')}: {value if isinstance(value, str) else json.dumps(value)}"
        for name, value in job["result"].items()
    )


def import_lines(result: Mapping[str, Any], name: str = "") -> Iterator[str]:
    """A line for each location that was read: ``git /home/me/web: 120 new, 3 changed``."""
    for location in result["locations"]:
        counts = [f"{location[key]} {word}" for key, word in _COUNTS if location.get(key)]
        outcome = "failed" if "error" in location else ", ".join(counts) or "nothing new"
        yield f"{location['source']} {name or location['path']}: {outcome}"
