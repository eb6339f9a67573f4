"""The way from the relay to the worker: found or started, asked over connections that stay open.

A question is asked again once when the worker has gone in between: all that MCP asks is reading.
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


class Away(Exception):
    """The worker cannot be asked; the text says why and the next step."""


class Answer(NamedTuple):
    """What the worker answered; an empty body for what needs no reply."""

    status: int
    body: bytes
    is_json_rpc: bool


class Worker:
    """The worker of one home. Every thread has a connection of its own."""

    def __init__(self, home: str, token: str) -> None:
        self._home = home
        self._token = token
        self._starting = threading.Lock()
        self._own = threading.local()

    @classmethod
    def of_home(cls) -> Worker:
        """The one that the environment names, with the token it would be given."""
        home = home_of(os.environ.get("MEM_SEARCH_HOME"))
        return cls(home, os.environ.get("MEM_SEARCH_TOKEN") or _token_in(home))

    def post(self, body: bytes, headers: Mapping[str, str]) -> Answer:
        """Ask; raises Away when there is no worker, or it broke off twice."""
        try:
            return self._ask(body, headers)
        except TimeoutError as error:
            self._hang_up()
            raise Away(f"no answer in {_SECONDS:g} s; see: mem-search worker logs") from error
        except (OSError, http.client.HTTPException):
            self._hang_up()
        try:
            return self._ask(body, headers)
        except (OSError, http.client.HTTPException) as error:
            self._hang_up()
            raise Away(f"the worker broke off ({error}); see: mem-search worker logs") from error

    def _ask(self, body: bytes, headers: Mapping[str, str]) -> Answer:
        connection = self._connection()
        connection.request("POST", _ROUTE, body, {**self._always(), **headers})
        with connection.getresponse() as reply:
            content = reply.read()
            kind = reply.headers.get_content_type()
        return Answer(reply.status, content, kind == "application/json")

    def _connection(self) -> http.client.HTTPConnection:
        kept: http.client.HTTPConnection | None = getattr(self._own, "connection", None)
        if kept is None:
            kept = http.client.HTTPConnection(*self._place(), timeout=_SECONDS)
            self._own.connection = kept
        return kept

    def _hang_up(self) -> None:
        kept: http.client.HTTPConnection | None = getattr(self._own, "connection", None)
        if kept is not None:
            kept.close()
        self._own.connection = None

    def _place(self) -> tuple[str, int]:
        with self._starting:
            return address(self._home) or self._start()

    def _start(self) -> tuple[str, int]:
        # Heavier than all the rest together, and hardly ever needed.
        from mem_search.daemon.control import start
        from mem_search.errors import MemSearchError
        from mem_search.settings import Settings

        try:
            settings = Settings.read()
            state, _ = start(settings)
        except MemSearchError as error:
            raise Away(f"there is no worker: {error.message}") from error
        return address(self._home) or (settings.host, state.port)

    def _always(self) -> dict[str, str]:
        said = {
            "Accept": "application/json",
            "Content-Type": "application/json",
            "User-Agent": "mem-search",
        }
        return {**said, "Authorization": f"Bearer {self._token}"} if self._token else said


def _token_in(home: str) -> str:
    """The token of the home; reading needs none, so without one nothing is sent."""
    try:
        with open(os.path.join(home, "token"), encoding="utf-8") as file:  # noqa: PTH118, PTH123
            return file.read().strip()
    except (OSError, UnicodeDecodeError):
        return ""
