"""Something that a person or an agent wrote down to keep."""

from __future__ import annotations

from mem_search.model import Kind
from mem_search.records.base import BaseKind, Metadata


class NoteMetadata(Metadata):
    """What only a note has."""

    folder: str | None = None


class Note(BaseKind[NoteMetadata]):
    """The ``note`` kind."""

    name: Kind = "note"
    plural = "notes"
    label = "Note"
    sign = "📝"
    model = NoteMetadata
    filterable = (("folder", "folder"),)
