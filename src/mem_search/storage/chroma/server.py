"""A Chroma server as the index sees it: kept running in the background, with its state.

``process`` owns a child process; ``RemoteChroma`` watches a server that somebody else runs, and
never starts or stops it: its address is a setting, so a wrong one is reported as an error. Both are
tasks that end only with ``stop``. Only ``wait_ready`` waits for a server.
"""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final
from urllib.parse import urlsplit

from mem_search.errors import IndexUnavailable, InputError
from mem_search.storage.chroma.connection import (
    HEARTBEAT,
    Connect,
    Connection,
    ServerFault,
    Unreachable,
)
from mem_search.storage.vector_index import Protection, State

Opened = Callable[[Connect], Awaitable[None]]
"""Called with the way to a server that has just started; raises IndexUnavailable to refuse it."""

_log = logging.getLogger(__name__)


class Server(ABC):
    """``state`` and, unless it is ready, ``detail``: why not, and what happens next."""

    protection: Protection
    refusal: str = ""
    """Why there is no better protection than this one, in the words of the system."""

    def __init__(self) -> None:
        self.state: State = "down"
        self.detail: str = "the vector index was not started"
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self, opened: Opened) -> None:
        """Keep the server running from now on, also after it was given up. Returns at once."""
        if self._task is None or self._task.done():
            self._set("starting", "the vector index is starting")
            self._task = asyncio.create_task(self._run(opened), name="chroma")

    async def stop(self) -> None:
        """Disconnect from the server, or stop it if it is ours; ``start`` may follow."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None
        self.state, self.detail = "down", "the vector index is stopped"
        self._changed.set()

    def require_ready(self) -> None:
        """Raise IndexUnavailable with the reason, unless the server is ready."""
        if self.state != "ready":
            raise IndexUnavailable(self.detail)

    async def wait_ready(self, timeout: float) -> None:  # noqa: ASYNC109  the caller's patience
        """Return once it is ready; raise IndexUnavailable after ``timeout`` seconds."""
        try:
            async with asyncio.timeout(timeout):
                while self.state != "ready":
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise IndexUnavailable(self.detail) from None

    def revision(self) -> int | None:
        """A number that every write of Chroma's changes; None where it cannot be known."""
        return None

    @abstractmethod
    def check_after(self, fault: IndexUnavailable) -> None:
        """A call failed with ``fault``: check whether the server still works."""

    def replacement(self) -> Server | None:
        """A second server with empty files, to ``take_over``; None where the files are not ours."""
        return None

    def again(self) -> Server:
        """Another way to the same server, for a second collection."""
        raise IndexUnavailable("a server that is ours has one collection")

    @abstractmethod
    def take_over(self, other: Server) -> None:
        """Take the files of ``other``, which ``replacement`` made; both are stopped. Blocking.

        Raises IndexUnavailable where the files are not ours.
        """

    @abstractmethod
    async def _keep_up(self, opened: Opened) -> None:
        """Until cancelled: get a server, call ``opened``, wait until it fails, repeat."""

    async def _run(self, opened: Opened) -> None:
        try:
            await self._keep_up(opened)
        except Exception as error:  # noqa: BLE001  a defect of ours must not look like a slow start
            _log.exception("keeping Chroma up failed")
            self._set("down", f"the vector index failed: {error!r}; restart mem-search")

    def _set(self, state: State, detail: str = "") -> None:
        if (state, detail) != (self.state, self.detail):
            level = logging.WARNING if state == "down" else logging.INFO
            _log.log(level, "vector index %s", f"{state}: {detail}" if detail else state)
        self.state, self.detail = state, detail
        self._changed.set()


LOOPBACK: Final = {"127.0.0.1", "localhost", "::1"}
_KEPT_SECONDS: Final = 40.0
"""How long a connection stays open for the next search."""

_PATIENCE = 5.0
_MAX_WAIT_SECONDS = 30.0


class RemoteChroma(Server):
    """``url`` has http or https, host and port. Raises InputError for anything else."""

    protection = "server"

    def __init__(self, url: str, token: str = "") -> None:
        super().__init__()
        try:
            parts = urlsplit(url)
            usable = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
        except ValueError:
            usable = False
        if not usable:
            raise InputError(
                f"chroma_url cannot be {url!r}; write http(s)://host:port, or off",
                field="chroma_url",
            )
        self._url = url.rstrip("/")
        self._token = token
        self._reported = asyncio.Event()

    def check_after(self, fault: IndexUnavailable) -> None:
        if isinstance(fault, Unreachable | ServerFault):
            self._reported.set()

    def again(self) -> RemoteChroma:
        return RemoteChroma(self._url, self._token)

    def take_over(self, other: Server) -> None:
        raise IndexUnavailable(f"the files of the Chroma at {self._url} cannot be replaced")

    async def _keep_up(self, opened: Opened) -> None:
        wait = 0.5
        while True:
            self._reported.clear()
            try:
                await asyncio.to_thread(check, self._url, self._token, _PATIENCE)
                await opened(partial(Connection, partial(RemoteWire, self._url, self._token)))
            except IndexUnavailable as error:
                self._set("down", f"{error}; trying again every {_MAX_WAIT_SECONDS:.0f} s")
            else:
                wait = 0.5
                self._set("ready")
                await self._reported.wait()
                self._set("down", f"the Chroma at {self._url} failed; connecting again")
            await asyncio.sleep(wait)
            wait = min(wait * 2, _MAX_WAIT_SECONDS)


def token_headers(token: str) -> dict[str, str]:
    """The two headers in which servers, and proxies before them, expect a token."""
    return {"Authorization": f"Bearer {token}", "X-Chroma-Token": token} if token else {}


class RemoteWire:
    """HTTP with TLS, a token, and the proxies of the environment, except to this machine."""

    def __init__(self, url: str, token: str, timeout: float) -> None:
        import httpx  # who has no such server does not pay for it

        is_here = urlsplit(url).hostname in LOOPBACK
        self._errors = httpx.HTTPError, httpx.InvalidURL, RuntimeError  # the last once it is closed
        self._silence = httpx.TimeoutException
        self._client = httpx.Client(
            base_url=url,
            headers=token_headers(token),
            timeout=timeout,
            limits=httpx.Limits(keepalive_expiry=_KEPT_SECONDS),
            mounts={"http://": None, "https://": None} if is_here else None,
        )

    def request(self, method: str, path: str, content: bytes = b"") -> tuple[int, bytes]:
        """See ``Wire``."""
        headers = {"Content-Type": "application/json"} if content else None
        try:
            reply = self._client.request(method, path, content=content, headers=headers)
        except self._silence as error:
            raise TimeoutError(str(error)) from error
        except self._errors as error:
            raise ConnectionError(str(error) or type(error).__name__) from error
        return reply.status_code, reply.content

    def close(self) -> None:
        self._client.close()


def check(url: str, token: str, timeout: float) -> None:
    """Return if a Chroma answers at ``url``. Raises Unreachable, or IndexUnavailable when another
    program does.
    """
    wire = RemoteWire(url, token, timeout)
    try:
        status, reply = wire.request("GET", HEARTBEAT)
    except OSError as error:
        raise Unreachable(f"no Chroma answers at {url}: {error}") from error
    finally:
        wire.close()
    if status >= 300:
        raise IndexUnavailable(
            f"{url} answered {status} to a heartbeat; check MEM_SEARCH_CHROMA_URL"
        )
    if b"nanosecond heartbeat" not in reply:
        raise IndexUnavailable(f"the program at {url} is not Chroma; check MEM_SEARCH_CHROMA_URL")
