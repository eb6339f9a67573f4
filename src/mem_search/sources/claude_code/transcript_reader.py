"""Reading what is new in one transcript file, with the counts that the ledger shows for it."""

from __future__ import annotations

import os
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Final

from mem_search.errors import InputError
from mem_search.model import Draft, LedgerEntry
from mem_search.model.ingest import WholeSession
from mem_search.projects import Identify
from mem_search.regular_file import open_regular_file
from mem_search.sources.agent_work.drafts import DraftBuilder
from mem_search.sources.agent_work.transcripts import WholeSessions
from mem_search.sources.claude_code.files import (
    MAX_FILE_BYTES,
    MAX_LINE_BYTES,
    NAME,
    Incomplete,
    Place,
    complete_lines,
    parent_session,
    session_named_by,
)
from mem_search.sources.claude_code.lines import parse_line
from mem_search.sources.whole_files import MAX_NAMED_LINES
from mem_search.text.json_reading import loads

_BROKEN: Final = "line that cannot be decoded"


class LedgerCounts:
    """How many records a transcript gave, and how many of its lines were left for which reason."""

    def __init__(self, stored: Mapping[str, Any] | None = None) -> None:
        stored = stored or {}
        self._records: int = stored.get("records", 0)
        self._left = Counter[str](stored.get("left", {}))
        self._open: set[str] = set(stored.get("open", ()))
        self._seen: set[str] = set()

    @property
    def value(self) -> dict[str, Any]:
        """What the next reading needs to continue counting."""
        return {
            "records": self._records,
            "left": dict(self._left),
            "open": sorted(self._open),
        }

    def add(self, drafts: Iterable[Draft]) -> None:
        """Count complete drafts. One that was open at the end of a reading was counted then."""
        for draft in drafts:
            if draft.source_id not in self._open and draft.source_id not in self._seen:
                self._records += 1
            self._seen.add(draft.source_id)

    def add_open(self, drafts: list[Draft]) -> None:
        """Count drafts that are open at the end of this reading; later ones have the same ids."""
        self.add(drafts)
        if drafts:
            self._open = {draft.source_id for draft in drafts}

    def leave(self, reason: str) -> None:
        """Count a line that could have given a record and did not."""
        self._left[reason] += 1

    def fail(self, name: str, number: int, reason: str) -> Iterator[LedgerEntry]:
        """Count line ``number``, which cannot be read; its own entry, if there are not too many."""
        self._left[_BROKEN] += 1
        if self._left[_BROKEN] <= MAX_NAMED_LINES:
            yield LedgerEntry(f"{name}:{number}", "failed", f"line {number} {reason}")

    def entry(self, name: str, place: Place, *, waiting: bool) -> LedgerEntry:
        """The entry of the file ``name``, read up to ``place``.

        ``waiting``: the line there is still being written.
        """
        left = ", ".join(f"{reason} ×{count}" for reason, count in sorted(self._left.items()))
        notes = []
        if not self._records:
            notes.append("no prompts or work in it" + (f" ({left})" if left else ""))
        elif left:
            notes.append(f"not stored: {left}")
        if place.line < place.known:
            notes.append(f"truncated from {place.known} lines to {place.line}; its records stay")
        if waiting:
            notes.append(f"line {place.line + 1} is incomplete; it is read once it is complete")
        return LedgerEntry(
            name, "taken" if self._records else "left", "; ".join(notes), self._records
        )


_HEAD = 50
"""How many lines at the start of a session are searched for its directory."""


class TranscriptReader:
    """Reads one file from where the last reading ended; ``place`` and ``state`` say how far.

    ``from_start`` is set when the file is read from its start: earlier ledger entries are outdated.
    ``own``: only a file of this user or of root is read.
    ``whole`` has, at the end of a file that was, its sessions: the rules may have changed since an
    earlier reading.
    """

    def __init__(
        self,
        name: str,
        path: Path,
        identify: Identify,
        place: Place,
        state: Mapping[str, Any] | None,
        *,
        own: bool = False,
    ) -> None:
        self.place = place
        self._own = own
        self.ledger: list[LedgerEntry] = []
        self.from_start = False
        self._name = name
        self._path = path
        self._identify = identify
        self._stored = state
        self._builder = DraftBuilder(
            NAME, identify, state, item=name, file_name=session_named_by(path)
        )
        self._counts = LedgerCounts((state or {}).get("account"))
        self.whole: list[WholeSession] = []
        # Of a reading from the start: what it saw. One that goes on after an interruption knows
        # only that it was from the start.
        self._sessions: WholeSessions | None = None
        self._is_whole = bool((state or {}).get("whole"))
        self._before_end: dict[str, Any] = {}
        """The state before a last line that has no end yet, and is read again with it."""

    @property
    def state(self) -> dict[str, Any]:
        """The state of the draft builder at ``place``, with the counts."""
        known = {**(self._before_end or self._builder.state), "account": self._counts.value}
        return {**known, "whole": True} if self._is_whole else known

    def steps(self) -> Iterator[list[Draft]]:
        """The drafts of each new line, then those that are still open. Raises OSError.

        Between two steps ``place``, ``state`` and ``ledger`` belong together and can be stored.
        Open drafts of a truncated file are not given: the stored ones know more.
        """
        # In a folder are no links; a hook may have told of one.
        with open_regular_file(
            self._path, max_bytes=MAX_FILE_BYTES, follow=self._own, own=self._own
        ) as file:
            if self._stored is None or not self.place.continues_in(file):
                self._start_over(file)
            status = os.fstat(file.fileno())
            self.place.inode, self.place.modified = status.st_ino, status.st_mtime_ns
            self.place.size = -1  # the file counts as changed until its end is reached
            end = Incomplete()
            for raw in complete_lines(file, self.place, end):
                drafts = list(self._line(raw))
                self._counts.add(drafts)
                yield drafts
            still_open = self._unended(end) if end.waiting else []
            still_open += self._builder.open_drafts()
            self._counts.add_open(still_open)
            self.place.size = status.st_size
            self.ledger.append(self._counts.entry(self._name, self.place, waiting=end.waiting))
            if self._is_whole and not self.place.is_cut_short:
                self.whole = self._ended(still_open)
            self._is_whole = False
            yield [] if self.place.is_cut_short else still_open

    def _ended(self, still_open: list[Draft]) -> list[WholeSession]:
        """The sessions of the file at its end; it is looked through again after an interruption."""
        if self._sessions is not None:
            self._sessions.gave(still_open)
            return list(self._sessions.ended())
        again = TranscriptReader(
            self._name, self._path, self._identify, Place(), None, own=self._own
        )
        for _ in again.steps():
            pass
        return again.whole

    def _start_over(self, file: BinaryIO) -> None:
        parent = parent_session(self._path)
        self.from_start = self._is_whole = True
        self._sessions = WholeSessions()
        self.place = self.place.start(file)
        self._builder = DraftBuilder(
            NAME,
            self._identify,
            cwd=_first_cwd(parent) if parent else "",
            item=self._name,
            file_name=session_named_by(self._path),
        )
        self._counts = LedgerCounts()

    def _line(self, raw: bytes | None) -> Iterator[Draft]:
        if raw is None:
            self._fail(f"longer than {MAX_LINE_BYTES} bytes")
            return
        if not raw.strip():
            return
        try:
            # Bytes would be guessed to be UTF-16.
            value = loads(raw.removeprefix(BOM_UTF8).decode("utf-8"))
        except (ValueError, RecursionError) as error:
            self._fail(f"cannot be decoded: {error}")
            return
        if not isinstance(value, dict):
            self._fail("cannot be decoded: not a JSON object")
            return
        try:
            line = parse_line(value, self.place.line)
        except InputError as error:
            self._fail(f"cannot be used: {error.message}")
            return
        if line.left:
            self._counts.leave(line.left)
        drafts = list(self._builder.feed(line))
        if self._sessions is not None:
            self._sessions.saw(line, self._builder.part)
            self._sessions.gave(drafts)
        yield from drafts

    def _unended(self, end: Incomplete) -> list[Draft]:
        """The drafts of the last line, if only its end is missing."""
        try:
            value = loads(end.line.removeprefix(BOM_UTF8).decode("utf-8"))
            line = parse_line(value, self.place.line + 1) if isinstance(value, dict) else None
        except (ValueError, RecursionError, InputError):
            line = None  # it is being written
        if line is None:
            return []
        end.waiting, self._before_end = False, self._builder.state
        drafts = list(self._builder.feed(line))
        if self._sessions is not None:
            self._sessions.saw(line, self._builder.part)
            self._sessions.gave(drafts)
        return drafts

    def _fail(self, reason: str) -> None:
        self.ledger += self._counts.fail(self._name, self.place.line, reason)


def _first_cwd(path: Path) -> str:
    """The directory that a session began in, from the first lines of its transcript."""
    with open_regular_file(path, max_bytes=MAX_FILE_BYTES, follow=False) as file:
        for raw in islice(complete_lines(file, Place(), Incomplete()), _HEAD):
            try:
                value = loads(raw or b"null")
                cwd = parse_line(value, 0).cwd if isinstance(value, dict) else ""
            except (ValueError, RecursionError, InputError):
                continue  # the reader of that file reports it
            if cwd:
                return cwd
    return ""
