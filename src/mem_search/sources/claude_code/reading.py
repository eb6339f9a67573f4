"""Reading what is new in one transcript file, and saying what was taken and what left."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from mem_search.model import Draft, LedgerEntry
from mem_search.sources.claude_code.account import Account
from mem_search.sources.claude_code.following import (
    LONGEST_LINE,
    Incomplete,
    Place,
    complete_lines,
)
from mem_search.sources.claude_code.lines import decode
from mem_search.sources.claude_code.places import is_elsewhere, session_of
from mem_search.sources.claude_code.transcript import Identify, Transcript

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
        self.afresh = False
        self._name = name
        self._path = path
        self._identify = identify
        self._stored = state
        self._transcript = Transcript(identify, state)
        self._account = Account((state or {}).get("account"))
        self._copies: dict[str, bool] = {}

    @property
    def state(self) -> dict[str, Any]:
        """The state of the fold at ``place``, and the account of it."""
        return {**self._transcript.state, "account": self._account.value}

    def steps(self) -> Iterator[list[Draft]]:
        """The drafts of each new line, at last of what is open. Raises OSError.

        Between two steps ``place``, ``state`` and ``ledger`` belong together and can be
        stored. What is open in a file that was cut short is not told: more was known of it.
        """
        with self._path.open("rb") as file:
            if self._stored is None or not self.place.continues_in(file):
                self._start_over(file)
            status = os.fstat(file.fileno())
            self.place.inode, self.place.modified = status.st_ino, status.st_mtime_ns
            self.place.size = -1  # until the end is reached, the file is not done with
            end = Incomplete()
            for raw in complete_lines(file, self.place, end):
                drafts = list(self._line(raw))
                self._account.gives(drafts)
                yield drafts
            still_open = list(self._transcript.rest())
            self._account.ends_with(still_open)
            self.place.size = status.st_size
            self.ledger.append(self._account.entry(self._name, self.place, waiting=end.waiting))
            yield [] if self.place.is_cut_short else still_open

    def _start_over(self, file: BinaryIO) -> None:
        parent = session_of(self._path)
        self.afresh = True
        self.place = self.place.start(file)
        self._transcript = Transcript(self._identify, cwd=_first_cwd(parent) if parent else "")
        self._account = Account()

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
            self._account.leaves("line of another session's transcript")
            return
        if line.left:
            self._account.leaves(line.left)
        yield from self._transcript.feed(line)

    def _is_copy(self, session: str) -> bool:
        if session not in self._copies:
            self._copies[session] = is_elsewhere(self._path, session)
        return self._copies[session]

    def _fails(self, reason: str) -> None:
        self.ledger += self._account.fails(self._name, self.place.line, reason)


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
