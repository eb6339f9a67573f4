"""The relay's connection to the worker, which it finds or starts.

Connections stay open. A request is repeated once when the worker was restarted in between, which
is safe because all MCP tools only read.
"""

from __future__ import annotations

import http.client
import os
import socket
import threading
from collections.abc import Mapping
from typing import NamedTuple

from mem_search.cli.watch import watched
from mem_search.daemon.address import address, home_of, is_outdated, token_of
from mem_search.daemon.connection import NoAnswer, Place, Unproved, connect

_ROUTE = "/mcp"


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
        return cls(home, token_of(home))

    def post(self, body: bytes, headers: Mapping[str, str]) -> Answer:
        """Post a message. Raises WorkerUnreachable when there is no worker, or it failed twice."""
        for last in (False, True):
            try:
                return self._send(body, headers)
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

    def _send(self, body: bytes, headers: Mapping[str, str]) -> Answer:
        connection, place = self._connection()
        with watched(connection.sock, place):
            connection.request("POST", _ROUTE, body, {**self._headers(), **headers})
            with connection.getresponse() as reply:
                content = reply.read()
                kind = reply.headers.get_content_type()
        return Answer(reply.status, content, kind == "application/json")

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

    def _headers(self) -> dict[str, str]:
        headers = {
            "Accept": "application/json",
            "Content-Type": "application/json",
            "User-Agent": "mem-search",
        }
        return {**headers, "Authorization": f"Bearer {self._token}"} if self._token else headers
