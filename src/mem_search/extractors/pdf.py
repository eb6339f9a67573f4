"""PDF: the text of each page, its notes and form fields, with pypdfium2; scanned pages by OCR."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from mem_search.extractors import embedded, ocr
from mem_search.extractors.refusal import Unreadable, pages_said
from mem_search.extractors.zip_package import moment
from mem_search.model.ingest import OCR_PAGE_NUMBERS, PAGE_BREAK, Extracted
from mem_search.patterns import pattern

_DATE: Final = pattern(r"D:(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?(?:(Z)|([+-]\d\d)'?(\d\d)?)?")
_MAX_TEXT_CHARS: Final = 10_000_000
_SECONDS: Final = 20
"""After so long, the rest of a scanned file is left to the next call, which has its own limits."""

_MAX_SCANS: Final = 300
"""Pages of a file that are recognised: more would keep a core busy for a quarter of an hour."""

_MAX_SCAN_LETTERS: Final = 12
"""A page with fewer letters, such as a stamp or page number, and a picture is a scanned page."""

_OUTLINES: Final = 40
"""A page without text and with so many drawn shapes probably has letters drawn as shapes."""


@dataclass(slots=True)
class _Found:
    """What a call found. ``scans`` are pages that need OCR; those in ``unread`` nobody read."""

    pages: list[str] = field(default_factory=list)
    scans: int = 0
    recognised: list[int] = field(default_factory=list)
    unread: list[int] = field(default_factory=list)
    confidences: list[float] = field(default_factory=list)
    by: str = ""


class Pdf:
    """Reads page by page; ``metadata`` says how many pages OCR read, and how surely."""

    name = "pdf"
    suffixes = (".pdf",)

    def recognises(self, head: bytes, path: Path, suffix: str) -> bool:
        return b"%PDF-" in head[:1024]

    def extract(self, path: Path, name: str) -> Extracted:
        return self.extract_from(path, name, 0)

    def extract_from(self, path: Path, name: str, page: int) -> Extracted:
        import pypdfium2

        try:
            document = pypdfium2.PdfDocument(str(path))
        except pypdfium2.PdfiumError as error:
            if "password" in str(error).lower() or "security" in str(error).lower():
                raise Unreadable("it is encrypted with a password; save it without one") from None
            raise Unreadable(f"it is damaged or cut off: {error}") from None
        with closing(document):
            found = _read(document, page)
            properties = document.get_metadata_dict(skip_empty=True)
            count = len(document)
        created = _time(properties.get("CreationDate", ""))
        said = embedded.of_properties(properties, created)
        said = said.or_else(embedded.of_pdf(path))
        metadata: dict[str, Any] = {"pages": count, **said.metadata}
        recognised = len(found.confidences)
        if 0 < recognised < count:
            metadata[OCR_PAGE_NUMBERS] = found.recognised
        if recognised:
            metadata |= {
                "ocr": found.by,
                "ocr_pages": recognised,
                "ocr_confidence": round(sum(found.confidences) / recognised, 2),
            }
        end = page + len(found.pages)
        return Extracted(
            PAGE_BREAK.join(found.pages),
            title=said.title,
            created_at=said.created_at,
            tags=said.keywords,
            metadata=metadata,
            note=_note(found, count),
            unread=_unread(found),
            lacks="ocr" if found.scans and not found.by else "",
            rest=end if end < count else 0,
        )


def _unread(found: _Found) -> tuple[str, ...]:
    """What its text has not."""
    if not found.unread:
        return ()
    advice = "" if ocr.available() else f"; {ocr.ADVICE}"
    many = f" (at most {_MAX_SCANS} are)" if ocr.available() else ""
    kind = "a picture" if len(found.unread) == 1 else "pictures"
    return (f"{pages_said(found.unread)} {kind} and not read{many}{advice}",)


def _note(found: _Found, count: int) -> str:
    """Why pages have no text."""
    if found.scans and not found.by:
        return f"{found.scans} of its {count} page(s) are pictures without text; {ocr.ADVICE}"
    if found.scans:
        return f"no text was recognised in the pictures on its {count} page(s)"
    return f"none of its {count} page(s) has text or a picture of text"


def _read(document: Any, first: int) -> _Found:
    import pypdfium2

    found = _Found()
    size, started = 0, time.monotonic()
    for number in range(first, len(document)):
        try:
            with closing(document[number]) as page:
                text = "\n\n".join(filter(None, (_text(page), *_annotations(page))))
                if len(text) < _MAX_SCAN_LETTERS and _is_picture(page):
                    text = _recognised(page, number, found) or text
        except pypdfium2.PdfiumError:
            text = ""  # one damaged page does not hide the others
        found.pages.append(text)
        size += len(text)
        if size > _MAX_TEXT_CHARS:
            raise Unreadable(
                f"its text is longer than {_MAX_TEXT_CHARS // 10**6} million characters"
            )
        if found.by and time.monotonic() - started > _SECONDS:
            break
    return found


def _text(page: Any) -> str:
    with closing(page.get_textpage()) as found:
        text = found.get_text_bounded().replace("\r\n", "\n").replace(PAGE_BREAK, "\n")
    # A hyphen at the end of a line is U+0002 or U+FFFE in what PDFium gives.
    return re.sub("[\x02\ufffe]\n?", "", text).strip()


def _annotations(page: Any) -> Iterator[str]:
    """Notes that readers left on the page, and what form fields hold, each once."""
    import pypdfium2.raw as pdfium

    seen = set()
    for index in range(min(pdfium.FPDFPage_GetAnnotCount(page), 1_000)):
        annotation = pdfium.FPDFPage_GetAnnot(page, index)
        if not annotation:
            continue
        try:
            for key in (b"Contents", b"V"):
                said = _string(annotation, key).replace("\r", "\n").strip()
                if said and said not in seen:
                    seen.add(said)
                    yield said
        finally:
            pdfium.FPDFPage_CloseAnnot(annotation)


def _string(annotation: Any, key: bytes) -> str:
    """A text of an annotation, which PDFium gives as UTF-16 with an end mark of two bytes."""
    import ctypes

    import pypdfium2.raw as pdfium

    length = pdfium.FPDFAnnot_GetStringValue(annotation, key, None, 0)
    if not 2 < length < 2 * _MAX_TEXT_CHARS:
        return ""
    buffer = ctypes.create_string_buffer(length)
    as_words = ctypes.cast(buffer, ctypes.POINTER(pdfium.FPDF_WCHAR))
    pdfium.FPDFAnnot_GetStringValue(annotation, key, as_words, length)
    return buffer.raw[: length - 2].decode("utf-16-le", "replace")


def _is_picture(page: Any) -> bool:
    """Whether the page shows a picture, or letters that are drawn as shapes."""
    import pypdfium2.raw as pdfium

    shapes = 0
    for thing in page.get_objects(max_depth=4):
        if thing.type == pdfium.FPDF_PAGEOBJ_IMAGE:
            return True
        shapes += thing.type == pdfium.FPDF_PAGEOBJ_PATH
        if shapes > _OUTLINES:
            return True
    return False


def _recognised(page: Any, number: int, found: _Found) -> str:
    found.scans += 1
    if number >= _MAX_SCANS or not ocr.available():
        found.unread.append(number)
        return ""
    with closing(page.render(scale=ocr.SIDE / max(1.0, *page.get_size()))) as bitmap:
        pixels = bitmap.to_numpy()[:, :, :3].copy()
    read = ocr.recognise(pixels)
    if read is None:
        return ""
    found.by = read.by
    if read.text:
        found.confidences.append(read.confidence)
        found.recognised.append(number + 1)
    return read.text


def _time(text: str) -> int | None:
    match = _DATE.match(text)
    if match is None:
        return None
    year, month, day, hour, minute, second, utc, hours, minutes = (
        part or "" for part in match.groups()
    )
    zone = utc or (f"{hours}:{minutes or '00'}" if hours else "")
    clock = f"{hour or '00'}:{minute or '00'}:{second or '00'}{zone}"
    return moment(f"{year}-{month or '01'}-{day or '01'}T{clock}")
