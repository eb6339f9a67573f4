"""A server that passes for the worker of a home: it holds its lock and proves its key."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from local_server import Handler, Server, serving
from mem_search import __version__
from mem_search.access.proof import CHALLENGE, PROOF, proof
from mem_search.daemon.state import WorkerState, write_state

KEY = "k" * 64


class Standin(Handler):
    """Proves itself; a test says what else it answers. ``key`` is what it proves with."""

    protocol_version = "HTTP/1.1"
    key = KEY

    def do_HEAD(self) -> None:
        self.send_response(200)
        port = self.server.server_address[1]
        self.send_header(PROOF, proof(self.key, self.headers[CHALLENGE] or "", port))
        self.end_headers()


@contextmanager
def standing_in(home: Path, handler: type[Standin]) -> Iterator[Server]:
    """``handler`` as the worker of ``home``, until the block ends."""
    home.mkdir(exist_ok=True)
    lock = os.open(home, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    with serving(handler) as server:
        place = (server.server_port, server.url)
        state = WorkerState(os.getpid(), *place, __version__, "", str(home), "", "", KEY)
        write_state(home / "worker.json", state)
        try:
            yield server
        finally:
            os.close(lock)
            (home / "worker.json").unlink()
