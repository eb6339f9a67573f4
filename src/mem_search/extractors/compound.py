"""Compound files (MS-CFB), as Office wrote them before 2007: what they say of themselves (the
property set of MS-OLEPS), and the files inside."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from mem_search.extractors import inside
from mem_search.extractors.refusal import Unreadable
from mem_search.extractors.zip_package import stated_date
from mem_search.patterns import pattern
from mem_search.text.charsets import codec_of

_FILES: Final = ("Package", "CONTENTS")
_NATIVE: Final = "\x01Ole10Native"
_DOCUMENTS: Final = {
    "WordDocument": "a Word document",
    "PowerPoint Document": "a presentation",
    "Workbook": "a workbook",
    "Book": "a workbook",
}
_WORD_97: Final = 0xC1
_FIELDS: Final = pattern("([\x13\x14\x15])")
"""Where a field begins, its result, and where it ends."""
_MAX_FIELDS: Final = 20
"""Fields in a field of which the innermost count."""
_MARKS: Final = {
    **dict.fromkeys(range(32)), 9: "\t", 10: "\n", 11: "\n", 12: "\n", 13: "\n", 14: "\n",
    30: "-", 31: "\xad",
}  # fmt: skip
_OBJECTS: Final = ("MBD", "ObjectPool")
"""How the folders of objects begin: of workbooks, of Word documents."""


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    """The file, with the methods of ``olefile``; None for one that is damaged."""
    import olefile

    try:
        box = olefile.OleFileIO(str(path))
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001  it raises anything over a damaged file
        yield None
        return
    with box:
        yield box


def has_stream(path: Path, *names: str) -> bool:
    """Whether the file itself has one of these streams, and not only a file inside."""
    with opened(path) as box:
        return box is not None and any(box.exists(name) for name in names)


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
    files, unread = list[tuple[str, bytes]](), list[str]()
    for path in box.listdir():
        if len(path) < 2 or not path[0].startswith(_OBJECTS):
            continue
        if path[-1] in _FILES:
            files.append((path[-1].lower(), box.openstream(path).read()))
        elif path[-1] == _NATIVE:
            files.append(inside.packaged(box.openstream(path).read()[4:]))
        elif path[-1] in _DOCUMENTS:
            unread.append(
                f"{_DOCUMENTS[path[-1]]} inside it was not read; save it as a file of its own"
            )
    read = inside.read(files)
    return inside.Inside(read.texts, (*read.unread, *dict.fromkeys(unread)), read.lacks)


def records(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Number and content of each record of a stream of a workbook (MS-XLS 2.1.4)."""
    at = 0
    while at + 4 <= len(data):
        number = int.from_bytes(data[at : at + 2], "little")
        size = int.from_bytes(data[at + 2 : at + 4], "little")
        yield number, data[at + 4 : at + 4 + size]
        at += 4 + size


def word_text(box: Any) -> str | None:
    """The text of a document of Word 97 or later, and then its notes, heads, feet, comments and
    text boxes (MS-DOC 2.4.1); None for an older one. Raises Unreadable for an encrypted one."""
    main = box.openstream("WordDocument").read()
    if int.from_bytes(main[2:4], "little") < _WORD_97:
        return None
    flags = int.from_bytes(main[10:12], "little")
    if flags & 0x100:
        raise Unreadable("it is encrypted with a password; save it without one")
    table = box.openstream("1Table" if flags & 0x200 else "0Table").read()
    place, size = struct.unpack_from("<II", main, 0x1A2)
    whole = b"".join(_pieces(main, table[place : place + size]))
    at, parts = 0, list[str]()
    for length in struct.unpack_from("<3I4x4I", main, 0x4C):  # the document, then what is around it
        parts.append(_plain(whole[2 * at : 2 * (at + length)].decode("utf-16-le", "replace")))
        at += length
    around = (line for part in parts[1:] for line in part.split("\n"))
    return "\n\n".join(filter(None, (parts[0], *dict.fromkeys(filter(str.strip, around)))))


def _pieces(main: bytes, pieces: bytes) -> Iterator[bytes]:
    """The pieces of a text in their order, two bytes for each letter that is counted."""
    at = 0
    while pieces[at : at + 1] == b"\1":  # formats of paragraphs
        at += 3 + int.from_bytes(pieces[at + 1 : at + 3], "little")
    count = (int.from_bytes(pieces[at + 1 : at + 5], "little") - 4) // 12
    ends = struct.unpack_from(f"<{count + 1}I", pieces, at + 5)
    for number in range(count):
        (where,) = struct.unpack_from("<I", pieces, at + 5 + 4 * (count + 1) + 8 * number + 2)
        length = ends[number + 1] - ends[number]
        if where & 0x40000000:  # a byte for each letter
            where = (where & 0x3FFFFFFF) // 2
            letters = main[where : where + length].decode("cp1252", "replace")
            yield letters.encode("utf-16-le")
        else:
            yield main[where : where + 2 * length]


def _plain(text: str) -> str:
    """Lines, and cells of tables between bars; of a field its result, and no pictures."""
    kept, commands = [], list[bool]()
    for piece in _FIELDS.split(text):
        if piece == "\x13":
            commands.append(True)
        elif piece == "\x14" and commands:
            commands[-1] = False
        elif piece == "\x15" and commands:
            commands.pop()
        elif not any(commands[-_MAX_FIELDS:]):
            kept.append(piece)
    said = "".join(kept).replace("\x07\x07", "\n").replace("\x07", " | ").translate(_MARKS)
    return "\n".join(map(str.rstrip, said.split("\n"))).strip()
