"""What ``doctor`` asks a running worker: its version, its index, its sources."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from shlex import quote
from typing import Any

from mem_search import __version__
from mem_search.cli.checks import Finding, said_and_fix
from mem_search.cli.client import Client
from mem_search.daemon.state import WorkerState
from mem_search.errors import MemSearchError
from mem_search.settings import Settings


def worker(settings: Settings, state: WorkerState) -> Iterator[Finding]:
    """Findings about the worker that ``state`` describes."""
    detail = f"pid {state.pid} at {state.url}, version {state.version}"
    if state.version == __version__:
        yield Finding("worker", "ok", detail)
    else:
        stale = f"{detail}, but {__version__} is installed"
        yield Finding("worker", "missing", stale, "mem-search worker restart")
    try:
        stats: Mapping[str, Any] = Client.of(settings, may_start=False).json("GET", "/api/stats")
    except MemSearchError as error:
        yield Finding("answers", "missing", error.message, "mem-search worker logs")
        return
    yield from embedder(stats)
    if stats["embedder"]["dimensions"]:  # without a model there is nothing to look at
        yield index(stats)
        yield coverage(stats)
    yield from unread(stats)
    yield from unreadable(stats)


def embedder(stats: Mapping[str, Any]) -> Iterator[Finding]:
    """Why the worker cannot embed, if it cannot; then words alone are searched."""
    if error := stats["embedder"]["error"]:
        said, fix = said_and_fix(error)
        first = f"{fix} &&" if fix else "mend that, or unset MEM_SEARCH_EMBEDDER, then"
        yield Finding("embedding", "missing", said, f"{first} mem-search worker restart")


def index(stats: Mapping[str, Any]) -> Finding:
    """The vector index as the worker sees it."""
    state, detail = stats["index"]["state"], stats["index"]["detail"]
    shown = f"{state}: {detail}" if detail else state
    if state == "starting":
        return Finding("index", "advice", "it is starting", "mem-search index status")
    if state == "degraded":
        return Finding("index", "missing", shown, "mem-search index rebuild")
    return Finding("index", "ok", shown)


def coverage(stats: Mapping[str, Any]) -> Finding:
    """Whether every passage can be found by its meaning. The share is rounded down."""
    if stats["index"]["state"] == "off":
        share = f"{stats['embedded']} of {stats['passages']} passages have vectors"
        if stats["embedded"] < stats["passages"]:
            return Finding("coverage", "advice", share, "mem-search index status")
        return Finding("coverage", "ok", share)
    detail = f"{stats['indexed']} of {stats['passages']} passages indexed"
    if stats["embedding_coverage"] >= 1:
        return Finding("coverage", "ok", detail)
    waiting = f"{detail}; the worker goes on with it, and words are searched meanwhile"
    return Finding("coverage", "advice", waiting, "mem-search index status")


def unread(stats: Mapping[str, Any]) -> Iterator[Finding]:
    """Sources that this machine has and that were never synced."""
    # Heavy: the sources bring what they read with them.
    from mem_search.contracts import Machine
    from mem_search.sources import installed

    known = {(each["source"], each["path"]) for each in stats["sources"]}
    home = Path(os.environ.get("HOME") or Path.home())
    machine = Machine(home=home, cwd=Path.cwd(), environ=os.environ)
    for source in installed():
        for location in source.discover(machine):
            if (location.source, location.path) not in known:
                detail = f"{location.path} has not been read yet"
                fix = f"mem-search sync {location.source}"
                yield Finding(f"source {location.source}", "advice", detail, fix)


def unreadable(stats: Mapping[str, Any]) -> Iterator[Finding]:
    """Sources whose last reading failed."""
    for each in stats["sources"]:
        if each["error"]:
            place = f"{each['source']} {quote(each['path'])}"
            fix = f"mem-search sync {place}; if it is gone for good: mem-search unfollow {place}"
            yield Finding(f"source {each['source']}", "missing", each["error"], fix)
