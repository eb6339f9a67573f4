"""Rich text (``.rtf``): the text, and then notes, heads, feet, boxes and comments."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from mem_search.extractors import inside
from mem_search.model.ingest import Extracted
from mem_search.patterns import pattern
from mem_search.text.charsets import codec_of
from mem_search.text.counted import counted

_AROUND: Final = (
    "shptxt", "footnote", "annotation", "header", "headerl", "headerr", "headerf", "footer",
    "footerl", "footerr", "footerf", "result",
)  # fmt: skip
"""Groups with text that striprtf leaves out."""
_INFO: Final = ("title", "author", "keywords")
_MAX_GROUPS: Final = 10_000
_MARK: Final = pattern(rb"\\([a-z]{1,32})(?![a-z])|[{}]|\\[^a-z]")
_STARRED: Final = pattern(rb"\{\s*\\\*")
_SEEN: Final = frozenset(("annotation", "footnote", "shpinst", "shptxt", "ud"))
"""Of the groups that a reader may skip (``\\*``), those with text for people."""
_LOOSE_STAR: Final = pattern(rb"(?P<kept>\\\\|\{\s*\\\*)|\\\*")
"""A star that begins no group hides nothing (StarWriter, before a style)."""
_PICTURE: Final = pattern(rb"\\(?:png|jpeg)blip")
_LARGE_PICTURE: Final = 200_000
"""Letters of hexadecimal digits: 100 kB. A smaller one is a sign or a logo."""
_MIN_TYPED_LETTERS: Final = 100
"""A document with fewer letters and with pictures was scanned."""
_MAX_PICTURES: Final = 8
_SILENT: Final = pattern(
    r"fonttbl|colortbl|stylesheet|info|pict|themedata|colorschememapping|listtable|datastore"
    r"|listoverridetable|rsidtbl|generator|fldinst|object|latentstyles|filetbl|revtbl|xmlnstbl"
    r"|listname|bkmkstart|bkmkend|atnid|atnauthor|atrfstart|atrfend|sp|nonshppict"
)
_CONTROL: Final = pattern(r"\\[a-zA-Z]{1,32}-?\d{0,10} ?|\\'[0-9a-f]{2}|\\.|[\r\n]", re.DOTALL)
_NO_HEX: Final = pattern(r"[^0-9a-fA-F]+")
_HEAD: Final = 1000
_PAGE: Final = pattern(rb"\\(?:ansicpg(\d{1,5})|(mac|pca?)\b)")
_OLD: Final = {b"mac": "mac_roman", b"pc": "cp437", b"pca": "cp850"}
_RAW: Final = pattern(rb"[\x80-\xff]+")
_ESCAPED: Final = pattern(rb"(?:\\'[89a-fA-F][0-9a-fA-F])+")


class Rtf:
    """Reads the text with striprtf, and each group that it leaves out by itself."""

    name = "rtf"
    suffixes = (".rtf",)

    def recognises(self, head: bytes, path: Path, suffix: str) -> bool:
        return head.lstrip().startswith(b"{\\rtf")

    def extract(self, path: Path, name: str) -> Extracted:
        from striprtf.striprtf import rtf_to_text

        written, cut = _whole(path)
        data = _in_ascii(written)
        start = _start(data)

        def text(group: str) -> str:
            return str(rtf_to_text(f"{start}{group}}}", errors="ignore")).strip()

        pieces = [str(rtf_to_text(data, errors="ignore")).strip()]
        info: dict[str, str] = {}
        objects: list[tuple[str, bytes]] = []
        pictures: list[str] = []
        for word, at, end in _groups(data.encode(), (*_AROUND, *_INFO, "objdata", "pict")):
            if word == "objdata":
                objects.append(_object(data[at:end]))
                continue
            if word == "pict":
                pictures.append(data[at:end])
                continue
            said = text(data[at:end])
            if word in _INFO:
                info.setdefault(word, said)
            elif said and said not in pieces:
                pieces.append(said)
        metadata: dict[str, Any] = {"author": info["author"]} if info.get("author") else {}
        words = info.get("keywords", "").replace(";", ",").split(",")
        tags = tuple(word.strip() for word in words if 0 < len(word.strip()) < 50)
        files = inside.read(each for each in objects if each[1])
        empty = tuple(
            f"{name} inside it was not read: it has no data" for name, held in objects if not held
        )
        shown = _pictures(pictures, all_of_them=sum(map(len, pieces)) < _MIN_TYPED_LETTERS)
        body = "\n\n".join(filter(None, (*pieces, *shown.texts, *files.texts)))
        return Extracted(
            body,
            title=info.get("title", ""),
            metadata=metadata,
            tags=tags,
            unread=(*("it is cut off",) * cut, *files.unread, *empty, *shown.unread),
            lacks=files.lacks or shown.lacks,
        )

    def held(self, path: Path) -> Iterator[tuple[str, str]]:
        """Words in the letters of ASCII, which no code page changes, outside of silent groups."""
        data, _ = _whole(path)
        kept, at = [], 0
        for word, start, end in _groups(data, ()):
            is_starred = _STARRED.match(data, start) and word not in _SEEN
            if start >= at and (is_starred or _SILENT.fullmatch(word)):
                kept.append(data[at:start])
                at = end
        kept.append(data[at:])
        text = _CONTROL.sub(
            lambda control: "?" if control[0][1:2] in ("'", "u") else " ",
            b" ".join(kept).decode("latin-1"),
        )
        words = (each for each in re.split(r"[\s{}]+", text) if "?" not in each)
        yield "the file", " ".join(words)


def _whole(path: Path) -> tuple[bytes, bool]:
    """A file up to its last bracket, without what follows it, and whether that was missing."""
    data, depth = path.read_bytes(), 0
    if data.rstrip(b"\0 \r\n").endswith(b"}"):
        return data, False
    for match in _MARK.finditer(data):
        depth += {b"{": 1, b"}": -1}.get(match[0], 0)
        if not depth:
            return data[: match.end()], False
    return data + b"}" * depth, True


def _pictures(written: list[str], *, all_of_them: bool) -> inside.Inside:
    """What is read of the pictures of a document that is hardly more; of others, that large ones
    are not read."""
    if not all_of_them:
        large = sum(len(each) > _LARGE_PICTURE for each in written)
        said = (counted(large, "large picture"),) if large else ()
        return inside.Inside(unread=tuple(f"{each} in it not read" for each in said))
    pictures: list[tuple[str, bytes]] = []
    for group in written:
        kind = _PICTURE.search(group[:_HEAD].encode())
        if kind and len(pictures) < _MAX_PICTURES:
            digits = _NO_HEX.sub("", _CONTROL.sub(" ", group.rpartition("}")[2]))
            suffix = "png" if b"png" in kind[0] else "jpg"
            name = f"picture {len(pictures) + 1}.{suffix}"
            pictures.append((name, bytes.fromhex(digits[: len(digits) // 2 * 2])))
    return inside.read(pictures)


def _object(written: str) -> tuple[str, bytes]:
    """Name and data of an object (MS-OLEDS 2.2.5): version, format, three texts, its data."""
    data = bytes.fromhex(_NO_HEX.sub("", written)[: len(_NO_HEX.sub("", written)) // 2 * 2])
    at, names = 8, []
    for _ in range(3):
        size = int.from_bytes(data[at : at + 4], "little")
        names.append(data[at + 4 : at + 4 + size].rstrip(b"\0").decode("latin-1"))
        at += 4 + size
    size = int.from_bytes(data[at : at + 4], "little")
    held = data[at + 4 : at + 4 + size]
    if names[0] == "Package" and held:
        return inside.packaged(held)
    return names[0] or "an object", held


def _start(data: str) -> str:
    """What comes before the text of the document: its code page and its fonts."""
    fonts = data.find("{\\fonttbl")
    if fonts < 0:
        return data[:200].partition("\n")[0].rpartition("{")[0] or "{\\rtf1\\ansi "
    depth = 0
    for match in re.finditer(r"\\.|[{}]", data[fonts:]):
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        if not depth:
            return data[: fonts + match.end()]
    return data[:fonts]


def _groups(data: bytes, wanted: tuple[str, ...]) -> Iterator[tuple[str, int, int]]:
    """Name, begin and end of the text of each group that begins with one of the words ``wanted``,
    or with any; in the order of their ends, or of their begins if all are."""
    open_groups: list[tuple[str, int]] = []
    groups: list[tuple[str, int, int]] = []
    waiting = -1
    for match in _MARK.finditer(data):
        mark = match[0]
        if mark == b"{":
            open_groups.append(("", match.start()))
            waiting = len(open_groups)
        elif mark == b"}":
            if open_groups:
                word, begin = open_groups.pop()
                if word and len(groups) < _MAX_GROUPS:
                    groups.append((word, begin, match.start()))
            waiting = -1
        elif mark == b"\\*":
            continue
        elif waiting == len(open_groups) and match[1] and open_groups:
            word = match[1].decode()
            if not wanted or word in wanted:
                open_groups[-1] = (word, match.end() if wanted else open_groups[-1][1])
            waiting = -1
        else:
            waiting = -1
    yield from sorted(groups, key=lambda group: group[1])


def _in_ascii(data: bytes) -> str:
    """``data`` with escapes of Unicode for what striprtf does not know: raw bytes, Macs, DOS."""
    stated = _PAGE.search(data[:_HEAD])
    codec = "cp1252"
    if stated:
        codec = codec_of(f"cp{stated[1].decode()}") if stated[1] else _OLD[stated[2]]

    def escaped(match: re.Match[bytes]) -> bytes:
        is_raw = not match[0].startswith(b"\\")
        raw = match[0] if is_raw else bytes.fromhex(match[0].decode("ascii").replace("\\'", ""))
        text = raw.decode(codec or "cp1252", "replace").encode(f"utf-16-{sys.byteorder[0]}e")
        units = memoryview(text).cast("h")
        return b"{\\uc1" + b"".join(b"\\u%d?" % unit for unit in units) + b"}"

    data = _LOOSE_STAR.sub(lambda match: match["kept"] or b"", _RAW.sub(escaped, data))
    if codec.startswith("mac") or (stated and stated[2]):
        data = _ESCAPED.sub(escaped, data)
    return data.decode("ascii")
