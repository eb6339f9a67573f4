"""Rich text (``.rtf``)."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Final

from mem_search.extractors.refusal import Unreadable
from mem_search.model.ingest import Extracted
from mem_search.patterns import pattern
from mem_search.text.charsets import codec_of

_HEAD: Final = 1000
_PAGE: Final = pattern(rb"\\(?:ansicpg(\d{1,5})|(mac|pca?)\b)")
_OLD: Final = {b"mac": "mac_roman", b"pc": "cp437", b"pca": "cp850"}
_RAW: Final = pattern(rb"[\x80-\xff]+")
_ESCAPED: Final = pattern(rb"(?:\\'[89a-fA-F][0-9a-fA-F])+")


class Rtf:
    """Reads the text with striprtf."""

    name = "rtf"
    suffixes = (".rtf",)

    def recognises(self, head: bytes, path: Path, suffix: str) -> bool:
        return head.lstrip().startswith(b"{\\rtf")

    def extract(self, path: Path, name: str) -> Extracted:
        from striprtf.striprtf import rtf_to_text

        data = path.read_bytes()
        if not data.rstrip(b"\0 \r\n").endswith(b"}"):
            raise Unreadable("it is cut off: its last bracket is missing")
        return Extracted(rtf_to_text(_in_ascii(data), errors="ignore").strip())


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

    data = _RAW.sub(escaped, data)
    if codec.startswith("mac") or (stated and stated[2]):
        data = _ESCAPED.sub(escaped, data)
    return data.decode("ascii")
