"""Office files that are one XML file: SpreadsheetML and WordprocessingML of 2003.

Banks and shops write the first with the name ``.xls``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from mem_search.extractors.zip_package import attribute, described, local, parsed_file
from mem_search.model.ingest import PAGE_BREAK, Extracted
from mem_search.text.charsets import sniffed

_MARKS: Final = (
    b"urn:schemas-microsoft-com:office:spreadsheet",
    b"schemas.microsoft.com/office/word/2003/wordml",
)
_MAX_SKIPPED: Final = 1_000
"""Empty cells and rows that are kept between two with words: a file may name any number."""


class OfficeXml:
    """Rows of sheets, or paragraphs, by what the root element is."""

    name = "officexml"
    suffixes: tuple[str, ...] = ()

    def recognises(self, head: bytes, path: Path, suffix: str) -> bool:
        start = sniffed(head).removeprefix(b"\xef\xbb\xbf").lstrip()
        return start.startswith(b"<?xml") and any(mark in start for mark in _MARKS)

    def extract(self, path: Path, name: str) -> Extracted:
        root = parsed_file(path)
        about: dict[str, Any] = {}
        for element in root.iter():
            if local(element) == "DocumentProperties" and len(element):
                about = described(element)
                break
        sheets = [each for each in root.iter() if local(each) == "Worksheet"]
        if sheets:
            pages = ["\n".join([f"# {attribute(each, 'Name')}", *_rows(each)]) for each in sheets]
            metadata = {**about.pop("metadata", {}), "pages": len(pages)}
            return Extracted(PAGE_BREAK.join(pages), metadata=metadata, **about)
        texts = ("".join(_runs(each)).strip() for each in root.iter() if local(each) == "p")
        return Extracted("\n\n".join(filter(None, texts)), **about)


def _rows(sheet: Any) -> Iterator[str]:
    for row in sheet.iter():
        if local(row) == "Row":
            cells: list[str] = []
            for cell in row:
                if local(cell) != "Cell":
                    continue
                place = attribute(cell, "Index")
                if place.isdecimal() and len(cells) < int(place) - 1 < _MAX_SKIPPED:
                    cells += [""] * (int(place) - 1 - len(cells))
                parts = (" ".join("".join(part.itertext()).split()) for part in cell)
                cells.append(" ".join(filter(None, parts)))
            if line := " | ".join(cells).strip(" |"):
                yield line


def _runs(paragraph: Any) -> Iterator[str]:
    """What its ``w:t`` have."""
    for element in paragraph.iter():
        if local(element) in ("tab", "br"):
            yield "\t" if local(element) == "tab" else "\n"
        elif local(element) == "t":
            yield element.text or ""
