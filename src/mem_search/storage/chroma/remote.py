"""A Chroma server that somebody else runs: watched, never started or stopped.

Its address is a setting, so a wrong address is reported as an error. For a server that is down the
index waits, because only the search by meaning is missing meanwhile.
"""

from __future__ import annotations

import asyncio
from functools import partial
from urllib.parse import urlsplit

from mem_search.errors import IndexUnavailable, InputError
from mem_search.storage.chroma.faults import ServerFault, Unreachable
from mem_search.storage.chroma.official import OfficialConnection, load
from mem_search.storage.chroma.server import Opened, Server, heartbeat

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
        self._headers = token_headers(token)
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
        await asyncio.to_thread(load)
        while True:
            self._reported.clear()
            try:
                await asyncio.to_thread(heartbeat, self._url, self._headers, timeout=_PATIENCE)
                await opened(partial(OfficialConnection, self._url, self._headers))
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
