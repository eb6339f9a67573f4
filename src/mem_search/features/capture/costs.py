"""What hooks cost and which events were dropped: the lines that they leave in ``HOME/hooks``.

A hook notes its session, its event, the tokens that the agent got, its time and processor time, and
whether the agent has just searched its memory, in ``costs.jsonl``. The files are cut at a megabyte
each, so this is the ledger of the last ten thousand hooks or so. An event that cannot be used is a
line of ``dropped.log``: the hook writes it, or the worker where it finds out.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from mem_search.model.forgetting import Traces
from mem_search.patterns import pattern
from mem_search.regular_file import replace_file

log = logging.getLogger(__name__)

_FILES: Final = ("costs.jsonl.1", "costs.jsonl")
_TURN: Final = "UserPromptSubmit"
_DROPPED: Final = "dropped.log"
_EVENT: Final = pattern(r"session-(\S+?)\.json")
"""The file of an event, as a line about a dropped one names it."""
_MAX_LOG_BYTES: Final = 256 * 1024
"""Bytes, as in the hook: then the file is kept beside the next one."""


@dataclass(slots=True)
class Cost:
    """Hooks of one session, or of all. Times are in ms; ``first_at``, ``last_at`` since 1970."""

    session: str = ""
    agent: str = ""
    first_at: int = 0
    last_at: int = 0
    hooks: int = 0
    unanswered: int = 0
    turns: int = 0
    searches: int = 0
    tokens: int = 0
    times: list[float] = field(default_factory=list)
    cpu_times: list[float] = field(default_factory=list)

    def add(self, line: Mapping[str, Any]) -> None:
        """Count a hook. Raises ValueError, TypeError or KeyError for a line of another form."""
        at, tokens, ms, cpu_ms = (
            line["at"] + 0, line["tokens"] + 0, float(line["ms"]), float(line["cpu_ms"]),
        )  # fmt: skip
        self.agent = str(line["agent"])
        self.first_at = min(self.first_at or at, at)
        self.last_at = max(self.last_at, at)
        self.hooks += 1
        self.unanswered += not line["answered"]
        self.turns += line["event"] == _TURN
        self.searches += bool(line["searched"])
        self.tokens += tokens
        self.times.append(ms)
        self.cpu_times.append(cpu_ms)


def costs(home: Path) -> tuple[Cost, list[Cost]]:
    """All hooks together, and those of each session, the latest first. Blocks. Raises OSError."""
    total, sessions = Cost(), dict[str, Cost]()
    for line in _lines(home / "hooks"):
        try:
            name = str(line["session"])
            sessions.setdefault(name, Cost(name)).add(line)
            total.add(line)
        except (KeyError, TypeError, ValueError):
            continue  # cut off by a full disk
    with_hooks = [each for each in sessions.values() if each.hooks]
    return total, sorted(with_hooks, key=lambda each: -each.last_at)


def drop(home: Path, reason: str) -> None:
    """Note that an event was dropped. ``reason`` has no word of the event. Blocks."""
    log.warning("an event of a hook is dropped: %s", reason)
    file = home / "hooks" / _DROPPED
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if file.exists() and file.stat().st_size > _MAX_LOG_BYTES:
            file.replace(file.with_name(f"{_DROPPED}.1"))
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as opened:
            opened.write(f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ} {reason}\n")
    except OSError as error:
        log.warning("it cannot be noted in %s: %s", file, error)


def dropped(home: Path) -> tuple[int, str]:
    """How many events were dropped, and the last line about one. Blocks. Raises OSError."""
    count, last = 0, ""
    for name in (f"{_DROPPED}.1", _DROPPED):
        try:
            content = (home / "hooks" / name).read_text("utf-8", "replace")
        except FileNotFoundError:
            continue
        lines = [line for line in content.split("\n") if line]  # a reason has other ends of lines
        count, last = count + len(lines), lines[-1] if lines else last
    return count, last


def forget(home: Path, traces: Traces) -> int:
    """Take out the lines of sessions that were forgotten; how many files changed. Raises OSError.

    A hook that notes something at this very moment may be left out.
    """
    changed = 0
    for name in (*_FILES, f"{_DROPPED}.1", _DROPPED):
        file = home / "hooks" / name
        try:
            lines = file.read_bytes().splitlines(keepends=True)
        except FileNotFoundError:
            continue
        kept = [line for line in lines if not _is_of(line, traces)]
        if len(kept) < len(lines):
            replace_file(file, b"".join(kept))
            changed += 1
    return changed


def _is_of(line: bytes, traces: Traces) -> bool:
    try:
        told = json.loads(line)
    except (ValueError, RecursionError):
        told = None
    if isinstance(told, dict):
        return told.get("session") in traces.names
    named = _EVENT.search(line.decode("utf-8", "replace"))
    return named is not None and named[1] in traces.names


def _lines(folder: Path) -> Iterator[Mapping[str, Any]]:
    for name in _FILES:
        try:
            content = (folder / name).read_bytes()
        except FileNotFoundError:
            continue
        for raw in content.splitlines():
            try:
                line = json.loads(raw)
            except (ValueError, RecursionError):
                continue  # cut off by a full disk
            if isinstance(line, dict):
                yield line
