"""A summary of a session: request, investigation, findings, results and next steps."""

from __future__ import annotations

from mem_search.model import Kind
from mem_search.records.base import BaseKind, Metadata
from mem_search.records.canonical_text import Section


class SessionSummaryMetadata(Metadata):
    """The metadata of a session summary."""

    request: str | None = None
    investigated: str | None = None
    learned: str | None = None
    completed: str | None = None
    next_steps: str | None = None
    notes: str | None = None
    files_read: list[str] | None = None
    files_edited: list[str] | None = None


class SessionSummary(BaseKind[SessionSummaryMetadata]):
    """The ``session_summary`` kind."""

    name: Kind = "session_summary"
    plural = "sessions"
    sparse_weight = 1.0
    label = "Session"
    origin = "own_work"
    coding = True
    aliases = ("session", "summary", "summaries")
    sign = "🎯"
    source_type = "checkpoint"
    genre = "Session summary"
    model = SessionSummaryMetadata
    sections = (
        Section("labelled", "Request", ("request",)),
        Section("labelled", "Investigated", ("investigated",)),
        Section("labelled", "Learned", ("learned",)),
        Section("labelled", "Completed", ("completed",)),
        Section("labelled", "Next steps", ("next_steps",)),
        Section("labelled", "Notes", ("notes",)),
        Section("line", "Files", ("files_read", "files_edited")),
    )
    filterable = (("files_read", "file_read"), ("files_edited", "file_modified"))
