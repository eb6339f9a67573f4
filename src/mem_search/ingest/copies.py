"""Other files of the home that hold what was forgotten: exports, backups, logs, uploads.

Forgetting rewrites the store and the vector index. It does not change files that somebody put
beside them, so it looks through these for the words of the forgotten records and names them.

Lines of transcripts and events of hooks go by what they say (``quotes``). They have words of their
format, too: names of fields, kinds of blocks, names of tools. Nobody wrote these, so they quote
nothing: a forgotten word that is one of them is in every line there is. Of an id the whole counts.
"""

from __future__ import annotations

import gzip
import io
import os
import stat
import zipfile
import zlib
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

from mem_search.model.forgetting import Copies, Traces, words_of
from mem_search.patterns import pattern
from mem_search.regular_file import open_regular_file
from mem_search.settings import is_shared
from mem_search.text import wordpieces
from mem_search.text.json_reading import loads
from mem_search.zip_files import DAMAGED_ZIP, Archive

_REWRITTEN: Final = (
    "mem-search.db", "mem-search.db-shm", "mem-search.db-wal", "mem-search.db.mark",
    "mem-search.db.words", "chroma", "hooks", "transcripts",
)  # fmt: skip
"""What forgetting rewrites by itself."""

_NO_TEXT: Final = (
    "mail-passwords.json", "models", "redaction.key", "token", "users", "webhook.secret",
    "worker.json", "worker.start.lock",
)  # fmt: skip
"""What holds no record of this store: models, keys, and the homes of other people."""

_IN_A_SHARED_HOME: Final = pattern(
    r"logs|spool|reading\.json|before-(restore|upgrade)-.*|\.backup-.*"
)
"""What is ours in a home that is a person's home directory, too."""

_STORE: Final = _REWRITTEN[:5]
_HIDDEN: Final = "…"
"""Stands for the name of a file that has a forgotten word itself."""

_LOGS: Final = "logs"
_GZIP: Final = b"\x1f\x8b"
_PIECE: Final = 1 << 16
"""Bytes read at a time: their words are found in 4 ms, in which no other thread runs."""

_MAX_FILES: Final = 10_000
_MAX_BYTES: Final = 4 << 30
"""Of all files together; a minute for each gigabyte. Further files count as unread."""

_MAX_NAMED: Final = 100

_MIN_NUMBER: Final = 6
"""Digits of a number that tells something: shorter ones are years, ports and counts."""

_MIN_IN_LOGS: Final = 5
"""Letters of a word that our own log lines do not have by themselves."""


_FORMAT: Final = frozenset({
    "agent", "agenttype", "api", "commandmode", "effort", "entrypoint", "finishreason",
    "hookeventname", "kind", "level", "mediatype", "mimetype", "mode", "model", "operation",
    "permissionmode", "platform", "priority", "promptsource", "provider", "role", "servicetier",
    "status", "stopreason", "stopsequence", "subtype", "thinkinglevel", "toolname", "trigger",
    "type", "usertype", "version",
})  # fmt: skip
"""Fields of the agents' formats whose values are words of the format, without case and ``_``."""

_OF_EVENTS: Final = frozenset({"reason", "source"})
"""In an event of a hook these say why a session began or ended, elsewhere somebody's words."""

_TIMES: Final = ("timestamp", "Time", "Updated", "_at", "At")
_IDS: Final = ("id", "Id", "ID", "uuid", "Uuid", "hash", "Hash")
_GIVEN: Final = frozenset({"input", "tool_input", "args", "arguments", "parameters"})
"""What an agent gave to a tool: all of it is content, its fields are those of the tool."""

_TOKEN: Final = pattern(r"[\w.:+-]{1,200}")
"""What a word of a format, a time and an id look like. A text under the same name counts."""


class _Unread(Exception):
    """A file could not be read to its end."""


def find_copies(home: Path, traces: Traces, *, in_file: bool = True) -> Copies:
    """The files of ``home``, except those that forgetting rewrites, that hold words of ``traces``.

    ``in_file``: the store is in the home; a file of that name is else one that was moved away from.
    A file whose own name has such a word is shown by its folder, because receipts are kept.
    Blocking: about 15 MB a second.
    """
    looked_at, left = 0, _MAX_BYTES
    still_in: dict[str, str] = {}
    unread: list[str] = []
    traces = replace(traces, words=frozenset(filter(_tells, traces.words)))
    rare = replace(traces, words=frozenset(filter(_is_rare, traces.words)))
    for file in _files(home, () if in_file else _STORE):
        path = file.relative_to(home)
        named = rare.has_word(path.name)
        shown = str(path.parent / _HIDDEN) if named else str(path)
        stamp = _stamp(file)
        left -= _size(file)
        # Our own log lines have common words, which say nothing: worker, passages.
        wanted = rare if path.parts[0] == _LOGS else traces
        read = left > 0 and looked_at < _MAX_FILES
        has_words = named or (holds(file, wanted) if read else None)
        looked_at += has_words is not None
        if has_words:
            still_in[shown] = stamp
        elif has_words is None:
            unread.append(shown)
    named_now = list(still_in.items())[:_MAX_NAMED]
    return Copies(
        looked_at,
        tuple(path for path, _ in named_now),
        tuple(unread[:_MAX_NAMED]),
        tuple(stamp for _, stamp in named_now),
    )


def recheck_copies(home: Path, seen: Copies) -> Copies:
    """``seen`` as it is now: which of the files still have the content that held the words.

    The words themselves are not kept. A log that has grown has what it had. Blocking.
    """
    now: dict[str, list[str]] = {"still_in": [], "gone": [], "changed": []}
    for path, stamp in zip(seen.still_in, seen.stamps, strict=True):
        file = home / path
        if file.name == _HIDDEN:  # its own name has such a word
            there = [each for each in _below(file.parent) if _is_as(each, stamp)]
            now["still_in" if there else "gone"].append(path)
        elif not file.exists():
            now["gone"].append(path)
        else:
            now["still_in" if _is_as(file, stamp) else "changed"].append(path)
    kept = tuple(s for p, s in zip(seen.still_in, seen.stamps, strict=True) if p in now["still_in"])
    still_in, gone, changed = map(tuple, now.values())
    return replace(seen, stamps=kept, still_in=still_in, gone=gone, changed=changed)


def _stamp(file: Path) -> str:
    """Which content a file has; empty for one that is gone."""
    try:
        status = file.stat()
    except OSError:
        return ""
    return f"{status.st_ino}-{status.st_size}-{status.st_mtime_ns}"


def _is_as(file: Path, stamp: str) -> bool:
    if (now := _stamp(file)) == stamp:
        return True
    if not (now and stamp and file.parent.name == _LOGS):
        return False
    then_inode, then_size, _ = map(int, stamp.split("-"))
    inode, size, _ = map(int, now.split("-"))
    return inode == then_inode and size >= then_size


def _below(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def holds(file: Path, traces: Traces) -> bool | None:
    """Whether ``file``, or a file packed in it (zip), has a word or a ref of ``traces``.

    False for a file that is gone, None for one that cannot be read to its end.
    """
    try:
        with open_regular_file(file, follow=False) as content:
            if _has(content, traces):
                return True
            content.seek(0)
            if content.read(2) == _GZIP:
                content.seek(0)
                return _unpacked(content, traces)
            content.seek(0)
            return zipfile.is_zipfile(content) and _packed(content, traces)
    except FileNotFoundError:
        return False
    except (OSError, _Unread):
        return None


def is_text(file: Path) -> bool:
    """Whether the words of ``file`` lie open in it, or in a ZIP or gzip file that is looked into.

    Those of a PDF, a picture or a database may be packed in ways that only its reader knows.
    """
    try:
        with open_regular_file(file, follow=False) as content:
            head = content.read(_PIECE)
            if head.startswith(_GZIP) or zipfile.is_zipfile(content):
                return True
    except FileNotFoundError:
        return True  # and nothing is in it
    except OSError:
        return False
    return b"\0" not in head and not head.startswith(b"%PDF")


def _unpacked(content: IO[bytes], traces: Traces) -> bool:
    try:
        with gzip.GzipFile(fileobj=content) as unpacked:
            return _has(_Limited(unpacked), traces)
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise _Unread from error


class _Limited(io.RawIOBase):
    """What a packed file holds, up to ``_MAX_BYTES``: beyond it the file counts as unread."""

    def __init__(self, content: gzip.GzipFile) -> None:
        self._content = content
        self._left = _MAX_BYTES

    def read(self, size: int = -1) -> bytes:
        piece = self._content.read(size)
        self._left -= len(piece)
        if self._left < 0:
            raise _Unread
        return piece


def _packed(content: IO[bytes], traces: Traces) -> bool:
    left = _MAX_BYTES
    try:
        for member in Archive(content).members():
            left -= member.size
            if left < 0 or member.is_encrypted:  # a bomb, or encrypted
                raise _Unread
            with member.content() as unpacked:
                if _has(unpacked, traces):
                    return True
    except DAMAGED_ZIP as error:
        raise _Unread from error
    return False


def _tells(word: str) -> bool:
    """Whether a file with this word may have it from a record: a short number is everywhere."""
    return not word.isdecimal() or len(word) >= _MIN_NUMBER


def _is_rare(word: str) -> bool:
    return len(word) >= _MIN_IN_LOGS and wordpieces.count(word) > 1


def _has(content: IO[bytes] | _Limited, traces: Traces) -> bool:
    rest = b""
    while piece := content.read(_PIECE):
        # What follows the last blank may go on in the next piece.
        cut = max(piece.rfind(b" "), piece.rfind(b"\n"), piece.rfind(b"\0")) + 1 or len(piece)
        text = (rest + piece[:cut]).decode("utf-8", "replace")
        rest = piece[cut:]
        if _said(text, traces):
            return True
    return _said(rest.decode("utf-8", "replace"), traces)


def _said(text: str, traces: Traces) -> bool:
    return not traces.words.isdisjoint(words_of(text)) or traces.has_ref(text)


def _files(home: Path, also: Collection[str]) -> Iterator[Path]:
    """Regular files, in the order of their names; links are not followed. ``also`` are looked
    through, though forgetting rewrites them elsewhere.
    """
    shared = is_shared(home)
    rewritten = set(_REWRITTEN) - set(also)
    for place, folders, names in os.walk(home):
        at_top = place == str(home)
        for entries in (folders, names):
            entries[:] = sorted(
                each
                for each in entries
                if not at_top
                or (
                    each not in rewritten
                    and each not in _NO_TEXT
                    and (not shared or each in also or _IN_A_SHARED_HOME.fullmatch(each))
                )
            )
        for name in names:
            file = Path(place, name)
            if _size(file) > 0:
                yield file


def _size(file: Path) -> int:
    """Bytes of a regular file; 0 for anything else."""
    try:
        status = file.lstat()
    except OSError:
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0


class _Said(NamedTuple):
    """A text of a line. ``is_id``: it names a session, a message or a call."""

    text: str
    is_id: bool = False


def quotes(line: bytes, traces: Traces) -> bool:
    """Whether a line of JSON quotes a forgotten record, or is of a session that was forgotten.

    A line that is not JSON is taken as a text.
    """
    try:
        said = list(_said_in(loads(line)))
    except (ValueError, RecursionError):
        return traces.found_in([line.decode("utf-8", "replace")])
    return any(
        each.text in traces.names if each.is_id else traces.found_in([each.text]) for each in said
    )


def _said_in(value: Any, *, given: bool = False) -> Iterator[_Said]:
    """The texts in ``value`` that are not of the format; all of what was ``given`` to a tool."""
    match value:
        case str():
            yield _Said(value)
        case list():
            for each in value:
                yield from _said_in(each, given=given)
        case dict():
            calls = not _GIVEN.isdisjoint(value)
            for name, each in value.items():
                if given or not isinstance(each, str):
                    yield from _said_in(each, given=given or name in _GIVEN)
                elif name in _GIVEN:
                    yield from _said_in(_parsed(each), given=True)
                elif not _TOKEN.fullmatch(each):
                    yield _Said(each)
                elif name.endswith(_IDS):
                    yield _Said(each, is_id=True)
                elif not (
                    _is_of_format(name)
                    or (name in ("name", "displayName") and (calls or "response" in value))
                    or (name in _OF_EVENTS and "hook_event_name" in value)
                ):
                    yield _Said(each)


def _is_of_format(name: str) -> bool:
    return name.endswith(_TIMES) or name.replace("_", "").lower() in _FORMAT


def _parsed(arguments: str) -> Any:
    """What a tool was given, of an agent that keeps it as a text of JSON."""
    try:
        return loads(arguments)
    except (ValueError, RecursionError):
        return arguments
