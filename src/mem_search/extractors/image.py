"""Pictures: the text in them (OCR), page by page, and what they say of themselves."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, BinaryIO, Final

from mem_search.extractors import embedded, ocr
from mem_search.extractors.refusal import pages_said
from mem_search.model.ingest import PAGE_BREAK, Extracted

_MAGIC: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"II*\0", "image/tiff"),
    (b"MM\0*", "image/tiff"),
    (b"GIF8", "image/gif"),
    (b"BM", "image/bmp"),
)
_HEIF: Final = frozenset((b"heic", b"heix", b"heim", b"heis", b"mif1", b"msf1", b"hevc"))
"""Brands of the pictures of phones (ISO 23008-12), in their bytes 8 to 12."""

_SECONDS: Final = 20
"""After so long, the rest of the pages is left to the next call, which has its own limits."""
_MAX_PAGES: Final = 300
"""Pages of a picture that are recognised: more would keep a core busy for a quarter of an hour."""


class Image:
    """Reads a picture with what is installed for it (``ocr``). One without text, of which nobody
    has said anything, is left out. A TIFF may have many pages, as faxes and scanners write it."""

    name = "image"
    suffixes = (
        ".png", ".jpg", ".jpeg", ".tif", ".tiff", ".gif", ".bmp", ".webp", ".heic", ".heif",
    )  # fmt: skip

    def recognises(self, head: bytes, path: Path, suffix: str) -> bool:
        return bool(_media_type(head)) and (not head.startswith(b"BM") or suffix == ".bmp")

    def extract(self, path: Path, name: str) -> Extracted:
        return self.extract_from(path, name, 0)

    def extract_from(self, path: Path, name: str, page: int) -> Extracted:
        with path.open("rb") as file:
            media_type = _media_type(file.read(16))
            count = _pages(file) if media_type == "image/tiff" else 1
        read, unread = _recognised(path, page, min(count, _MAX_PAGES))
        said = embedded.of_picture(path) if not page else embedded.Stated()
        metadata: dict[str, Any] = {"media_type": media_type, **said.metadata}
        note, lacks = "no text was recognised in the picture", ""
        if unread:
            lacks = ocr.lacks()
            note = f"it is a picture ({media_type}){f' of {count} pages' * (count > 1)}"
            note += ocr.why_not() or " that takes too much to read"
        elif read:
            metadata["ocr"] = read[0].by
            if read[0].languages:
                metadata["ocr_languages"] = read[0].languages
        sure = [each.confidence for each in read if each.text]
        if sure:
            metadata["ocr_confidence"] = round(sum(sure) / len(sure), 2)
        if count > 1:
            metadata["pages"] = count
            metadata |= {"ocr_pages": len(sure)} if sure else {}
        end = page + len(read) + len(unread)
        missing = _unread(unread, count) if end == min(count, _MAX_PAGES) else ()
        blank = [page + at for at, each in enumerate(read) if not each.text.strip()]
        if blank and count > 1:
            missing = (f"{pages_said(blank)} without text, as far as OCR sees", *missing)
        about = "\n\n".join(filter(None, (said.description, ", ".join(said.keywords))))
        pages = [each.text for each in read] + [""] * len(unread)
        if about:
            pages[0] = "\n\n".join(filter(None, (about, pages[0])))
        text = PAGE_BREAK.join(pages)
        return Extracted(
            text if text.strip() else said.title,
            title=said.title,
            created_at=said.created_at,
            tags=said.keywords,
            metadata=metadata,
            note=note,
            unread=missing,
            lacks=lacks,
            rest=end if end < min(count, _MAX_PAGES) else 0,
        )


def _recognised(path: Path, first: int, end: int) -> tuple[list[ocr.Recognised], list[int]]:
    """The texts of the pages from ``first`` on, as far as time allows, and pages not read."""
    read: list[ocr.Recognised] = []
    started = time.monotonic()
    for number in range(first, end):
        try:
            recognised = ocr.recognise(path, number)
        except MemoryError:
            if not read:
                raise
            break  # a fresh process has more room for this page
        if recognised is None:  # nothing is installed, or it took too much: then only this page
            return read, [number] if not ocr.wanted() else [*range(number, end)]
        read.append(recognised)
        if time.monotonic() - started > _SECONDS:
            break
    return read, []


def _unread(pages: list[int], count: int) -> tuple[str, ...]:
    said = []
    if pages:
        of = "the picture is" if count == 1 else pages_said(pages)
        said.append(f"{of} not read{ocr.why_not()}")
    if count > _MAX_PAGES:
        said.append(f"{pages_said(range(_MAX_PAGES, count))} not read (at most {_MAX_PAGES} are)")
    return tuple(said)


def _pages(file: BinaryIO) -> int:
    """The pages of a TIFF: its chain of directories (TIFF 6.0, section 2), each read once."""
    file.seek(0)
    order: Any = "little" if file.read(2) == b"II" else "big"
    file.seek(4)
    seen: set[int] = set()
    at = int.from_bytes(file.read(4), order)
    while at and at not in seen and len(seen) <= 10 * _MAX_PAGES:
        seen.add(at)
        file.seek(at)
        entries = int.from_bytes(file.read(2), order)
        file.seek(at + 2 + 12 * entries)
        following = file.read(4)
        at = int.from_bytes(following, order) if len(following) == 4 else 0
    return max(1, len(seen))


def _media_type(head: bytes) -> str:
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    if head[4:8] == b"ftyp" and head[8:12] in _HEIF:
        return "image/heic"
    return next((name for magic, name in _MAGIC if head.startswith(magic)), "")
