"""Who answers at a port: the worker of this home, another worker, or another program."""

from __future__ import annotations

import http.client
import json
from dataclasses import dataclass

from mem_search.agents.neighbours import neighbour_in, neighbour_named
from mem_search.errors import Conflict

SERVICE = "mem-search"


@dataclass(frozen=True, slots=True)
class Answer:
    """``service`` is empty when the program is not known; only workers send the next three.

    ``state`` is ``starting``, ``ok`` or ``failed``; ``status`` is the HTTP status.
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


def probe(host: str, port: int, timeout: float = 2.0) -> Answer | None:
    """The answer to ``GET /api/health``; None when there is none in ``timeout`` seconds."""
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
        health = json.loads(body)
    except ValueError:
        health = None
    if not isinstance(health, dict):
        return Answer(server=server, status=reply.status)
    pid = health.get("pid")
    return Answer(
        service=str(health.get("service") or neighbour_in(health)),
        instance=str(health.get("instance_id") or ""),
        pid=pid if isinstance(pid, int) else 0,
        state=str(health.get("status") or ""),
        server=server,
        status=reply.status,
    )


def port_conflict(host: str, port: int) -> Conflict:
    """The error for a port in use: by whom, and what to do.

    It is never the worker of this home: the caller holds the lock of that.
    """
    other = probe(host, port)
    hint = "choose another with MEM_SEARCH_PORT or --port; 0 takes any free port"
    if other is None:
        who = "a program that does not speak HTTP"
    elif other.is_worker:
        who = f"the mem-search worker of another home (pid {other.pid})"
    elif (neighbour := neighbour_named(other.service)) is not None:
        who = f"{neighbour.name}'s worker (pid {other.pid}), {neighbour.also}"
        hint = neighbour.hint
    else:
        name = other.service or other.server
        who = f"another program ({name or 'an HTTP server'}, status {other.status})"
    return Conflict(f"port {port} is taken by {who}; {hint}", field="port")
