"""``mem-search mcp``: an MCP server on standard input and output, for agents that start programs.

Every line is a JSON-RPC message. The relay posts it to ``/mcp`` of the worker and prints the
reply as a line. It reads of a message only what HTTP headers have to repeat, and the version that
``initialize`` agreed on. Connections stay open; a request is repeated once when the worker was
restarted in between, which is safe because all MCP tools only read. Imports are few because one
relay runs for every agent, all the time.
"""

from __future__ import annotations

import base64
import http.client
import json
import os
import queue
import select
import signal
import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import IO, Any, Final, NamedTuple, NoReturn

from mem_search.cli.watch import watched
from mem_search.daemon.connection import (
    NoAnswer,
    Place,
    Unproved,
    address,
    connect,
    headers,
    home_of,
    is_outdated,
)

_ROUTE = "/mcp"
_JSON = "application/json"


class WorkerUnreachable(Exception):
    """The worker cannot be reached; the text says why and the next step."""


class Answer(NamedTuple):
    """The reply of the worker; the body is empty where MCP has no reply."""

    status: int
    body: bytes
    is_json_rpc: bool


class Worker:
    """The worker of one home; every thread has its own connection."""

    def __init__(self, home: str) -> None:
        self._home = home
        self._starting = threading.Lock()
        self._local = threading.local()

    @classmethod
    def of_home(cls) -> Worker:
        """The worker of the home that the environment names."""
        return cls(home_of(os.environ.get("MEM_SEARCH_HOME")))

    def post(self, body: bytes, also: Mapping[str, str]) -> Answer:
        """Post a message. Raises WorkerUnreachable when there is no worker, or it failed twice."""
        for last in (False, True):
            try:
                return self._send(body, also)
            except (NoAnswer, Unproved) as error:
                self._disconnect()
                problem = (
                    "does not answer" if isinstance(error, NoAnswer) else "cannot be proved ours"
                )
                raise WorkerUnreachable(
                    f"the worker {problem}; run: mem-search worker restart"
                ) from error
            except (OSError, http.client.HTTPException) as error:
                self._disconnect()
                if last:
                    raise WorkerUnreachable(
                        f"the connection to the worker broke ({error}); see: mem-search worker logs"
                    ) from error
        raise AssertionError("the last try returns or raises")

    def _send(self, body: bytes, also: Mapping[str, str]) -> Answer:
        connection, place = self._connection()  # first: it may start a worker, which makes a token
        sent = {**headers(self._home), "Accept": _JSON, "Content-Type": _JSON, **also}
        with watched(connection.sock, place):
            connection.request("POST", _ROUTE, body, sent)
            with connection.getresponse() as reply:
                content = reply.read()
                kind = reply.headers.get_content_type()
        return Answer(reply.status, content, kind == _JSON)

    def _connection(self) -> tuple[http.client.HTTPConnection, Place]:
        kept: tuple[http.client.HTTPConnection, Place] | None = getattr(self._local, "kept", None)
        if kept is None or kept[0].sock is None:
            place = self._address()
            try:
                opened = connect(place)
            except NoAnswer:
                place = self._started()
                opened = connect(place)
            connection = http.client.HTTPConnection(*place[:2])
            connection.sock = socket.socket(fileno=opened.detach())
            kept = self._local.kept = connection, place
        return kept

    def _started(self) -> Place:
        """The address of a worker that is just starting. Raises NoAnswer for one that hangs."""
        from mem_search.daemon.control import is_starting
        from mem_search.settings import Settings

        if not is_starting(Settings.read()):
            raise NoAnswer
        return self._start()

    def _disconnect(self) -> None:
        kept: tuple[http.client.HTTPConnection, Place] | None = getattr(self._local, "kept", None)
        if kept is not None:
            kept[0].close()
        self._local.kept = None

    def _address(self) -> Place:
        with self._starting:
            place = address(self._home)
            return self._start() if place is None or is_outdated(self._home) else place

    def _start(self) -> Place:
        # Heavier than everything else here, and rarely needed.
        from mem_search.daemon.control import start
        from mem_search.errors import MemSearchError
        from mem_search.settings import Settings

        try:
            start(Settings.read())
        except MemSearchError as error:
            raise WorkerUnreachable(f"there is no worker: {error.message}") from error
        if (place := address(self._home)) is None:
            raise WorkerUnreachable("the worker has ended; see: mem-search worker logs")
        return place


_THREADS = 8
"""Requests at a time. Agents rarely send more, and the worker has two reader threads."""

_READ: Final = 1 << 16

_VERSION_KEY: Final = "io.modelcontextprotocol/protocolVersion"
_NAME_PARAMETERS: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_INTERNAL_ERROR: Final = -32603

Post = Callable[[bytes, Mapping[str, str]], Answer]


class _Request:
    """A pending request; ``message`` is None when the line is not JSON."""

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
    """Relays lines until the input ends. ``post`` sends one; it raises WorkerUnreachable."""

    def __init__(self, post: Post, out: IO[bytes]) -> None:
        self._post = post
        self._out = out
        self._writing = threading.Lock()
        self._queue: queue.SimpleQueue[_Request | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._pending: dict[str, _Request] = {}
        self._version = ""

    def run(self, lines: Iterable[bytes]) -> None:
        """Answer every line; returns when the input has ended and all replies are written."""
        for line in lines:
            if line.strip():
                self._take(line.strip())
        for _ in self._threads:
            self._queue.put(None)
        for thread in self._threads:
            thread.join()

    def _take(self, line: bytes) -> None:
        try:
            request = _Request(line, json.loads(line))
        except (ValueError, RecursionError):
            request = _Request(line, None)  # the worker reports what is wrong with it
        if request.method is not None and "id" not in request.message:
            self._notice(request.message)
        elif request.method == "initialize":
            # Before the next line is read: later requests depend on the version agreed on.
            reply = self._reply(request)
            self._version = _agreed(reply) or self._version
            self._write(reply)
        else:
            self._pending[json.dumps(request.id)] = request
            self._queue.put(request)
            if len(self._threads) < min(_THREADS, len(self._pending)):
                thread = threading.Thread(target=self._work, daemon=True)
                self._threads.append(thread)
                thread.start()

    def _notice(self, message: Mapping[str, Any]) -> None:
        """Handle a notification here: the worker keeps no state between requests."""
        params = message.get("params")
        if message["method"] == "notifications/cancelled" and isinstance(params, dict):
            request = self._pending.get(json.dumps(params.get("requestId")))
            if request is not None:
                request.cancelled = True

    def _work(self) -> None:
        while (request := self._queue.get()) is not None:
            reply = b"" if request.cancelled else self._reply(request)
            if self._pending.get(json.dumps(request.id)) is request:
                del self._pending[json.dumps(request.id)]
            if reply and not request.cancelled:
                self._write(reply)

    def _reply(self, request: _Request) -> bytes:
        """The reply as one line; empty where none is expected."""
        try:
            answer = self._post(request.line, headers_of(request.message, self._version))
        except WorkerUnreachable as away:
            return _error(request.id, str(away))
        if answer.is_json_rpc or not answer.body:
            return answer.body.replace(b"\r", b"").replace(b"\n", b"")
        try:
            problem = json.loads(answer.body)
            detail, code = str(problem["detail"]), str(problem["code"])
        except (ValueError, KeyError, TypeError):
            return _error(request.id, f"the worker answered {answer.status}")
        return _error(request.id, detail, {"code": code, "status": answer.status})

    def _write(self, reply: bytes) -> None:
        rest = memoryview(reply + b"\n")
        with self._writing:
            try:
                while rest:
                    rest = rest[self._out.write(rest) :]
            except (OSError, ValueError):
                return  # the reader is gone; the input will end next


def headers_of(message: Any, version: str) -> dict[str, str]:
    """The headers that MCP's HTTP transport requires; ``version`` is the one agreed on, or ""."""
    if not isinstance(message, dict):
        return {}
    method, params = message.get("method"), message.get("params")
    params = params if isinstance(params, dict) else {}
    meta = params.get("_meta")
    stated = meta.get(_VERSION_KEY) if isinstance(meta, dict) else None
    if stated is None:  # an older client: the version was agreed on in ``initialize``
        known = version and method != "initialize"
        return {"MCP-Protocol-Version": version} if known else {}
    headers = {"MCP-Protocol-Version": stated, "Mcp-Method": method}
    if isinstance(method, str) and method in _NAME_PARAMETERS:
        headers["Mcp-Name"] = params.get(_NAME_PARAMETERS[method])
    return {name: _header_value(value) for name, value in headers.items() if isinstance(value, str)}


def main() -> int:
    """Relay standard input to the worker of this home until the input ends or a signal comes."""
    signal.signal(signal.SIGTERM, _leave)
    worker = Worker.of_home()
    # Unbuffered: a reply is out as soon as it is written, and a signal leaves none behind.
    with open(1, "wb", buffering=0, closefd=False) as out:
        Relay(worker.post, out).run(_lines(0))
    return 0


def _lines(source: int) -> Iterator[bytes]:
    """Lines of the file descriptor ``source``; a signal ends the wait for the next one.

    A plain read would keep sleeping when the signal came just before it.
    """
    woken, waking = os.pipe()
    os.set_blocking(waking, False)
    signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
    parts: list[bytes] = []
    while True:
        ready, _, _ = select.select([source, woken], [], [])
        if woken in ready:
            os.read(woken, 64)  # a signal without effect: the others have raised
        if source not in ready:
            continue
        if not (read := os.read(source, _READ)):
            break
        *lines, last = read.split(b"\n")
        for line in lines:
            yield b"".join((*parts, line))
            parts.clear()
        parts.append(last)
    yield b"".join(parts)


def _leave(_number: int, _frame: object) -> NoReturn:
    """End in order on SIGTERM: its sender expects no more replies."""
    raise SystemExit(0)


def _header_value(value: str) -> str:
    """``value`` as a header can carry it: visible ASCII unchanged, anything else in Base64."""
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
