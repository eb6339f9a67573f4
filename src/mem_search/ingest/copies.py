"""Other files of the home that hold what was forgotten: exports, backups, logs, uploads.

Forgetting rewrites the store and the vector index. It does not change files that somebody put
beside them, so it looks through these for the words of the forgotten records and names them.
"""

from __future__ import annotations

import os
import stat
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final

from mem_search.model.forgetting import Copies, Traces, words_of
from mem_search.patterns import pattern
from mem_search.regular_file import open_regular_file
from mem_search.settings import is_shared
from mem_search.text import wordpieces
from mem_search.zip_files import DAMAGED_ZIP, open_zip

_REWRITTEN: Final = (
    "mem-search.db", "mem-search.db-shm", "mem-search.db-wal", "mem-search.db.mark", "chroma",
    "transcripts",
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

_LOGS: Final = "logs"
_PIECE: Final = 1 << 16
"""Bytes read at a time: their words are found in 4 ms, in which no other thread runs."""

_MOST_FILES: Final = 10_000
_MOST_BYTES: Final = 4 << 30
"""Of all files together; a minute for each gigabyte. Further files count as unread."""

_MOST_NAMED: Final = 100


class _Unread(Exception):
    """A file could not be read to its end."""


def look_through(home: Path, traces: Traces) -> Copies:
    """The files of ``home``, except those that forgetting rewrites, that hold words of ``traces``.

    A file whose own name has such a word is shown by its folder, because receipts are kept.
    Blocking: about 15 MB a second.
    """
    looked_at, left = 0, _MOST_BYTES
    still_in: list[str] = []
    unread: list[str] = []
    rare = Traces(
        frozenset(word for word in traces.words if wordpieces.count(word) > 1), traces.refs
    )
    for file in _files(home):
        path = file.relative_to(home)
        named = rare.has_word(path.name)
        shown = str(path.parent / "…") if named else str(path)
        size = _size(file)
        left -= size
        # Our own log lines have common words, which say nothing: worker, passages.
        wanted = rare if path.parts[0] == _LOGS else traces
        read = left > 0 and looked_at < _MOST_FILES
        found = named or (holds(file, wanted) if read else None)
        looked_at += found is not None
        if found is not False:
            (still_in if found else unread).append(shown)
    return Copies(looked_at, tuple(still_in[:_MOST_NAMED]), tuple(unread[:_MOST_NAMED]))


def holds(file: Path, traces: Traces) -> bool | None:
    """Whether ``file``, or a file packed in it (zip), has a word or a ref of ``traces``.

    False for a file that is gone, None for one that cannot be read to its end.
    """
    try:
        with open_regular_file(file, follow=False) as content:
            if _has(content, traces):
                return True
            content.seek(0)
            return zipfile.is_zipfile(content) and _packed(content, traces)
    except FileNotFoundError:
        return False
    except (OSError, _Unread):
        return None


def _packed(content: IO[bytes], traces: Traces) -> bool:
    left = _MOST_BYTES
    try:
        with open_zip(content) as archive:
            for member in archive.infolist():
                left -= member.file_size
                if left < 0 or member.flag_bits & 1:  # a bomb, or encrypted
                    raise _Unread
                with archive.open(member) as unpacked:
                    if _has(unpacked, traces):
                        return True
    except DAMAGED_ZIP as error:
        raise _Unread from error
    return False


def _has(content: IO[bytes], traces: Traces) -> bool:
    rest = b""
    while piece := content.read(_PIECE):
        # What follows the last blank may go on in the next piece.
        cut = max(piece.rfind(b" "), piece.rfind(b"\n"), piece.rfind(b"\0")) + 1 or len(piece)
        text = (rest + piece[:cut]).decode("utf-8", "replace")
        rest = piece[cut:]
        if not traces.words.isdisjoint(words_of(text)) or traces.has_ref(text):
            return True
    text = rest.decode("utf-8", "replace")
    return not traces.words.isdisjoint(words_of(text)) or traces.has_ref(text)


def _files(home: Path) -> Iterator[Path]:
    """Regular files, in the order of their names; links are not followed."""
    shared = is_shared(home)
    for place, folders, names in os.walk(home):
        at_top = place == str(home)
        for entries in (folders, names):
            entries[:] = sorted(
                each
                for each in entries
                if not at_top
                or (
                    each not in _REWRITTEN
                    and each not in _NO_TEXT
                    and (not shared or _IN_A_SHARED_HOME.fullmatch(each))
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
