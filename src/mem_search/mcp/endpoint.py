"""One HTTP request to one reply: runs the SDK's transport without a server of its own.

The transport is an ASGI application: a request becomes its scope, and its reply is collected. It
is loaded with the first request, in a thread, so that searches continue meanwhile.
"""

from __future__ import annotations

import asyncio
import importlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from mem_search.errors import Unavailable
from mem_search.patterns import pattern

if TYPE_CHECKING:
    from mem_search.mcp.tool import ToolContext

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
HEADER_MISMATCH: Final = -32020
VERSION_HEADER: Final = "mcp-protocol-version"
_HALF_PAIR: Final = pattern("[\ud800-\udfff]")
VERSION_KEY: Final = "io.modelcontextprotocol/protocolVersion"


@dataclass(frozen=True, slots=True)
class Fault:
    """The error of a body, as a JSON-RPC error with HTTP status 400."""

    code: int
    message: str
    id: str | int | None = None

    def json(self) -> bytes:
        error = {"code": self.code, "message": self.message}
        return json.dumps({"jsonrpc": "2.0", "id": self.id, "error": error}).encode()


@dataclass(frozen=True, slots=True)
class Message:
    """A message as the SDK reads it, and its id as the client wrote it."""

    body: bytes
    id: str | int | None = None

    def answered(self, reply: bytes) -> bytes:
        """``reply`` with the client's id, where the SDK could not read it."""
        if not isinstance(self.id, str) or self.id.isascii() or not reply:
            return reply
        return json.dumps({**json.loads(reply), "id": self.id}).encode()


def read(body: bytes, headers: Mapping[str, str]) -> Message | Fault:
    """The message of a body, or its first error. ``headers`` has lower-case names.

    Half a surrogate pair, which JSON can write and UTF-8 cannot, becomes U+FFFD; without that the
    SDK refuses the message without its id. A null for the parameters, or one in ``_meta``, is
    absence.
    """
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        return Fault(PARSE_ERROR, "Parse error: the body is not JSON")
    if not isinstance(message, dict):
        return Fault(INVALID_REQUEST, "Invalid request: send one JSON object; there are no batches")
    params = message.get("params", {})
    if params is None:
        del message["params"]
    elif isinstance(params, dict) and isinstance(meta := params.get("_meta"), dict):
        params["_meta"] = {name: value for name, value in meta.items() if value is not None}
    number = message.get("id")
    if isinstance(number, float) and number.is_integer():
        number = message["id"] = int(number)
    known = number if isinstance(number, str | int) and not isinstance(number, bool) else None
    fault = _fault_in(message, headers, known)
    if fault is not None:
        return fault
    readable = _HALF_PAIR.sub("\ufffd", json.dumps(message, ensure_ascii=False))
    return Message(readable.encode(), known)


def _fault_in(
    message: dict[str, Any], headers: Mapping[str, str], known: str | int | None
) -> Fault | None:
    if message.get("jsonrpc") != "2.0":
        return Fault(INVALID_REQUEST, 'Invalid request: jsonrpc has to be "2.0"', known)
    if "id" in message and known is None:
        return Fault(INVALID_REQUEST, "Invalid request: id has to be a string or an integer")
    if "result" in message or "error" in message:
        return None  # a reply without a request: accepted and dropped
    if not isinstance(message.get("method"), str):
        return Fault(INVALID_REQUEST, "Invalid request: method has to be a string", known)
    if not isinstance(message.get("params", {}), dict):
        return Fault(INVALID_REQUEST, "Invalid request: params has to be an object", known)
    return _version_fault(message, headers, known)


def _version_fault(
    message: dict[str, Any], headers: Mapping[str, str], number: str | int | None
) -> Fault | None:
    meta = message.get("params", {}).get("_meta")
    version = meta.get(VERSION_KEY) if isinstance(meta, dict) else None
    if version is None or headers.get(VERSION_HEADER) == version:
        return None
    return Fault(
        HEADER_MISMATCH,
        f"the header MCP-Protocol-Version does not say {str(version)[:40]!r}",
        number,
    )


Headers = Sequence[tuple[str, str]]
JSON = "application/json"


@dataclass(frozen=True, slots=True)
class Reply:
    """``headers`` with lower-case names, without the length."""

    status: int
    body: bytes
    headers: Headers = ()


class Endpoint:
    """The MCP server of one worker; ``module`` has its ``build``, ``manager`` and ``CONTEXT``."""

    def __init__(self, module: str = "mem_search.mcp.server") -> None:
        self._module = module
        self._loading = asyncio.Lock()
        self._leave = asyncio.Event()
        self._manager: Any = None
        self._key = ""
        self._holding: asyncio.Task[None] | None = None

    async def answer(self, headers: Headers, body: bytes, context: ToolContext) -> Reply:
        """The reply to ``POST /mcp``. Raises Unavailable when the SDK cannot be loaded."""
        message = read(body, {name.lower(): value for name, value in headers})
        if isinstance(message, Fault):
            return Reply(400, message.json(), (("content-type", JSON),))
        if self._manager is None:
            await self._load()
        exchange = _Exchange(message.body)
        scope = {**_scope(headers), self._key: context}
        await self._manager.handle_request(scope, exchange.receive, exchange.send)
        reply = exchange.reply()
        return replace(reply, body=message.answered(reply.body))

    async def close(self) -> None:
        """Cancel running requests."""
        self._leave.set()
        if self._holding is not None:
            await self._holding

    async def _load(self) -> None:
        async with self._loading:
            if self._manager is not None:
                return
            try:
                server = await asyncio.to_thread(importlib.import_module, self._module)
            except ImportError as error:
                raise Unavailable(
                    f"MCP cannot be loaded ({error}); install mem-search again"
                ) from error
            self._key = server.CONTEXT
            self._manager = await self._start(server.manager(server.build()))

    async def _start(self, manager: Any) -> Any:
        running = asyncio.Event()
        self._holding = asyncio.create_task(self._hold(manager, running), name="mcp")
        waiting = asyncio.create_task(running.wait())
        await asyncio.wait((self._holding, waiting), return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        if self._holding.done():
            self._holding.result()  # raises the reason why it did not start
        return manager

    async def _hold(self, manager: Any, running: asyncio.Event) -> None:
        """Run the transport: one task has to enter and leave its task group."""
        async with manager.run():
            running.set()
            await self._leave.wait()


class _Exchange:
    """The ``receive`` and ``send`` of an ASGI application."""

    def __init__(self, body: bytes) -> None:
        self._body: bytes | None = body
        self._status = 500
        self._headers: Headers = ()
        self._pieces: list[bytes] = []

    async def receive(self) -> dict[str, Any]:
        """The whole body once; a second call waits for ever, since no disconnect is reported."""
        body, self._body = self._body, None
        if body is None:
            await asyncio.Event().wait()
        return {"type": "http.request", "body": body or b"", "more_body": False}

    async def send(self, message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self._status = int(message["status"])
            self._headers = [
                (name.decode("latin-1").lower(), value.decode("latin-1"))
                for name, value in message.get("headers", ())
            ]
        else:
            self._pieces.append(message.get("body", b""))

    def reply(self) -> Reply:
        kept = [pair for pair in self._headers if pair[0] != "content-length"]
        return Reply(self._status, b"".join(self._pieces), kept)


def _scope(headers: Headers) -> dict[str, Any]:
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": "/mcp",
        "raw_path": b"/mcp",
        "root_path": "",
        "query_string": b"",
        "headers": [
            (name.lower().encode("latin-1"), value.encode("utf-8", "surrogateescape"))
            for name, value in headers
        ],
        "client": None,
        "server": None,
    }
