"""E-books of Kindles (``.mobi``, ``.azw``, ``.azw3``): the text of one without protection.

The file is a database of Palm: records of which the first describes the book, and the next have its
HTML, packed by PalmDoc or by Huffman codes. The form is described by the wiki of MobileRead.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any, Final

from mem_search.extractors.main_text import plain_text
from mem_search.extractors.refusal import Unreadable
from mem_search.extractors.zip_package import moment
from mem_search.model.ingest import Extracted
from mem_search.text.charsets import decoded_page

_TYPES: Final = (b"BOOKMOBI", b"TEXtREAd")
_TYPE_AT: Final = 60
_MAX_TEXT: Final = 100 * 2**20
"""Bytes of the text of one book."""

_MAX_DEPTH: Final = 32
_EXTH: Final = {100: "author", 101: "publisher", 103: "description", 104: "isbn", 105: "subject",
                106: "published", 503: "title"}  # fmt: skip


class Mobi:
    """A book with DRM is refused; so is one that is cut off."""

    name = "mobi"
    suffixes = (".mobi", ".azw", ".azw3", ".prc")

    def recognises(self, head: bytes, path: Path, suffix: str) -> bool:
        return head[_TYPE_AT : _TYPE_AT + 8] in _TYPES

    def extract(self, path: Path, name: str) -> Extracted:
        try:
            return _book(_records(path.read_bytes()))
        except (struct.error, IndexError) as error:
            raise Unreadable(f"it is damaged or cut off: {error}") from None


def _records(data: bytes) -> list[bytes]:
    (count,) = struct.unpack_from(">H", data, 76)
    starts = [struct.unpack_from(">L", data, 78 + 8 * number)[0] for number in range(count)]
    if not starts or sorted(starts) != starts or starts[-1] > len(data):
        raise Unreadable("it is damaged or cut off: its records are missing")
    return [data[a:b] for a, b in zip(starts, [*starts[1:], len(data)], strict=True)]


def _book(records: list[bytes]) -> Extracted:
    first = records[0]
    packing, _, length, count, _, encryption = struct.unpack_from(">HHLHHH", first)
    if encryption:
        raise Unreadable("it is protected (DRM): only the shop's reader can open it")
    if length > _MAX_TEXT:
        raise Unreadable(f"its text has more than {_MAX_TEXT // 2**20} MB")
    is_mobi = first[16:20] == b"MOBI"
    header = struct.unpack_from(">L", first, 20)[0] if is_mobi else 0
    charset = "utf-8" if is_mobi and struct.unpack_from(">L", first, 28)[0] == 65001 else "cp1252"
    has_flags = is_mobi and header >= 228
    flags = struct.unpack_from(">H", first, 242)[0] if has_flags else 0
    match packing:
        case 1:
            unpack: Any = bytes
        case 2:
            unpack = _palm_doc
        case 17480:
            start, many = struct.unpack_from(">LL", first, 112)
            unpack = _Huffman(records[start : start + many]).unpack
        case _:
            raise Unreadable(f"its text is packed in an unknown way ({packing})")
    if len(records) <= count:
        raise Unreadable("it is damaged or cut off: the end of its text is missing")
    parts, size = [], 0
    for record in records[1 : count + 1]:
        parts.append(unpack(_without_trailer(record, flags)))
        size += len(parts[-1])
        if size > _MAX_TEXT:
            raise Unreadable("it unpacks to far more than it holds (an archive bomb)")
    said = _described(first, header, charset) if is_mobi else {}
    text = plain_text(decoded_page(b"".join(parts), charset))
    unread = ("the text is shorter than the book says",) if size < length * 0.98 else ()
    at = moment(said.get("published", ""))
    kept = {key: said[key] for key in ("author", "publisher", "published", "isbn", "description")
            if said.get(key)}  # fmt: skip
    tags = tuple(part.strip() for part in said.get("subject", "").split(";") if part.strip())
    return Extracted(text, title=said.get("title", ""), created_at=at, tags=tags, metadata=kept,
                     unread=unread)  # fmt: skip


def _without_trailer(record: bytes, flags: int) -> bytes:
    """A record without what stands after its text: an index, and a cut character."""
    for _ in range((flags >> 1).bit_count()):
        size = shift = 0
        for byte in reversed(record[-4:]):
            size |= (byte & 0x7F) << shift
            shift += 7
            if byte & 0x80:
                break
        record = record[: max(0, len(record) - size)]
    if flags & 1 and record:
        record = record[: max(0, len(record) - (record[-1] & 3) - 1)]
    return record


def _described(first: bytes, header: int, charset: str) -> dict[str, str]:
    """What the EXTH part says; the title stands elsewhere, too."""
    at, size = struct.unpack_from(">LL", first, 84)
    fields = {"title": first[at : at + min(size, 2000)].decode(charset, "replace")}
    if not struct.unpack_from(">L", first, 128)[0] & 0x40:
        return fields
    place = 16 + header
    if first[place : place + 4] != b"EXTH":
        return fields
    (count,) = struct.unpack_from(">L", first, place + 8)
    place += 12
    for _ in range(min(count, 1000)):
        kind, length = struct.unpack_from(">LL", first, place)
        value = first[place + 8 : place + max(8, length)].decode(charset, "replace").strip()
        if (key := _EXTH.get(kind)) and value:
            is_more = key in ("author", "subject") and key in fields
            fields[key] = f"{fields[key]}; {value}" if is_more else value
        place += max(8, length)
    return fields


def _palm_doc(data: bytes) -> bytes:
    unpacked, at = bytearray(), 0
    while at < len(data):
        byte = data[at]
        at += 1
        if 1 <= byte <= 8:
            unpacked += data[at : at + byte]
            at += byte
        elif byte < 0x80:
            unpacked.append(byte)
        elif byte >= 0xC0:
            unpacked += bytes((32, byte ^ 0x80))
        else:
            pair = byte << 8 | data[at]
            at += 1
            distance, length = (pair & 0x3FFF) >> 3, (pair & 7) + 3
            if not 0 < distance <= len(unpacked):
                raise Unreadable("it is damaged: its text cannot be unpacked")
            for _ in range(length):
                unpacked.append(unpacked[-distance])
    return bytes(unpacked)


class _Huffman:
    """The codes of a book: a record of lengths, and records of the words for them."""

    def __init__(self, records: list[bytes]) -> None:
        codes = records[0]
        if codes[:4] != b"HUFF":
            raise Unreadable("it is damaged: its codes are missing")
        first, second = struct.unpack_from(">LL", codes, 8)
        self._short = [(v & 0x1F, bool(v & 0x80), v >> 8)
                       for v in struct.unpack_from(">256L", codes, first)]  # fmt: skip
        limits = struct.unpack_from(">64L", codes, second)
        self._least = [0, *(limits[i] << (32 - n) for n, i in enumerate(range(0, 64, 2), 1))]
        self._most = [0, *(((limits[i] + 1) << (32 - n)) - 1
                           for n, i in enumerate(range(1, 64, 2), 1))]  # fmt: skip
        self._words: list[tuple[bytes, bool]] = []
        for record in records[1:]:
            if record[:4] != b"CDIC":
                raise Unreadable("it is damaged: its dictionary is missing")
            total, bits = struct.unpack_from(">LL", record, 8)
            count = min(1 << min(bits, 16), total - len(self._words))
            for (place,) in struct.iter_unpack(">H", record[16 : 16 + 2 * count]):
                (length,) = struct.unpack_from(">H", record, 16 + place)
                word = record[18 + place : 18 + place + (length & 0x7FFF)]
                self._words.append((word, bool(length & 0x8000)))

    def unpack(self, data: bytes, depth: int = 0) -> bytes:
        if depth > _MAX_DEPTH:
            raise Unreadable("it is damaged: its dictionary refers to itself")
        unpacked = bytearray()
        left, at, bits = len(data) * 8, 0, int.from_bytes(data + bytes(8), "big")
        total = left + 64
        while left > 0:
            window = bits >> (total - at - 32) & 0xFFFFFFFF
            length, is_last, most = self._short[window >> 24]
            if not length:
                raise Unreadable("it is damaged: its text cannot be unpacked")
            if is_last:
                limit = ((most + 1) << (32 - length)) - 1
            else:
                while length < 32 and window < self._least[length]:
                    length += 1
                limit = self._most[length]
            at, left = at + length, left - length
            if left < 0:
                break
            number = (limit - window) >> (32 - length)
            word, is_plain = self._words[number]
            if not is_plain:
                word = self.unpack(word, depth + 1)
                self._words[number] = word, True
            unpacked += word
        return bytes(unpacked)
