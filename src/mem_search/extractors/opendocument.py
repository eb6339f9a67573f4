"""OpenDocument text and presentations (``.odt``, ``.odp``)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mem_search.extractors import zip_package
from mem_search.extractors.refusal import Unreadable
from mem_search.extractors.zip_package import attribute, local
from mem_search.model.ingest import Extracted


class OpenDocument:
    """Reads headings and paragraphs of ``content.xml`` in document order."""

    name = "opendocument"
    suffixes = (".odt", ".odp")

    def recognises(self, head: bytes, path: Path, suffix: str) -> bool:
        return b"mimetypeapplication/vnd.oasis.opendocument" in head[:120] or (
            suffix in self.suffixes and zip_package.holds(path, head, "content.xml")
        )

    def extract(self, path: Path, name: str) -> Extracted:
        with zip_package.opened(path) as package:
            if "META-INF/manifest.xml" in package.names and any(
                local(each) == "encryption-data"
                for each in package.xml("META-INF/manifest.xml").iter()
            ):
                raise Unreadable("it is encrypted with a password; save it without one")
            properties: dict[str, Any] = {}
            if "meta.xml" in package.names:
                properties = zip_package.described(package.xml("meta.xml"))
            blocks = [*_blocks(package.xml("content.xml"))]
            return Extracted("\n\n".join(block for block in blocks if block.strip()), **properties)


def _blocks(root: Any) -> Iterator[str]:
    for element in root.iter():
        name = local(element)
        if name in ("p", "h"):
            level = attribute(element, "outline-level") if name == "h" else ""
            marks = "#" * min(6, int(level)) + " " if level.isdecimal() else ""
            yield marks + "".join(_runs(element)).strip()


def _runs(element: Any) -> Iterator[str]:
    yield element.text or ""
    for child in element:
        match local(child):
            case "p" | "h":
                pass
            case "tab":
                yield "\t"
            case "line-break":
                yield "\n"
            case "s":
                yield " "
            case "":
                pass
            case _:
                yield from _runs(child)
        yield child.tail or ""
