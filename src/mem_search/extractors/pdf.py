"""PDF: the text of each page, with pypdfium2."""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from mem_search.extractors.refusal import Unreadable
from mem_search.extractors.zip_package import moment
from mem_search.model.documents import PAGE_BREAK, Extracted

_DATE: Final = re.compile(r"D:(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?")
_MOST: Final = 10_000_000


class Pdf:
    """Reads page by page. A page without text is probably scanned, and is counted."""

    name = "pdf"
    suffixes = (".pdf",)

    def recognises(self, head: bytes, path: Path, suffix: str) -> bool:
        return b"%PDF-" in head[:1024]

    def extract(self, path: Path, name: str) -> Extracted:
        import pypdfium2

        try:
            document = pypdfium2.PdfDocument(str(path))
        except pypdfium2.PdfiumError as error:
            if "password" in str(error).lower() or "security" in str(error).lower():
                raise Unreadable("it is encrypted with a password; save it without one") from None
            raise Unreadable(f"it is damaged or cut off: {error}") from None
        with closing(document):
            pages = _pages(document)
            properties = document.get_metadata_dict(skip_empty=True)
        metadata: dict[str, Any] = {"pages": len(pages)}
        if author := properties.get("Author", "").strip():
            metadata["author"] = author
        text = PAGE_BREAK.join(pages)
        return Extracted(
            text if text.strip() else "",
            title=properties.get("Title", "").strip(),
            created_at=_time(properties.get("CreationDate", "")),
            metadata=metadata,
            note=f"none of its {len(pages)} page(s) has text: scanned pages need OCR,"
            " which this version does not have",
        )


def _pages(document: Any) -> list[str]:
    import pypdfium2

    pages: list[str] = []
    size = 0
    for number in range(len(document)):
        try:
            with closing(document[number]) as page, closing(page.get_textpage()) as found:
                text = found.get_text_bounded().replace("\r\n", "\n").replace(PAGE_BREAK, "\n")
        except pypdfium2.PdfiumError:
            text = ""  # one damaged page does not hide the others
        # A hyphen at the end of a line is U+0002 or U+FFFE in what PDFium gives.
        pages.append(re.sub("[\x02\ufffe]\n?", "", text).strip())
        size += len(text)
        if size > _MOST:
            raise Unreadable(f"its text is longer than {_MOST // 10**6} million characters")
    return pages


def _time(text: str) -> int | None:
    match = _DATE.match(text)
    if match is None:
        return None
    year, month, day, hour, minute, second = (part or "" for part in match.groups())
    return moment(
        f"{year}-{month or '01'}-{day or '01'}T{hour or '00'}:{minute or '00'}:{second or '00'}"
    )
