"""A document or a source file, as far as it is text."""

from __future__ import annotations

from pydantic import Field

from mem_search.model import Kind
from mem_search.records.base import BaseKind, Metadata


class FileMetadata(Metadata):
    """The metadata of a file; ``size`` is in bytes."""

    path: str | None = None
    language: str | None = None
    media_type: str | None = Field(default=None, title="Type")
    size: int | None = None


class File(BaseKind[FileMetadata]):
    """The ``file`` kind."""

    name: Kind = "file"
    plural = "files"
    label = "File"
    sign = "📄"
    documents = True
    source_type = "document_upload"
    genre = "File"
    model = FileMetadata
    filterable = (("path", "path"), ("language", "language"))
