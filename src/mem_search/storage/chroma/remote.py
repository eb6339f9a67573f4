"""A Chroma server that somebody else runs, watched and never started or stopped.

Its address is a setting, so a wrong address is reported as an error. For a server that is down the
index waits, because only the search by meaning is missing meanwhile.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Final
from urllib.parse import urlsplit

from mem_search.errors import IndexUnavailable, InputError
from mem_search.storage.chroma.connection import HEARTBEAT, Connection, ServerFault, Unreachable
from mem_search.storage.chroma.server import Opened, Server

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
