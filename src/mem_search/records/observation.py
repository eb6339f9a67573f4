"""What an agent did or learned: what changed, why, and in which files; and commits of git.

Metadata has the names of the store that such records came from first.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Final

from mem_search.model import Kind, Record
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


SHORT_HASH: Final = 10
"""Characters of a hash that tell a commit apart in a large history, as git itself chooses."""


class CommitMetadata(ObservationMetadata):
    """The metadata of a commit. Lines are counted unless the history was too long."""

    insertions: int | None = None
    deletions: int | None = None
    file_count: int | None = None
    own: bool | None = None


class Commit(Observation):
    """The variety ``commit`` of observations: the names under which people find commits."""

    name: Kind = "commit"
    plural = "commits"
    label = "Commit"
    sign = "🔀"
    signs: ClassVar = {}
    genre = "Commit"
    model = CommitMetadata

    def detail(self, record: Record) -> Iterable[tuple[str, str]]:
        known = self.known(record.metadata)
        hidden = {"Commit", "Insertions", "Deletions", "File count", "Own"}
        if sha := known.commit or "":
            yield "Commit", sha[:SHORT_HASH]
        if size := size_of(record):
            yield "Changes", size
        yield from (each for each in super().detail(record) if each[0] not in hidden)


def size_of(record: Record) -> str:
    """``3 files, +120 −14``, as git's ``--stat`` ends; empty for a commit without files."""
    metadata = record.metadata
    files = metadata.get("file_count") or len(metadata.get("files_modified") or ())
    if not isinstance(files, int) or not files:
        return ""
    counted = f"{files:,} {'file' if files == 1 else 'files'}"
    added, deleted = metadata.get("insertions"), metadata.get("deletions")
    if not isinstance(added, int) or not isinstance(deleted, int):
        return counted
    return f"{counted}, +{added:,} −{deleted:,}"
