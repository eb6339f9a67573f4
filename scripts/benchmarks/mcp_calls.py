"""MCP calls against the same queries over plain HTTP, and what the relay costs."""

from __future__ import annotations

import json
import os
import random
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

from figures import Bar, median, spread, timed
from process import Worker, one, ps, worker

import questions

QUESTIONS = 150
FETCHES = 200
RELAYS = 10
_WARM = 30
_LIMIT = 20
_ROUTE = "/api/search"
_VERSION = "2026-07-28"
_META = {
    "io.modelcontextprotocol/protocolVersion": _VERSION,
    "io.modelcontextprotocol/clientCapabilities": {},
}
_HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}


def measure(home: Path, embedder: str) -> tuple[dict[str, Any], list[Bar]]:
    """Figures and bars for the store in ``home``."""
    asked = questions.draw(home, _WARM + QUESTIONS)
    with worker(home, embedder) as running:
        first = _first(running)
        for text in asked[:_WARM]:
            _plain(running, text)
            search(running, text, modern=True)
        plain, new, old = _in_turns(running, asked[_WARM:])
        fetched = [_fetch(running, number) for number in _numbers(home)]
        relays = [_relay(home) for _ in range(RELAYS)]
    ratio = median(new) / median(plain)
    figures = {
        **spread(plain, "HTTP search"),
        **spread(new, "MCP search, 2026-07-28,"),
        "MCP search, 2025-11-25, p50 ms": median(old),
        "ratio of p50": ratio,
        **spread(fetched, "MCP fetch"),
        "first MCP call ms, loads the SDK": first,
        "relay: CPU s to initialize, median": median([cpu for cpu, _ in relays]),
        "relay: RSS MB": max(rss for _, rss in relays),
    }
    return figures, [
        Bar("mcp: search / HTTP search, p50", ratio, 1.2),
        Bar("mcp: fetch p50 ms", median(fetched), 10),
        Bar("mcp: relay CPU s to initialize", median([cpu for cpu, _ in relays]), 1),
    ]


def _in_turns(running: Worker, asked: list[str]) -> tuple[list[float], list[float], list[float]]:
    """HTTP and both generations of MCP; the order alternates, as the later finds warm pages."""
    times: tuple[list[float], list[float], list[float]] = ([], [], [])
    for turn, text in enumerate(asked):
        for step in range(3):
            which = (turn + step) % 3
            # Trailing space keeps the worker from knowing the question.
            question = text + " " * step
            took = (
                _plain(running, question)
                if which == 0
                else search(running, question, modern=which == 1)
            )
            times[which].append(took)
    return times


def _plain(running: Worker, text: str) -> float:
    return timed(lambda: running.get(_ROUTE, query=text, limit=_LIMIT, format="json"))[1]


def search(running: Worker, text: str, *, modern: bool) -> float:
    """Milliseconds of one call of the tool ``search``, in the newer or the older protocol."""
    return _timed(running, "search", {"query": text}, modern=modern)


def _fetch(running: Worker, ref: str) -> float:
    return _timed(running, "fetch", {"id": ref}, modern=True)


def _timed(running: Worker, name: str, arguments: dict[str, str], *, modern: bool) -> float:
    answer, took = timed(lambda: _called(running, name, arguments, modern=modern))
    if answer["result"]["isError"]:
        raise ConnectionError(answer["result"]["content"][0]["text"])
    return took


def _called(running: Worker, name: str, arguments: dict[str, str], *, modern: bool) -> Any:
    params: dict[str, Any] = {"name": name, "arguments": arguments}
    headers = {"MCP-Protocol-Version": "2025-11-25"}
    if modern:
        params["_meta"] = _META
        headers = {
            "MCP-Protocol-Version": _VERSION,
            "Mcp-Method": "tools/call",
            "Mcp-Name": name,
        }
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return json.loads(running.post("/mcp", json.dumps(body).encode(), headers))


def _first(running: Worker) -> float:
    """The very first call: it waits until the SDK is loaded."""
    return timed(lambda: _called(running, "fetch", {"id": "note:0"}, modern=True))[1]


def _numbers(home: Path) -> list[str]:
    chance = random.Random(11)
    most = one(home, "select max(id) from records")
    store = sqlite3.connect(home / "mem-search.db")
    rows = [
        store.execute(
            "select kind || ':' || id from records where id >= ? order by id limit 1",
            (chance.randint(1, most),),
        ).fetchone()
        for _ in range(FETCHES)
    ]
    store.close()
    return [f"local:{ref}" for (ref,) in rows]


def _relay(home: Path) -> tuple[float, float]:
    """CPU seconds and megabytes of ``mem-search mcp`` until it has answered ``initialize``."""
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": _HELLO}
    environ = dict(os.environ, MEM_SEARCH_HOME=str(home))
    process = subprocess.Popen(
        [sys.executable, "-m", "mem_search", "mcp"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environ,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(hello).encode() + b"\n")
    process.stdin.flush()
    answer = json.loads(process.stdout.readline())
    # Not what it used at most: that counts what this process held when it started the other.
    size = float(ps("-o", "rss=", "-p", str(process.pid))[0])
    process.stdin.close()
    process.stdout.close()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode or "result" not in answer:
        raise ConnectionError(f"the relay ended with {process.returncode}: {answer}")
    return used.ru_utime + used.ru_stime, size / 2**10
