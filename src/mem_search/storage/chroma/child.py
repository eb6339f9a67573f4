"""The process that holds Chroma: run as a script by ``launch``, never imported by mem-search.

It calls the server inside Chroma's native library without importing ``chromadb`` (60 ms instead
of a second). It asks the kernel to end it together with the worker that started it. The server
never releases the interpreter, so no Python thread could watch the worker. Where the kernel cannot
help (macOS), the next worker ends a stale child (``directory``).

Chroma's server checks no token. With ``--door`` the process therefore moves into a network
namespace of its own, in which no other program can connect, where the system allows that. A small
second process connects to the server there and passes each connected socket through the door: a
socket stays in the namespace in which it was made (network_namespaces(7)).
"""

from __future__ import annotations

import argparse
import ctypes
import fcntl
import os
import signal
import socket
import struct
import sys
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 0x1
_IFREQ = "16sh14x"


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
        if refusal := _isolation_refused():
            door.send(refusal.encode())
        else:
            _isolate()
            _open_door(door, options.host, options.port)
            door.send(b"isolated")
        door.close()
    _end_with(options.parent, signal.SIGTERM)

    from chromadb_rust_bindings import cli

    address = ["--host", options.host, "--port", str(options.port)]
    cli(["chroma", "run", "--path", options.path, *address])


def _end_with(parent: int, sign: signal.Signals) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, sign, 0, 0, 0)
    # The parent may have ended before the request above: then no signal would come.
    if os.getppid() != parent:
        sys.exit("the process that started this one has ended")


def _isolation_refused() -> str:
    """Why this process cannot have a network of its own; empty when it can.

    A process that failed halfway could not return, so another one tries first. Some systems
    allow the namespace and then refuse everything in it.
    """
    reader, writer = os.pipe()
    if os.fork() == 0:
        refusal = ""
        try:
            _isolate()
        except Exception as error:  # noqa: BLE001  whatever it is, it is the answer
            refusal = str(error) or type(error).__name__
        os.write(writer, refusal.encode()[:500])
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as answer:
        refusal = answer.read().decode()
    os.wait()
    return refusal


def _isolate() -> None:
    """Move into a new network namespace with a working loopback. Raises OSError."""
    user, group = os.geteuid(), os.getegid()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET) == 0:
        # Files keep their owner: each id stands for itself (user_namespaces(7)).
        for name, ids in (
            ("setgroups", "deny"),
            ("uid_map", f"{user} {user} 1"),
            ("gid_map", f"{group} {group} 1"),
        ):
            Path(f"/proc/self/{name}").write_text(ids, "ascii")
    elif libc.unshare(_CLONE_NEWNET) != 0:  # root may do this where user namespaces are off
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    with socket.socket() as any_socket:
        asked = struct.pack(_IFREQ, b"lo", 0)
        _, flags = struct.unpack(_IFREQ, fcntl.ioctl(any_socket, _SIOCGIFFLAGS, asked))
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack(_IFREQ, b"lo", flags | _IFF_UP))


def _open_door(door: socket.socket, host: str, port: int) -> None:
    """Start the process that answers requests for connections, until the worker or Chroma ends."""
    server = os.getpid()
    if os.fork():
        return
    _end_with(server, signal.SIGKILL)
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
