"""Word documents: paragraphs with headings, tables, text boxes, notes, charts and comments."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from mem_search.extractors import inside, office, zip_package
from mem_search.extractors.zip_package import Package, attribute, local
from mem_search.model.ingest import Extracted

_MAIN: Final = "word/document.xml"
_PARTS: Final = ("word/footnotes", "word/endnotes", "word/comments", "word/header", "word/footer")
_MIN_TYPED_LETTERS: Final = 100
"""A document with fewer letters and with pictures was scanned."""


class Docx:
    """Reads ``word/document.xml`` in document order, then the parts around it."""

    name = "docx"
    suffixes = (".docx", ".docm")

    def recognises(self, head: bytes, path: Path, suffix: str) -> bool:
        return zip_package.holds(path, head, _MAIN)

    def extract(self, path: Path, name: str) -> Extracted:
        with zip_package.opened(path) as package:
            blocks: list[str] = []
            for part in _parts(package):
                blocks += _blocks(package.xml(part))
            for part in _parts(package):
                blocks += office.drawn(package, part)
            for kind, part in package.targets(_MAIN).values():
                if kind == "aFChunk" and part in package.names:  # HTML in a part of its own
                    blocks.append(_html(package.data(part)))
            files = office.files_in(package, _parts(package))
            text = "\n\n".join(block for block in blocks if block.strip())
            pictures = inside.Inside(unread=tuple(office.large_pictures(package, [_MAIN])))
            if len(text) < _MIN_TYPED_LETTERS and not files.texts:
                pictures = office.pictures_in(package, [_MAIN])
            said = dict.fromkeys(
                each for part in _parts(package)
                for each in office.alternative_texts(package.xml(part))
            )  # fmt: skip
            text = "\n\n".join(filter(None, (text, *said, *pictures.texts, *files.texts)))
            properties = package.properties()
            unread = (*files.unread, *pictures.unread)
            lacks = files.lacks or pictures.lacks
            return Extracted(text, unread=unread, lacks=lacks, **properties)

    def held(self, path: Path) -> Iterator[tuple[str, str]]:
        yield from office.shown_words(path)


def _parts(package: Package) -> list[str]:
    """The document and what stands around it."""
    return [_MAIN, *(part for start in _PARTS for part in package.matching(start))]


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
            case "p" | "txbxContent" | "Fallback" | "delText" | "instrText" | "moveFrom":
                continue
            case "t":
                yield child.text or ""
            case "noBreakHyphen":
                yield "-"
            case "tab":
                yield "\t"
            case "br" | "cr":
                yield "\n"
            case "noBreakHyphen":
                yield "-"
            case _:
                yield from _runs(child)


def _is_fallback(element: Any) -> bool:
    return any(local(above) == "Fallback" for above in element.iterancestors())


def _level(paragraph: Any) -> str:
    for style in paragraph.iterchildren():
        if local(style) == "pPr":
            for child in style:
                value = attribute(child, "val").lower() if local(child) == "pStyle" else ""
                if value.startswith("heading") and value[7:].strip().isdecimal():
                    return "#" * min(6, int(value[7:].strip())) + " "
    return ""


def _html(data: bytes) -> str:
    from lxml import html

    if not data.strip():
        return ""
    return " ".join(" ".join(map(str, html.document_fromstring(data).itertext())).split())
