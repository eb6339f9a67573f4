"""A document or a source file, as far as it is text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar

from pydantic import Field

from mem_search.model import Draft, Kind
from mem_search.records.base import BaseKind, Metadata, people
from mem_search.text.filetypes import filetypes


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
