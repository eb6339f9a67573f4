"""Files that stand in the text of a mail itself, as in newsgroups and before MIME: uuencode, yEnc.

They are taken out of the text, which keeps their names, and become attachments.
"""

from __future__ import annotations

import binascii
import re
from typing import Final

from mem_search.patterns import pattern

MAX_FILES: Final = 50
"""Of one text; a part of a message may be a whole newsgroup."""

_BEGIN: Final = pattern(
    rb"begin(?P<how>-base64)? [0-7]{3,4} (?P<name>[^\r\n]{1,200}?)[ \t]*[\r\n]*"
)
_ENDS: Final = (b"end", b"====")
_LETTERS: Final = pattern(rb"[ -`]{0,90}")
_YENC: Final = pattern(
    rb"^=ybegin [^\r\n]{0,200}?name=(?P<name>[^\r\n]{1,200})\r?\n(?:=ypart [^\r\n]{0,200}\r?\n)?",
    re.MULTILINE,
)
_YEND: Final = pattern(rb"\r?\n=yend[^\r\n]{0,400}")
_ESCAPE: Final = 61
_SHIFT, _SHIFT_OF_ESCAPE = 42, 64

Files = list[tuple[str, bytes]]
"""Name and content; the content of one that is damaged or cut off is empty."""


def taken_out(data: bytes) -> tuple[bytes, Files]:
    """A text without the files in it, and these. Linear in the length of ``data``."""
    files: Files = []
    if b"begin" in data:
        data = _without_yenc(_without_uu(data, files), files)
    return data, files


def _without_uu(data: bytes, files: Files) -> bytes:
    lines, kept, at = data.splitlines(keepends=True), list[bytes](), 0
    while at < len(lines):
        begin = _BEGIN.fullmatch(lines[at]) if len(files) < MAX_FILES else None
        is_64 = begin is not None and begin["how"] is not None
        if begin is None or not _is_line(b"".join(lines[at + 1 : at + 2]), is_64=is_64, first=True):
            kept.append(lines[at])
            at += 1
            continue
        body: list[bytes] = []
        at += 1
        while (
            at < len(lines) and lines[at].rstrip() not in _ENDS and _is_line(lines[at], is_64=is_64)
        ):
            body.append(lines[at].rstrip(b"\r\n"))
            at += 1
        is_whole = at < len(lines) and lines[at].rstrip() in _ENDS
        at += is_whole
        content = _decoded(body, is_64=is_64) if is_whole else None
        name = begin["name"].strip()
        files.append((name.decode("utf-8", "replace"), content or b""))
        kept.append(b"(" + name + b")\n")
    return b"".join(kept)


def _is_line(line: bytes, *, is_64: bool, first: bool = False) -> bool:
    """Whether it is one of a file, and no sentence. Blanks at its end may be lost on the way."""
    line = line.rstrip(b"\r\n")
    if is_64:
        return bool(line) and len(line) % 4 == 0 and b" " not in line
    if not _LETTERS.fullmatch(line):
        return False
    stated = (line[0] - 32) & 63 if line else 0
    letters = -(-stated * 4 // 3)
    return len(line) <= letters + 4 and (not first or (stated > 0 and len(line) >= letters - 2))


def _decoded(lines: list[bytes], *, is_64: bool) -> bytes | None:
    content = []
    for line in lines:
        try:
            content.append(binascii.a2b_base64(line) if is_64 else _line(line))
        except binascii.Error:
            return None
    return b"".join(content)


def _line(line: bytes) -> bytes:
    """A line; some programs pad it with more than it states."""
    try:
        return binascii.a2b_uu(line)
    except binascii.Error:
        stated = -(-((line[0] - 32) & 63) * 4 // 3) + 1
        return binascii.a2b_uu(line[:stated])


def _without_yenc(data: bytes, files: Files) -> bytes:
    kept, at = [], 0
    for begin in _YENC.finditer(data) if b"=ybegin " in data else ():
        if begin.start() < at or len(files) >= MAX_FILES:
            continue
        end = _YEND.search(data, begin.end() - 1)
        body = data[begin.end() : end.start() if end else len(data)]
        content = _of_yenc(body)
        stated = re.search(rb"size=(\d+)", data[begin.start() : begin.end()])
        is_whole = end is not None and (b"=ypart" in begin[0] or not stated
                                        or int(stated[1]) == len(content))  # fmt: skip
        name = begin["name"].strip()
        files.append((name.decode("utf-8", "replace"), content if is_whole else b""))
        kept += [data[at : begin.start()], b"(" + name + b")"]
        at = end.end() if end else len(data)
    return b"".join([*kept, data[at:]])


def _of_yenc(body: bytes) -> bytes:
    pieces = body.replace(b"\r\n", b"").replace(b"\n", b"").split(bytes([_ESCAPE]))
    plain = bytes((byte - _SHIFT) % 256 for byte in range(256))
    content = [pieces[0].translate(plain)]
    for piece in pieces[1:]:
        first = bytes([(piece[0] - _SHIFT_OF_ESCAPE - _SHIFT) % 256]) if piece else b""
        content.append(first + piece[1:].translate(plain))
    return b"".join(content)
