"""What an agent did or learned: what changed, why, and in which files.

Metadata has the names of the store that such records came from first.
"""

from __future__ import annotations

from typing import ClassVar

from mem_search.model import Kind
from mem_search.records.base import BaseKind, Metadata
from mem_search.records.canonical_text import Section


class ObservationMetadata(Metadata):
    """The metadata of an observation. ``type`` is bugfix, feature, refactor, ..."""

    type: str | None = None
    subtitle: str | None = None
    narrative: str | None = None
    facts: list[str] | None = None
    concepts: list[str] | None = None
    files_read: list[str] | None = None
    files_modified: list[str] | None = None


class Observation(BaseKind[ObservationMetadata]):
    """The ``observation`` kind; its icon says the type."""

    name: Kind = "observation"
    plural = "observations"
    label = "Observation"
    origin = "own_work"
    coding = True
    session = True
    sparse_weight = 0.5
    sign = "🟣"
    signs: ClassVar = {
        "bugfix": "🔴",
        "feature": "🟣",
        "refactor": "🔄",
        "change": "✅",
        "discovery": "🔵",
        "decision": "⚖️",
    }
    agent_source_type = "conversation"
    genre = "Observation"
    model = ObservationMetadata
    sections = (
        Section("paragraph", "Subtitle", ("subtitle",)),
        Section("paragraph", "Narrative", ("narrative",)),
        Section("bullets", "Facts", ("facts",)),
        Section("line", "Concepts", ("concepts",)),
        Section("line", "Files", ("files_read", "files_modified")),
    )
    filterable = (
        ("type", "type"),
        ("concepts", "concept"),
        ("files_read", "file_read"),
        ("files_modified", "file_modified"),
    )
