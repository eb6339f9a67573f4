"""Tables as text (``.csv``, ``.tsv``), and those of banks that call themselves ``.xls``.

Rows are kept as they are written, up to ``MAX_ROWS`` and ``MAX_CHARS``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from mem_search.extractors.text import Text
from mem_search.model.ingest import Extracted
from mem_search.text.charsets import sniffed

MAX_ROWS: Final = 100_000
"""Rows of one table that are read; of a longer one the first."""

MAX_CHARS: Final = 9_000_000
"""Characters of them; a record may have ten million."""

_SEPARATORS: Final = (b"\t", b";", b",", b"|")
_LINES: Final = 20


class Table(Text):
    """One record a file, whose passages are rows."""

    name = "table"
    suffixes = (".csv", ".tsv", ".tab")

    def recognises(self, head: bytes, path: Path, suffix: str) -> bool:
        if suffix == ".xls":
            return super().recognises(head, path, ".csv") and _is_table(sniffed(head))
        return suffix in self.suffixes and super().recognises(head, path, suffix)

    def extract(self, path: Path, name: str) -> Extracted:
        return within_limits(super().extract(path, name).text.split("\n"))


def within_limits(rows: list[str], more: int = 0) -> Extracted:
    """The first of ``rows``; ``more`` are further ones that nobody read."""
    count = size = 0
    for row in rows:
        size += len(row) + 1
        if count >= MAX_ROWS or size > MAX_CHARS:
            break
        count += 1
    lost = len(rows) - count + more
    total = len(rows) + more
    unread = (f"{lost:,} of {total:,} rows were not read: the first {count:,} are",) if lost else ()
    return Extracted("\n".join(rows[:count]), metadata={"rows": total}, unread=unread)


def _is_table(head: bytes) -> bool:
    """Whether lines have columns: a page with an error has none."""
    lines = [line for line in head.splitlines()[:_LINES] if line.strip()][: _LINES - 1]
    rows = [max(line.count(sign) for sign in _SEPARATORS) for line in lines]
    return bool(rows) and sum(count > 0 for count in rows) * 2 > len(rows)
