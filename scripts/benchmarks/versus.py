"""This tree against an older commit: two workers, the same records, each question to both in turn.

One run compares them on one machine under one load, so that the ratio holds where milliseconds do
not. Both use the packages that are installed now.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import mcp_calls
from figures import Bar, median
from process import Worker, worker

import questions

QUESTIONS = 200
_WARM = 20
_PATIENCE = 3600.0

REQUESTS: Mapping[str, Callable[[Worker, str], object]] = {
    "unified, JSON": lambda asked, text: asked.get(
        "/api/search/unified", query=text, format="json"
    ),
    "unified, text": lambda asked, text: asked.get("/api/search/unified", query=text),
    "search, 100 results": lambda asked, text: asked.get(
        "/api/search", query=text, format="json", limit=100
    ),
    "v1, hybrid": lambda asked, text: asked.json(
        "POST", "/api/v1/search", {"query": text, "search_type": "hybrid"}
    ),
    "v2, hybrid": lambda asked, text: asked.json("POST", "/api/v2/search/hybrid", {"query": text}),
    "MCP, search": lambda asked, text: mcp_calls.search(asked, text, modern=True),
}


def measure(
    commit: str, records: Path, count: int, temporary: Path
) -> tuple[dict[str, Any], list[Bar]]:
    """Figures of both trees over ``count`` records of the exchange file ``records``."""
    with (
        _sources_of(commit, temporary) as before,
        worker(temporary / "before", source=before) as old,
        worker(temporary / "now") as new,
    ):
        for each in (old, new):
            each.until_answering("/api/readiness")
            _fill(each, records)
        asked = questions.draw(new.home, _WARM + QUESTIONS)
        figures: dict[str, Any] = {"commit": commit, "records": count}
        bars = []
        for name, request in REQUESTS.items():
            times = _in_turns(old, new, request, asked)
            ratios = [now / before for before, now in times]
            figures[name] = {
                "before p50 ms": median([before for before, _ in times]),
                "now p50 ms": median([now for _, now in times]),
                "median of ratios": median(ratios),
            }
            bars.append(Bar(f"versus: {name}", median(ratios), 1.05))
        return figures, bars


@contextmanager
def _sources_of(commit: str, temporary: Path) -> Iterator[Path]:
    """The folder ``src`` of ``commit``, in a work tree of its own."""
    root = Path(__file__).parents[2]
    tree = temporary / "tree"
    git = ["git", "-C", str(root), "worktree"]
    added = [*git, "add", "--quiet", "--detach", str(tree), commit]
    if subprocess.run(added, check=False).returncode:
        sys.exit(f"versus: git has no commit {commit!r}")
    try:
        yield tree / "src"
    finally:
        subprocess.run([*git, "remove", "--force", str(tree)], check=True)


def _fill(running: Worker, records: Path) -> None:
    body = {"source": "jsonl", "path": str(records)}
    path = f"/api/jobs/{running.json('POST', '/api/import', body)['job']}"
    deadline = time.perf_counter() + _PATIENCE
    job = running.json("GET", path)
    while job["state"] in ("queued", "running") or not _is_indexed(running):
        if time.perf_counter() > deadline:
            sys.exit(f"versus: the store is not filled; see {running.home}/logs")
        time.sleep(0.5)
        job = running.json("GET", path)
    if job["state"] != "done":
        sys.exit(f"versus: the import ended as {job['state']}; see {running.home}/logs")


def _is_indexed(running: Worker) -> bool:
    reply = running.json("GET", "/api/search", query="index ready", format="json")["search"]
    legs = {leg["name"]: leg["state"] for leg in reply["legs"]}
    return bool(reply["coverage"] == 1 and legs["vector"] == "ok")


def _in_turns(
    old: Worker, new: Worker, request: Callable[[Worker, str], object], asked: list[str]
) -> list[tuple[float, float]]:
    """Milliseconds (before, now) of each question; which is asked first changes every time."""
    times = []
    for turn, text in enumerate(asked):
        took = {}
        for running in (old, new) if turn % 2 else (new, old):
            started = time.perf_counter()
            request(running, text)
            took[running.port] = (time.perf_counter() - started) * 1000
        times.append((took[old.port], took[new.port]))
    return times[_WARM:]
