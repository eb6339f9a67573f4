"""Plain text of any kind: notes, source code, tables, logs."""

from __future__ import annotations

import codecs
from pathlib import Path
from typing import Final

from mem_search.extractors.refusal import Unreadable, is_binary_format
from mem_search.model.ingest import Extracted

_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_IN_TEXTS: Final = b"\t\n\v\f\r\b\x1b\x1c\x1d\x1e\x1f"
"""Ends of lines and pages, separators, and what a terminal gets."""
_OTHERS: Final = (
    ".pdf",
    ".docx",
    ".pptx",
    ".xlsx",
    ".xls",
    ".ods",
    ".odt",
    ".odp",
    ".epub",
    ".rtf",
)
"""A text with such a name is something else: it was damaged, or an error page was saved."""


class Text:
    """Takes every file that is text, whatever its name."""

    name = "text"
    suffixes = (".txt", ".csv", ".rst")

    def recognises(self, head: bytes, path: Path, suffix: str) -> bool:
        if suffix in _OTHERS or head.startswith(b"%PDF") or is_binary_format(head):
            return False
        if any(head.startswith(mark) for mark, _ in _MARKS):
            return True
        control = sum(byte < 32 and byte not in _IN_TEXTS for byte in head)
        return b"\0" not in head and control * 50 <= len(head)

    def extract(self, path: Path, name: str) -> Extracted:
        return Extracted(decoded(path.read_bytes()).strip("\n"))


def decoded(data: bytes) -> str:
    """The text of ``data``: by its mark, as UTF-8, else in the likeliest encoding."""
    encoding = next((name for mark, name in _MARKS if data.startswith(mark)), "utf-8")
    try:
        return data.decode(encoding).replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        if encoding == "utf-16":
            raise Unreadable(f"it is damaged: {error}") from None
    from charset_normalizer import from_bytes

    best = from_bytes(data[:65536]).best()
    return data.decode(best.encoding if best else "cp1252", "replace").replace("\r\n", "\n")
