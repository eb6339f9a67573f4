"""Connections to the worker, as bare sockets see them."""

from __future__ import annotations

import socket
import threading

import pytest

from mem_search.daemon.connection import connect


def test_who_closes_without_a_word_has_ended_and_is_no_other_program() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def accept_and_close() -> None:
            accepted, _ = server.accept()
            accepted.recv(4096)
            accepted.close()

        thread = threading.Thread(target=accept_and_close)
        thread.start()
        with pytest.raises(ConnectionResetError):
            connect(("127.0.0.1", server.getsockname()[1], "k" * 64))
        thread.join()
