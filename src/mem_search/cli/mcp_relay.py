"""``mem-search mcp``: an MCP server on standard input and output, for agents that start programs.

A relay and nothing more: a line is a JSON-RPC message, it is posted to the worker's ``/mcp``, and
the reply is a line. What the messages mean is the worker's to know. Only what HTTP wants said in
headers is read here, and which version ``initialize`` agreed on. ``posting`` knows the way to
the worker. Imports stay few: this runs once for every agent, all the time.
"""

from __future__ import annotations

import base64
import json
import os
import queue
import select
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import IO, Any, Final, NoReturn

from mem_search.cli.worker_connection import Answer, Away, Worker

_THREADS = 8
"""Requests at a time; an agent hardly asks more, and the worker's readers are two."""

_READ: Final = 1 << 16

_VERSION_KEY: Final = "io.modelcontextprotocol/protocolVersion"
_NAMED: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_INTERNAL_ERROR: Final = -32603

Post = Callable[[bytes, Mapping[str, str]], Answer]


class _Asked:
    """A request under way; ``message`` is None when the line is no JSON."""

    __slots__ = ("cancelled", "line", "message")

    def __init__(self, line: bytes, message: Any) -> None:
        self.line = line
        self.message = message
        self.cancelled = False

    @property
    def id(self) -> Any:
        return self.message.get("id") if isinstance(self.message, dict) else None

    @property
    def method(self) -> Any:
        return self.message.get("method") if isinstance(self.message, dict) else None


class Relay:
    """Passes lines on until there are no more. ``post`` asks the worker; it raises Away."""

    def __init__(self, post: Post, out: IO[bytes]) -> None:
        self._post = post
        self._out = out
        self._writing = threading.Lock()
        self._waiting: queue.SimpleQueue[_Asked | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._under_way: dict[str, _Asked] = {}
        self._version = ""

    def run(self, lines: Iterable[bytes]) -> None:
        """Answer every line; returns when they have ended and all answers are written."""
        for line in lines:
            if line.strip():
                self._take(line.strip())
        for _ in self._threads:
            self._waiting.put(None)
        for thread in self._threads:
            thread.join()

    def _take(self, line: bytes) -> None:
        try:
            asked = _Asked(line, json.loads(line))
        except (ValueError, RecursionError):
            asked = _Asked(line, None)  # the worker says what is wrong with it
        if asked.method is not None and "id" not in asked.message:
            self._notice(asked.message)
        elif asked.method == "initialize":
            # Before anything else is read: what follows depends on the version agreed on.
            reply = self._reply(asked)
            self._version = _agreed(reply) or self._version
            self._write(reply)
        else:
            self._under_way[json.dumps(asked.id)] = asked
            self._waiting.put(asked)
            if len(self._threads) < min(_THREADS, len(self._under_way)):
                thread = threading.Thread(target=self._work, daemon=True)
                self._threads.append(thread)
                thread.start()

    def _notice(self, message: Mapping[str, Any]) -> None:
        """The worker keeps nothing between two requests, so a notification is for the relay."""
        params = message.get("params")
        if message["method"] == "notifications/cancelled" and isinstance(params, dict):
            asked = self._under_way.get(json.dumps(params.get("requestId")))
            if asked is not None:
                asked.cancelled = True

    def _work(self) -> None:
        while (asked := self._waiting.get()) is not None:
            reply = b"" if asked.cancelled else self._reply(asked)
            if self._under_way.get(json.dumps(asked.id)) is asked:
                del self._under_way[json.dumps(asked.id)]
            if reply and not asked.cancelled:
                self._write(reply)

    def _reply(self, asked: _Asked) -> bytes:
        """One line; empty where none is due."""
        try:
            answer = self._post(asked.line, headers_of(asked.message, self._version))
        except Away as away:
            return _error(asked.id, str(away))
        if answer.is_json_rpc or not answer.body:
            return answer.body.replace(b"\r", b"").replace(b"\n", b"")
        try:
            problem = json.loads(answer.body)
            detail, code = str(problem["detail"]), str(problem["code"])
        except (ValueError, KeyError, TypeError):
            return _error(asked.id, f"the worker answered {answer.status}")
        return _error(asked.id, detail, {"code": code, "status": answer.status})

    def _write(self, reply: bytes) -> None:
        rest = memoryview(reply + b"\n")
        with self._writing:
            try:
                while rest:
                    rest = rest[self._out.write(rest) :]
            except (OSError, ValueError):
                return  # nobody reads any more; the end of the input comes next


def headers_of(message: Any, version: str) -> dict[str, str]:
    """What the transport wants said beside the body; ``version`` is the one agreed on, or ""."""
    if not isinstance(message, dict):
        return {}
    method, params = message.get("method"), message.get("params")
    params = params if isinstance(params, dict) else {}
    meta = params.get("_meta")
    said = meta.get(_VERSION_KEY) if isinstance(meta, dict) else None
    if said is None:  # a message of the time when a version was agreed on once
        known = version and method != "initialize"
        return {"MCP-Protocol-Version": version} if known else {}
    named = {"MCP-Protocol-Version": said, "Mcp-Method": method}
    if isinstance(method, str) and method in _NAMED:
        named["Mcp-Name"] = params.get(_NAMED[method])
    return {name: _sayable(value) for name, value in named.items() if isinstance(value, str)}


def main() -> int:
    """Relay standard input to the worker of this home until it ends, or a signal comes."""
    signal.signal(signal.SIGTERM, _leave)
    worker = Worker.of_home()
    # Unbuffered: what has been answered has been said, and no buffer is held when we have to go.
    with open(1, "wb", buffering=0, closefd=False) as out:
        Relay(worker.post, out).run(_lines(0))
    return 0


def _lines(source: int) -> Iterator[bytes]:
    """Lines of the file descriptor ``source``; a signal ends the wait for the next one.

    A plain read would sleep on where the signal came just before it: nothing would wake it.
    """
    woken, waking = os.pipe()
    os.set_blocking(waking, False)
    signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
    begun: list[bytes] = []
    while True:
        ready, _, _ = select.select([source, woken], [], [])
        if woken in ready:
            os.read(woken, 64)  # of a signal that is of no interest: the others have raised
        if source not in ready:
            continue
        if not (read := os.read(source, _READ)):
            break
        *whole, last = read.split(b"\n")
        for line in whole:
            yield b"".join((*begun, line))
            begun.clear()
        begun.append(last)
    yield b"".join(begun)


def _leave(_number: int, _frame: object) -> NoReturn:
    """Whoever sends it waits for nothing any more: an orderly end."""
    raise SystemExit(0)


def _sayable(value: str) -> str:
    """As a header can say it: visible ASCII as it is, anything else marked and in Base64."""
    plain = value.isascii() and value.isprintable() and value == value.strip()
    if plain and not (value.startswith("=?base64?") and value.endswith("?=")):
        return value
    return f"=?base64?{base64.b64encode(value.encode('utf-8', 'replace')).decode()}?="


def _agreed(reply: bytes) -> str:
    try:
        return str(json.loads(reply)["result"]["protocolVersion"])
    except (ValueError, KeyError, TypeError):
        return ""


def _error(number: Any, text: str, data: Mapping[str, Any] | None = None) -> bytes:
    error: dict[str, Any] = {"code": _INTERNAL_ERROR, "message": text}
    if data:
        error["data"] = dict(data)
    return json.dumps({"jsonrpc": "2.0", "id": number, "error": error}).encode()
