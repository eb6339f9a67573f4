"""Compound files (MS-CFB), as Office wrote them before 2007: what they say of themselves (the
property set of MS-OLEPS), and the files inside."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from mem_search.extractors import inside
from mem_search.extractors.zip_package import stated_date
from mem_search.text.charsets import codec_of

_FILES: Final = ("Package", "CONTENTS")
_NATIVE: Final = "\x01Ole10Native"
_DOCUMENTS: Final = {
    "WordDocument": "a Word document",
    "PowerPoint Document": "a presentation",
    "Workbook": "a workbook",
    "Book": "a workbook",
}
_OBJECTS: Final = ("MBD", "ObjectPool")
"""How the folders of objects begin: of workbooks, of Word documents."""


def has_stream(path: Path, *names: str) -> bool:
    """Whether the file itself has one of these streams, and not only a file inside."""
    import olefile

    try:
        with olefile.OleFileIO(str(path)) as box:
            return any(box.exists(name) for name in names)
    except OSError:  # damaged; whoever reads it says so
        return False


def described(box: Any) -> dict[str, Any]:
    """Title, author, date and keywords: the arguments for ``Extracted``."""
    said = box.get_metadata()
    codec = codec_of(f"cp{(said.codepage or 1252) & 0xFFFF}") or "cp1252"

    def text(value: Any) -> str:
        given = value.decode(codec, "replace") if isinstance(value, bytes) else value or ""
        return " ".join(str(given).partition("\0")[0].split())

    author = text(said.author)
    dates = (
        f"{each.isoformat('T', 'seconds')}Z"
        for each in (said.create_time, said.last_saved_time)
        if each
    )
    words = (each.strip() for each in text(said.keywords).replace(";", ",").split(","))
    return {
        "title": text(said.title),
        "metadata": {"author": author} if author else {},
        "created_at": stated_date(*dates),
        "tags": tuple(word for word in words if 0 < len(word) < 50)[:20],
    }


def files_in(box: Any) -> inside.Inside:
    """What is read of the files that a person put into the document."""
    found, unread = list[tuple[str, bytes]](), list[str]()
    for path in box.listdir():
        if len(path) < 2 or not path[0].startswith(_OBJECTS):
            continue
        if path[-1] in _FILES:
            found.append((path[-1].lower(), box.openstream(path).read()))
        elif path[-1] == _NATIVE:
            found.append(inside.packaged(box.openstream(path).read()[4:]))
        elif path[-1] in _DOCUMENTS:
            unread.append(
                f"{_DOCUMENTS[path[-1]]} inside it was not read; save it as a file of its own"
            )
    read = inside.read(found)
    return inside.Inside(read.texts, (*read.unread, *dict.fromkeys(unread)), read.lacks)


def records(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Number and content of each record of a stream of a workbook (MS-XLS 2.1.4)."""
    at = 0
    while at + 4 <= len(data):
        number = int.from_bytes(data[at : at + 2], "little")
        size = int.from_bytes(data[at + 2 : at + 4], "little")
        yield number, data[at + 4 : at + 4 + size]
        at += 4 + size
