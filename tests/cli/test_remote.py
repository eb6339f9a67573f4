"""``mem-search --url``: the worker at the other end of a tunnel, with its token and no other."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from homes import Home, quick
from mem_search.cli import remote
from mem_search.cli.remote import Remote
from mem_search.errors import Forbidden, InputError, Unavailable
from mem_search.platform import IS_LINUX

STORED = (
    '{"kind": "note", "source_id": "1", "title": "Harbour", "text": "The bridge opens at nine."}\n'
)


class Tunnel:
    """Forwards connections to a port, as ``ssh -L`` does; ``sent`` is what went through."""

    def __init__(self, listener: socket.socket, to: int | str) -> None:
        self.listener, self._to, self.sent = listener, to, bytearray()
        listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self.listener.accept()
                far = socket.socket(socket.AF_UNIX if isinstance(self._to, str) else socket.AF_INET)
                far.connect(self._to if isinstance(self._to, str) else ("127.0.0.1", self._to))
                threading.Thread(target=self._pump, args=(near, far, True), daemon=True).start()
                threading.Thread(target=self._pump, args=(far, near, False), daemon=True).start()

    def _pump(self, source: socket.socket, target: socket.socket, keep: bool) -> None:
        with source, contextlib.suppress(OSError):
            while piece := source.recv(65536):
                if keep:
                    self.sent += piece
                target.sendall(piece)
            target.shutdown(socket.SHUT_WR)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    home = quick(tmp_path_factory.mktemp("server"))
    home.ok("import", "jsonl", "-", given=STORED)
    yield home
    home.end()


def token_of(home: Home) -> str:
    return (home.path / "token").read_text().strip()


def port_of(home: Home) -> int:
    return int(str(home.worker()["url"]).rpartition(":")[2])


@pytest.mark.worker
@pytest.mark.skipif(not IS_LINUX, reason="127.0.0.2 is an address of Linux alone")
def test_a_forwarded_port_answers_with_its_token_and_starts_nothing_here(
    server: Home, tmp_path: Path
) -> None:
    here = quick(tmp_path)
    here.path.mkdir()
    (here.path / "token").write_text("of-this-machine")
    with socket.create_server(("127.0.0.2", port_of(server))) as listener:  # the same port
        tunnel = Tunnel(listener, port_of(server))
        url = f"http://127.0.0.2:{listener.getsockname()[1]}"
        found = here.run("--url", url, "search", "bridge", MEM_SEARCH_TOKEN=token_of(server))
        assert "Harbour" in found.stdout, found.stderr
        told = here.run("stats", MEM_SEARCH_URL=url)
        assert told.stdout.startswith("1 record"), told.stderr
        added = here.run(
            "import", "jsonl", "-", MEM_SEARCH_URL=url, MEM_SEARCH_TOKEN=token_of(server),
            given=STORED.replace('"1"', '"2"'),
        )  # fmt: skip
        assert "1 new" in added.stdout, added.stderr
        assert b"of-this-machine" not in tunnel.sent
    assert not (here.path / "worker.json").exists()


@pytest.mark.worker
def test_a_forwarded_socket_answers(server: Home, tmp_path: Path) -> None:
    here, place = quick(tmp_path), tmp_path / "s"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(place))
        Tunnel(listener, str(server.path / "worker.sock"))
        found = here.run(
            "--url", f"unix:{place}", "search", "bridge", MEM_SEARCH_TOKEN=token_of(server)
        )
        assert "Harbour" in found.stdout, found.stderr


@pytest.mark.worker
def test_another_port_than_that_of_the_worker_is_told_with_what_to_forward(
    server: Home, tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        Tunnel(listener, port_of(server))
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        refused = quick(tmp_path).run("--url", url, "search", "bridge")
    assert f"ask for 127.0.0.1:{port_of(server)}" in refused.stderr
    assert "worker.sock" in refused.stderr


@pytest.mark.worker
def test_a_closed_tunnel_is_told(tmp_path: Path) -> None:
    here = quick(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    refused = here.run("--url", f"http://127.0.0.1:{port}", "search", "bridge")
    assert "is the tunnel open?" in refused.stderr
    assert refused.returncode


def test_a_port_of_another_user_gets_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "owner_of_socket", lambda _: os.geteuid() + 1)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        place = Remote.of(f"http://127.0.0.1:{listener.getsockname()[1]}")
        with pytest.raises(Forbidden, match="held by another user"):
            place.connected()


@pytest.mark.parametrize(
    "url", ["http://example.org", "https://127.0.0.1:1", "127.0.0.1:4000", "http://[::1", "ssh://x"]
)
def test_what_is_no_tunnel_is_refused(url: str) -> None:
    with pytest.raises(InputError, match="forward a port"):
        Remote.of(url)


def test_a_socket_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="is the tunnel open"):
        Remote.of(f"unix:{tmp_path}/none").connected()
