"""What Outlook packs into ``winmail.dat`` ([MS-OXTNEF]): the text of the message and its files.

The packed RTF of it ([MS-OXRTFCP]) is also that of ``.msg`` files. Lengths that a file states are
believed only as far as there are bytes.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from mem_search.patterns import pattern
from mem_search.sources.mail.bodies import html_text, together
from mem_search.text.charsets import decoded, decoded_page

_SIGNATURE: Final = b"\x78\x9f\x3e\x22"
_BODY, _TITLE, _DATA, _BEGINS, _OF_FILE, _OF_MESSAGE, _CODE_PAGE = (
    0x800C, 0x8010, 0x800F, 0x9002, 0x9005, 0x9003, 0x9007,
)  # fmt: skip
_TEXT, _HTML, _RTF, _LONG_NAME, _NAME, _TYPE, _OBJECT = (
    0x1000, 0x1013, 0x1009, 0x3707, 0x3704, 0x370E, 0x3701,
)  # fmt: skip
_SIZES: Final = {0x0002: 4, 0x0003: 4, 0x0004: 4, 0x000A: 4, 0x000B: 4, 0x0001: 0, 0x0005: 8,
                 0x0006: 8, 0x0007: 8, 0x0014: 8, 0x0040: 8, 0x0048: 16}  # fmt: skip
"""Type of a property of fixed length → bytes, with those that fill up four."""
_VARIABLE: Final = frozenset({0x000D, 0x001E, 0x001F, 0x0102})
_UNICODE, _SEVERAL, _NAMED = 0x001F, 0x1000, 0x8000

_MAX_FILES: Final = 200
_MAX_PROPERTIES: Final = 10_000
_MAX_DEPTH: Final = 5
_MAX_RTF: Final = 4 * 2**20
"""Bytes of unpacked RTF; the pictures of a message are files beside it."""

_START: Final = (
    b"{\\rtf1\\ansi\\mac\\deff0\\deftab720{\\fonttbl;}{\\f0\\fnil \\froman \\fswiss \\fmodern "
    b"\\fscript \\fdecor MS Sans SerifSymbolArialTimes New RomanCourier{\\colortbl\\red0\\green0"
    b"\\blue0\r\n\\par \\pard\\plain\\f0\\fs20\\b\\i\\u\\tab\\tx"
)
"""What the window of every packed RTF has at its start."""
_WINDOW: Final = 4096
_OF_HTML: Final = pattern(r"\\htmlrtf(?:1|\b)(?!0)[^\0]{0,5000}?\\htmlrtf0 ?")
"""What RTF that was made of HTML says only to programs that show RTF."""


@dataclass(slots=True)
class Packed:
    """``files`` are names, media types and data."""

    text: str = ""
    files: list[tuple[str, str, bytes]] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)


def is_tnef(data: bytes) -> bool:
    return data.startswith(_SIGNATURE)


def unpacked(data: bytes, depth: int = 0) -> Packed:
    """What ``data`` holds; what is damaged ends it, and ``unread`` says so."""
    packed = Packed()
    charset, texts = "cp1252", list[str]()
    name, media_type, content = "", "", b""

    def end_file() -> None:
        if content and len(packed.files) < _MAX_FILES:
            packed.files.append((name, media_type or "application/octet-stream", content))

    try:
        for kind, value in _attributes(data):
            if kind == _CODE_PAGE and len(value) >= 4:
                charset = f"cp{struct.unpack_from('<I', value)[0]}"
            elif kind == _BODY:
                texts.append(decoded(value.rstrip(b"\0"), charset))
            elif kind == _OF_MESSAGE:
                texts += _texts(dict(_properties(value, charset)), charset)
            elif kind == _BEGINS:
                end_file()
                name, media_type, content = "", "", b""
            elif kind == _TITLE:
                name = name or decoded(value.rstrip(b"\0"), charset)
            elif kind == _DATA:
                content = value
            elif kind == _OF_FILE:
                said = dict(_properties(value, charset))
                name = str(said.get(_LONG_NAME) or said.get(_NAME) or name)
                media_type = str(said.get(_TYPE) or "").lower()
                inner = said.get(_OBJECT)
                if isinstance(inner, bytes) and is_tnef(inner[16:]):
                    _add_message(packed, texts, inner[16:], name, depth)
                elif isinstance(inner, bytes) and not content:
                    content = inner
        end_file()
    except (struct.error, IndexError):
        end_file()
        packed.unread.append("its winmail.dat is damaged or cut off; what came before it is read")
    packed.text, more = together([text for text in texts if text.strip()])
    packed.text = "\n\n".join(filter(None, (packed.text, more)))
    return packed


def _add_message(packed: Packed, texts: list[str], data: bytes, name: str, depth: int) -> None:
    """Add a message inside the message."""
    if depth >= _MAX_DEPTH:
        packed.unread.append(f"a message in its winmail.dat is nested too deeply: {name}")
        return
    inner = unpacked(data, depth + 1)
    texts.append(inner.text)
    packed.files += inner.files[: _MAX_FILES - len(packed.files)]
    packed.unread += inner.unread


def _texts(said: dict[int, str | bytes], charset: str) -> Iterator[str]:
    text, html, rtf = (said.get(number, "") for number in (_TEXT, _HTML, _RTF))
    if isinstance(text, str):
        yield text.replace("\r\n", "\n")
    if html:
        yield html_text(html if isinstance(html, str) else decoded_page(html, charset))
    if isinstance(rtf, bytes):
        yield rtf_text(rtf)


def _attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    at = len(_SIGNATURE) + 2
    while at + 9 <= len(data):
        kind, _, length = struct.unpack_from("<HHI", data, at + 1)
        start = at + 9
        if start + length > len(data):
            raise IndexError
        yield kind, data[start : start + length]
        at = start + length + 2


def _properties(data: bytes, charset: str) -> Iterator[tuple[int, str | bytes]]:
    """The texts and bytes of MAPI; of several values the first."""
    (count,) = struct.unpack_from("<I", data, 0)
    at = 4
    for _ in range(min(count, _MAX_PROPERTIES)):
        kind, number = struct.unpack_from("<HH", data, at)
        at += 4
        if number >= _NAMED:
            by_name, size = struct.unpack_from("<II", data, at + 16)
            at += 24 + (_padded(size) if by_name else 0)
        plain = kind & ~_SEVERAL
        values = 1
        if kind & _SEVERAL or plain in _VARIABLE:
            (values,) = struct.unpack_from("<I", data, at)
            at += 4
        for place in range(min(values, _MAX_PROPERTIES)):
            size = _SIZES.get(plain, 0)
            if plain in _VARIABLE:
                (size,) = struct.unpack_from("<I", data, at)
                at += 4
            value = data[at : at + size]
            at += _padded(size)
            if at > len(data) + 3:
                raise IndexError
            if not place and plain in _VARIABLE:
                yield number, _value(plain, value, charset)


def _value(kind: int, value: bytes, charset: str) -> str | bytes:
    if kind == _UNICODE:
        return value.decode("utf-16-le", "replace").rstrip("\0")
    return decoded(value.rstrip(b"\0"), charset) if kind == 0x001E else value


def _padded(size: int) -> int:
    return size + -size % 4


def rtf_text(packed: bytes) -> str:
    """The words of packed RTF; "" for what is no such thing."""
    rtf = _unpacked_rtf(packed).decode("latin-1")
    if not rtf.startswith("{\\rtf"):
        return ""
    from striprtf.striprtf import rtf_to_text

    if "\\fromhtml" in rtf[:500]:
        rtf = _OF_HTML.sub("", rtf)
    text = str(rtf_to_text(rtf, errors="ignore"))
    return re.sub(r"\n{3,}", "\n\n", text).strip()


def _unpacked_rtf(packed: bytes) -> bytes:
    if len(packed) < 16:
        return b""
    _, size, kind, _ = struct.unpack_from("<IIII", packed, 0)
    if kind == 0x414C454D:  # not packed
        return packed[16 : 16 + min(size, _MAX_RTF)]
    window = bytearray(_START.ljust(_WINDOW, b"\0"))
    put, out, at = len(_START), bytearray(), 16
    most = min(size, _MAX_RTF)
    while at < len(packed) and len(out) < most:
        control = packed[at]
        at += 1
        for bit in range(8):
            if not control >> bit & 1:
                piece = packed[at : at + 1]
                at += 1
            else:
                pair = packed[at : at + 2]
                at += 2
                if len(pair) < 2:
                    return bytes(out)
                place = pair[0] << 4 | pair[1] >> 4
                if place == put % _WINDOW:
                    return bytes(out)
                # It may run into what it writes itself.
                for step in range((pair[1] & 15) + 2):
                    byte = window[(place + step) % _WINDOW]
                    window[put % _WINDOW] = byte
                    put += 1
                    out.append(byte)
                continue
            if not piece:
                return bytes(out)
            window[put % _WINDOW] = piece[0]
            put += 1
            out += piece
    return bytes(out)
