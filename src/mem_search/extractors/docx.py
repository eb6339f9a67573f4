"""Word documents: paragraphs with headings, tables, text boxes, notes, charts and comments."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from mem_search.extractors import zip_package
from mem_search.extractors.zip_package import attribute, local
from mem_search.model.ingest import Extracted

_PARTS: Final = ("word/footnotes", "word/endnotes", "word/comments", "word/header", "word/footer")
_DRAWN: Final = ("word/diagrams/data", "word/charts/chart")


class Docx:
    """Reads ``word/document.xml`` in document order, then the parts around it."""

    name = "docx"
    suffixes = (".docx", ".docm")

    def recognises(self, head: bytes, path: Path, suffix: str) -> bool:
        return zip_package.holds(path, head, "word/document.xml")

    def extract(self, path: Path, name: str) -> Extracted:
        with zip_package.opened(path) as package:
            blocks = [*_blocks(package.xml("word/document.xml"))]
            for start in _PARTS:
                for part in package.matching(start):
                    blocks += _blocks(package.xml(part))
            for start in _DRAWN:
                for part in package.matching(start):
                    root = package.xml(part)
                    words = [e.text for e in root.iter() if local(e) in ("t", "v") and e.text]
                    blocks.append(" ".join(words))
            for kind, part in package.targets("word/document.xml").values():
                if kind == "aFChunk" and part in package.names:  # HTML in a part of its own
                    blocks.append(_html(package.data(part)))
            text = "\n\n".join(block for block in blocks if block.strip())
            return Extracted(text, **package.properties())


def _blocks(root: Any) -> Iterator[str]:
    for element in root.iter():
        if local(element) == "p" and not _is_fallback(element):
            text = "".join(_runs(element)).strip()
            if text:
                yield f"{_level(element)}{text}"


def _runs(paragraph: Any) -> Iterator[str]:
    """The text of a paragraph without that of the text boxes in it, which are paragraphs."""
    for child in paragraph:
        match local(child):
            case "p" | "txbxContent" | "Fallback" | "delText" | "instrText":
                continue
            case "t":
                yield child.text or ""
            case "noBreakHyphen":
                yield "-"
            case "tab":
                yield "\t"
            case "br" | "cr":
                yield "\n"
            case _:
                yield from _runs(child)


def _is_fallback(element: Any) -> bool:
    return any(local(above) == "Fallback" for above in element.iterancestors())


def _level(paragraph: Any) -> str:
    for style in paragraph.iterchildren():
        if local(style) == "pPr":
            for each in style:
                value = attribute(each, "val").lower() if local(each) == "pStyle" else ""
                if value.startswith("heading") and value[7:].strip().isdecimal():
                    return "#" * min(6, int(value[7:].strip())) + " "
    return ""


def _html(data: bytes) -> str:
    from lxml import html

    if not data.strip():
        return ""
    return " ".join(" ".join(map(str, html.document_fromstring(data).itertext())).split())
