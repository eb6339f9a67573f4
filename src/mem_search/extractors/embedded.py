"""What pictures and PDFs say of themselves: XMP packets, and EXIF of cameras.

XMP (ISO 16684-1) is XML that programs put into files of most formats, unpacked, so that others
find it without knowing the format. EXIF (CIPA DC-008) is read with exifread. Where a camera was is
told only if the setting ``photo_places`` asks for it.
"""

from __future__ import annotations

import logging
import mmap
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from lxml import etree

from mem_search.extractors.zip_package import moment, parsed
from mem_search.patterns import pattern
from mem_search.settings import Settings

_RDF: Final = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}"
_DC: Final = "{http://purl.org/dc/elements/1.1/}"
_PDF: Final = "{http://ns.adobe.com/pdf/1.3/}"
_XMP: Final = "{http://ns.adobe.com/xap/1.0/}"
_EXIF: Final = "{http://ns.adobe.com/exif/1.0/}"
_PHOTOSHOP: Final = "{http://ns.adobe.com/photoshop/1.0/}"
_DATES: Final = (f"{_EXIF}DateTimeOriginal", f"{_PHOTOSHOP}DateCreated", f"{_XMP}CreateDate")
_PLACES: Final = tuple(f"{_PHOTOSHOP}{name}" for name in ("City", "State", "Country"))

_OPENING, _CLOSING = b"<rdf:RDF", b"</rdf:RDF>"
_SCOPES: Final = pattern(rb"xmlns:[\w.-]{1,40}\s?=\s?(?:\"[^\"<>]{1,200}\"|'[^'<>]{1,200}')")
_MAX_PACKETS: Final = 50
_MAX_PACKET_BYTES: Final = 2**20
_MAX_VALUE_CHARS: Final = 2_000
_MAX_KEYWORDS: Final = 50
_UNSAID: Final = frozenset(
    "untitled;default;olympus digital camera;minolta digital camera;sony dsc".split(";")
)
"""What programs and cameras write when nobody said anything."""


@dataclass(frozen=True, slots=True)
class Stated:
    """``created_at`` is in ms since 1970; ``place`` is coordinates or a town."""

    title: str = ""
    description: str = ""
    author: str = ""
    keywords: tuple[str, ...] = ()
    created_at: int | None = None
    camera: str = ""
    place: str = ""

    def or_else(self, other: Stated) -> Stated:
        """This, with what only ``other`` says."""
        missing = {name: getattr(other, name) for name in self.__slots__
                   if getattr(self, name) in ("", (), None)}  # fmt: skip
        return replace(self, **missing)

    @property
    def metadata(self) -> dict[str, str]:
        """The fields of a record's metadata that are said."""
        named = {"author": self.author, "description": self.description, "camera": self.camera,
                 "location": self.place}  # fmt: skip
        return {name: value for name, value in named.items() if value}


def of_pdf(path: Path) -> Stated:
    """The newest packet about the document; packets of pictures in it are about other things."""
    about = [packet for packet in _packets(path) if _is_of_pdf(packet)]
    return _of_packet(about[-1]) if about else Stated()


def of_picture(path: Path) -> Stated:
    """XMP, which people edit, before what the camera wrote."""
    stated = Stated()
    for packet in _packets(path):
        stated = stated.or_else(_of_packet(packet))
    stated = stated.or_else(_of_camera(path))
    if stated.place and not Settings.read().photo_places:
        stated = replace(stated, place="")
    return stated


def of_properties(properties: Mapping[str, str], created_at: int | None) -> Stated:
    """The document information of a PDF (ISO 32000-1, 14.3.3)."""
    said = {name: _clean(value) for name, value in properties.items()}
    return Stated(
        title=said.get("Title", ""),
        description=said.get("Subject", ""),
        author=said.get("Author", ""),
        keywords=_keywords([said.get("Keywords", "")]),
        created_at=created_at,
    )


def _packets(path: Path) -> Iterator[Any]:
    """The roots of the RDF in the file, in its order."""
    with path.open("rb") as file:
        if not path.stat().st_size:
            return
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            at = 0
            for _ in range(_MAX_PACKETS):
                start = data.find(_OPENING, at)
                end = data.find(_CLOSING, start, start + _MAX_PACKET_BYTES) if start >= 0 else -1
                if end < 0:
                    return
                at = end + len(_CLOSING)
                # Elements around it may declare prefixes that are used in it.
                before = data[max(0, start - 500) : start].rpartition(b"<?xpacket")[2]
                scopes = b" ".join(dict.fromkeys(_SCOPES.findall(before)))
                try:
                    root = parsed(b"<x " + scopes + b">" + data[start:at] + b"</x>")
                except etree.XMLSyntaxError:
                    continue  # cut in two by the format of the file, or damaged
                yield root


def _is_of_pdf(root: Any) -> bool:
    values = _values(root)
    named = values.get(f"{_DC}format", [])
    return "application/pdf" in named or any(name.startswith(_PDF) for name in values)


def _values(root: Any) -> dict[str, list[str]]:
    """Property → its values: of attributes, of text, or of a list; the default language first."""
    values: dict[str, list[str]] = {}
    for described in root.iter(f"{_RDF}Description"):
        for name, value in described.attrib.items():
            if not name.startswith(_RDF):
                values.setdefault(name, []).append(_clean(value))
        for element in described:
            if isinstance(element.tag, str):
                items = list(element.iter(f"{_RDF}li")) or [element]
                language = "{http://www.w3.org/XML/1998/namespace}lang"
                items.sort(key=lambda item: item.get(language, "x-default") != "x-default")
                texts = [_clean("".join(item.itertext())) for item in items]
                values.setdefault(element.tag, []).extend(filter(None, texts))
    return values


def _of_packet(root: Any) -> Stated:
    values = _values(root)

    def first(name: str) -> str:
        return next(iter(values.get(name, ())), "")

    dates = (moment(first(name)) for name in _DATES)
    return Stated(
        title=first(f"{_DC}title"),
        description=first(f"{_DC}description"),
        author=", ".join(dict.fromkeys(values.get(f"{_DC}creator", ()))),
        keywords=_keywords([*values.get(f"{_DC}subject", ()), *values.get(f"{_PDF}Keywords", ())]),
        created_at=next((at for at in dates if at is not None), None),
        place=", ".join(filter(None, map(first, _PLACES))),
    )


def _of_camera(path: Path) -> Stated:
    import exifread

    logging.getLogger("exifread").setLevel(logging.CRITICAL)  # most pictures have no EXIF
    try:
        with path.open("rb") as file:
            tags = exifread.process_file(file, details=False, extract_thumbnail=False)
    except Exception:  # noqa: BLE001  a parser of what strangers wrote; the picture is still read
        return Stated()

    def text(*names: str) -> str:
        values = (tags[name].values for name in names if name in tags)
        return next((said for value in values if (said := _clean(_decoded(value)))), "")

    maker, model = text("Image Make"), text("Image Model")
    camera = model if model.lower().startswith(maker.lower().split(" ")[0]) else f"{maker} {model}"
    return Stated(
        title=text("Image XPTitle"),
        description=text("Image ImageDescription", "Image XPSubject", "Image XPComment"),
        author=text("Image Artist", "Image XPAuthor"),
        keywords=_keywords([text("Image XPKeywords")]),
        created_at=_taken(text("EXIF DateTimeOriginal", "EXIF DateTimeDigitized"),
                          text("EXIF OffsetTimeOriginal", "EXIF OffsetTimeDigitized")),
        camera=camera.strip(),
        place=_coordinates(tags),
    )  # fmt: skip


def _decoded(value: object) -> str:
    """A text of EXIF; those that Windows writes are bytes of UTF-16."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(each, int) and 0 <= each < 256 for each in value):
        return bytes(value).decode("utf-16-le", "replace")
    return ""


def _taken(said: str, offset: str) -> int | None:
    """``2025:09:14 19:22:05``; a camera without a time zone is in that of this machine."""
    try:
        at = datetime.strptime(said[:19], "%Y:%m:%d %H:%M:%S")  # noqa: DTZ007  its zone is added
    except ValueError:
        return None
    return moment(f"{at.isoformat()}{offset}") or moment(at.isoformat())


def _coordinates(tags: Mapping[str, Any]) -> str:
    """``59.91390, 10.75220``: degrees north and east."""
    coordinates = []
    for name, back, most in (("Latitude", "S", 90), ("Longitude", "W", 180)):
        value, side = tags.get(f"GPS GPS{name}"), tags.get(f"GPS GPS{name}Ref")
        try:
            degrees, minutes, seconds = (float(each) for each in value.values)  # type: ignore[union-attr]
        except (AttributeError, TypeError, ValueError, ZeroDivisionError):
            return ""
        place = degrees + minutes / 60 + seconds / 3600
        if not 0 <= place <= most:
            return ""
        is_back = side is not None and _decoded(side.values).strip() == back
        coordinates.append(f"{-place if is_back else place:.5f}")
    return ", ".join(coordinates) if coordinates != ["0.00000", "0.00000"] else ""


def _clean(text: str) -> str:
    """On one line, without what programs write by themselves."""
    said = " ".join(text[:_MAX_VALUE_CHARS].replace("\0", " ").split())
    return "" if said.lower() in _UNSAID else said


def _keywords(said: Iterable[str]) -> tuple[str, ...]:
    words = [word.strip() for each in said for word in re.split("[;,]", each)]
    return tuple(dict.fromkeys(word for word in words if 0 < len(word) < 50))[:_MAX_KEYWORDS]
