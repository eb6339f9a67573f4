"""What the worker is reading, in a file, so that the next worker knows over what this one died.

The file is written before each item: one ``pwrite`` of some microseconds, never synchronized. So
it outlives the process (kill -9, a crash, too little memory), which is all it is for. An item over
which the worker died ``MAX_DEATHS`` times in a row is set aside: without that, the worker would
die again at each start.
"""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from mem_search.model import Location
from mem_search.text.redaction import redact

log = logging.getLogger(__name__)

MAX_DEATHS: Final = 2


class Place(NamedTuple):
    """An item of a location, or "" while it is not known; ``done`` is the progress before it."""

    source: str
    path: str
    item: str
    done: int
    by_job: bool

    def __str__(self) -> str:
        item = f" {self.item}" if self.item else f" after {self.done}" if self.done else ""
        return f"{self.source} {self.path}{item}"


class Mark(Protocol):
    """Called before each item of a location."""

    def __call__(self, item: str, done: int) -> None: ...


class CrashMark:
    """``deaths``: place → how many workers in a row died over it."""

    def __init__(self, file: Path) -> None:
        self._path = file
        self._file: int | None = None
        self._now: dict[tuple[str, str], Place] = {}
        self._lock = threading.Lock()
        self.deaths: dict[Place, int] = {}
        with suppress(FileNotFoundError):
            self._remember(file.read_bytes())

    def _remember(self, written: bytes) -> None:
        """Every place that an earlier worker has not left has one death more."""
        try:
            state = json.loads(written.partition(b"\n")[0] or b"{}")
            self.deaths = {Place(*place): count for place, count in state.get("deaths", ())}
            for place in state.get("now", ()):
                self.deaths[Place(*place)] = self.deaths.get(Place(*place), 0) + 1
        except (ValueError, TypeError, AttributeError) as error:
            log.warning("%s says nothing that can be read: %s", self._path, error)
        with self._lock:
            self._write()

    def set_aside(self, *, by_job: bool) -> list[Place]:
        """The places over which the worker died too often."""
        return [
            place
            for place, count in self.deaths.items()
            if count >= MAX_DEATHS and place.by_job == by_job
        ]

    def forget(self, place: Place) -> None:
        """Count its deaths from zero again."""
        with self._lock:
            self.deaths.pop(place, None)
            self._write()

    @contextmanager
    def reading(self, location: Location, *, by_job: bool) -> Iterator[Mark]:
        """Call what this gives with the item and the progress, before each item.

        When the whole location was read, its deaths are forgotten.
        """
        key = location.source, location.path

        def at(item: str, done: int) -> None:
            place = Place(*key, redact(item)[0], done, by_job)
            with self._lock:
                before = self._now.get(key)
                if before is not None and before != place:
                    self.deaths.pop(before, None)  # this time the worker lived
                self._now[key] = place
                self._write()

        try:
            yield at
            with self._lock:
                for place in [each for each in self.deaths if each[:2] == key]:
                    del self.deaths[place]
        finally:
            with self._lock:
                self._now.pop(key, None)
                self._write()

    def _write(self) -> None:
        """Write what is known; a disk that refuses is reported by the store, which needs it."""
        try:
            if not self._now and not self.deaths:
                self._close()
                self._path.unlink(missing_ok=True)
                return
            if self._file is None:
                self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT, 0o600)
            said: dict[str, Any] = {"now": list(self._now.values())}
            if self.deaths:
                said["deaths"] = list(self.deaths.items())
            # One write: what a longer text left behind the end of the line is never read.
            os.pwrite(self._file, json.dumps(said).encode() + b"\n", 0)
        except OSError as error:
            log.warning("cannot write %s: %s", self._path, error)
            self._close()

    def _close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None
