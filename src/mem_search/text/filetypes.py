"""What people call the format of a file: ``pdf``, ``spreadsheet``, ``scan``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Final

FILETYPES: Final[Mapping[str, tuple[str, ...]]] = {
    "document": ("docx", "doc", "odt", "rtf", "pages"),
    "spreadsheet": ("xlsx", "xls", "ods", "csv", "tsv"),
    "presentation": ("pptx", "ppt", "odp", "key"),
    "image": ("png", "jpg", "jpeg", "tif", "tiff", "gif", "bmp", "webp", "heic"),
}
"""One word for several formats."""

_MAX_ENDING_CHARS: Final = 10
"""Characters of an ending that is a format."""


def filetypes(path: str, media_type: str, *, scanned: bool) -> list[str]:
    """The format by the end of the name, else by the media type; its general words; ``scan``."""
    ending = PurePosixPath(path).suffix[1:].lower()
    if not ending:
        ending = media_type.lower().partition("/")[2]
    found = [ending] if 0 < len(ending) <= _MAX_ENDING_CHARS and ending.isalnum() else []
    found += [name for name, endings in FILETYPES.items() if ending in endings]
    if media_type.startswith("image/") and "image" not in found:
        found.append("image")
    return [*found, "scan"] if scanned else found
