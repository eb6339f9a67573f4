"""What stands on a PDF page besides its text: notes, and the fields of forms with their labels.

XFA forms (Adobe LiveCycle) keep their text in XML packets; their pages only say "please wait".
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from lxml import etree

from mem_search.extractors.zip_package import local, parsed

_MAX_ANNOTATIONS: Final = 1_000
"""Of one page."""
_MAX_STRING_BYTES: Final = 20_000_000
_MAX_SEGMENTS: Final = 3_000
"""Pieces of text of a page that may be labels; it has a few hundred."""
_MAX_PACKET_BYTES: Final = 20_000_000

_NEAR: Final = 300.0
"""Points (1/72 inch) from a field to a label on its line."""
_ABOVE: Final = 20.0
"""Points from a field to a label above it."""

_BUTTON, _CHECK_BOX, _RADIO, _COMBO, _LIST, _TEXT, _SIGNATURE = 1, 2, 3, 4, 5, 6, 7
"""Types of fields, as PDFium counts them (fpdf_formfill.h)."""


@dataclass(frozen=True, slots=True)
class _Box:
    left: float
    bottom: float
    right: float
    top: float
    text: str = ""

    def is_beside(self, other: _Box) -> bool:
        """Whether the middle of this is on the height of the other."""
        return other.bottom <= (self.bottom + self.top) / 2 <= other.top


def notes_and_fields(page: Any, form: Any) -> Iterator[str]:
    """Notes that readers left on the page, and ``Label: value`` for what a form says, each once."""
    import pypdfium2.raw as pdfium

    seen: set[str] = set()
    segments: list[_Box] | None = None
    for index in range(min(pdfium.FPDFPage_GetAnnotCount(page), _MAX_ANNOTATIONS)):
        annotation = pdfium.FPDFPage_GetAnnot(page, index)
        if not annotation:
            continue
        try:
            if form is not None and pdfium.FPDFAnnot_GetSubtype(annotation) == (
                pdfium.FPDF_ANNOT_WIDGET
            ):
                segments = _segments(page) if segments is None else segments
                said = [_field(form, annotation, segments)]
            else:
                said = [_string(annotation, key) for key in (b"Contents", b"V")]
            for each in said:
                if each and each not in seen:
                    seen.add(each)
                    yield each
        finally:
            pdfium.FPDFPage_CloseAnnot(annotation)


def attached(page: Any) -> Iterator[tuple[str, bytes]]:
    """The files that are pinned to a page as annotations."""
    import pypdfium2
    import pypdfium2.raw as pdfium

    for index in range(min(pdfium.FPDFPage_GetAnnotCount(page), _MAX_ANNOTATIONS)):
        annotation = pdfium.FPDFPage_GetAnnot(page, index)
        if not annotation:
            continue
        try:
            if pdfium.FPDFAnnot_GetSubtype(annotation) == pdfium.FPDF_ANNOT_FILEATTACHMENT:
                raw = pdfium.FPDFAnnot_GetFileAttachment(annotation)
                if raw:
                    file = pypdfium2.PdfAttachment(raw, page.pdf)
                    yield file.get_name(), bytes(file.get_data())
        finally:
            pdfium.FPDFPage_CloseAnnot(annotation)


def _field(form: Any, annotation: Any, segments: list[_Box]) -> str:
    """``Winter storage: yes``; empty for a field that nobody has filled in."""
    import pypdfium2.raw as pdfium

    def said(get: Callable[..., int]) -> str:
        return _called(lambda buffer, size: get(form, annotation, buffer, size))

    kind = pdfium.FPDFAnnot_GetFormFieldType(form, annotation)
    rect = pdfium.FS_RECTF()
    pdfium.FPDFAnnot_GetRect(annotation, rect)
    box = _Box(rect.left, rect.bottom, rect.right, rect.top)
    name = said(pdfium.FPDFAnnot_GetFormFieldName)
    alternate = said(pdfium.FPDFAnnot_GetFormFieldAlternateName)
    is_button = kind in (_CHECK_BOX, _RADIO)
    label = alternate or _label(box, segments, is_button=is_button)
    label = label.rstrip(" :.…_*") or name.rpartition(".")[2]
    if kind == _RADIO:
        if not pdfium.FPDFAnnot_IsChecked(form, annotation):
            return ""
        option = said(pdfium.FPDFAnnot_GetFormFieldExportValue)
        beside = _label(box, segments, is_button=True)
        group = alternate or name.rpartition(".")[2]
        return f"{group}: {option}" + (f" ({beside})" if beside and beside != option else "")
    if kind == _CHECK_BOX:
        return f"{label}: {'yes' if pdfium.FPDFAnnot_IsChecked(form, annotation) else 'no'}"
    if kind == _LIST:
        chosen = _options(form, annotation)
        return f"{label}: {', '.join(chosen)}" if chosen else ""
    value = "" if kind in (_BUTTON, _SIGNATURE) else said(pdfium.FPDFAnnot_GetFormFieldValue)
    return f"{label}: {value}" if value else ""


def _options(form: Any, annotation: Any) -> list[str]:
    """What is chosen in a list."""
    import pypdfium2.raw as pdfium

    count = min(max(0, pdfium.FPDFAnnot_GetOptionCount(form, annotation)), _MAX_ANNOTATIONS)
    return [
        _called(lambda buffer, size, at=at: pdfium.FPDFAnnot_GetOptionLabel(  # type: ignore[misc]
            form, annotation, at, buffer, size))
        for at in range(count) if pdfium.FPDFAnnot_IsOptionSelected(form, annotation, at)
    ]  # fmt: skip


def _segments(page: Any) -> list[_Box]:
    """The pieces of text of the page and where they stand."""
    segments = []
    text = page.get_textpage()
    try:
        for index in range(min(text.count_rects(), _MAX_SEGMENTS)):
            left, bottom, right, top = text.get_rect(index)
            said = " ".join(text.get_text_bounded(left, bottom, right, top).split())
            if said:
                segments.append(_Box(left, bottom, right, top, said))
    finally:
        text.close()
    return segments


def _label(box: _Box, segments: list[_Box], *, is_button: bool) -> str:
    """The nearest text on the line of a field: before it, of a box also after it; else above it."""
    beside = [each for each in segments if each.is_beside(box)]
    near = [(box.left - each.right, each) for each in beside if each.right <= box.left + 2]
    if is_button:
        near += [(each.left - box.right, each) for each in beside if each.left >= box.right - 2]
    near = [(distance, each) for distance, each in near if distance < _NEAR]
    if not near:
        near = [
            (each.bottom - box.top, each) for each in segments
            if -2 <= each.bottom - box.top < _ABOVE
            and each.left < box.right and each.right > box.left
        ]  # fmt: skip
    return min(near, key=lambda pair: pair[0])[1].text if near else ""


def _called(get: Callable[[Any, int], int]) -> str:
    """A text that PDFium gives as UTF-16 with an end mark of two bytes."""
    import pypdfium2.raw as pdfium

    length = get(None, 0)
    if not 2 < length < _MAX_STRING_BYTES:
        return ""
    buffer = ctypes.create_string_buffer(length)
    get(ctypes.cast(buffer, ctypes.POINTER(pdfium.FPDF_WCHAR)), length)
    return buffer.raw[: length - 2].decode("utf-16-le", "replace").replace("\r", "\n").strip()


def _string(annotation: Any, key: bytes) -> str:
    import pypdfium2.raw as pdfium

    return _called(
        lambda buffer, size: pdfium.FPDFAnnot_GetStringValue(annotation, key, buffer, size)
    )


def xfa_text(document: Any, known: str) -> str:
    """What an XFA form says and the ``known`` text of its pages does not: captions, then values."""
    import pypdfium2.raw as pdfium

    lines: list[str] = []
    packets: dict[str, Any] = {}
    for index in range(min(max(0, pdfium.FPDF_GetXFAPacketCount(document)), 50)):
        length = pdfium.FPDF_GetXFAPacketName(document, index, None, 0)
        name = ctypes.create_string_buffer(max(1, length))
        pdfium.FPDF_GetXFAPacketName(document, index, name, length)
        size = ctypes.c_ulong()
        pdfium.FPDF_GetXFAPacketContent(document, index, None, 0, size)
        if name.value in (b"template", b"datasets") and 0 < size.value < _MAX_PACKET_BYTES:
            data = ctypes.create_string_buffer(size.value)
            pdfium.FPDF_GetXFAPacketContent(document, index, data, size.value, size)
            try:
                packets[name.value.decode()] = parsed(data.raw[: size.value].strip(b"\0 \r\n"))
            except etree.XMLSyntaxError:
                continue  # its pages are still read
    if (template := packets.get("template")) is not None:
        texts = (each for each in template.iter() if local(each) in ("text", "exData"))
        shown = (each for each in texts if local(each.getparent()) == "value")
        said = (" ".join("".join(each.itertext()).split()) for each in shown)
        lines += (each for each in said if each not in known)
    if (filled := packets.get("datasets")) is not None:
        values = ((local(each), " ".join((each.text or "").split())) for each in filled.iter()
                  if isinstance(each.tag, str) and not len(each))  # fmt: skip
        lines += (f"{name}: {value}" for name, value in values if value not in known)
    return "\n".join(dict.fromkeys(line for line in lines if line))
