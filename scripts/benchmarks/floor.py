"""The parts of a search called bare: no worker, no threads, nothing in between.

The floor of a search is the cost of its parts alone: embed the query while the full-text
statement runs, then query the index, then read the records of the page.
"""

from __future__ import annotations

import math
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path

from figures import timed
from process import free_port

from mem_search.contracts import Embedder
from mem_search.embedders import open_embedder
from mem_search.retrievers.vector import OVERFETCH, SPARE
from mem_search.search.pipeline import DEPTH
from mem_search.storage.chroma import child
from mem_search.storage.chroma.connection import Connection
from mem_search.storage.chroma.wire import SocketWire, dial
from mem_search.storage.sql import records, statistics
from mem_search.storage.sqlite import words as word_index
from mem_search.storage.sqlite.connection import _PRAGMAS, SqliteConnection
from mem_search.text import words

PAGE = 20


@dataclass(frozen=True)
class Parts:
    """Milliseconds of each part of one search."""

    embed: float
    fulltext: float
    chroma: float
    hydrate: float

    @property
    def floor(self) -> float:
        return max(self.embed, self.fulltext) + self.chroma + self.hydrate


@contextmanager
def chroma(data: Path) -> Iterator[int]:
    """A Chroma over ``data`` that anybody can reach; yields its port at 127.0.0.1.

    The worker's own lives in a network that nobody else can enter.
    """
    port = free_port()
    options = {"path": data, "host": "127.0.0.1", "port": port, "parent": os.getpid()}
    command = [sys.executable, "-P", child.__file__, *(f"--{k}={v}" for k, v in options.items())]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield port
    finally:
        process.terminate()
        process.wait()


class Floor:
    """The same store, model and vectors that the worker uses, reached directly."""

    def __init__(self, home: Path, embedder: str, chroma_port: int) -> None:
        self._embedder: Embedder = open_embedder(embedder, home / "models")
        self._db = sqlite3.connect(
            home / "mem-search.db", isolation_level=None, factory=SqliteConnection
        )
        self._db.executescript(_PRAGMAS)
        self._chroma = Connection(
            partial(SocketWire, dial("127.0.0.1", chroma_port)),
            f"passages-{sha256(self._embedder.fingerprint.encode()).hexdigest()[:12]}",
            about={},
            timeout=30,
            made=lambda: None,
        )

        asked = math.ceil(SPARE * statistics.corpus(self._db).entries_per_record * DEPTH)
        self._wanted = min(OVERFETCH * DEPTH, asked)

    def measure(self, text: str) -> Parts:
        """Each part once, with the numbers that the product itself requests."""
        vector, embed = timed(lambda: self._embedder.embed([text]))
        query = words.any_of(words.read(text))
        found, matching = timed(lambda: word_index.scores(self._db, query) if query else None)
        _, chroma = timed(lambda: self._chroma.query(vector, self._wanted))
        best = found[0][(-found[1]).argsort()[:PAGE]].tolist() if found else []
        numbers = [self._owner(passage) for passage in best]
        _, hydrate = timed(lambda: records.fetch(self._db, numbers))
        return Parts(embed, matching, chroma, hydrate)

    def _owner(self, passage: int) -> int:
        (number,) = self._db.execute(
            "select record_id from passages where id = ?", (passage,)
        ).fetchone()
        return int(number)

    def close(self) -> None:
        self._chroma.close()
        self._db.close()
