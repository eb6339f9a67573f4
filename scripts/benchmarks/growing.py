"""A session that grows: the processor time of one more line, against reading all of the file."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from figures import Bar, median

from mem_search.model import Location
from mem_search.sources import by_name

MEGABYTES = 4
LINES = 5
_SESSION = "0199cccc-0000-7000-8000-0000000000a1"
_WORDS = "The keeper trims the wick at noon and notes the oil that is left. " * 60


def _codex(number: int) -> dict[str, Any]:
    at = f"2026-01-01T{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}Z"
    if not number:
        meta = {"id": _SESSION, "cwd": "/gone/harbour", "cli_version": "0.144.6"}
        return {"timestamp": at, "type": "session_meta", "payload": meta}
    role, kind = ("assistant", "output_text") if number % 2 else ("user", "input_text")
    content = [{"type": kind, "text": f"{number}: {_WORDS}"}]
    return {
        "timestamp": at,
        "type": "response_item",
        "payload": {"type": "message", "role": role, "content": content},
    }


def _qwen(number: int) -> dict[str, Any]:
    of = "assistant" if number % 2 else "user"
    return {
        "uuid": f"00000000-0000-4000-8000-{number:012}",
        "sessionId": _SESSION,
        "timestamp": f"2026-01-01T{number // 3600 % 24:02}:{number // 60 % 60:02}:00Z",
        "cwd": "/gone/harbour",
        "type": of,
        "message": {"role": "model" if number % 2 else "user", "parts": [{"text": _WORDS}]},
    }


def _gemini(number: int) -> dict[str, Any]:
    at = f"2026-01-01T{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}Z"
    if not number:
        return {"sessionId": _SESSION, "startTime": at, "directories": ["/gone/harbour"]}
    # The program writes an answer again once a tool has answered.
    of, key = ("gemini", number // 3 * 3 + 1) if number % 3 else ("user", number)
    name = f"00000000-0000-4000-8000-{key:012}"
    return {"id": name, "timestamp": at, "type": of, "content": f"{number}: {_WORDS}"}


_AGENTS = {
    "codex": (_codex, f"sessions/2026/01/01/rollout-2026-01-01T00-00-00-{_SESSION}.jsonl"),
    "qwen": (_qwen, f"projects/-gone-harbour/chats/{_SESSION}.jsonl"),
    "gemini": (_gemini, "harbour/chats/session-2026-01-01T00-00-aaaaaaaa.jsonl"),
}


def measure(folder: Path) -> tuple[dict[str, Any], list[Bar]]:
    """Sessions of ``MEGABYTES``, then ``LINES`` more, one at a time. Nothing is stored."""
    figures: dict[str, Any] = {"megabytes": MEGABYTES}
    bars = []
    for name, (line, place) in _AGENTS.items():
        path = folder / name / place
        path.parent.mkdir(parents=True)
        count = 0
        with path.open("w") as file:
            while file.tell() < MEGABYTES << 20:
                file.write(json.dumps(line(count)) + "\n")
                count += 1
        whole, cursor = _read(name, folder / name, {})
        added = []
        for more in range(count, count + LINES):
            with path.open("a") as file:
                file.write(json.dumps(line(more)) + "\n")
            seconds, cursor = _read(name, folder / name, cursor)
            added.append(seconds)
        figures[name] = {"the whole file, CPU s": whole, "one more line, CPU s": median(added)}
        bars.append(Bar(f"growing: one more line / all of {name}", median(added) / whole, 0.02))
    return figures, bars


def _read(name: str, root: Path, cursor: Mapping[str, Any]) -> tuple[float, Mapping[str, Any]]:
    started = time.process_time()
    for batch in _batches(name, root, cursor):
        cursor = json.loads(json.dumps(batch.cursor))  # as the store keeps it
    return time.process_time() - started, cursor


def _batches(name: str, root: Path, cursor: Mapping[str, Any]) -> Iterator[Any]:
    return by_name(name).read(Location(name, str(root)), cursor)
