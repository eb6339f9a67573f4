"""The source ``claude-code``: transcripts of Claude Code become prompts, observations, summaries.

A location is a folder with ``*.jsonl`` transcripts at any depth, or one such file. It is only
read, never changed. When a transcript is deleted its records stay: Claude Code deletes old
transcripts, and they are what people want to find again.

A line of a file passes through these modules: ``files`` finds transcripts and reads new lines,
``transcript_reader`` reads one file and counts for the ledger, ``lines`` parses a line, and
``agent_work`` makes drafts of it. Only what a person or the agent said and did is taken, not what
was injected into the conversation.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

from mem_search.contracts import FileFormat, Machine
from mem_search.errors import StorageError
from mem_search.model import Batch, Location
from mem_search.platform import expanded
from mem_search.projects import Identify, asked_once, identify, named_after
from mem_search.regular_file import ForeignOwner
from mem_search.sources.agent_work.drafts import VERSION
from mem_search.sources.base import KEPT, BaseSource, BatchBuilder
from mem_search.sources.claude_code.files import (
    NAME,
    SUFFIX,
    Place,
    Transcripts,
    projects_folder,
    transcripts,
)
from mem_search.sources.claude_code.transcript_reader import TranscriptReader

log = logging.getLogger(__name__)

STATES_KEPT: Final = 16
"""Files whose state the cursor keeps. A session rarely grows after this many newer ones."""


class Cursor:
    """The stored cursor, which is updated while files are read."""

    def __init__(self, stored: Mapping[str, Any]) -> None:
        known = stored if stored.get("version") == VERSION else {}
        self._places = {name: dict(entry) for name, entry in known.get("files", {}).items()}
        self._left: dict[str, str] = dict(known.get("left", {}))
        self._with_state = {name for name, entry in self._places.items() if "state" in entry}

    def place(self, relative: str) -> Place:
        """How far the file was read; the start for a new one."""
        entry = self._places.get(relative, {})
        return Place(**{name: value for name, value in entry.items() if name != "state"})

    def state(self, relative: str) -> Mapping[str, Any] | None:
        """The state of the file's draft builder; None for a new file or one without it."""
        state: Mapping[str, Any] | None = self._places.get(relative, {}).get("state")
        return state

    def reached(self, relative: str, place: Place, state: Mapping[str, Any]) -> None:
        """The file was read up to ``place``."""
        self._left.pop(relative, None)
        self._places[relative] = {**asdict(place), "state": state}
        self._with_state.add(relative)
        if len(self._with_state) > STATES_KEPT:
            others = self._with_state - {relative}
            oldest = min(others, key=lambda name: (self._places[name]["modified"], name))
            self._drop_state(oldest)

    def _drop_state(self, relative: str) -> None:
        self._with_state.discard(relative)
        self._places[relative].pop("state", None)

    def leaves(self, relative: str, reason: str) -> bool:
        """Note why a path is left; False if the ledger has that reason already."""
        known = self._left.get(relative)
        self._left[relative] = reason
        return known != reason

    def forget_all_but(self, present: Iterable[str]) -> tuple[list[str], list[str]]:
        """Drop paths that no longer exist: (transcripts, paths that were left)."""
        keep = set(present)
        gone = sorted(set(self._places) - keep)
        for name in gone:
            self._drop_state(name)
            del self._places[name]
        no_longer_left = sorted(set(self._left) - keep - set(gone))
        self._left = {name: reason for name, reason in self._left.items() if name in keep}
        return gone, no_longer_left

    @property
    def value(self) -> dict[str, Any]:
        """The JSON value to store, independent of what is read afterwards."""
        return {
            "version": VERSION,
            "files": {name: dict(entry) for name, entry in self._places.items()},
            "left": dict(self._left),
        }


class ClaudeCode(BaseSource):
    """Reads transcripts of Claude Code, from the end of the last reading on."""

    name = NAME
    follows = True
    file_format = FileFormat((SUFFIX,))

    looks_in = "~/.claude/projects or $CLAUDE_CONFIG_DIR/projects"

    def discover(self, machine: Machine) -> Iterable[Location]:
        """The transcripts of the machine's user, if there are any."""
        root = projects_folder(machine.home, machine.environ)
        if root.is_dir():
            yield Location(source=NAME, path=str(root), label="Claude Code transcripts")

    def read(self, location: Location, cursor: Mapping[str, Any]) -> Iterator[Batch]:
        """New drafts of every transcript, in order of path. Progress is in bytes of all files.

        Yields nothing when nothing changed. Raises SourceError when the location cannot be listed.
        """
        # The session of an uploaded transcript ran on another machine.
        project_of = named_after if location.upload else identify
        listed = _listed(Path(expanded(location.path)), location.options.get(KEPT, ""))
        # A hook may tell of any path: then the file has to be this user's. Of a folder, and of a
        # file that is sent, a person said that it be read.
        own = listed.alone and not location.upload
        reading = _Reading(listed, Cursor(cursor), project_of, own=own)
        yield from reading.batches()


class _Reading:
    """One reading of a location: what was read since the last batch, and the progress."""

    def __init__(
        self, listed: Transcripts, cursor: Cursor, project_of: Identify, *, own: bool = False
    ) -> None:
        self._listed = listed
        self._own = own
        self._cursor = cursor
        # Asked once per directory and reading: before the next one the project may have changed.
        self._identify = asked_once(project_of)
        self._batch = BatchBuilder()
        self._moved = False

    def batches(self) -> Iterator[Batch]:
        listed, batch = self._listed, self._batch
        statuses = {name: _status(path) for name, path in listed.files.items()}
        batch.total = sum(status.st_size for status in statuses.values() if status)
        for name, reason in listed.left.items():
            if self._cursor.leaves(name, reason):
                batch.leave(name, reason)
        gone, no_longer_left = self._cursor.forget_all_but([*listed.files, *listed.left])
        batch.outdate(*no_longer_left)
        for name in gone:
            batch.leave(name, "the transcript no longer exists; its records stay")
        done = 0
        for name, status in statuses.items():
            if status is None:
                continue  # deleted since it was listed: the next reading notes it
            if not self._cursor.place(name).is_current(status):
                yield from self._file(name, listed.files[name], done)
            done += status.st_size
        if self._moved or batch:
            yield self._build(done)

    def _file(self, name: str, path: Path, before: int) -> Iterator[Batch]:
        cursor = self._cursor
        reader = TranscriptReader(
            name, path, self._identify, cursor.place(name), cursor.state(name), own=self._own
        )
        try:
            for drafts in reader.steps():
                for draft in drafts:
                    self._batch.take(draft)
                self._note(name, reader)
                if self._batch.is_full:
                    cursor.reached(name, reader.place, reader.state)
                    yield self._build(before + reader.place.offset)
        except OSError as error:
            reason = f"cannot be read: {error.strerror}"
            if isinstance(error, ForeignOwner):
                reason += "; to read it all the same, send it: mem-search import claude-code - <"
            if self._cursor.leaves(name, reason):
                self._batch.fail(name, reason)
            return
        except StorageError:
            raise  # a full disk is no fault of the transcript
        except Exception as error:
            log.exception("%s is not read", path)
            reason = f"is not as expected ({type(error).__name__}: {error})"
            if cursor.leaves(name, reason):
                self._batch.fail(name, reason)
            return
        cursor.reached(name, reader.place, reader.state)
        self._moved = True

    def _note(self, name: str, reader: TranscriptReader) -> None:
        """Move what the last step tells of the file into the batch."""
        if reader.from_start:
            self._batch.outdate(name)
        self._batch.note(*reader.ledger)
        if name not in self._listed.kept:  # a copy may have less than the transcript had
            self._batch.finish(*reader.whole)
        reader.from_start, reader.ledger, reader.whole = False, [], []

    def _build(self, done: int) -> Batch:
        self._moved = False
        # A file may have grown since the total was computed.
        return self._batch.build(self._cursor.value, min(done, self._batch.total))


def _listed(root: Path, kept: str) -> Transcripts:
    """The transcripts at ``root``, and those of the folder ``kept`` that are there no more."""
    if not kept:
        return transcripts(root)
    gone = transcripts(Path(kept))
    if not root.exists():
        return replace(gone, kept=frozenset(gone.files))
    listed = transcripts(root)
    files = dict(sorted({**gone.files, **listed.files}.items()))
    return Transcripts(files, listed.left, frozenset(set(gone.files) - set(listed.files)))


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None
