"""OpenDocument text, presentations and workbooks (``.odt``, ``.odp``, ``.ods``), also flat ones."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any, Final

from mem_search.extractors import zip_package
from mem_search.extractors.refusal import Unreadable
from mem_search.extractors.zip_package import Package, attribute, local
from mem_search.model.ingest import PAGE_BREAK, Extracted
from mem_search.patterns import pattern
from mem_search.text.charsets import sniffed

_HEAD: Final = 4096
_FLAT: Final = b"urn:oasis:names:tc:opendocument:xmlns:office"
_MAX_REPEATED: Final = 50
"""Times that a cell or row which is written once and shown often is shown."""
_PARAGRAPH: Final = pattern(
    rb"<(?:text:(?:p|h)|presentation:(?:header|footer|date-time)-decl|math:annotation)\b[^<>]*(?<!/)>"
    rb"(.*?)</(?:text:(?:p|h)|presentation:|math:)",
    re.DOTALL,
)
_DELETED: Final = pattern(rb"<text:(tracked-changes|note-citation)\b.*?</text:\1>", re.DOTALL)
_TAG: Final = pattern(
    rb"<(?P<space>/?text:(?:tab|line-break|s|p|h|note(?:-\w+)?)\b|/?(?:office|dc|meta):)?[^>]{0,5000}>"
)
_DECLARED: Final = ("header-decl", "footer-decl", "date-time-decl")
"""What slides say at their edges, written once for all."""
_FIELD: Final = pattern(r"<[^<>]{1,30}>")
"""How a master shows what each slide has in its place: ``<number>``."""
_OBJECT: Final = pattern(r"Object [\w ]+/content\.xml")


class OpenDocument:
    """Reads headings and paragraphs of ``content.xml`` in document order, rows of tables as lines
    of a workbook; comments and notes where they stand, heads and feet of pages at the end. A flat
    document (``.fodt``) is one file of XML with the same elements."""

    name = "opendocument"
    suffixes = (".odt", ".odp", ".ods", ".fodt", ".fodp", ".fods")

    def recognises(self, head: bytes, path: Path, suffix: str) -> bool:
        return (
            b"mimetypeapplication/vnd.oasis.opendocument" in head[:120]
            or _is_flat(head)
            or (suffix.startswith((".od", ".ot")) and zip_package.holds(path, head, "content.xml"))
        )

    def extract(self, path: Path, name: str) -> Extracted:
        with path.open("rb") as file:
            head = file.read(_HEAD)
        if _is_flat(head):
            root = zip_package.parsed_file(path)
            meta = next((each for each in root.iter() if local(each) == "meta" and len(each)), None)
            about = zip_package.described(meta) if meta is not None else {}
            return _read(root, [*_at_edges(root)], about)
        with zip_package.opened(path) as package:
            if "META-INF/manifest.xml" in package.names and any(
                local(each) == "encryption-data"
                for each in package.xml("META-INF/manifest.xml").iter()
            ):
                raise Unreadable("it is encrypted with a password; save it without one")
            properties: dict[str, Any] = {}
            if "meta.xml" in package.names:
                properties = zip_package.described(package.xml("meta.xml"))
            around = [*_around(package)]
            if "styles.xml" in package.names:
                around += _at_edges(package.xml("styles.xml"))
            return _read(package.xml("content.xml"), around, properties)

    def held(self, path: Path) -> Iterator[tuple[str, str]]:
        with path.open("rb") as file:
            if _is_flat(file.read(_HEAD)):  # what is stored is all of it, by the same elements
                return
        with zip_package.opened(path) as package:
            for name in sorted(package.names):
                if name == "content.xml" or _OBJECT.fullmatch(name):
                    data = _DELETED.sub(b"", package.data(name))
                    for said in _PARAGRAPH.findall(data):
                        inside = _TAG.sub(lambda tag: b" " if tag["space"] else b"", said)
                        yield name, unescape(inside.decode("utf-8", "replace"))


def _read(root: Any, around: list[str], properties: dict[str, Any]) -> Extracted:
    """The pages of a document; ``around`` is what stands in its other parts."""
    body = next((each for each in root.iter() if local(each) == "body"), root)
    sheets = [each for each in body.iter() if local(each) == "spreadsheet"]
    if sheets:
        pages = [_sheet(each) for each in sheets[0] if local(each) == "table"]
    else:
        pages = ["\n\n".join(_blocks(each)) for each in _pages(body)]
    around = [*_declared(root), *around]
    if not any(each.strip() for each in (*pages, *around)):
        return Extracted("", **properties)
    pages += [""] * (not pages)
    pages[-1] = "\n\n".join(filter(None, (pages[-1], *around)))
    if sheets or len(pages) > 1:
        properties["metadata"] = {**properties.get("metadata", {}), "pages": len(pages)}
    return Extracted(PAGE_BREAK.join(pages), **properties)


def _is_flat(head: bytes) -> bool:
    start = sniffed(head).removeprefix(b"\xef\xbb\xbf").lstrip()
    return start.startswith(b"<?xml") and _FLAT in start and b"document-content" not in start


def _pages(body: Any) -> list[Any]:
    """The slides of a presentation, else the whole."""
    slides = [each for each in body.iter() if local(each) == "page"]
    return slides or [body]


def _blocks(root: Any) -> Iterator[str]:
    deleted: set[Any] = set()
    for element in root.iter():
        name = local(element)
        if name == "tracked-changes":
            deleted.update(element.iter())
        if name in ("p", "h") and element not in deleted:
            level = attribute(element, "outline-level") if name == "h" else ""
            marks = "#" * min(6, int(level)) + " " if level.isdecimal() else ""
            if said := "".join(_runs(element)).strip():
                yield marks + said
        elif name == "annotation" and (said := (element.text or "").strip()):
            yield said  # a formula, as its writer typed it


def _runs(element: Any) -> Iterator[str]:
    yield element.text or ""
    for child in element:
        match local(child):
            case "p" | "h" | "binary-data" | "note-citation":
                pass  # the number of a note is no part of the word before it
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


def _sheet(table: Any) -> str:
    """A line for each row, with what the cells show, and then the comments on cells."""
    lines, comments = [f"# {attribute(table, 'name')}"], []
    for row in table.iter():
        if local(row) != "table-row":
            continue
        cells: list[str] = []
        for cell in row:
            if local(cell) in ("table-cell", "covered-table-cell"):
                for note in [each for each in cell if local(each) == "annotation"]:
                    comments += [f"Comment: {said}" for said in [" ".join(_blocks(note))] if said]
                    cell.remove(note)
                said = " ".join(" ".join(_blocks(cell)).split())
                said = said or attribute(cell, "value") or attribute(cell, "date-value")
                cells += [said] * min(_times(cell, "number-columns-repeated"), _MAX_REPEATED)
        if line := " | ".join(cells).strip(" |"):
            lines += [line] * min(_times(row, "number-rows-repeated"), _MAX_REPEATED)
    return "\n".join([*lines, *comments])


def _times(element: Any, name: str) -> int:
    said = attribute(element, name)
    return int(said) if said.isdecimal() else 1


def _around(package: Package) -> Iterator[str]:
    """The text of charts and formulas."""
    for name in sorted(package.names):
        if _OBJECT.fullmatch(name):
            yield "\n".join(_blocks(package.xml(name)))


def _at_edges(styles: Any) -> Iterator[str]:
    """The heads and feet of pages, and what the master of slides says itself."""
    said = dict.fromkeys(
        "\n".join(_blocks(each)) for each in styles.iter()
        if local(each).startswith(("header", "footer")) or _is_on_master(each)
    )  # fmt: skip
    yield from (each for each in said if not _FIELD.fullmatch(each))


def _is_on_master(element: Any) -> bool:
    """Whether it is a shape that all slides of a master show with its own words."""
    above = element.getparent()
    return (
        above is not None
        and local(above) == "master-page"
        and local(element) not in ("notes", "forms")
        and attribute(element, "placeholder") != "true"
    )


def _declared(root: Any) -> Iterator[str]:
    said = (each.text or "" for each in root.iter() if local(each) in _DECLARED)
    yield from dict.fromkeys(filter(None, map(str.strip, said)))
