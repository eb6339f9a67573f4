"""Plain text of any kind: notes, source code, tables, logs."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from mem_search.extractors.refusal import ENCRYPTED, is_binary_format, is_text
from mem_search.model.ingest import Extracted
from mem_search.text import charsets

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
        no_text = (b"%PDF", *ENCRYPTED)
        if suffix in _OTHERS or head.startswith(no_text) or is_binary_format(head):
            return False
        head = charsets.sniffed(head)
        return is_text(head)

    def extract(self, path: Path, name: str) -> Extracted:
        return Extracted(decoded(path.read_bytes()).strip("\n"))


def decoded(data: bytes) -> str:
    """The text of ``data``, with the ends of lines of Unix (see ``charsets.decoded``)."""
    text = charsets.decoded(data).replace("\r\n", "\n").replace("\0", "")
    return text if "\n" in text else text.replace("\r", "\n")  # of old Macs
