"""Where a record comes from, and how far it is trusted.

Derived from the kind and the source of a record, so that it holds for every record there is. The
text of a record may read like instructions to an agent (``text.instructions``); its metadata says
so since it was stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

from mem_search.model import SAMPLE, Record
from mem_search.model.records import OWN
from mem_search.records.registry import installed_kinds

Origin = Literal["own_words", "own_work", "tool_output", "external"]
Trust = Literal["high", "medium", "low"]

INSTRUCTION_LIKE: Final = "instruction_like"
"""The metadata field with the names of the rules that the text of a record meets."""

TRUST: Final[Mapping[Origin, Trust]] = {
    "own_words": "high", "own_work": "medium", "tool_output": "low", "external": "low",
}  # fmt: skip
"""A person's words, an agent's work, what a program wrote, and what anybody may have written."""

GIT: Final = "git"
_BY_SOURCE: Final[Mapping[str, Origin]] = {
    GIT: "external",  # a clone has commits of everybody
    "slack": "external",
    "agent-memory": "external",  # a repository brings its own, and agents load theirs
    **dict.fromkeys(("chatgpt", "claude-ai"), "own_work"),
    SAMPLE: "own_work",  # made up by us: nothing to warn of
}


def origin_of(record: Record) -> Origin:
    """Where the record comes from. A kind of a third party that does not say is external."""
    if record.source == GIT and record.metadata.get(OWN) is True:
        return "own_words"
    by_kind: Origin = getattr(installed_kinds().get(record.kind), "origin", "external")
    return _BY_SOURCE.get(record.source, by_kind)


def trust_of(record: Record) -> Trust:
    """How far the record is trusted. Anybody may write a person's address into a commit, so one's
    own commits are trusted less than words that nobody else can have written.
    """
    origin = origin_of(record)
    return "medium" if record.source == GIT and origin == "own_words" else TRUST[origin]


def is_given(record: Record) -> bool:
    """Whether an agent may get the record without asking: no commit, whoever it says wrote it, and
    nothing that is made up.
    """
    is_trusted = TRUST[origin_of(record)] != "low" and record.source not in (GIT, SAMPLE)
    return is_trusted and not record.metadata.get(INSTRUCTION_LIKE)


def flags_of(metadata: Mapping[str, Any]) -> list[str]:
    """The names of the rules that a stored text meets."""
    flags = metadata.get(INSTRUCTION_LIKE)
    return [str(each) for each in flags] if isinstance(flags, list) else []
