"""Plain text of any kind: notes, source code, tables, logs."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from mem_search.extractors.refusal import is_binary_format
from mem_search.model.ingest import Extracted
from mem_search.text import charsets

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
    suffixes: tuple[str, ...] = (".txt", ".rst")

    def recognises(self, head: bytes, path: Path, suffix: str) -> bool:
        if suffix in _OTHERS or head.startswith(b"%PDF") or is_binary_format(head):
            return False
        head = charsets.sniffed(head)
        control = sum(byte < 32 and byte not in _IN_TEXTS for byte in head)
        return b"\0" not in head and control * 50 <= len(head)

    def extract(self, path: Path, name: str) -> Extracted:
        return Extracted(decoded(path.read_bytes()).strip("\n"))


def decoded(data: bytes) -> str:
    """The text of ``data``, with the ends of lines of Unix (see ``charsets.decoded``)."""
    return charsets.decoded(data).replace("\r\n", "\n")
