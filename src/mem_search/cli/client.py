"""The HTTP client of every command, and how its errors are reported."""

from __future__ import annotations

import http.client
import json
import os
import secrets
import signal
import socket
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final
from urllib.parse import urlencode

from mem_search import errors
from mem_search.cli.output import note
from mem_search.cli.remote import Remote, chosen, without_tokens_of
from mem_search.cli.search_options import flag_of
from mem_search.cli.watch import watched
from mem_search.daemon.connection import (
    NoAnswer,
    Place,
    Unproved,
    address,
    connect,
    headers,
    is_outdated,
    url_host,
)
from mem_search.daemon.control import Starting, is_starting, no_answer, no_proof, running, start
from mem_search.errors import InputError, MemSearchError, StorageError, Unavailable
from mem_search.settings import Settings

TEXT: Final = "text/plain"
JSON: Final = "application/json"
NDJSON: Final = "application/x-ndjson"
ANY_FILE: Final = "application/octet-stream"

_ENDING_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

Pairs = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Client:
    """A client of one worker; ``Client.of(settings)`` finds or starts it.

    An ``anonymous`` one sends no token: what it asks is not logged. A ``remote`` one asks the
    worker of another machine.
    """

    place: Place
    settings: Settings
    anonymous: bool = False
    remote: Remote | None = None

    @classmethod
    def of(cls, settings: Settings, *, may_start: bool = True) -> Client:
        """A client of the worker of this home. Raises Unavailable when there is none.

        One of an older version is replaced, unless it ``may_start`` none.
        """
        if (remote := chosen()) is not None:
            return cls((remote.host, remote.port, ""), settings, remote=remote)
        home = str(settings.home)
        place = address(home)
        if may_start and (place is None or is_outdated(home)):
            start(settings, note)
            place = address(home)
        elif place is None:
            running(settings)  # tells one that is starting
        if place is None:
            raise Unavailable(f"no worker of {home} is running; run: mem-search worker start")
        return cls(place, settings)

    def text(self, path: str, pairs: Pairs = (), shown: str = "") -> bytes:
        """``GET`` as plain text, for the terminal that ``output.screen`` tells of."""
        with self._send("GET", path, pairs, accept=TEXT, shown=shown) as reply:
            return reply.read()

    def json(self, method: str, path: str, pairs: Pairs = (), body: object = None) -> Any:
        """Any method with JSON in both directions; None for an empty reply."""
        data = None if body is None else json.dumps(body).encode()
        with self._send(method, path, pairs, body=data, content=JSON) as reply:
            answer = reply.read()
        return json.loads(answer) if answer else None

    def raw(self, path: str, pairs: Pairs = ()) -> bytes:
        """``GET`` as JSON, undecoded."""
        with self._send("GET", path, pairs) as reply:
            return reply.read()

    def file(self, path: str, pairs: Pairs = ()) -> tuple[bytes, http.client.HTTPMessage]:
        """``GET`` a file: its content and the headers."""
        with self._send("GET", path, pairs, accept="*/*") as reply:
            return reply.read(), reply.headers

    def stream(self, path: str, pairs: Pairs = ()) -> Iterator[bytes]:
        """``GET`` in pieces as they arrive. Raises Unavailable when the connection breaks."""
        with self._send("GET", path, pairs, accept=NDJSON) as reply:
            while piece := reply.read(65536):
                yield piece

    @contextmanager
    def download(self, path: str, pairs: Pairs = ()) -> Iterator[tuple[int, Iterator[bytes]]]:
        """``GET`` a large file: its size in bytes, 0 for unknown, and its pieces as they arrive."""
        with self._send("GET", path, pairs, accept="*/*") as reply:

            def pieces() -> Iterator[bytes]:
                while piece := reply.read(65536):
                    yield piece
                if reply.length:  # who stops reading before its end, as `head` does, is not told
                    raise Unavailable("the worker ended meanwhile; see: mem-search worker logs")

            yield reply.length or 0, pieces()

    def upload(
        self,
        path: str,
        file: IO[bytes] | Iterable[bytes],
        pairs: Pairs = (),
        content: str = ANY_FILE,
    ) -> Any:
        """``POST`` a file, or a form with one, without holding it in memory."""
        with self._send("POST", path, pairs, body=file, content=content) as reply:
            return json.loads(reply.read())

    @contextmanager
    def _send(
        self,
        method: str,
        path: str,
        pairs: Pairs,
        *,
        accept: str = JSON,
        shown: str = "",
        content: str = "",
        body: bytes | IO[bytes] | Iterable[bytes] | None = None,
    ) -> Iterator[http.client.HTTPResponse]:
        """The reply, to be read in the block, which may take as long as the worker is alive."""
        sent = {"Accept": accept, **headers(str(self.settings.home))}
        if self.remote is not None:
            sent = {**without_tokens_of(sent), "Host": self.remote.asked}
        if self.anonymous:
            sent.pop("Authorization", None)
        if body is not None:
            sent["Content-Type"] = content
        if shown:
            sent["X-Terminal"] = shown
        target = f"{path}?{urlencode(pairs, errors='replace')}" if pairs else path
        opening = Starting(self.settings, note)
        repeatable = body is None or isinstance(body, bytes)
        while True:
            with self._exchange(method, target, sent, body) as reply:
                if reply.status < 400:
                    yield reply
                    return
                error = _problem(reply)
            starting = error.status == 503 and getattr(error, "code", "") == "starting"
            if self.remote is not None and isinstance(error, errors.Misdirected):
                raise self.remote.misdirected(error)
            if not (starting and repeatable and self.remote is None) or opening.is_late:
                raise error
            opening.look(answers=True)
            time.sleep(0.1)

    @contextmanager
    def _exchange(
        self,
        method: str,
        target: str,
        sent: dict[str, str],
        body: bytes | IO[bytes] | Iterable[bytes] | None,
    ) -> Iterator[http.client.HTTPResponse]:
        """One request and its reply, after the proof of the worker. Raises Unavailable."""
        connection = http.client.HTTPConnection(*self.place[:2])
        try:
            connection.sock = self._connected()
            watching = watched(connection.sock, self.place) if not self.remote else nullcontext()
            with watching:
                connection.request(method, target, body, sent)
                with connection.getresponse() as reply:
                    yield reply
        except NoAnswer:
            raise no_answer(self.settings) from None
        except Unproved:
            raise no_proof(self.place) from None
        except (OSError, http.client.HTTPException) as error:
            if self.remote is not None:
                raise Unavailable(
                    f"the connection to {self.remote} broke ({error}); is the tunnel open?"
                ) from error
            raise Unavailable(
                f"the connection to the worker at {url_host(self.place[0])}:{self.place[1]} broke "
                f"({error}); see: mem-search worker status"
            ) from error
        finally:
            connection.close()

    def _connected(self) -> socket.socket:
        """A connection after the proof; waits for a worker that starts. Raises as ``connect``."""
        if self.remote is not None:
            return self.remote.connected()
        try:
            return socket.socket(fileno=connect(self.place).detach())
        except NoAnswer:
            if not is_starting(self.settings):
                raise
        start(self.settings, note)
        return socket.socket(fileno=connect(self.place).detach())


def _problem(reply: http.client.HTTPResponse) -> MemSearchError:
    """The error that the worker raised; Unavailable for a reply that is no problem of ours."""
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
    # Codes that only HTTP has, such as method_not_allowed, are mapped by their status.
    by_status = [cls for cls in tree if cls.status == status]
    fallback = errors.InputError if 400 <= status < 500 else MemSearchError
    return (by_code or by_status or [fallback])[0]


def open_client(*, may_start: bool = True) -> Client:
    """A client for the home that the environment names. Raises Unavailable, InputError."""
    return Client.of(Settings.read(), may_start=may_start)


def report(error: MemSearchError) -> int:
    """Print the error to standard error and return the exit code."""
    message = error.message
    if error.field and isinstance(error, InputError):
        flag = flag_of(error.field)
        reason = message.removeprefix(f"{error.field}: ")
        # The worker names the parameter; the reader knows the option.
        message = reason if flag in reason else f"{flag}: {reason}"
    note(f"mem-search: {message}")
    return error.exit_code


@contextmanager
def part_of(target: Path) -> Iterator[tuple[Path, IO[bytes]]]:
    """A file that becomes ``target`` when the block ends.

    It vanishes when the block fails, and when a signal ends the program: Ctrl-C runs no block.
    """
    part = target.with_name(f".{target.name}.{secrets.token_hex(4)}")

    def ended(number: int, _frame: object) -> None:
        part.unlink(missing_ok=True)
        os._exit(128 + number)

    before = {number: signal.signal(number, ended) for number in _ENDING_SIGNALS}
    try:
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "wb") as sink:
            yield part, sink
        part.rename(target)
    except OSError as error:
        raise StorageError(f"cannot write {target}: {error.strerror or error}") from error
    finally:
        part.unlink(missing_ok=True)
        for number, handler in before.items():
            signal.signal(number, handler)
