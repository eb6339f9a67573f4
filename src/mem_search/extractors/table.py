"""Tables as text (``.csv``, ``.tsv``), and those of banks that call themselves ``.xls``.

Rows are kept as they are written, up to ``MAX_ROWS`` and ``MAX_CHARS``. Those of data programs
(``.parquet``) become lines, after one with the columns.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from mem_search.extractors.refusal import Unreadable
from mem_search.extractors.text import Text
from mem_search.install_command import install_command
from mem_search.model.ingest import Extracted
from mem_search.text.charsets import sniffed

MAX_ROWS: Final = 100_000
"""Rows of one table that are read; of a longer one the first."""

MAX_CHARS: Final = 9_000_000
"""Characters of them; a record may have ten million."""

_PARQUET_MAGIC: Final = b"PAR1"
_AT_ONCE: Final = 1_000
_MAX_CELL_CHARS: Final = 2_000
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


class Parquet:
    """Reads with pyarrow, of the extra ``parquet``, within the limits of tables."""

    name = "parquet"
    suffixes = (".parquet",)

    def recognises(self, head: bytes, path: Path, suffix: str) -> bool:
        return head.startswith(_PARQUET_MAGIC)

    def extract(self, path: Path, name: str) -> Extracted:
        with path.open("rb") as file:
            file.seek(-4, 2)
            if file.read() != _PARQUET_MAGIC:
                raise Unreadable("it is damaged or cut off: its end is missing")
        try:
            from pyarrow.parquet import ParquetFile
        except ImportError:
            step = install_command("mem-search[parquet]")
            raise Unreadable(
                f"it is a Parquet table, which needs a package: {step};"
                " then: mem-search sync --again"
            ) from None
        table = ParquetFile(path, memory_map=True)
        rows, size = [" | ".join(table.schema_arrow.names)], 0
        for batch in table.iter_batches(_AT_ONCE, use_threads=False):
            for row in batch.to_pylist():
                values = ("" if value is None else str(value) for value in row.values())
                cells = (" ".join(value.split()) for value in values)
                rows.append(" | ".join(cell[:_MAX_CELL_CHARS] for cell in cells))
                size += len(rows[-1])
            if len(rows) > MAX_ROWS or size > MAX_CHARS:
                break
        return within_limits(rows, max(0, table.metadata.num_rows + 1 - len(rows)))
