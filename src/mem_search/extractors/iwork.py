"""Pages, Numbers and Keynote, by the PDF that they have inside for others to look at."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Final

from mem_search.extractors import zip_package
from mem_search.extractors.pdf import Pdf
from mem_search.extractors.refusal import Unreadable
from mem_search.model.ingest import Extracted

_CONTENT: Final = ("Index/Document.iwa", "Index.zip", "index.xml", "index.apxl")
_PREVIEW: Final = "QuickLook/Preview.pdf"
_PROGRAMS: Final = {".pages": "Pages", ".numbers": "Numbers", ".key": "Keynote"}


class IWork:
    """The content itself is in a form that Apple does not tell; many files have no preview."""

    name = "iwork"
    suffixes = (".pages", ".numbers", ".key")

    def recognises(self, head: bytes, path: Path, suffix: str) -> bool:
        return head.startswith(b"PK") and (
            zip_package.holds(path, head, _PREVIEW, *_CONTENT[:2])
            or (suffix in self.suffixes and b".docx" not in head)
        )

    def extract(self, path: Path, name: str) -> Extracted:
        program = _PROGRAMS.get(Path(name).suffix.lower(), "the program that made it")
        with zip_package.opened(path) as package:
            if _PREVIEW not in package.names:
                raise Unreadable(
                    f"it has no PDF inside that could be read; open it in {program} and export it"
                    " as PDF, or as a Word, Excel or PowerPoint file, and add that"
                )
            data = package.data(_PREVIEW)
        with tempfile.TemporaryDirectory() as folder:
            preview = Path(folder, "preview.pdf")
            preview.write_bytes(data)
            return Pdf().extract(preview, name)
