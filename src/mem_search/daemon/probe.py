"""Who answers at a port: this home's worker, another one, or something foreign."""

from __future__ import annotations

import http.client
import json
from dataclasses import dataclass

from mem_search.errors import Conflict

SERVICE = "mem-search"


@dataclass(frozen=True, slots=True)
class Answer:
    """``service`` is empty when what answers does not say; the next three are a worker's alone.

    ``state`` of a worker is ``starting``, ``ok`` or ``failed``; ``status`` is that of HTTP.
    """

    service: str = ""
    instance: str = ""
    pid: int = 0
    state: str = ""
    server: str = ""
    status: int = 0

    @property
    def is_worker(self) -> bool:
        return self.service == SERVICE


def ask(host: str, port: int, timeout: float = 2.0) -> Answer | None:
    """Ask ``GET /api/health``; None when nobody answers in ``timeout`` seconds."""
    connection = http.client.HTTPConnection(host, port, timeout=timeout)
    try:
        connection.request("GET", "/api/health", headers={"Accept": "application/json"})
        reply = connection.getresponse()
        body = reply.read(65536)
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()
    server = reply.getheader("Server") or ""
    try:
        said = json.loads(body)
    except ValueError:
        said = None
    if not isinstance(said, dict):
        return Answer(server=server, status=reply.status)
    pid = said.get("pid")
    return Answer(
        service=str(said.get("service") or ""),
        instance=str(said.get("instance_id") or ""),
        pid=pid if isinstance(pid, int) else 0,
        state=str(said.get("status") or ""),
        server=server,
        status=reply.status,
    )


def conflict(host: str, port: int) -> Conflict:
    """The port is taken: say by whom, and the way out.

    Never by this home's own worker: whoever binds a port holds the lock of its home.
    """
    found = ask(host, port)
    hint = "choose another with MEM_SEARCH_PORT or --port; 0 takes any free one"
    if found is None:
        who = "something that does not speak HTTP"
    elif found.is_worker:
        who = f"the mem-search worker of another home (pid {found.pid})"
    else:
        name = found.service or found.server
        who = f"another program ({name or 'an HTTP server'}, status {found.status})"
    return Conflict(f"port {port} is taken by {who}; {hint}", field="port")
