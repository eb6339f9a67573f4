"""Rich text (``.rtf``)."""

from __future__ import annotations

from pathlib import Path

from mem_search.extractors.refusal import Unreadable
from mem_search.model.ingest import Extracted


class Rtf:
    """Reads the text with striprtf."""

    name = "rtf"
    suffixes = (".rtf",)

    def recognises(self, head: bytes, path: Path, suffix: str) -> bool:
        return head.lstrip().startswith(b"{\\rtf")

    def extract(self, path: Path, name: str) -> Extracted:
        from striprtf.striprtf import rtf_to_text

        data = path.read_bytes().decode("latin-1")
        if not data.rstrip("\0 \r\n").endswith("}"):
            raise Unreadable("it is cut off: its last bracket is missing")
        return Extracted(rtf_to_text(data, errors="ignore").strip())
