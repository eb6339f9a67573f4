"""PDF: the text of each page, its notes and form fields, with pypdfium2; scanned pages by OCR.

Words are read as they were written: without hyphens at the ends of lines and Arabic ligatures.
"""

from __future__ import annotations

import ctypes
import logging
import re
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from unicodedata import category

from mem_search.extractors import embedded, inside, ocr, pdf_forms
from mem_search.extractors.refusal import Unreadable, pages_said
from mem_search.extractors.zip_package import moment
from mem_search.model.ingest import OCR_PAGE_NUMBERS, PAGE_BREAK, Extracted
from mem_search.patterns import pattern
from mem_search.text.counted import counted
from mem_search.text.wordpieces import is_word

_DATE: Final = pattern(r"D:(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?(?:(Z)|([+-]\d\d)'?(\d\d)?)?")
_MAX_TEXT_CHARS: Final = 10_000_000
_SECONDS: Final = 20
"""After so long, the rest of a scanned file is left to the next call, which has its own limits."""

_MAX_SCANS: Final = 300
"""Pages of a file that are recognised: more would keep a core busy for a quarter of an hour."""

_MAX_SCAN_LETTERS: Final = 12
"""A page with fewer letters, such as a stamp or page number, and a picture is a scanned page."""

_MAX_STAMP_LETTERS: Final = 200
_SCAN_SHARE: Final = 0.5
"""A page with fewer letters than that, and a picture on more than this part of it, is one, too."""

_OUTLINES: Final = 40
"""A page without text and with so many drawn shapes probably has letters drawn as shapes."""


@dataclass(slots=True)
class _Reading:
    """What a call found. ``scans`` are pages that need OCR; those in ``unread`` nobody read."""

    pages: list[str] = field(default_factory=list)
    scans: int = 0
    recognised: list[int] = field(default_factory=list)
    unread: list[int] = field(default_factory=list)
    damaged: list[int] = field(default_factory=list)
    blank: list[int] = field(default_factory=list)
    confidences: list[float] = field(default_factory=list)
    by: str = ""
    languages: str = ""
    files: list[tuple[str, bytes]] = field(default_factory=list)


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

        # A file in memory, which is inside another one, has no path that can be resolved.
        given = str(path) if path.resolve().exists() else path.open("rb")
        try:
            document = pypdfium2.PdfDocument(given, autoclose=True)
        except pypdfium2.PdfiumError as error:
            if "password" in str(error).lower() or "security" in str(error).lower():
                raise Unreadable("it is encrypted with a password; save it without one") from None
            raise Unreadable(f"it is damaged or cut off: {error}") from None
        with closing(document):
            # That PDFium runs no XFA is told to who draws forms; here they are read otherwise.
            logging.getLogger("pypdfium2").setLevel(logging.ERROR)
            document.init_forms()
            reading = _read(document, page)
            end, count = page + len(reading.pages), len(document)
            form = "" if end < count else _form(document, reading)
            files = _inside(document, reading, is_first=page == 0)
            properties = document.get_metadata_dict(skip_empty=True)
        if form or files.texts:
            last = reading.pages.pop() if reading.pages else ""
            reading.pages.append("\n\n".join(filter(None, (last, form, *files.texts))))
        created = _time(properties.get("CreationDate", ""))
        said = embedded.of_properties(properties, created)
        said = said.or_else(embedded.of_pdf(path))
        metadata: dict[str, Any] = {"pages": count, **said.metadata}
        recognised = len(reading.confidences)
        if 0 < recognised < count:
            metadata[OCR_PAGE_NUMBERS] = reading.recognised
        if recognised:
            metadata |= {
                "ocr": reading.by,
                **({"ocr_languages": reading.languages} if reading.languages else {}),
                "ocr_pages": recognised,
                "ocr_confidence": round(sum(reading.confidences) / recognised, 2),
            }
        return Extracted(
            PAGE_BREAK.join(reading.pages),
            title=said.title,
            created_at=said.created_at,
            tags=said.keywords,
            metadata=metadata,
            note=_note(reading, count),
            unread=(*_unread(reading), *files.unread),
            lacks=ocr.lacks() if reading.unread else files.lacks,
            rest=end if end < count else 0,
        )


def _form(document: Any, reading: _Reading) -> str:
    return pdf_forms.xfa_text(document, " ".join(" ".join(reading.pages).split()))


def _inside(document: Any, reading: _Reading, *, is_first: bool) -> inside.Inside:
    """The files that are attached to the document, and to the pages that were read."""
    count = document.count_attachments() if is_first else 0
    whole = (document.get_attachment(number) for number in range(count))
    named = ((each.get_name(), bytes(each.get_data())) for each in whole)
    return inside.read([*named, *reading.files])


def _unread(reading: _Reading) -> tuple[str, ...]:
    """What its text has not."""
    many = f" (at most {_MAX_SCANS} are)" if ocr.available() else ""
    kind = "a picture" if len(reading.unread) == 1 else "pictures"
    told = (
        (reading.unread, f"{kind} and not read{many}{ocr.why_not()}"),
        (reading.blank, "without text, as far as OCR sees"),
        (reading.damaged, "damaged and not read"),
    )
    return tuple(f"{pages_said(pages)} {said}" for pages, said in told if pages)


def _note(reading: _Reading, count: int) -> str:
    """Why pages have no text."""
    if reading.scans and not reading.by:
        return (
            f"pictures without text: {reading.scans} of its {counted(count, 'page')}{ocr.why_not()}"
        )
    if reading.scans:
        return f"no text was recognised in the pictures on its {counted(count, 'page')}"
    return f"none of its {counted(count, 'page')} has text or a picture of text"


def _read(document: Any, first: int) -> _Reading:
    import pypdfium2

    reading = _Reading()
    form = document.formenv.raw if document.formenv else None
    size, started = 0, time.monotonic()
    for number in range(first, len(document)):
        try:
            with closing(document[number]) as page:
                said = page_text(page).strip()
                if _is_scan(page, said):
                    said = "\n\n".join(filter(None, (said, _recognised(page, number, reading))))
                text = "\n\n".join(filter(None, (said, *pdf_forms.notes_and_fields(page, form))))
                reading.files += pdf_forms.attached(page)
        except pypdfium2.PdfiumError:
            text = ""  # one damaged page does not hide the others
            reading.damaged.append(number)
        except MemoryError:
            if not reading.pages:
                raise
            break  # a fresh process has more room for this page
        reading.pages.append(text)
        size += len(text)
        if size > _MAX_TEXT_CHARS:
            raise Unreadable(
                f"its text is longer than {_MAX_TEXT_CHARS // 10**6} million characters; split it"
                " and add the parts"
            )
        is_late = bool(reading.by) and time.monotonic() - started > _SECONDS
        # What took too much with its picture is read without it, and only that.
        if is_late or (reading.unread and not ocr.wanted()):
            break
    reading.pages = whole_words(reading.pages)
    return reading


def _is_scan(page: Any, text: str) -> bool:
    """Whether the page shows a picture that has more to say than its text.

    A scan may have a few letters of its own: a stamp, a page number, the name of an app. It fills
    the page then. Letters may also be drawn as shapes.
    """
    import pypdfium2.raw as pdfium

    is_garbled = sum(map(_is_nothing, text)) * 3 >= len(text)
    if len(text) >= _MAX_STAMP_LETTERS and not is_garbled:
        return False
    shapes = 0
    width, height = page.get_size()
    for thing in page.get_objects(max_depth=4):
        if thing.type == pdfium.FPDF_PAGEOBJ_IMAGE:
            left, bottom, right, top = thing.get_bounds()
            share = (right - left) * (top - bottom) / max(1.0, width * height)
            if len(text) < _MAX_SCAN_LETTERS or share > _SCAN_SHARE:
                return True
        if is_garbled and thing.type == pdfium.FPDF_PAGEOBJ_TEXT:
            return True  # its fonts do not say which characters their shapes are
        shapes += thing.type == pdfium.FPDF_PAGEOBJ_PATH
        if shapes > _OUTLINES and len(text) < _MAX_SCAN_LETTERS:
            return True
    return False


def _is_nothing(letter: str) -> bool:
    """Whether it is what PDFium gives for a shape that has no character."""
    return letter in "\ufffd\0" or (category(letter) in ("Co", "Cn", "Cc") and letter not in "\n\t")


def _recognised(page: Any, number: int, reading: _Reading) -> str:
    reading.scans += 1
    if number >= _MAX_SCANS or not ocr.available():
        reading.unread.append(number)
        return ""
    with closing(page.render(scale=ocr.SIDE / max(1.0, *page.get_size()))) as bitmap:
        pixels = bitmap.to_numpy()[:, :, :3].copy()
    read = ocr.recognise(pixels)
    if read is None:
        return ""
    reading.by, reading.languages = read.by, read.languages
    if not read.text.strip():
        reading.blank.append(number)
    else:
        reading.confidences.append(read.confidence)
        reading.recognised.append(number + 1)
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


_CUT: Final = pattern(r"(-?)([^\W_]{0,60}+)(?:[\x02\ufffe]\n?|(?<=\w)-\n(?=\w))([^\W_]{0,60})")
"""PDFium has U+0002 or U+FFFE for a hyphen at the end of a line."""
_WORD: Final = pattern(r"[^\W_]+(?:-[^\W_]+)*")
_ARABIC: Final = pattern("[\u0621-\u064a]{2,}")
_SOFT: Final = "\u00ad"
_PREFIXES: Final = frozenset(
    "anti auto bio counter cyber down electro fore geo hydro hyper inter macro mega micro mis mono"
    " multi nano neuro non out over photo poly post pre pro proto pseudo psycho semi socio sub"
    " super tele thermo trans ultra under".split()
)
"""Words of their own that mostly stand without a hyphen before another."""

_MIN_LETTERS: Final = 3
"""Of each part of a compound: shorter ones are syllables."""


def page_text(page: Any) -> str:
    """The text of a page; where lines cut a word, with the signs that ``whole_words`` reads."""
    with closing(page.get_textpage()) as found:
        text = str(found.get_text_bounded())
        if _ARABIC.search(text) and len(text) == len(found.get_text_range()):
            text = _with_ligatures(found, text)
    return text.replace("\r\n", "\n").replace(PAGE_BREAK, "\n")


def _with_ligatures(page: Any, text: str) -> str:
    """``text`` with the letters of ligatures in their order.

    PDFium turns a line from right to left around glyph by glyph, also the letters of one glyph:
    those have one box.
    """
    letters = list(text)
    for run in _ARABIC.finditer(text):
        first = run.start()
        boxes = [_box(page, place) for place in range(*run.span())]
        for at in range(1, len(boxes) + 1):
            if at == len(boxes) or boxes[at] != boxes[at - 1]:
                letters[first : run.start() + at] = reversed(letters[first : run.start() + at])
                first = run.start() + at
    return "".join(letters)


def _box(page: Any, place: int) -> tuple[float, ...]:
    import pypdfium2.raw as pdfium

    sides = [ctypes.c_double() for _ in range(4)]
    at = pdfium.FPDFText_GetCharIndexFromTextIndex(page.raw, place)
    pdfium.FPDFText_GetCharBox(page.raw, at, *map(ctypes.byref, sides))
    values = tuple(side.value for side in sides)
    return values if any(values) else (place,)  # without a box, it is alone


def whole_words(pages: Sequence[str]) -> list[str]:
    """``pages`` with the words joined that lines cut.

    A hyphen stays that belongs to the word: as the document writes it elsewhere, before a number or
    a capital, or between two words that are none together. What may be either gets a soft hyphen,
    with which both are found.
    """
    known = {word.lower() for page in pages for word in _WORD.findall(_CUT.sub(" ", page))}

    def whole(match: re.Match[str]) -> str:
        dash, before, after = match.groups()
        one, other = before.lower(), after.lower()
        if not before or not after:
            return match[0].replace("\x02", "-").replace("\ufffe", "-")
        if dash or f"{one}-{other}" in known or not (before[-1:] + after[:1]).isalpha():
            return f"{dash}{before}-{after}"
        if after[0].isupper() and not before.isupper():
            return f"{before}-{after}"
        if one + other in known or is_word(one + other) or len(one) < _MIN_LETTERS:
            return before + after
        if len(other) < _MIN_LETTERS or not all(p in known or is_word(p) for p in (one, other)):
            return before + after
        return f"{before}{_SOFT if one in _PREFIXES else '-'}{after}"

    return [_CUT.sub(whole, page).strip() for page in pages]
