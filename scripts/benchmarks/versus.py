"""This tree against an older commit: two workers, the same records, each question to both in turn.

One run compares them on one machine under one load, so that the ratio holds where milliseconds do
not. Both use the packages that are installed now. With ``--home`` the filled stores are kept, and
the next run begins with them.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import hooks
import mcp_calls
import store
import under_indexing
from figures import Bar, median, percentile, timed
from process import Worker, cpu_seconds, megabytes, spawned, worker

import questions

QUESTIONS = 200
SPAWNS = 5
IMPORTS = 3
"""Of each tree, beside which searches are measured."""

TURNS = 30
"""Of an agent's session, the hooks of which are measured, in each tree and state."""

_WARM = 20
_WARM_TURNS = 1
_IDLE = 3.0
"""Seconds without a request before memory is read."""

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

Both = dict[str, float]
"""A figure of ``before`` and of ``now``."""


def measure(
    commit: str, records: Path, count: int, temporary: Path, kept: Path | None
) -> tuple[dict[str, Any], list[Bar]]:
    """Figures of both trees over ``count`` records of the exchange file ``records``."""
    with _sources_of(commit, temporary) as before:
        sources = {"before": before, "now": None}
        homes = {name: (kept or temporary) / f"versus-{count}-{name}" for name in sources}
        figures: dict[str, Any] = {"commit": commit, "records": count}
        bars: list[Bar] = []

        def compare(name: str, both: Both, *, at_least: bool = False) -> None:
            ratio = both["now"] / both["before"]
            figures[name] = both | {"ratio": ratio}
            bars.append(Bar(f"versus: {name}", ratio, 0.95 if at_least else 1.05, at_least))

        rates = {name: _filled(homes[name], sources[name], records, count) for name in sources}
        compare("records indexed/s", rates, at_least=True)
        compare("first answer after the start, s", _starts(homes, sources))
        with (
            worker(homes["before"], source=before) as old,
            worker(homes["now"]) as new,
        ):
            asked = questions.draw(new.home, _WARM + QUESTIONS)
            for name, request in REQUESTS.items():
                spent = [cpu_seconds(each.process.pid) for each in (old, new)]
                times = _in_turns(old, new, request, asked)
                figures[name] = {
                    "before p50 ms": median([before for before, _ in times]),
                    "now p50 ms": median([now for _, now in times]),
                    "median of ratios": (ratio := median([now / was for was, now in times])),
                }
                bars.append(Bar(f"versus: {name}", ratio, 1.05))
                per_question = [
                    (cpu_seconds(each.process.pid) - since) / len(asked) * 1000
                    for each, since in zip((old, new), spent, strict=True)
                ]
                compare(f"{name}: CPU ms", dict(zip(sources, per_question, strict=True)))
            time.sleep(_IDLE)
            held = {"before": megabytes(old.process.pid), "now": megabytes(new.process.pid)}
            compare("idle memory, MB", held)
        for phase, both in _beside_imports(homes, sources, kept or temporary).items():
            compare(f"search {phase}, p95 ms", both)
        for name, both in _hooks(homes, sources, kept or temporary).items():
            compare(f"hooks, {name}", both)
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


def _filled(home: Path, source: Path | None, records: Path, count: int) -> float:
    """Records a second that a worker took to fill the home, now or in an earlier run."""
    known = home / "filled.json"
    if not known.exists():
        with worker(home, source=source, is_filled=False) as running:
            running.until_answering("/api/search/unified", query="loads the model")
            started = time.perf_counter()
            running.imported(records, every=0.5)
            running.until_indexed(_PATIENCE, every=0.5)
            rate = count / (time.perf_counter() - started)
        known.write_text(json.dumps(rate), "utf-8")
    return float(json.loads(known.read_text("utf-8")))


def _starts(homes: Mapping[str, Path], sources: Mapping[str, Path | None]) -> Both:
    """Median seconds from spawning a worker to its first answer, in turns."""
    seconds: dict[str, list[float]] = {name: [] for name in homes}
    for spawn in range(SPAWNS):
        for name in sorted(homes, reverse=bool(spawn % 2)):
            with spawned(homes[name], source=sources[name]) as running:
                text = f"first question {spawn}"
                seconds[name].append(running.until_answering("/api/search/unified", query=text))
    return {name: median(each) for name, each in seconds.items()}


def _hooks(
    homes: Mapping[str, Path], sources: Mapping[str, Path | None], where: Path
) -> dict[str, Both]:
    """Median and 95th percentile in ms of the hooks of both trees, with a worker and without."""
    with ExitStack() as stack:
        copies = {
            name: stack.enter_context(store.copied(home, where)) for name, home in homes.items()
        }
        with ExitStack() as running:
            for name, copy in copies.items():
                running.enter_context(worker(copy, source=sources[name]))
            up = _hooked(copies, sources)
        both = {"worker up": up, "worker down": _hooked(copies, sources)}
    return {f"{state}, {name}": figure for state, of in both.items() for name, figure in of.items()}


def _hooked(homes: Mapping[str, Path], sources: Mapping[str, Path | None]) -> dict[str, Both]:
    spent: dict[str, list[tuple[float, float]]] = {name: [] for name in homes}
    for turn in range(_WARM_TURNS + TURNS):
        for name in sorted(homes, reverse=bool(turn % 2)):
            source = sources[name]
            script = source.parent / "plugin" / "bin" / "hook.py" if source else hooks.HOOK
            taken = hooks.turn(homes[name], script)
            if turn >= _WARM_TURNS:
                spent[name] += taken
    return {
        f"{kind} {label}": {name: of([each[at] for each in pairs]) for name, pairs in spent.items()}
        for at, kind in enumerate(("wall ms", "CPU ms"))
        for label, of in (("p50", median), ("p95", lambda times: percentile(times, 0.95)))
    }


def _beside_imports(
    homes: Mapping[str, Path], sources: Mapping[str, Path | None], where: Path
) -> dict[str, Both]:
    """Median of the 95th percentiles of searches beside imports, in turns, by phase of these."""
    found: dict[str, dict[str, list[float]]] = {}
    for turn in range(IMPORTS):
        for name in sorted(homes, reverse=bool(turn % 2)):
            with store.copied(homes[name], where) as copy:
                figures, _ = under_indexing.measure(copy, "bundled", sources[name])
            for phase in ("while storing", "while embedding"):
                times = found.setdefault(phase, {}).setdefault(name, [])
                times.append(figures[phase]["p95 ms"])
    return {
        phase: {name: median(times) for name, times in each.items()}
        for phase, each in found.items()
    }


def _in_turns(
    old: Worker, new: Worker, request: Callable[[Worker, str], object], asked: list[str]
) -> list[tuple[float, float]]:
    """Milliseconds (before, now) of each question; which is asked first changes every time."""
    times = []
    for turn, text in enumerate(asked):
        took = {}
        for running in (old, new) if turn % 2 else (new, old):
            _, took[running.port] = timed(partial(request, running, text))
        times.append((took[old.port], took[new.port]))
    return times[_WARM:]
