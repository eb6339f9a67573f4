"""A worker of another machine, which ``--url`` or ``MEM_SEARCH_URL`` names: through a tunnel.

``http://127.0.0.1:PORT`` is a port that ``ssh -L`` forwards, ``unix:/PATH`` a socket. Such a worker
cannot prove itself as one of this machine does (``daemon/connection.py``), because its key stays
there. So the other end has to be a program of this user, or of root: who holds the port after the
tunnel has ended gets no token. Only ``MEM_SEARCH_TOKEN`` is sent, never that of a home here.
"""

from __future__ import annotations

import os
import socket
import time
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

from mem_search.daemon.connection import url_host
from mem_search.errors import Forbidden, InputError, Misdirected, Unavailable
from mem_search.platform.sockets import (
    owner_of_socket,
    owner_of_unix,
    packed,
    tells_owners,
)

VARIABLE = "MEM_SEARCH_URL"
_PATIENCE_SECONDS = 20.0
_ACCEPTED_SECONDS = 5.0
_HOW = (
    "forward a port or a socket by ssh, and write http://127.0.0.1:PORT or unix:/PATH:"
    " mem-search help containers"
)


@dataclass(frozen=True, slots=True)
class Remote:
    """Where the tunnel begins here: a ``path`` of a Unix socket, else ``host`` and ``port``."""

    host: str
    port: int
    path: str = ""

    def __str__(self) -> str:
        return f"unix:{self.path}" if self.path else f"http://{url_host(self.host)}:{self.port}"

    @classmethod
    def of(cls, url: str) -> Remote:
        """Raises InputError for what is no such place, and for one that is not of this machine."""
        if url.startswith("unix:"):
            return cls("localhost", 80, os.path.abspath(url.removeprefix("unix:")))  # noqa: PTH100
        try:
            parts = urlsplit(url)
            host, port = parts.hostname or "", parts.port or 80
            is_local = host == "localhost" or ip_address(host).is_loopback
        except ValueError:
            host, is_local = "", False
        if not host or parts.scheme != "http" or parts.path not in ("", "/") or not is_local:
            raise InputError(f"{url!r} is no tunnel of this machine; {_HOW}", field="url")
        return cls("127.0.0.1" if host == "localhost" else host, port)

    @property
    def asked(self) -> str:
        """The worker's own name for itself, where the same port is forwarded, or its socket."""
        return f"127.0.0.1:{self.port}"

    def misdirected(self, error: Misdirected) -> Misdirected:
        """The error in words of a tunnel: a worker answers to its own port alone."""
        return Misdirected(
            f"the worker has another port than {self} ({error.message.partition(', or add')[0]});"
            " forward that port to the same one here, or its socket: ssh -L"
            " /PATH/HERE:/home/YOU/.mem-search/worker.sock SERVER"
        )

    def connected(self) -> socket.socket:
        """A connection to a program of this user. Raises Unavailable, or Forbidden."""
        family = socket.AF_UNIX if self.path else socket.AF_INET6 if ":" in self.host else None
        opened = socket.socket(family or socket.AF_INET)
        opened.settimeout(_PATIENCE_SECONDS)
        try:
            opened.connect(self.path or (self.host, self.port))
            owner = self._owner(opened)
        except OSError as error:
            opened.close()
            raise Unavailable(
                f"nothing answers at {self} ({error.strerror or error}); is the tunnel open?"
            ) from error
        if owner not in (os.geteuid(), 0) and not (owner is None and not self._is_told):
            opened.close()
            raise Forbidden(f"{self} is held by another user of this machine; nothing was sent")
        opened.settimeout(None)
        return opened

    @property
    def _is_told(self) -> bool:
        return bool(self.path) or tells_owners()

    def _owner(self, opened: socket.socket) -> int | None:
        if self.path:
            return owner_of_unix(opened)
        if not tells_owners():
            return None
        (here, port), (there, to_port) = opened.getsockname()[:2], opened.getpeername()[:2]
        ends = packed(there), to_port, packed(here), port
        deadline = time.monotonic() + _ACCEPTED_SECONDS
        # A connection is nobody's until the program at its other end accepts it.
        while (owner := owner_of_socket(ends)) is None and time.monotonic() < deadline:
            time.sleep(0.01)
        return owner


def chosen() -> Remote | None:
    """The worker that the environment names; None for that of this machine. Raises InputError."""
    url = os.environ.get(VARIABLE, "")
    return Remote.of(url) if url else None


def without_tokens_of(sent: dict[str, str]) -> dict[str, str]:
    """Headers with the token of the environment, and with none of a home of this machine."""
    kept = {name: value for name, value in sent.items() if name != "Authorization"}
    token = os.environ.get("MEM_SEARCH_TOKEN", "")
    return {**kept, "Authorization": f"Bearer {token}"} if token else kept
