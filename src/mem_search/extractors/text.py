"""Plain text of any kind: notes, source code, tables, logs. Org and AsciiDoc say their title,
author, date and tags in their first lines.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import dropwhile, takewhile
from pathlib import Path
from typing import Final

from mem_search.extractors.refusal import ENCRYPTED, is_binary_format, is_text
from mem_search.extractors.zip_package import moment
from mem_search.model.ingest import Extracted
from mem_search.patterns import pattern
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


_ASCIIDOC: Final = (".adoc", ".asciidoc", ".asc")
_ORG_FIELD: Final = pattern(r"[ \t]{0,9}#\+(\w{1,30}):[ \t]{1,20}(\S.*)")
_FIELD: Final = pattern(r":(\w[\w-]{0,30}):[ \t]{1,20}(\S.*)")
_DAY: Final = pattern(r"(?<!\d)(\d{4}-\d\d-\d\d)(?:[T ]?[^\W\d]{0,12}\.? {0,2}(\d\d:\d\d))?(?!\d)")
"""Also ``<2024-05-01 Wed 10:30>``, as Org writes it."""
_HEAD_LINES: Final = 50


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
        text, suffix = decoded(path.read_bytes()).strip("\n"), Path(name).suffix.lower()
        lines = text.split("\n", _HEAD_LINES)[:_HEAD_LINES]
        said = _org(lines) if suffix == ".org" else {}
        said = _asciidoc(lines) if suffix in _ASCIIDOC else said
        day = _DAY.search(said.get("date", "") or said.get("revdate", ""))
        tags = (each.strip() for each in re.split("[:,]", said.get("tags", "")))
        return Extracted(
            text,
            title=said.get("title", ""),
            created_at=moment(" ".join(filter(None, day.groups()))) if day else None,
            tags=tuple(dict.fromkeys(filter(None, tags))),
            metadata={"author": author} if (author := said.get("author", "")) else {},
        )


def _org(lines: Sequence[str]) -> dict[str, str]:
    """The keywords before the first heading of Org."""
    said: dict[str, str] = {}
    for line in takewhile(lambda line: not line.startswith("*"), lines):
        if field := _ORG_FIELD.fullmatch(line):
            name = field[1].lower()
            said.setdefault("tags" if name == "filetags" else name, field[2].strip())
    return said


def _asciidoc(lines: Sequence[str]) -> dict[str, str]:
    """The title, the lines of author and revision, and the attributes of AsciiDoc's header, which
    ends at a blank line.
    """
    said: dict[str, str] = {}
    written = dropwhile(lambda line: not line.strip(), lines)
    for line in takewhile(str.strip, (line for line in written if not line.startswith("//"))):
        if field := _FIELD.fullmatch(line):
            name = field[1].lower()
            said["tags" if name == "keywords" else name] = field[2].strip()
        elif line.startswith("= ") and "title" not in said:
            said["title"] = line[2:].strip()
        elif "title" not in said:
            return {}
        elif _DAY.search(line):
            said.setdefault("date", line)
        elif len(names := line.partition("<")[0].split()) <= 3 and line[-1:] not in ".:":
            said.setdefault("author", " ".join(names))
    return said if "title" in said else {}


def decoded(data: bytes) -> str:
    """The text of ``data``, with the ends of lines of Unix (see ``charsets.decoded``)."""
    text = charsets.decoded(data).replace("\r\n", "\n").replace("\0", "")
    return text if "\n" in text else text.replace("\r", "\n")  # of old Macs
