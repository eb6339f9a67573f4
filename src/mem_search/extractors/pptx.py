"""Presentations: a page for each slide, with its notes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mem_search.extractors import zip_package
from mem_search.extractors.zip_package import Package, attribute, local
from mem_search.model.ingest import PAGE_BREAK, Extracted

_MAIN = "ppt/presentation.xml"


class Pptx:
    """Reads slides in the order of the presentation."""

    name = "pptx"
    suffixes = (".pptx", ".pptm")

    def recognises(self, head: bytes, path: Path, suffix: str) -> bool:
        return zip_package.holds(path, head, _MAIN)

    def extract(self, path: Path, name: str) -> Extracted:
        with zip_package.opened(path) as package:
            slides = [_slide(package, part) for part in _order(package)]
            properties = package.properties()
            metadata = {**properties.pop("metadata", {}), "pages": len(slides)}
            text = PAGE_BREAK.join(slides)
            return Extracted(text if text.strip() else "", metadata=metadata, **properties)


def _order(package: Package) -> list[str]:
    targets = package.targets(_MAIN)
    ids = [e for e in package.xml(_MAIN).iter() if local(e) == "sldId"]
    # A slide id has two attributes called "id": its number, and that of the relation.
    keys = [value for e in ids for value in e.attrib.values() if value in targets]
    return [targets[key][1] for key in keys if targets[key][1] in package.names]


def _slide(package: Package, part: str) -> str:
    pieces = [_text(package.xml(part))]
    for kind, target in package.targets(part).values():
        if kind in ("notesSlide", "comments", "diagramData", "chart") and target in package.names:
            pieces.append(_text(package.xml(target)))
    return "\n\n".join(piece for piece in pieces if piece)


def _text(root: Any) -> str:
    lines = []
    for paragraph in root.iter():
        if local(paragraph) == "p" and attribute(paragraph.getparent(), "type") != "sldNum":
            line = "".join(e.text or "" for e in paragraph.iter() if local(e) == "t")
            lines.append(line.strip())
    return "\n".join(line for line in lines if line)
