"""Which events of hooks are being taken, in a file, so that the next worker knows over what this
one died.

The file is written before events are read, and removed when they were: it outlives a worker that is
killed. Events over which one died are taken one at a time from then on, so that the second death
names the one that is the cause. That one is set aside, and kept.
"""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from mem_search.errors import NO_ROOM

log = logging.getLogger(__name__)

MAX_DEATHS: Final = 2

MAX_GROUP: Final = 200
MAX_GROUP_BYTES: Final = 20 * 2**20
"""Events that are in memory together."""


class SuspectEvents:
    """``deaths``: the name of an event → how many workers died over it. Its methods block."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._now: Counter[str] = Counter()
        self.deaths: dict[str, int] = {}

    def remember(self) -> None:
        """Count a death for each event that the last worker was taking."""
        try:
            found = json.loads(self._file.read_bytes())
            self.deaths = {str(name): int(count) for name, count in found["deaths"].items()}
            for name in found["now"]:
                self.deaths[str(name)] = self.deaths.get(str(name), 0) + 1
        except FileNotFoundError:
            return
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            log.warning("%s says nothing that can be read: %s", self._file, error)
        self._write()

    def to_set_aside(self) -> list[str]:
        """The events over which the worker died too often."""
        return [name for name, count in self.deaths.items() if count >= MAX_DEATHS]

    def forget(self, names: Iterable[str]) -> None:
        """Count their deaths from zero again."""
        for name in names:
            self.deaths.pop(name, None)
        self._write()

    def in_groups(self, sizes: Mapping[str, int]) -> Iterator[list[str]]:
        """Groups that are taken together: of those over which nobody died; the others alone.

        ``sizes`` has each event with its bytes.
        """
        group, size = list[str](), 0
        for name in sizes:
            if name not in self.deaths:
                group, size = [*group, name], size + sizes[name]
            if len(group) == MAX_GROUP or size > MAX_GROUP_BYTES:
                yield group
                group, size = [], 0
        if group:
            yield group
        yield from ([name] for name in sizes if name in self.deaths)

    @contextmanager
    def taking(self, names: Collection[str]) -> Iterator[None]:
        """Around what is done with the events: a worker that dies within it died over them."""
        self._now.update(names)
        self._write()
        try:
            yield
        finally:
            self._now.subtract(names)
            self._now += Counter()  # without those of which nothing is left
            self.forget(name for name in names if name not in self._now)

    def _write(self) -> None:
        try:
            if self._now or self.deaths:
                said = {"now": sorted(self._now), "deaths": self.deaths}
                self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._file.write_text(json.dumps(said))
            else:
                self._file.unlink(missing_ok=True)
        except OSError as error:
            if error.errno not in NO_ROOM:
                raise
            log.warning("cannot write %s: %s", self._file, error)
