"""Files inside a file: attachments of a PDF, workbooks and packages in Office files.

Each is read by the reader of its format, within the limits of the file that it is in.
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mem_search.extractors.refusal import OLE, Unreadable
from mem_search.platform.memory import file_of

_MAX_DEPTH: Final = 2
_MAX_FILES: Final = 100
_MAX_BYTES: Final = 50 * 2**20
"""Of one file inside another one; they are held in memory."""

INSIDE: Final = "Attached: "
"""Before the name of the file, in the heading of its text."""

_depth: ContextVar[int] = ContextVar("depth", default=0)
_STREAMS: Final = ("Package", "CONTENTS")
_NATIVE: Final = "\x01Ole10Native"
_MAX_NAME: Final = 80


@dataclass(frozen=True, slots=True)
class Inside:
    """What was found: a text for each file under its name, and what was not read."""

    texts: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    lacks: str = ""


def read(files: Iterable[tuple[str, bytes]]) -> Inside:
    """The texts of files (name, data), each after a heading with its name."""
    from mem_search.extractors import extract

    texts, unread, lacks = [], [], ""
    for number, (named, given) in enumerate(files):
        name, data = _unpacked(Path(named.replace("\\", "/")).name or "file", given)
        shown = name[:_MAX_NAME]
        if number >= _MAX_FILES:
            unread.append(f"files inside it after the first {_MAX_FILES} were not opened")
            break
        if _depth.get() >= _MAX_DEPTH or len(data) > _MAX_BYTES:
            why = "is too large" if len(data) > _MAX_BYTES else "is in a file in a file"
            unread.append(f"{shown} inside it was not opened: it {why}")
            continue
        token = _depth.set(_depth.get() + 1)
        try:
            with file_of(data) as path:
                document = extract(path, name)
        except Unreadable as error:
            if not error.empty:
                unread.append(f"{shown} inside it was not read: {error.reason}")
            continue
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001  a library may raise anything over a bad file
            unread.append(f"{shown} inside it was not read: it is damaged ({error})"[:300])
            continue
        finally:
            _depth.reset(token)
        lacks = lacks or document.lacks
        if document.text.strip():
            texts.append(f"# {INSIDE}{shown}\n\n{document.text.strip()}")
            unread += (f"{shown} inside it: {said}" for said in document.unread)
        else:
            unread.append(f"{shown} inside it was not read: {document.note or 'it has no text'}")
    return Inside(tuple(texts), tuple(dict.fromkeys(unread)), lacks)


def _unpacked(name: str, data: bytes) -> tuple[str, bytes]:
    """The file in an OLE object: as the stream of a new one, or as the object packager keeps it."""
    if not data.startswith(OLE):
        return name, data
    import olefile

    try:
        with olefile.OleFileIO(io.BytesIO(data)) as box:
            for stream in _STREAMS:
                if box.exists(stream):
                    return name, box.openstream(stream).read()
            if box.exists(_NATIVE):
                return packaged(box.openstream(_NATIVE).read()[4:], name)
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001  a damaged object is read, or refused, as it is
        return name, data
    return name, data


def packaged(stream: bytes, name: str = "a package") -> tuple[str, bytes]:
    """Name and data of what the object packager holds: type, label, path, two numbers, temporary
    path, size, data. What is cut off is damaged: it has no data."""
    if stream.count(b"\0", 2) < 2:
        return name, b""
    at = 2
    label_end = stream.index(b"\0", at)
    label = stream[at:label_end].decode("cp1252", "replace")
    at = stream.index(b"\0", label_end + 1) + 1
    at += 4
    path_size = int.from_bytes(stream[at : at + 4], "little")
    at += 4 + path_size
    size = int.from_bytes(stream[at : at + 4], "little")
    return Path(label.replace("\\", "/")).name or name, stream[at + 4 : at + 4 + size]
