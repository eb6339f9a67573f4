"""Tables of data programs (``.parquet``): a line for each row, after one with the columns."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from mem_search.extractors.refusal import Unreadable
from mem_search.extractors.table import MAX_CHARS, MAX_ROWS, within_limits
from mem_search.install_command import install_command
from mem_search.model.ingest import Extracted

_MAGIC: Final = b"PAR1"
_AT_ONCE: Final = 1_000
_MAX_CELL_CHARS: Final = 2_000


class Parquet:
    """Reads with pyarrow, of the extra ``parquet``, within the limits of tables."""

    name = "parquet"
    suffixes = (".parquet",)

    def recognises(self, head: bytes, path: Path, suffix: str) -> bool:
        return head.startswith(_MAGIC)

    def extract(self, path: Path, name: str) -> Extracted:
        with path.open("rb") as file:
            file.seek(-4, 2)
            if file.read() != _MAGIC:
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
