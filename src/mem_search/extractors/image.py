"""Pictures: the text in them (OCR), and what they say of themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from mem_search.extractors import embedded, ocr
from mem_search.model.ingest import Extracted

_MAGIC: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"II*\0", "image/tiff"),
    (b"MM\0*", "image/tiff"),
    (b"GIF8", "image/gif"),
    (b"BM", "image/bmp"),
)


class Image:
    """Reads a picture with what is installed for it (``ocr``). One without text, of which nobody
    has said anything, is left out."""

    name = "image"
    suffixes = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".gif", ".bmp", ".webp")

    def recognises(self, head: bytes, path: Path, suffix: str) -> bool:
        return bool(_media_type(head)) and (not head.startswith(b"BM") or suffix == ".bmp")

    def extract(self, path: Path, name: str) -> Extracted:
        with path.open("rb") as file:
            media_type = _media_type(file.read(16))
        found, said = ocr.recognise(path), embedded.of_picture(path)
        metadata: dict[str, Any] = {"media_type": media_type, **said.metadata}
        note, lacks = "no text was recognised in the picture", ""
        if found is None:
            note, lacks = f"it is a picture ({media_type}); {ocr.ADVICE}", "ocr"
        else:
            metadata["ocr"] = found.by
            if found.text:
                metadata["ocr_confidence"] = found.confidence
        texts = (said.description, ", ".join(said.keywords), found.text if found else "")
        text = "\n\n".join(filter(None, texts)) or said.title
        return Extracted(
            text,
            title=said.title,
            created_at=said.created_at,
            tags=said.keywords,
            metadata=metadata,
            note=note,
            lacks=lacks,
        )


def _media_type(head: bytes) -> str:
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    return next((name for magic, name in _MAGIC if head.startswith(magic)), "")
