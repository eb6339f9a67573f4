"""What an S/MIME part holds (RFC 8551): the message that was signed, or why it cannot be read.

CMS (RFC 5652) is written in BER, of which this reads what leads to the content. Whether a signature
is right is not looked at: the text is the same.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_SIGNED: Final = bytes.fromhex("2a864886f70d010702")
_COMPRESSED: Final = bytes.fromhex("2a864886f70d0109100109")
_ENCRYPTED: Final = frozenset(
    bytes.fromhex(each) for each in ("2a864886f70d010703", "2a864886f70d010706",
                                     "2a864886f70d0109100117")
)  # fmt: skip
"""enveloped-data, encrypted-data and authEnveloped-data."""

_SEQUENCE, _NAME, _OCTETS, _PIECES, _CONTENT = 0x30, 6, 4, 0x24, 0xA0
_MAX_DEPTH: Final = 12
_MAX_ITEMS: Final = 500_000
"""Of one list: a content in pieces has one for each kilobyte or so."""

MAX_BYTES: Final = 36 * 2**20
"""That compressed content may unpack to."""

ENCRYPTED: Final = "encrypted (S/MIME) and cannot be read here; save it decrypted and add that"


class Unopened(ValueError):
    """The part cannot be read; the message says why, after "it is"."""


@dataclass(frozen=True, slots=True)
class _Item:
    """A value of BER: what it is, its content in the data, and where the next one begins."""

    tag: int
    start: int
    end: int
    next: int


def content_of(data: bytes) -> bytes:
    """The message in ``data``; b"" where the signature lies beside it. Raises Unopened."""
    try:
        return _content(data if data[:1] == b"\x30" else _from_text(data))
    except (IndexError, binascii.Error):
        raise Unopened("damaged: its S/MIME is cut off") from None


def _from_text(data: bytes) -> bytes:
    """Base64 that was encoded once more, or PEM."""
    lines = [line for line in data.split() if not line.startswith(b"--") and b"-----" not in line]
    return base64.b64decode(b"".join(lines), validate=True)


def _content(data: bytes) -> bytes:
    whole = _item(data, 0, len(data))
    parts = {each.tag: each for each in _items(data, whole)} if whole.tag == _SEQUENCE else {}
    if _NAME not in parts or _CONTENT not in parts:
        raise Unopened("damaged: it is not S/MIME")
    kind = data[parts[_NAME].start : parts[_NAME].end]
    if kind in _ENCRYPTED:
        raise Unopened(ENCRYPTED)
    if kind not in (_SIGNED, _COMPRESSED):
        raise Unopened("S/MIME of a kind that is not read")
    inner = next(_items(data, parts[_CONTENT]))
    held = [each for each in _items(data, inner) if each.tag == _SEQUENCE]
    # Of signed data it is the first one; before that of compressed data its algorithm stands.
    at = 0 if kind == _SIGNED else 1
    inside = {each.tag: each for each in _items(data, held[at])}
    if _CONTENT not in inside:
        return b""
    octets = b"".join(_octets(data, each) for each in _items(data, inside[_CONTENT]))
    if kind == _SIGNED:
        return octets
    unpacking = zlib.decompressobj()
    try:
        unpacked = unpacking.decompress(octets, MAX_BYTES)
    except zlib.error:
        raise Unopened("damaged: it cannot be unpacked") from None
    if unpacking.unconsumed_tail:
        raise Unopened(f"compressed S/MIME of more than {MAX_BYTES // 2**20} MiB")
    return unpacked


def _octets(data: bytes, item: _Item, depth: int = 0) -> bytes:
    """The bytes of a string, which may stand in pieces."""
    if item.tag == _OCTETS:
        return data[item.start : item.end]
    if item.tag != _PIECES or depth > _MAX_DEPTH:
        return b""
    return b"".join(_octets(data, each, depth + 1) for each in _items(data, item))


def _items(data: bytes, outer: _Item) -> Iterator[_Item]:
    at = outer.start
    for _ in range(_MAX_ITEMS):
        if at >= outer.end:
            return
        item = _item(data, at, outer.end)
        yield item
        at = item.next
    raise Unopened("damaged: it has too many pieces")


def _item(data: bytes, at: int, end: int, depth: int = 0) -> _Item:
    """The value at ``at``. One without a length ends with two zeros, after those inside it."""
    tag, length, start = data[at], data[at + 1], at + 2
    if length == 0x80:
        if depth > _MAX_DEPTH:
            raise Unopened("damaged: it is nested too deeply")
        inside = start
        while data[inside : inside + 2] != b"\0\0":
            inside = _item(data, inside, end, depth + 1).next
        return _Item(tag, start, inside, inside + 2)
    if length > 0x80:
        count = length - 0x80
        length = int.from_bytes(data[start : start + count], "big") if count <= 8 else end
        start += count
    if start + length > end:
        raise Unopened("damaged: its S/MIME is cut off")
    return _Item(tag, start, start + length, start + length)
