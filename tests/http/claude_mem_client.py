"""Requests as claude-mem 13.25's own clients send them, recorded at a worker of ours.

``HOOKS`` is one session of Claude Code as the hooks tell it, under Bun; ``NODE`` are the headers
of the MCP server. None of them sends a token.
"""

from __future__ import annotations

from typing import Any

from aiohttp import ClientResponse
from http_worker import Client

BUN = {"User-Agent": "Bun/1.4.5", "Accept": "*/*"}
NODE = {
    "User-Agent": "node", "Accept": "*/*", "Accept-Language": "*", "Sec-Fetch-Mode": "cors",
}  # fmt: skip
SESSION = "11111111-2222-3333-4444-555555555555"
_OF_SESSION = {"contentSessionId": SESSION, "platformSource": "claude"}
INIT = {**_OF_SESSION, "project": "harbour", "prompt": "Please mend the tide gauge of the pier"}
TOOL = {
    **_OF_SESSION,
    "tool_name": "Bash",
    "tool_input": {"command": "pytest -k gauge"},
    "tool_response": {"stdout": "1 failed", "stderr": ""},
    "cwd": "/gone/harbour",
    "tool_use_id": "toolu_01",
}
EDIT = {
    **TOOL,
    "tool_name": "Edit",
    "tool_input": {"file_path": "/gone/harbour/gauge.py", "old_string": "a", "new_string": "b"},
    "tool_response": {"filePath": "/gone/harbour/gauge.py"},
    "tool_use_id": "toolu_02",
}
SUMMARY = {
    **_OF_SESSION,
    "last_assistant_message": "The gauge counts every wave now.",
    "observedBilling": "unknown",
}
END = {**_OF_SESSION, "reason": "other", "cwd": "/gone/harbour"}
HOOKS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("/api/sessions/init", INIT),
    ("/api/sessions/observations", TOOL),
    ("/api/sessions/observations", EDIT),
    ("/api/sessions/summarize", SUMMARY),
    ("/api/sessions/session-end", END),
)


async def send(client: Client, path: str, body: Any, **headers: str) -> ClientResponse:
    """POST as a hook does."""
    return await client.post(path, json=body, headers={**BUN, **headers})
