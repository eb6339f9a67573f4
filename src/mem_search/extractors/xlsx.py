"""Workbooks of Excel (``.xlsx``): a page for each sheet, a line for each row, as a person sees it.

Numbers are shown in the format of their cell. A formula whose value the file does not have is named
in ``unread``. Comments, charts and text boxes follow the rows of their sheet.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from lxml import etree

from mem_search.extractors import number_format, office, zip_package
from mem_search.extractors.refusal import Unreadable
from mem_search.extractors.zip_package import Package, attribute, local
from mem_search.model.ingest import PAGE_BREAK, Extracted
from mem_search.patterns import pattern
from mem_search.text.counted import counted

_MAIN: Final = "xl/workbook.xml"
_MAX_GAP: Final = 20
"""Empty cells between two of a row that are shown as such."""
_NAMED_CELLS: Final = 3
_COLUMN: Final = pattern(r"([A-Z]{1,3})\d+")


@dataclass(slots=True)
class _Book:
    """What the cells of all sheets share."""

    texts: list[str]
    formats: list[str]
    is_1904: bool
    unvalued: list[str] = field(default_factory=list)
    """Cells with a formula whose value is not in the file."""


class Xlsx:
    """Reads sheets in their order, row by row, without holding one in memory."""

    name = "xlsx"
    suffixes = (".xlsx", ".xlsm")

    def recognises(self, head: bytes, path: Path, suffix: str) -> bool:
        return zip_package.holds(path, head, _MAIN)

    def extract(self, path: Path, name: str) -> Extracted:
        with zip_package.opened(path) as package:
            root = package.xml(_MAIN)
            targets = package.targets(_MAIN)
            named = [
                (each.get("name", ""), targets.get(key, ("", ""))[1])
                for each in root.iter() if local(each) == "sheet"
                for key in each.attrib.values()
            ]  # fmt: skip
            sheets = [(title, part) for title, part in named if part in package.names]
            is_1904 = any(
                local(each) == "workbookPr" and attribute(each, "date1904") in ("1", "true")
                for each in root.iter()
            )
            book = _Book(_texts(package, targets), _formats(package, targets), is_1904)
            pages = [_page(package, title, part, book) for title, part in sheets]
            files = office.files_in(package, [part for _, part in sheets])
            properties = package.properties()
        pages += [""] * (not pages)
        pages[-1] = "\n\n".join((pages[-1], *files.texts))
        metadata = {**properties.pop("metadata", {}), "pages": len(pages)}
        unread = (*_unvalued(book.unvalued), *files.unread)
        text = PAGE_BREAK.join(pages)
        return Extracted(text, metadata=metadata, unread=unread, lacks=files.lacks, **properties)

    def held(self, path: Path) -> Iterator[tuple[str, str]]:
        yield from office.shown_words(path)


def _unvalued(cells: list[str]) -> Iterator[str]:
    if cells:
        named = ", ".join(cells[:_NAMED_CELLS]) + (" …" if len(cells) > _NAMED_CELLS else "")
        yield (
            f"{counted(len(cells), 'formula')} without a value in the file ({named}): open it in a"
            " spreadsheet program and save it"
        )


def _part(targets: dict[str, tuple[str, str]], kind: str) -> str:
    return next((part for each, part in targets.values() if each == kind), "")


def _texts(package: Package, targets: dict[str, tuple[str, str]]) -> list[str]:
    """The texts that cells share, by their number."""
    part = _part(targets, "sharedStrings")
    if part not in package.names:
        return []
    texts = []
    for element in _ends(package, part, "si"):
        texts.append(_rich(element))
        element.clear()
    return texts


def _rich(element: Any) -> str:
    """The text of a cell without the readings of Japanese words, on one line."""
    pieces = [
        each.text or "" for each in element.iter()
        if local(each) == "t" and local(each.getparent()) != "rPh"
    ]  # fmt: skip
    return " ".join("".join(pieces).split())


def _formats(package: Package, targets: dict[str, tuple[str, str]]) -> list[str]:
    """The code of the number format of each style."""
    part = _part(targets, "styles")
    if part not in package.names:
        return []
    root = package.xml(part)
    codes = dict(number_format.BUILT_IN)
    numbers = []
    for element in root.iter():
        if local(element) == "numFmt" and local(element.getparent()) == "numFmts":
            codes[_whole(element.get("numFmtId"))] = element.get("formatCode", "General")
        elif local(element) == "xf" and local(element.getparent()) == "cellXfs":
            numbers.append(_whole(element.get("numFmtId")))
    return [codes.get(number, "General") for number in numbers]


def _whole(said: str | None) -> int:
    return int(said) if said and said.isdecimal() else 0


def _ends(package: Package, part: str, *names: str) -> Iterator[Any]:
    """Elements of a part as they end. Raises Unreadable for one that is damaged."""
    with package.stream(part) as file:
        try:
            options = {"resolve_entities": False, "no_network": True, "events": ("end",)}
            for _, element in etree.iterparse(file, **options):
                if local(element) in names:
                    yield element
        except etree.XMLSyntaxError as error:
            raise Unreadable(f"it is damaged: {part}: {error}") from error


def _page(package: Package, title: str, part: str, book: _Book) -> str:
    lines, around = [f"# {title}"], list[str]()
    for element in _ends(package, part, "row", "headerFooter", "dataValidation"):
        if local(element) == "row":
            if line := _row(element, title, book):
                lines.append(line)
        elif local(element) == "dataValidation":  # what is shown when the cell is chosen
            around += filter(None, map(element.get, ("promptTitle", "prompt")))
        else:
            said = (office.CODES.sub(" ", each.text or "") for each in element)
            around += [" ".join(each.split()) for each in said if re.search(r"[^\W_]", each)]
        element.clear()
        while element.getprevious() is not None:
            del element.getparent()[0]
    lines += dict.fromkeys(around)
    for kind, target in package.targets(part).values():
        if kind == "drawing" and target in package.names:
            root = package.xml(target)
            lines += [office.text_of(root), *dict.fromkeys(office.alternative_texts(root))]
            lines += office.drawn(package, target)
    lines += _comments(package, part)
    return "\n".join(line for line in lines if line)


def _row(row: Any, title: str, book: _Book) -> str:
    told: list[str] = []
    for place, cell in enumerate(row):
        if local(cell) != "c":
            continue
        match = _COLUMN.fullmatch(cell.get("r", ""))
        column = _number_of(match[1]) if match else place
        told += [""] * min(_MAX_GAP, column - len(told))
        told.append(_shown(cell, title, book))
    return " | ".join(told).strip(" |")


def _number_of(letters: str) -> int:
    """``A`` is 0, ``AA`` is 26."""
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - ord("A") + 1
    return number - 1


def _shown(cell: Any, title: str, book: _Book) -> str:
    kind, value, formula = cell.get("t", "n"), "", None
    for child in cell:
        match local(child):
            case "v":
                value = child.text or ""
            case "f":
                formula = child.text or ""
            case "is":
                return _rich(child)
    if formula is not None and not value and kind != "str":
        book.unvalued.append(f"{title}!{cell.get('r', '')}")
        return f"={formula}" if formula else ""
    if kind == "s":
        return book.texts[int(value)] if value.isdecimal() and int(value) < len(book.texts) else ""
    if kind == "b":
        return "TRUE" if value == "1" else "FALSE"
    if kind != "n":
        return " ".join(value.split())
    style = _whole(cell.get("s"))
    code = book.formats[style] if style < len(book.formats) else "General"
    try:
        return number_format.formatted(float(value), code, is_1904=book.is_1904) if value else ""
    except ValueError:
        return value


def _comments(package: Package, part: str) -> Iterable[str]:
    """``Comment on B7: …``. The old copy of a comment with replies tells that it is one."""
    said: list[tuple[str, str]] = []
    replied = set()
    for kind, target in sorted(package.targets(part).values(), reverse=True):
        if target not in package.names or kind not in ("threadedComment", "comments"):
            continue
        for element in package.xml(target).iter():
            where = element.get("ref", "") if isinstance(element.tag, str) else ""
            if local(element) == "threadedComment":
                replied.add(where)
                said += [(where, " ".join((text.text or "").split())) for text in element
                         if local(text) == "text"]  # fmt: skip
            elif local(element) == "comment" and where not in replied:
                said.append((where, _rich(element)))
    return [f"Comment on {where}: {text}" for where, text in said if text]
