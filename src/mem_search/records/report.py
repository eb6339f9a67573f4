"""The result of a longer piece of research, with its evidence."""

from __future__ import annotations

from typing import ClassVar

from mem_search.model import Kind
from mem_search.records.base import BaseKind, Metadata
from mem_search.records.canonical_text import Section


class ReportMetadata(Metadata):
    """The metadata of a report; ``query`` is the question that it answers."""

    query: str | None = None
    type: str | None = None
    path: str | None = None


class Report(BaseKind[ReportMetadata]):
    """The ``report`` kind."""

    name: Kind = "report"
    plural = "reports"
    label = "Report"
    sign = "📊"
    cites = True
    origin = "tool_output"
    source_type = "reflection"
    csl_type = "report"
    genre = "Research report"
    model = ReportMetadata
    sections: ClassVar[tuple[Section, ...]] = (Section("labelled", "Query", ("query",)),)
    filterable = (("type", "type"), ("path", "path"))
