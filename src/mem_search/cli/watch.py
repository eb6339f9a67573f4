"""Waiting for the worker without a limit, as long as it is alive.

A long job may take minutes, and a worker that hangs never answers: only the worker's health tells
the two apart. While a request waits, a thread asks for it beside.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from mem_search.daemon.connection import LOOK_SECONDS, NoAnswer, Place, is_alive


@contextmanager
def watched(connection: socket.socket, place: Place) -> Iterator[None]:
    """Wait on ``connection`` in the block. Raises NoAnswer when the worker stops answering."""
    done, gone = threading.Event(), threading.Event()

    def look() -> None:
        while not done.wait(LOOK_SECONDS):
            if not is_alive(place) and not done.is_set():
                gone.set()
                _end(connection)
                return

    thread = threading.Thread(target=look, name="watch", daemon=True)
    thread.start()
    try:
        yield
    except Exception as error:
        if gone.is_set():
            raise NoAnswer from error
        raise
    finally:
        done.set()
    if gone.is_set():  # a body that ends early is no error to http.client
        raise NoAnswer


def _end(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # it has ended by itself
