"""The process that holds Chroma: run as a script by ``launch``, never imported by mem-search.

It calls the server inside Chroma's native library without importing ``chromadb`` (60 ms instead
of a second). It ends together with the worker that started it: the kernel sees to that, or, where
it cannot (macOS), a second process that waits for the end of the standard input. The server never
releases the interpreter, so no Python thread could watch the worker.

Chroma's server checks no token. With ``--door`` the process therefore moves into a network
namespace of its own, in which no other program can connect, where the system allows that. A small
second process connects to the server there and passes each connected socket through the door: a
socket stays in the namespace in which it was made (network_namespaces(7)).
"""

from __future__ import annotations

import argparse
import os
import signal
import socket

from mem_search.platform.namespaces import isolate, isolation_refused
from mem_search.platform.processes import end_with_parent


def main() -> None:
    """Serve ``--path`` on ``--host``:``--port`` until SIGTERM."""
    parser = argparse.ArgumentParser(prog="mem-search-chroma")
    for name in ("path", "host"):
        parser.add_argument(f"--{name}", required=True)
    for name in ("port", "parent"):
        parser.add_argument(f"--{name}", required=True, type=int)
    parser.add_argument("--door", type=int)
    options = parser.parse_args()
    if options.door is not None:
        door = socket.socket(fileno=options.door)
        if refusal := isolation_refused():
            door.send(refusal.encode())
        else:
            isolate()
            _open_door(door, options.host, options.port)
            door.send(b"isolated")
        door.close()
    end_with_parent(options.parent, signal.SIGTERM)

    from chromadb_rust_bindings import cli

    address = ["--host", options.host, "--port", str(options.port)]
    cli(["chroma", "run", "--path", options.path, *address])


def _open_door(door: socket.socket, host: str, port: int) -> None:
    """Start the process that answers requests for connections, until the worker or Chroma ends."""
    server = os.getpid()
    if os.fork():
        return
    end_with_parent(server)
    while request := door.recv(64):
        connected = socket.socket()
        try:
            connected.connect((host, port))
            socket.send_fds(door, [request], [connected.fileno()])
        except OSError as error:
            door.send(request + (error.strerror or str(error)).encode())
        finally:
            connected.close()
    os._exit(0)


if __name__ == "__main__":
    main()
