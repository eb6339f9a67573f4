"""Pictures: the text in them (OCR), and when a photograph was taken."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from mem_search.extractors import ocr
from mem_search.model.documents import Extracted

_MAGIC: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"II*\0", "image/tiff"),
    (b"MM\0*", "image/tiff"),
    (b"GIF8", "image/gif"),
    (b"BM", "image/bmp"),
)
_TAKEN: Final = 0x9003
_EXIF: Final = 0x8769


class Image:
    """Reads a picture with what is installed for it (``ocr``); one without text is left out."""

    name = "image"
    suffixes = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".gif", ".bmp", ".webp")

    def recognises(self, head: bytes, path: Path, suffix: str) -> bool:
        return bool(_media_type(head)) and (not head.startswith(b"BM") or suffix == ".bmp")

    def extract(self, path: Path, name: str) -> Extracted:
        with path.open("rb") as file:
            media_type = _media_type(file.read(16))
        found = ocr.recognise(path)
        if found is None:
            return Extracted("", note=f"it is a picture ({media_type}); {ocr.ADVICE}", lacks="ocr")
        metadata: dict[str, Any] = {"media_type": media_type, "ocr": found.by}
        if found.text:
            metadata["ocr_confidence"] = found.confidence
        return Extracted(
            found.text,
            created_at=_taken(path) if found.by == "rapidocr" else None,
            metadata=metadata,
            note="no text was recognised in the picture",
        )


def _media_type(head: bytes) -> str:
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    return next((name for magic, name in _MAGIC if head.startswith(magic)), "")


def _taken(path: Path) -> int | None:
    """When the camera says that it took the picture, in ms since 1970, as if in UTC."""
    from PIL import Image as Pillow

    with suppress(OSError, ValueError, SyntaxError), Pillow.open(path) as image:
        said = str(image.getexif().get_ifd(_EXIF).get(_TAKEN, ""))
        at = datetime.strptime(said[:19], "%Y:%m:%d %H:%M:%S").replace(tzinfo=UTC)
        return round(at.timestamp() * 1000)
    return None
