"""Whose the other end of a connection is: only what is found, whole, and held counts."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from mem_search.http.access import browsers
from mem_search.platform import IS_LINUX, sockets
from mem_search.platform.sockets import Ends, owner_of_socket, packed

pytestmark = pytest.mark.skipif(not IS_LINUX, reason="only Linux tells whose a socket is")

WAYS = {
    "ipv4": (socket.AF_INET, "127.0.0.1", socket.AF_INET, "127.0.0.1"),
    "ipv6": (socket.AF_INET6, "::1", socket.AF_INET6, "::1"),
    "mapped": (socket.AF_INET, "127.0.0.1", socket.AF_INET6, "::ffff:127.0.0.1"),
    "both": (socket.AF_INET6, "::", socket.AF_INET, "127.0.0.1"),
    "both mapped": (socket.AF_INET6, "::", socket.AF_INET6, "::ffff:127.0.0.1"),
}


@pytest.fixture(params=["kernel", "tables"])
def source(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Where it is looked up; in the tables only where the kernel cannot be asked."""
    if request.param == "tables":
        monkeypatch.setattr(sockets, "_SOCK_DIAG", 31)  # no such protocol
    else:
        monkeypatch.setattr(sockets, "_tables", lambda: pytest.fail("the kernel was not asked"))
    return str(request.param)


@contextmanager
def connected() -> Iterator[Ends]:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as client,
        server.accept()[0],
    ):
        local = packed("127.0.0.1")
        yield local, client.getsockname()[1], local, server.getsockname()[1]


@pytest.fixture(params=WAYS)
def ends(request: pytest.FixtureRequest) -> Iterator[tuple[Ends, socket.socket, socket.socket]]:
    """A connection: its ends, the client and what the server accepted."""
    family, host, client_family, to = WAYS[request.param]
    with ExitStack() as stack:
        server = stack.enter_context(
            socket.create_server((host, 0), family=family, dualstack_ipv6=host == "::")
        )
        client = stack.enter_context(socket.socket(client_family))
        client.connect((to, server.getsockname()[1]))
        accepted = stack.enter_context(server.accept()[0])
        peer, own = accepted.getpeername(), accepted.getsockname()
        yield (packed(peer[0]), peer[1], packed(own[0]), own[1]), client, accepted


def test_the_user_of_a_connected_socket_is_found(
    ends: tuple[Ends, socket.socket, socket.socket], source: str
) -> None:
    where, client, _ = ends
    assert owner_of_socket(where) == os.getuid()
    client.shutdown(socket.SHUT_WR)
    assert owner_of_socket(where) == os.getuid()


def test_a_socket_that_no_process_holds_any_more_is_nobodys(
    ends: tuple[Ends, socket.socket, socket.socket], source: str
) -> None:
    where, client, accepted = ends
    client.close()  # what is left of it would be root's: it has the user 0
    assert owner_of_socket(where) is None
    accepted.close()
    assert owner_of_socket(where) is None


@pytest.mark.parametrize("part", range(4))
def test_a_socket_is_found_by_all_of_its_ends_alone(part: int) -> None:
    with connected() as where:
        other = list(where)
        other[part] = packed("127.0.0.2") if part in (0, 2) else 9
        assert owner_of_socket(where) is not None
        assert owner_of_socket(tuple(other)) is None  # type: ignore[arg-type]


def test_a_listening_socket_is_no_peer(source: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert owner_of_socket((packed("127.0.0.1"), port, packed("127.0.0.1"), 9)) is None


class Accepted:
    """What the worker knows of a connection that it accepted."""

    def __init__(self, accepted: socket.socket) -> None:
        self._known = {
            "socket": accepted, "peername": accepted.getpeername(),
            "sockname": accepted.getsockname(),
        }  # fmt: skip

    def get_extra_info(self, name: str) -> object:
        return self._known[name]


def test_who_gets_the_port_of_a_connection_that_was_reset_is_not_its_peer(source: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, ExitStack() as stack:
        # An address of its own, on which no other process takes the port meanwhile.
        left = socket.create_connection(server.getsockname(), source_address=("127.11.13.17", 0))
        place = left.getsockname()
        reset = Accepted(stack.enter_context(server.accept()[0]))
        left.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        left.close()
        next_one = stack.enter_context(socket.socket())
        next_one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        next_one.bind(place)
        next_one.connect(server.getsockname())
        now = Accepted(stack.enter_context(server.accept()[0]))
        assert browsers.peer_user(reset) is None  # type: ignore[arg-type]
        assert browsers.peer_user(now) == os.getuid()  # type: ignore[arg-type]


def test_nothing_readable_is_nobodys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sockets, "_SOCK_DIAG", 31)
    monkeypatch.setattr(sockets, "_PROC", tmp_path)
    with connected() as where:
        assert owner_of_socket(where) is None


@pytest.mark.parametrize(
    ("uid_map", "stranger"),
    [("0 0 4294967295\n", None), ("0 1000 1\n", 65533), ("0 1000 1\n1 100000 65536\n", 65533),
     (None, 65534)],
)  # fmt: skip
def test_the_user_who_stands_for_all_others_of_a_namespace_is_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, uid_map: str | None, stranger: int | None
) -> None:
    if uid_map is not None:
        for name, text in (("self/uid_map", uid_map), ("sys/kernel/overflowuid", "65533\n")):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
    monkeypatch.setattr(sockets, "_PROC", tmp_path)
    sockets.stranger.cache_clear()
    assert sockets.stranger() == stranger
    sockets.stranger.cache_clear()
