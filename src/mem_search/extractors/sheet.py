"""Workbooks in binary forms (``.xls``, ``.xlsb``): a page for each sheet, a line for each row."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path

from mem_search.extractors import zip_package
from mem_search.extractors.refusal import OLE, Unreadable, reason_for
from mem_search.model.ingest import PAGE_BREAK, Extracted


class Sheet:
    """Reads values, as the formulas last gave them, with python-calamine."""

    name = "sheet"
    suffixes = (".xls", ".xlsb")

    def recognises(self, head: bytes, path: Path, suffix: str) -> bool:
        if head.startswith(OLE):
            return suffix == ".xls"
        return zip_package.holds(path, head, "xl/workbook.bin")

    def extract(self, path: Path, name: str) -> Extracted:
        from python_calamine import CalamineError, CalamineWorkbook

        properties = {}
        if zip_package.holds(path, path.read_bytes()[:8], "xl/workbook.bin"):
            with zip_package.opened(path) as package:  # checks for bombs
                for member in package.names:
                    if member.endswith((".xml", ".bin")):
                        package.data(member)
                properties = package.properties()
        try:
            book = CalamineWorkbook.from_path(str(path))
            pages = [_page(sheet, book) for sheet in book.sheet_names]
        except CalamineError as error:
            with path.open("rb") as file:
                head = file.read(8)
            if head == OLE and "password" in str(error).lower():
                raise Unreadable("it is encrypted with a password; save it without one") from None
            old = reason_for(head, path, ".xls") if head == OLE else ""
            why = old if "encrypted" in old else f"it is damaged: {error}"
            raise Unreadable(why) from None
        metadata = {**properties.pop("metadata", {}), "pages": len(pages)}
        return Extracted(PAGE_BREAK.join(pages), metadata=metadata, **properties)


def _page(name: str, book: object) -> str:
    rows = book.get_sheet_by_name(name).iter_rows()  # type: ignore[attr-defined]
    lines = (" | ".join(_shown(cell) for cell in row).strip(" |") for row in rows)
    return "\n".join([f"# {name}", *(line for line in lines if line)])


def _shown(cell: object) -> str:
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e15:
        return str(int(cell))
    if isinstance(cell, datetime | date):
        return cell.isoformat(" ") if isinstance(cell, datetime) else cell.isoformat()
    return " ".join(str(cell).split())
