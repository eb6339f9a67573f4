"""Transcripts outlive the agent's clean-up: a copy of what was read, redacted, in the home.

Claude Code and Gemini CLI delete a transcript 30 days after its last line, OpenClaw can. After each
reading of a location, the new lines of its transcripts are added to ``HOME/transcripts``: one gzip
file for each transcript, which is never read anew while the transcript only grows, and a ``.json``
beside it that says how far the copy is. A transcript that is one JSON document is copied as a whole
when it changed. The copy has what the source reads: no pictures, no lines without events, none that
another transcript has. A line that is left out stays as an empty line, so numbers of lines, which
name records, are the same. ``sync --again`` reads the copy of a transcript that is gone.
"""

from __future__ import annotations

import asyncio
import errno
import gzip
import json
import logging
import os
import tempfile
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from mem_search import sources
from mem_search.errors import MemSearchError
from mem_search.ingest.copies import quotes
from mem_search.jobs.forgotten_transcripts import ForgottenTranscripts
from mem_search.model import Location
from mem_search.model.forgetting import Traces
from mem_search.platform import expanded
from mem_search.regular_file import (
    FileTooLarge,
    ForeignOwner,
    open_regular_file,
    replace_file,
)
from mem_search.sources.base import scratch_folder
from mem_search.sources.claude_code.files import (
    MAX_FILE_BYTES,
    SUFFIX,
    Incomplete,
    Place,
    complete_lines,
    has_own_transcript,
    transcripts,
)
from mem_search.text.json_reading import loads
from mem_search.text.redaction import Redaction, redacted_values

log = logging.getLogger(__name__)

CLAUDE_CODE: Final = "claude-code"
_STATE: Final = ".json"
_TYPES: Final = frozenset(
    {"user", "assistant", "attachment", "queue-operation", "summary", "ai-title", "custom-title"}
)
"""Types of Claude Code's lines that are read; ``progress`` and snapshots are most of them."""

_PIECE: Final = 1 << 20
_MAX_DOCUMENT_BYTES: Final = 2**28
"""Bytes of a transcript that is one JSON document, which is held in memory."""

_NO_TEXT: Final = ("image", "document", "thinking", "redacted_thinking")
"""Blocks of a message without a text that a source takes."""

_UNREAD: Final = frozenset({"toolUseResult", "thoughts", "inlineData"})
_TEXTS: Final = ("message", "attachment", "messages", "content", "displayContent", "toolCalls",
                 "summary", "$set")  # fmt: skip


@dataclass(slots=True)
class _Copy:
    """How far a copy is: ``packed`` bytes of ``file`` hold the lines before ``place``.

    Bytes after ``packed`` were written by a worker that was killed. ``base`` is how many the file
    had when it was last packed as a whole. A copy that was ``forgotten`` has no ``file`` and stays
    so: its state, which names project and session, is gone (``forgotten_transcripts``).
    """

    file: str = ""
    packed: int = 0
    base: int = 0
    forgotten: bool = False
    sessions: list[str] = field(default_factory=list)
    place: Place = field(default_factory=Place)


class KeptTranscripts:
    """The copies in ``folder``. Methods that are not async block."""

    def __init__(self, folder: Path, redaction: Redaction, *, on: bool) -> None:
        self.on = on
        self.error = ""
        self._folder = folder
        self._forgotten = ForgottenTranscripts(folder)
        self._redaction = redaction
        self._changing = asyncio.Lock()
        self._looked_at: set[str] = set()

    async def keep(self, location: Location, *, changed: bool) -> None:
        """Add what is new in the transcripts at ``location``; a failure is logged and told."""
        if not self.on or location.upload:
            return
        if not changed and location.path in self._looked_at:
            return
        failed: Exception | None = None
        try:
            for path in await asyncio.to_thread(_present, location):
                async with self._changing:  # a forgetting waits for one file at most
                    try:
                        await asyncio.to_thread(self._keep, location.source, path)
                    except (OSError, EOFError) as error:  # the others are kept
                        failed = error
        except MemSearchError as error:
            failed = error
        if failed is None:
            self._looked_at.add(location.path)
            self.error = ""
        else:
            self.error = f"transcripts are not kept: {failed}"
            log.warning("%s", self.error)

    async def forget(self, sessions: Collection[str], traces: Traces | None = None) -> int:
        """Remove the copies of these sessions for ever, and lines with words of ``traces``."""
        removed, wanted = 0, frozenset(sessions)
        for state in await self._all():
            async with self._changing:
                removed += await asyncio.to_thread(self._forget, state, wanted, traces)
        return removed

    async def redact(self) -> None:
        """Redact the copies again, with the rules of today."""
        for state in await self._all():
            async with self._changing:
                try:
                    await asyncio.to_thread(self._rewrite, state, self._redacted_again)
                except EOFError as error:
                    log.warning("the copy %s is damaged: %s", state, error)

    async def _all(self) -> list[Path]:
        return await asyncio.to_thread(lambda: list(self._states()))

    def size(self) -> tuple[int, int]:
        """How many transcripts are kept, and their bytes on the disk."""
        sizes = [
            Path(place, name).stat().st_size
            for place, _, names in os.walk(self._folder)
            for name in names
            if name.endswith(".gz") and not name.startswith(".")
        ]
        return len(sizes), sum(sizes)

    def unpack(self, location: Location) -> tempfile.TemporaryDirectory[str] | None:
        """A folder with the copies at ``location`` whose transcripts are gone; None without any."""
        if location.upload or not (self._folder / location.source).is_dir():
            return None
        root = Path(expanded(location.path))
        try:
            present = {self._state_of(location.source, path) for path in _present(location)}
        except MemSearchError:  # the whole location is gone
            present = set()
        at = self._state_of(location.source, root)
        states = [at] if at.is_file() else list(self._states(at.with_name(at.name[: -len(_STATE)])))
        gone = [each for each in states if each not in present and self._read(each).file]
        if not gone:
            return None
        # What belongs to several transcripts is there as long as one of them is.
        gone += [each for each in states if each in present and each.name.startswith(".")]
        folder = scratch_folder()
        for state in gone:
            name = state.name if state == at else str(state.relative_to(str(at)[: -len(_STATE)]))
            target = Path(folder.name, name[: -len(_STATE)])
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                with target.open("wb") as unpacked:
                    unpacked.writelines(self._lines(state, self._read(state)))
            except EOFError as error:
                log.warning("the copy %s is damaged: %s", state, error)
        return folder

    def _keep(self, source: str, path: Path) -> None:
        state = self._state_of(source, path)
        copy = self._read(state)
        try:
            file = open_regular_file(path, max_bytes=MAX_FILE_BYTES, own=True)
        except (FileNotFoundError, ForeignOwner):  # deleted, or to be kept by somebody else
            return
        with file:
            status = os.fstat(file.fileno())
            if copy.forgotten or copy.place.is_current(status):
                return
            if path.suffix != SUFFIX:
                whole = _Copy(file=copy.file)
                if status.st_size > _MAX_DOCUMENT_BYTES:
                    raise FileTooLarge(errno.EFBIG, f"{path} is larger than a session is")
                if (content := self._document(file.read(), path, whole.sessions)) is not None:
                    whole.place = _current(Place(), status)
                    self._pack(state, whole, [content])
                return
            continues = bool(copy.file) and copy.place.continues_in(file)
            if not continues:
                if copy.file and status.st_size < copy.place.offset:
                    return  # it was truncated: the copy knows more
                copy = _Copy(file=copy.file)
            line = self._line if source == CLAUDE_CODE else self._others_line
            lines = (
                line(raw, path, copy.sessions)
                for raw in complete_lines(file, _current(copy.place, status), Incomplete())
            )
            if not continues:
                self._pack(state, copy, lines)
                return
            self._append(state, copy, lines)
        if copy.packed >= 2 * copy.base:  # so each byte is packed again a few times at most
            self._pack(state, copy, self._lines(state, replace(copy)))
        else:
            self._write(state, copy)

    def _line(self, raw: bytes | None, path: Path, sessions: list[str]) -> bytes:
        """The line as it is kept; empty for one that gives nothing to a reader of this file."""
        try:
            value = loads(raw or b"")
        except (ValueError, RecursionError):
            return b"\n"
        if not isinstance(value, dict) or str(value.get("type")) not in _TYPES:
            return b"\n"
        session = value.get("sessionId")
        if isinstance(session, str) and session:
            if has_own_transcript(path, session):
                return b"\n"
            if session not in sessions:
                sessions.append(session)
        return self._encoded(_essence(value))

    def _others_line(self, raw: bytes | None, _: Path, sessions: list[str]) -> bytes:
        """The line of another agent as it is kept; empty for one that is no object."""
        return self._object(raw or b"", sessions) or b"\n"

    def _document(self, content: bytes, path: Path, sessions: list[str]) -> bytes | None:
        """A whole file as it is kept; None for one that is just being written."""
        if path.name.startswith("."):  # a name, such as that of the project
            return self._redaction.name(content.decode("utf-8", "replace")).encode()
        return self._object(content, sessions)

    def _object(self, raw: bytes, sessions: list[str]) -> bytes | None:
        try:
            value = loads(raw)
            if not isinstance(value, dict):
                return None
            session = value.get("sessionId") or (value.get("type") == "session" and value.get("id"))
            if isinstance(session, str) and session not in sessions:
                sessions.append(session)
            return self._encoded(_essence(value))
        except (ValueError, RecursionError):
            return None

    def _encoded(self, value: Mapping[str, Any]) -> bytes:
        # Names and ids are redacted so that two stay two, texts as records have them.
        texts = redacted_values({name: value[name] for name in _TEXTS if name in value})
        names = self._redaction.values({name: value[name] for name in value if name not in texts})
        clean = {**names, **texts}
        text = json.dumps(clean, ensure_ascii=False, separators=(",", ":"))
        return text.encode("utf-8", "backslashreplace") + b"\n"

    def _redacted_again(self, line: bytes) -> bytes:
        try:
            return self._encoded(json.loads(line)) if line.strip() else line
        except ValueError:  # a name
            return self._redaction.name(line.decode("utf-8", "replace")).encode()

    def _append(self, state: Path, copy: _Copy, lines: Iterable[bytes]) -> None:
        state.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(state.with_name(copy.file), os.O_RDWR | os.O_CREAT, 0o600)
        with os.fdopen(handle, "r+b") as file:
            file.truncate(copy.packed)
            file.seek(copy.packed)
            with gzip.GzipFile("", "wb", 6, file, mtime=0) as packing:
                packing.writelines(lines)
            copy.packed = file.tell()

    def _pack(self, state: Path, copy: _Copy, lines: Iterable[bytes]) -> None:
        """Write ``lines`` as the whole copy, in a new file: a kill leaves the old one or this."""
        before, name = copy.file, state.name.removesuffix(_STATE)
        number = int(before.split(".")[-2]) + 1 if before else 0
        copy.file, copy.packed = f"{name}.{number}.gz", 0
        self._append(state, copy, lines)
        copy.base = copy.packed
        self._write(state, copy)
        if before:
            state.with_name(before).unlink(missing_ok=True)

    def _rewrite(self, state: Path, change: Callable[[bytes], bytes]) -> bool:
        """Change the lines of a copy; whether any was another then."""
        copy = self._read(state)
        if not copy.file or not any(change(line) != line for line in self._lines(state, copy)):
            return False
        self._pack(state, copy, map(change, self._lines(state, replace(copy))))
        return True

    def _forget(self, state: Path, sessions: frozenset[str], traces: Traces | None) -> bool:
        def without(line: bytes) -> bytes:
            return b"\n" if traces is not None and quotes(line, traces) else line

        copy = self._read(state)
        if not copy.file:
            return False
        if sessions.isdisjoint(copy.sessions):
            if traces is None or not (traces.words or traces.refs):
                return False
            try:
                if state.name.endswith(f"{SUFFIX}{_STATE}"):
                    return self._rewrite(state, without)
                if not any(without(line) != line for line in self._lines(state, copy)):
                    return False
            except EOFError as error:  # what cannot be read may hold it
                log.warning("the copy %s is removed: %s", state, error)
        self._forgotten.bury(state, state.with_name(copy.file), state)
        return True

    def _lines(self, state: Path, copy: _Copy) -> Iterator[bytes]:
        """The lines of a copy; those that a killed worker wrote at its end are left out.

        Raises EOFError for a damaged copy.
        """
        if not copy.file:
            return
        with state.with_name(copy.file).open("rb") as file, tempfile.TemporaryFile() as whole:
            left = copy.packed
            while left and (piece := file.read(min(left, _PIECE))):
                whole.write(piece)
                left -= len(piece)
            whole.seek(0)
            try:
                with gzip.GzipFile(fileobj=whole, mode="rb") as packed:
                    yield from packed
            except (gzip.BadGzipFile, zlib.error) as error:
                raise EOFError(str(error)) from error

    def _state_of(self, source: str, path: Path) -> Path:
        """Where the state of the copy of the transcript at ``path`` is, or would be."""
        parts = [self._redaction.name(part) for part in Path(os.path.realpath(path)).parts[1:]]
        return self._folder.joinpath(source, *parts[:-1], f"{parts[-1]}{_STATE}")

    def _states(self, below: Path | None = None) -> Iterator[Path]:
        for place, folders, names in os.walk(below or self._folder):
            folders.sort()
            yield from (Path(place, name) for name in sorted(names) if name.endswith(_STATE))

    def _read(self, state: Path) -> _Copy:
        try:
            stored = json.loads(state.read_bytes())
            return _Copy(**{**stored, "place": Place(**stored["place"])})
        except FileNotFoundError:
            return _Copy(forgotten=state in self._forgotten)
        except (ValueError, TypeError, KeyError) as error:
            log.warning("%s is damaged (%s): the transcript is copied anew", state, error)
            return _Copy()

    def _write(self, state: Path, copy: _Copy) -> None:
        replace_file(state, json.dumps(asdict(copy)).encode(), survives_power_cut=False)


def _present(location: Location) -> list[Path]:
    """The files at ``location`` that are kept. Raises SourceError if it cannot be listed."""
    root = Path(expanded(location.path))
    if location.source == CLAUDE_CODE:
        return list(transcripts(root).files.values())
    to_keep = getattr(sources.by_name(location.source), "files_to_keep", None)
    if to_keep is None:  # another source
        return []
    return [root] if root.is_file() else list(to_keep(root))


def _current(place: Place, status: os.stat_result) -> Place:
    place.inode, place.size, place.modified = status.st_ino, status.st_size, status.st_mtime_ns
    return place


def _essence(value: Any) -> Any:
    """A value without what no source reads: copies of results, pictures, thoughts."""
    if isinstance(value, list):
        return [_essence(each) for each in value if not _is_no_text(each)]
    if isinstance(value, dict):
        return {name: _essence(each) for name, each in value.items() if name not in _UNREAD}
    return value


def _is_no_text(part: object) -> bool:
    return isinstance(part, dict) and (part.get("type") in _NO_TEXT or "inlineData" in part)
