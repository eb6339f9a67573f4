"""Reading what is new in one transcript file, and saying what was taken and what left."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Final

from mem_search.model import Draft, LedgerEntry
from mem_search.sources.claude_code.events import decode
from mem_search.sources.claude_code.tailing import (
    LONGEST_LINE,
    Incomplete,
    Place,
    complete_lines,
    is_elsewhere,
    session_of,
)
from mem_search.sources.claude_code.transcript import Identify, Transcript

_NAMED: Final = 20
"""Broken lines that the ledger names one by one; further ones are counted."""
_BROKEN: Final = "line that cannot be decoded"


class Account:
    """How many records a transcript gave, and what in it was left for which reason."""

    def __init__(self, stored: Mapping[str, Any] | None = None) -> None:
        stored = stored or {}
        self._records: int = stored.get("records", 0)
        self._left = Counter[str](stored.get("left", {}))
        self._open: set[str] = set(stored.get("open", ()))
        self._seen: set[str] = set()

    @property
    def value(self) -> dict[str, Any]:
        """What the next look needs to go on counting."""
        return {
            "records": self._records,
            "left": dict(self._left),
            "open": sorted(self._open),
        }

    def gives(self, drafts: Iterable[Draft]) -> None:
        """Drafts that are complete. One that was open at the end of a look counted then."""
        for draft in drafts:
            if draft.source_id not in self._open and draft.source_id not in self._seen:
                self._records += 1
            self._seen.add(draft.source_id)

    def ends_with(self, drafts: list[Draft]) -> None:
        """Drafts that are open at the end of this look: later ones have the same ids."""
        self.gives(drafts)
        if drafts:
            self._open = {draft.source_id for draft in drafts}

    def leaves(self, reason: str) -> None:
        """A line that could have mattered was left."""
        self._left[reason] += 1

    def fails(self, name: str, number: int, reason: str) -> Iterator[LedgerEntry]:
        """Line ``number`` cannot be read; an entry of its own, if there are not too many."""
        self._left[_BROKEN] += 1
        if self._left[_BROKEN] <= _NAMED:
            yield LedgerEntry(f"{name}:{number}", "failed", f"line {number} {reason}")

    def entry(self, name: str, place: Place, *, waiting: bool) -> LedgerEntry:
        """The word on the file ``name``, read up to ``place``; a line may be ``waiting`` there."""
        left = ", ".join(f"{reason} ×{count}" for reason, count in sorted(self._left.items()))
        said = []
        if not self._records:
            said.append("no prompts or work in it" + (f" ({left})" if left else ""))
        elif left:
            said.append(f"left out: {left}")
        if place.line < place.known:
            said.append(f"cut short from {place.known} lines to {place.line}; its records stay")
        if waiting:
            said.append(f"line {place.line + 1} is incomplete and waits for the rest")
        return LedgerEntry(
            name, "taken" if self._records else "left", "; ".join(said), self._records
        )


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
