"""The relay's connection to the worker, which it finds or starts.

Connections stay open. A request is repeated once when the worker was restarted in between, which
is safe because all MCP tools only read.
"""

from __future__ import annotations

import http.client
import os
import threading
from collections.abc import Mapping
from typing import NamedTuple

from mem_search.daemon.address import address, home_of

_ROUTE = "/mcp"
_SECONDS = 120.0


class WorkerUnreachable(Exception):
    """The worker cannot be reached; the text says why and the next step."""


class Answer(NamedTuple):
    """The reply of the worker; the body is empty where MCP has no reply."""

    status: int
    body: bytes
    is_json_rpc: bool


class Worker:
    """The worker of one home; every thread has its own connection."""

    def __init__(self, home: str, token: str) -> None:
        self._home = home
        self._token = token
        self._starting = threading.Lock()
        self._local = threading.local()

    @classmethod
    def of_home(cls) -> Worker:
        """The worker of the home that the environment names, with the token of that home."""
        home = home_of(os.environ.get("MEM_SEARCH_HOME"))
        return cls(home, os.environ.get("MEM_SEARCH_TOKEN") or _token_in(home))

    def post(self, body: bytes, headers: Mapping[str, str]) -> Answer:
        """Post a message. Raises WorkerUnreachable when there is no worker, or it failed twice."""
        try:
            return self._send(body, headers)
        except TimeoutError as error:
            self._disconnect()
            raise WorkerUnreachable(
                f"no answer in {_SECONDS:g} s; see: mem-search worker logs"
            ) from error
        except (OSError, http.client.HTTPException):
            self._disconnect()
        try:
            return self._send(body, headers)
        except (OSError, http.client.HTTPException) as error:
            self._disconnect()
            raise WorkerUnreachable(
                f"the connection to the worker broke ({error}); see: mem-search worker logs"
            ) from error

    def _send(self, body: bytes, headers: Mapping[str, str]) -> Answer:
        connection = self._connection()
        connection.request("POST", _ROUTE, body, {**self._headers(), **headers})
        with connection.getresponse() as reply:
            content = reply.read()
            kind = reply.headers.get_content_type()
        return Answer(reply.status, content, kind == "application/json")

    def _connection(self) -> http.client.HTTPConnection:
        kept: http.client.HTTPConnection | None = getattr(self._local, "connection", None)
        if kept is None:
            kept = http.client.HTTPConnection(*self._address(), timeout=_SECONDS)
            self._local.connection = kept
        return kept

    def _disconnect(self) -> None:
        kept: http.client.HTTPConnection | None = getattr(self._local, "connection", None)
        if kept is not None:
            kept.close()
        self._local.connection = None

    def _address(self) -> tuple[str, int]:
        with self._starting:
            return address(self._home) or self._start()

    def _start(self) -> tuple[str, int]:
        # Heavier than everything else here, and rarely needed.
        from mem_search.daemon.control import start
        from mem_search.errors import MemSearchError
        from mem_search.settings import Settings

        try:
            settings = Settings.read()
            state, _ = start(settings)
        except MemSearchError as error:
            raise WorkerUnreachable(f"there is no worker: {error.message}") from error
        return address(self._home) or (settings.host, state.port)

    def _headers(self) -> dict[str, str]:
        headers = {
            "Accept": "application/json",
            "Content-Type": "application/json",
            "User-Agent": "mem-search",
        }
        return {**headers, "Authorization": f"Bearer {self._token}"} if self._token else headers


def _token_in(home: str) -> str:
    """The token of the home; empty without one, which is enough for reading."""
    try:
        with open(os.path.join(home, "token"), encoding="utf-8") as file:  # noqa: PTH118, PTH123
            return file.read().strip()
    except (OSError, UnicodeDecodeError):
        return ""
