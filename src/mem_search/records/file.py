"""A document or a source file, as far as it is text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from typing import ClassVar, Final

from pydantic import Field

from mem_search.model import Draft, Kind
from mem_search.records.base import BaseKind, Metadata, people

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
    types = [ending] if 0 < len(ending) <= _MAX_ENDING_CHARS and ending.isalnum() else []
    types += [name for name, endings in FILETYPES.items() if ending in endings]
    if media_type.startswith("image/") and "image" not in types:
        types.append("image")
    return [*types, "scan"] if scanned else types


class FileMetadata(Metadata):
    """The metadata of a file; ``size`` is in bytes."""

    path: str | None = None
    language: str | None = None
    media_type: str | None = Field(default=None, title="Type")
    size: int | None = None


class File(BaseKind[FileMetadata]):
    """The ``file`` kind; it is filtered by format, and by who sent it with a message."""

    name: Kind = "file"
    plural = "files"
    label = "File"
    sign = "📄"
    documents = True
    asked_as: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("pdf", "pdfs", "pdf file", "pdf files"), "filetype:pdf"),
        **dict.fromkeys(("word document", "word documents", "word file", "word files", "docx"),
                        "filetype:document"),
        **dict.fromkeys(("spreadsheet", "spreadsheets", "excel file", "excel sheet"),
                        "filetype:spreadsheet"),
        **dict.fromkeys(("scan", "scans", "scanned"), "filetype:scan"),
    }  # fmt: skip
    may_be_asked_as: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("photo", "photos", "picture", "pictures", "screenshot", "screenshots"),
                        "filetype:image"),
        **dict.fromkeys(("slides", "presentation", "presentations"), "filetype:presentation"),
    }  # fmt: skip
    source_type = "document_upload"
    genre = "File"
    model = FileMetadata
    filterable = (("path", "path"), ("language", "language"))

    def facets(self, draft: Draft) -> Iterable[tuple[str, str]]:
        known, given = self.known(draft.metadata), draft.metadata
        path, media_type = known.path or draft.title, known.media_type or ""
        types = filetypes(path, media_type, scanned=bool(given.get("ocr")))
        senders = [("from", who) for who in people(given.get("sender"))]
        return [*super().facets(draft), *(("filetype", each) for each in types), *senders]
