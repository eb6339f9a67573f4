"""What every command shares: the settings, the client, and how an error is told."""

from __future__ import annotations

import http.client
import json
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Any, Final
from urllib.parse import urlencode

from mem_search import errors
from mem_search.cli.fast_path import with_timezone
from mem_search.cli.search_options import flag_of
from mem_search.daemon.address import address
from mem_search.daemon.control import start
from mem_search.errors import InputError, MemSearchError, Unavailable
from mem_search.settings import Settings

TEXT: Final = "text/plain"
JSON: Final = "application/json"
NDJSON: Final = "application/x-ndjson"
ANY_FILE: Final = "application/octet-stream"

_SECONDS = 60.0
_STARTING_SECONDS = 15.0

Pairs = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Client:
    """One worker. ``Client.of(settings)`` finds it or starts it."""

    host: str
    port: int
    token: str

    @classmethod
    def of(cls, settings: Settings, *, may_start: bool = True) -> Client:
        """The client of this home's worker. Raises Unavailable when there is none."""
        place = address(str(settings.home))
        if place is None:
            if not may_start:
                raise Unavailable(
                    f"no worker of {settings.home} is running; run: mem-search worker start"
                )
            state, _ = start(settings)
            place = address(str(settings.home)) or (settings.host, state.port)
        token = settings.token
        if not token and settings.token_file.is_file():
            token = settings.token_file.read_text("utf-8").strip()
        return cls(*place, token)

    def text(self, path: str, pairs: Pairs = ()) -> bytes:
        """``GET`` as the text that people read."""
        with self._ask("GET", path, pairs, accept=TEXT) as reply:
            return reply.read()

    def json(self, method: str, path: str, pairs: Pairs = (), body: object = None) -> Any:
        """Any method, JSON both ways; None for an empty answer."""
        data = None if body is None else json.dumps(body).encode()
        with self._ask(method, path, pairs, body=data, content=JSON) as reply:
            answer = reply.read()
        return json.loads(answer) if answer else None

    def raw(self, path: str, pairs: Pairs = ()) -> bytes:
        """``GET`` as JSON, not decoded."""
        with self._ask("GET", path, pairs) as reply:
            return reply.read()

    def file(self, path: str, pairs: Pairs = ()) -> tuple[bytes, http.client.HTTPMessage]:
        """``GET`` what is to be kept as it is, and its headers."""
        with self._ask("GET", path, pairs, accept="*/*") as reply:
            return reply.read(), reply.headers

    def stream(self, path: str, pairs: Pairs = ()) -> Iterator[bytes]:
        """``GET`` in pieces, as they come. Raises Unavailable when it breaks off."""
        with self._ask("GET", path, pairs, accept=NDJSON) as reply:
            try:
                while piece := reply.read(65536):
                    yield piece
            except (OSError, http.client.HTTPException) as error:
                raise Unavailable(f"the worker broke off in the middle: {error}") from error

    def upload(self, path: str, file: IO[bytes] | Iterable[bytes], pairs: Pairs = ()) -> Any:
        """``POST`` a file without holding it in memory."""
        with self._ask("POST", path, pairs, body=file, content=ANY_FILE) as reply:
            return json.loads(reply.read())

    def _ask(
        self,
        method: str,
        path: str,
        pairs: Pairs,
        *,
        accept: str = JSON,
        content: str = "",
        body: bytes | IO[bytes] | Iterable[bytes] | None = None,
    ) -> http.client.HTTPResponse:
        headers = {"Accept": accept, "User-Agent": "mem-search"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        if body is not None:
            headers["Content-Type"] = content
        target = f"{path}?{urlencode(pairs, errors='replace')}" if pairs else path
        deadline = time.monotonic() + _STARTING_SECONDS
        while True:
            reply = self._once(method, target, headers, body)
            if reply.status < 400:
                return reply
            with reply:
                error = _problem(reply)
            repeatable = body is None or isinstance(body, bytes)
            starting = error.status == 503 and getattr(error, "code", "") == "starting"
            if not (starting and repeatable) or time.monotonic() > deadline:
                raise error
            time.sleep(0.1)

    def _once(
        self,
        method: str,
        target: str,
        headers: dict[str, str],
        body: bytes | IO[bytes] | Iterable[bytes] | None,
    ) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection(self.host, self.port, timeout=_SECONDS)
        try:
            connection.request(method, target, body, headers)
            return connection.getresponse()
        except TimeoutError as error:
            connection.close()
            raise Unavailable(
                f"the worker did not answer in {_SECONDS:g} s; see: mem-search worker logs"
            ) from error
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise Unavailable(
                f"cannot reach the worker at {self.host}:{self.port} ({error}); "
                "see: mem-search worker status"
            ) from error


def _problem(reply: http.client.HTTPResponse) -> MemSearchError:
    """The error that the worker raised; a plain Unavailable for an answer that is not ours."""
    try:
        problem = json.loads(reply.read())
        code, detail = str(problem["code"]), str(problem["detail"])
    except (ValueError, KeyError, TypeError, http.client.HTTPException, OSError):
        return Unavailable(f"the worker answered {reply.status} {reply.reason}")
    error = _class_of(code, reply.status)(detail, field=problem.get("field"))
    error.code = code
    return error


def _class_of(code: str, status: int) -> type[MemSearchError]:
    known = [value for value in vars(errors).values() if isinstance(value, type)]
    tree = [cls for cls in known if issubclass(cls, MemSearchError)]
    by_code = [cls for cls in tree if cls.code == code]
    # A code of the HTTP surface alone, such as method_not_allowed, is known by its status.
    by_status = [cls for cls in tree if cls.status == status]
    fallback = errors.InputError if 400 <= status < 500 else MemSearchError
    return (by_code or by_status or [fallback])[0]


def open_client(*, may_start: bool = True) -> Client:
    """The worker of the home that the environment names. Raises Unavailable, InputError."""
    return Client.of(Settings.read(), may_start=may_start)


def local(pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """``pairs`` and where this terminal is."""
    return with_timezone(pairs)


def note(text: str) -> None:
    """Tell the person something that is no result."""
    sys.stderr.write(f"{text}\n")


def report(error: MemSearchError) -> int:
    """Say what went wrong on standard error; returns the exit code."""
    message = error.message
    if error.field and isinstance(error, InputError):
        flag = flag_of(error.field)
        named = message.removeprefix(f"{error.field}: ")
        # The worker speaks of parameters; whoever typed an option should read its name.
        message = named if flag in named else f"{flag}: {named}"
    note(f"mem-search: {message}")
    return error.exit_code
