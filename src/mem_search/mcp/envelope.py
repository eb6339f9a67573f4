"""Whether a body is one JSON-RPC message that the SDK's transport routes rightly.

The transport tells the eras of the protocol apart by a header alone: a message of 2026-07-28,
which says its version inside, would pass for an old one where the header is missing. And what is
no message at all it answers in two different ways. Both are settled here, before it is asked.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
HEADER_MISMATCH: Final = -32020
VERSION_HEADER: Final = "mcp-protocol-version"
VERSION_KEY: Final = "io.modelcontextprotocol/protocolVersion"


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with a body, as a JSON-RPC error; HTTP says 400."""

    code: int
    message: str
    id: str | int | None = None

    def json(self) -> bytes:
        error = {"code": self.code, "message": self.message}
        return json.dumps({"jsonrpc": "2.0", "id": self.id, "error": error}).encode()


def fault_in(body: bytes, headers: Mapping[str, str]) -> Fault | None:
    """The first fault of a body; None for a message. ``headers`` by their lower-case names."""
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        return Fault(PARSE_ERROR, "Parse error: the body is not JSON")
    if not isinstance(message, dict):
        return Fault(INVALID_REQUEST, "Invalid request: send one JSON object; there are no batches")
    number = message.get("id")
    known = number if isinstance(number, str | int) and not isinstance(number, bool) else None
    if message.get("jsonrpc") != "2.0":
        return Fault(INVALID_REQUEST, 'Invalid request: jsonrpc has to be "2.0"', known)
    if "id" in message and known is None:
        return Fault(INVALID_REQUEST, "Invalid request: id has to be a string or an integer")
    if "result" in message or "error" in message:
        return None  # a reply to a question that was never asked: taken, and dropped
    if not isinstance(message.get("method"), str):
        return Fault(INVALID_REQUEST, "Invalid request: method has to be a string", known)
    if not isinstance(message.get("params", {}), dict):
        return Fault(INVALID_REQUEST, "Invalid request: params has to be an object", known)
    return _version_fault(message, headers, known)


def _version_fault(
    message: dict[str, Any], headers: Mapping[str, str], number: str | int | None
) -> Fault | None:
    meta = message.get("params", {}).get("_meta")
    said = meta.get(VERSION_KEY) if isinstance(meta, dict) else None
    if said is None or headers.get(VERSION_HEADER) == said:
        return None
    return Fault(
        HEADER_MISMATCH, f"the header MCP-Protocol-Version does not say {str(said)[:40]!r}", number
    )
