"""The result of a longer piece of research, with its evidence."""

from __future__ import annotations

from mem_search.model import Kind
from mem_search.records.base import BaseKind, Metadata


class Report(BaseKind[Metadata]):
    """The ``report`` kind."""

    name: Kind = "report"
    plural = "reports"
    label = "Report"
    sign = "📊"
    cites = True
    source_type = "reflection"
    csl_type = "report"
    genre = "Research report"
    model = Metadata
