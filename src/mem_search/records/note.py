"""Something that a person or an agent wrote down to keep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from mem_search.model import Citation, Kind, Record
from mem_search.records.base import BaseKind, Metadata
from mem_search.records.citation_fields import words


class NoteMetadata(Metadata):
    """The metadata of a note."""

    folder: str | None = None
    path: str | None = None


class Note(BaseKind[NoteMetadata]):
    """The ``note`` kind."""

    name: Kind = "note"
    plural = "notes"
    label = "Note"
    sign = "📝"
    documents = True
    may_be_asked_as: ClassVar[Mapping[str, str]] = dict.fromkeys(("note", "notes"), "kind:note")
    origin = "own_words"
    source_type = "direct_input"
    agent_source_type = "conversation"
    genre = "Note"
    model = NoteMetadata
    filterable = (("folder", "folder"), ("path", "path"))

    def citation(self, record: Record) -> Citation:
        return replace(super().citation(record), folder=words(record.metadata, "folder"))
