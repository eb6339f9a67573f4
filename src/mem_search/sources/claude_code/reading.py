"""Reading what is new in one transcript file, and saying what was taken and what left."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from mem_search.model import Draft, LedgerEntry
from mem_search.sources.claude_code.following import (
    LONGEST_LINE,
    Incomplete,
    Place,
    complete_lines,
)
from mem_search.sources.claude_code.lines import decode
from mem_search.sources.claude_code.places import is_elsewhere, session_of
from mem_search.sources.claude_code.transcript import Identify, Transcript

_FAILURES = 20
"""Broken lines that the ledger names one by one; further ones are counted."""

_HEAD = 50
"""Lines at the start of a session among which one tells its directory."""


class Reading:
    """One look into one file; ``place`` and ``state`` say how far it came."""

    def __init__(
        self,
        name: str,
        path: Path,
        identify: Identify,
        place: Place,
        state: Mapping[str, Any] | None,
    ) -> None:
        self.place = place
        self.ledger: list[LedgerEntry] = []
        self._name = name
        self._path = path
        self._identify = identify
        self._stored = state
        self._transcript = Transcript(identify, state)
        self._left: Counter[str] = Counter()
        self._records = 0
        self._copies: dict[str, bool] = {}

    @property
    def state(self) -> dict[str, Any]:
        """The state of the fold at ``place``."""
        return self._transcript.state

    def steps(self) -> Iterator[list[Draft]]:
        """The drafts of each new line, at last of what is open. Raises OSError.

        Between two steps ``place`` and ``state`` belong together and can be stored. The
        ledger is complete at the end.
        """
        with self._path.open("rb") as file:
            if self._stored is None or not self.place.continues_in(file):
                self._start_over()
            status = os.fstat(file.fileno())
            self.place.inode, self.place.modified = status.st_ino, status.st_mtime_ns
            self.place.size = -1  # until the end is reached, the file is not done with
            start = self.place.offset
            end = Incomplete()
            for raw in complete_lines(file, self.place, end):
                yield self._counted(self._line(raw))
            yield self._counted(self._transcript.rest())
            self.place.size = status.st_size
            self._conclude(consumed=self.place.offset > start, waiting=end.waiting)

    def _start_over(self) -> None:
        parent = session_of(self._path)
        self.place = Place()
        self._transcript = Transcript(self._identify, cwd=_first_cwd(parent) if parent else "")

    def _line(self, raw: bytes | None) -> Iterator[Draft]:
        if raw is None:
            self._fails(f"longer than {LONGEST_LINE} bytes")
            return
        if not raw.strip():
            return
        try:
            value = json.loads(raw.decode("utf-8"))  # else bytes are guessed to be UTF-16
        except (ValueError, RecursionError) as error:
            self._fails(f"cannot be decoded: {error}")
            return
        if not isinstance(value, dict):
            self._fails("cannot be decoded: not a JSON object")
            return
        line = decode(value, self.place.line)
        if self._is_copy(line.session):
            self._left["line of another session's transcript"] += 1
            return
        if line.left:
            self._left[line.left] += 1
        yield from self._transcript.feed(line)

    def _counted(self, drafts: Iterator[Draft]) -> list[Draft]:
        counted = list(drafts)
        self._records += len(counted)
        return counted

    def _is_copy(self, session: str) -> bool:
        if session not in self._copies:
            self._copies[session] = is_elsewhere(self._path, session)
        return self._copies[session]

    def _fails(self, reason: str) -> None:
        number = self.place.line
        self._left["line that cannot be decoded"] += 1
        if self._left["line that cannot be decoded"] <= _FAILURES:
            item = f"{self._name}:{number}"
            self.ledger.append(LedgerEntry(item, "failed", f"line {number} {reason}"))

    def _conclude(self, *, consumed: bool, waiting: bool) -> None:
        left = ", ".join(f"{reason} ×{count}" for reason, count in sorted(self._left.items()))
        if self._records:
            reason = f"left out: {left}" if left else ""
            self.ledger.append(LedgerEntry(self._name, "taken", reason, self._records))
        elif consumed:
            reason = "no prompts or work in it" + (f" ({left})" if left else "")
            self.ledger.append(LedgerEntry(self._name, "left", reason))
        if waiting:
            item = f"{self._name}:{self.place.line + 1}"
            self.ledger.append(LedgerEntry(item, "left", "incomplete line, waits for the rest"))


def _first_cwd(path: Path) -> str:
    """The directory that a session began in, by the first lines of its transcript."""
    with path.open("rb") as file:
        for raw in islice(complete_lines(file, Place(), Incomplete()), _HEAD):
            try:
                value = json.loads(raw or b"null")
            except (ValueError, RecursionError):
                continue  # the reading of that file reports it
            if isinstance(value, dict) and (cwd := decode(value, 0).cwd):
                return cwd
    return ""
