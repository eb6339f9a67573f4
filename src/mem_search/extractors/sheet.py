"""Workbooks in binary forms (``.xls``, ``.xlsb``): a page for each sheet, a line for each row.

Numbers of ``.xls`` are shown in the format of their cell; ``.xlsb`` gives them as they are stored.
Comments, heads, feet, text boxes and titles of charts follow the rows.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import date, datetime
from pathlib import Path
from typing import Any, Final

from mem_search.extractors import compound, inside, number_format, office, zip_package
from mem_search.extractors.compound import records
from mem_search.extractors.refusal import OLE, Unreadable, reason_for
from mem_search.extractors.zip_package import Package
from mem_search.model.ingest import PAGE_BREAK, Extracted
from mem_search.patterns import pattern

_STREAMS: Final = ("Workbook", "Book", "WORKBOOK", "BOOK")
_BARE: Final = (b"\x09\x00\x04\x00", b"\x09\x02\x06\x00", b"\x09\x04\x06\x00")
"""How a workbook of Excel 2, 3 and 4 begins, which is in no compound file."""
_MAX_BYTES: Final = 10 * 2**20
"""Of an ``.xls`` whose formats are read: cells with a format take forty times their bytes."""
_ENCRYPTED: Final = "it is encrypted with a password; save it without one"
_AS_STORED: Final = "its numbers are shown as they are stored, without their formats"

_TEXT_BOX, _CONTINUED, _OF_CHART, _EDGES = 0x1B6, 0x3C, 0x100D, (0x14, 0x15)
"""Records of MS-XLS 2.4: TxO, Continue, SeriesText, Header and Footer."""
_COMMENT, _HEAD_AND_FOOT = 637, 479
"""Records of MS-XLSB 2.4: BrtCommentText, BrtBeginHeaderFooter."""
_DRAWING: Final = pattern(r"xl/drawings/drawing\d+\.xml")
_BINARY: Final = pattern(r"xl/(?:comments\w*|worksheets/sheet\d+)\.bin")


class Sheet:
    """Reads ``.xls`` with xlrd, and with python-calamine ``.xlsb`` and what xlrd cannot read."""

    name = "sheet"
    suffixes = (".xls", ".xlsb")

    def recognises(self, head: bytes, path: Path, suffix: str) -> bool:
        if head.startswith(OLE):
            return suffix == ".xls" or compound.has_stream(path, *_STREAMS)
        return head.startswith(_BARE) or zip_package.holds(path, head, "xl/workbook.bin")

    def extract(self, path: Path, name: str) -> Extracted:
        with path.open("rb") as file:
            head = file.read(8)
        if zip_package.holds(path, head, "xl/workbook.bin"):
            with zip_package.opened(path) as package:  # checks for bombs
                around = [*_of_package(package)]
                properties = package.properties()
            return _extracted(_stored(path), around, properties)
        if head == OLE and "encrypted" in reason_for(head, path, ".xls"):
            raise Unreadable(_ENCRYPTED)
        pages, unread = _formatted(path)
        around, properties, files = list[str](), dict[str, Any](), inside.Inside()
        with compound.opened(path) as box:
            if box is not None:  # a workbook before Excel 5 is in no such file
                stream = next((each for each in _STREAMS if box.exists(each)), "")
                around = [*_of_stream(box.openstream(stream).read() if stream else b"")]
                files, properties = compound.files_in(box), compound.described(box)
        files = inside.Inside(files.texts, (*unread, *files.unread), files.lacks)
        return _extracted(pages, around, properties, files)


def _extracted(
    pages: list[str],
    around: list[str],
    properties: dict[str, Any],
    files: inside.Inside = inside.Inside(),  # noqa: B008  it is frozen
) -> Extracted:
    said = " ".join("\n".join(pages).split())
    more = [each for each in dict.fromkeys(around) if each and " ".join(each.split()) not in said]
    pages = [*pages[:-1], "\n\n".join(filter(None, (*pages[-1:], *more, *files.texts)))]
    metadata = {**properties.pop("metadata", {}), "pages": len(pages)}
    text = PAGE_BREAK.join(pages)
    return Extracted(text, metadata=metadata, unread=files.unread, lacks=files.lacks, **properties)


def _formatted(path: Path) -> tuple[list[str], tuple[str, ...]]:
    """The pages of an ``.xls`` with numbers as they are shown; else as stored, which is said."""
    import xlrd

    if path.stat().st_size > _MAX_BYTES:
        return _stored(path), (_AS_STORED,)
    try:
        with xlrd.open_workbook(
            str(path), formatting_info=True, on_demand=True, ragged_rows=True, logfile=io.StringIO()
        ) as book:
            pages = []
            for number in range(book.nsheets):
                pages.append(_page_of(book, book.sheet_by_index(number)))
                book.unload_sheet(number)
            return pages, ()
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001  it raises anything over a bad file
        if "encrypted" in str(error).lower():
            raise Unreadable(_ENCRYPTED) from None
        return _stored(path), (_AS_STORED,)


def _page_of(book: Any, sheet: Any) -> str:
    lines = [f"# {sheet.name}"]
    for row in range(sheet.nrows):
        line = " | ".join(_in_format(book, cell) for cell in sheet.row(row)).strip(" |")
        lines += filter(None, [line])
    for (row, column), note in sorted(sheet.cell_note_map.items()):
        said = " ".join(note.text.split())
        lines += [f"Comment on {_letters(column)}{row + 1}: {said}"] if said else []
    return "\n".join(lines)


def _in_format(book: Any, cell: Any) -> str:
    import xlrd

    if cell.ctype in (xlrd.XL_CELL_NUMBER, xlrd.XL_CELL_DATE):
        code = "General"
        with suppress(IndexError, KeyError):
            code = book.format_map[book.xf_list[cell.xf_index].format_key].format_str
        return number_format.formatted(float(cell.value), code, is_1904=book.datemode == 1)
    if cell.ctype == xlrd.XL_CELL_BOOLEAN:
        return "TRUE" if cell.value else "FALSE"
    if cell.ctype == xlrd.XL_CELL_ERROR:
        return str(xlrd.error_text_from_code.get(cell.value, ""))
    return " ".join(str(cell.value).split())


def _letters(column: int) -> str:
    """0 is ``A``, 26 is ``AA``."""
    said = ""
    column += 1
    while column:
        column, rest = divmod(column - 1, 26)
        said = chr(ord("A") + rest) + said
    return said


def _of_stream(data: bytes) -> Iterator[str]:
    """What stands around the cells of a workbook of Excel 97 or later."""
    if data[4:6] != b"\0\6":
        return
    missing, text = 0, list[str]()
    for number, body in records(data):
        if number == _TEXT_BOX and len(body) >= 12:
            missing, text = int.from_bytes(body[10:12], "little"), []
        elif number == _CONTINUED and missing > 0 and body:
            text.append(_letters_of(body[1:], wide=body[0] & 1)[:missing])
            missing -= len(text[-1])
            if missing <= 0:
                yield "".join(text).replace("\r", "\n").strip()
        elif number == _OF_CHART and len(body) > 4:
            yield _letters_of(body[4:], wide=body[3] & 1)[: body[2]].strip()
        elif number in _EDGES and len(body) > 3:
            said = _letters_of(body[3:], wide=body[2] & 1)[: int.from_bytes(body[:2], "little")]
            yield from _edge(said)


def _letters_of(data: bytes, *, wide: int) -> str:
    return data.decode("utf-16-le" if wide else "latin-1", "replace")


def _edge(said: str) -> Iterator[str]:
    """The head or foot of a sheet, where it has words."""
    said = " ".join(office.CODES.sub(" ", said).split())
    if re.search(r"[^\W_]", said):
        yield said


def _of_package(package: Package) -> Iterator[str]:
    """What stands around the cells of an ``.xlsb``: some of it is XML, as in an ``.xlsx``."""
    for name in sorted(package.names):
        if _DRAWING.fullmatch(name):
            root = package.xml(name)
            yield from (office.text_of(root), *office.alternative_texts(root))
            yield from office.drawn(package, name)
        elif name.endswith((".xml", ".bin")):
            data = package.data(name)
            if _BINARY.fullmatch(name):
                yield from _of_part(data)


def _of_part(data: bytes) -> Iterator[str]:
    """Comments, and heads and feet, of a part of MS-XLSB."""
    at = 0
    while at < len(data):
        number, at = _varying(data, at, 2)
        size, at = _varying(data, at, 4)
        body = data[at : at + size]
        at += size
        if number == _COMMENT:
            length = int.from_bytes(body[1:5], "little")
            yield " ".join(_letters_of(body[5 : 5 + 2 * length], wide=1).split())
        elif number == _HEAD_AND_FOOT:
            place = 2
            while place + 4 <= len(body):
                length = int.from_bytes(body[place : place + 4], "little")
                length = 0 if length == 0xFFFFFFFF else length
                yield from _edge(_letters_of(body[place + 4 : place + 4 + 2 * length], wide=1))
                place += 4 + 2 * length


def _varying(data: bytes, at: int, most: int) -> tuple[int, int]:
    """A number of seven bits a byte, the lowest first (MS-XLSB 2.1.4), and where it ends."""
    number = 0
    for place in range(most):
        byte = data[at] if at < len(data) else 0
        at += 1
        number |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            break
    return number, at


def _stored(path: Path) -> list[str]:
    from python_calamine import CalamineError, CalamineWorkbook

    try:
        book = CalamineWorkbook.from_path(str(path))
        return [_page(sheet, book) for sheet in book.sheet_names]
    except CalamineError as error:
        raise Unreadable(f"it is damaged: {error}") from None
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise Unreadable(f"its reader fails on it ({error}); save it as .xlsx") from None


def _page(name: str, book: Any) -> str:
    rows = book.get_sheet_by_name(name).iter_rows()
    lines = (" | ".join(_shown(cell) for cell in row).strip(" |") for row in rows)
    return "\n".join([f"# {name}", *(line for line in lines if line)])


def _shown(cell: object) -> str:
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e15:
        return str(int(cell))
    if isinstance(cell, datetime | date):
        return cell.isoformat(" ") if isinstance(cell, datetime) else cell.isoformat()
    return " ".join(str(cell).split())
