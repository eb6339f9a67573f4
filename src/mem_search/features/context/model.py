"""The briefing of an agent: where it works, and the records that its situation calls for."""

from __future__ import annotations

from dataclasses import dataclass

from mem_search.model.records import Record


@dataclass(frozen=True, slots=True)
class Situation:
    """Where an agent works. ``projects`` are exact names, its own first; ``files`` are at hand.

    Those of its ``session`` are at hand, too. ``facets`` are those of ``Filters``.
    """

    projects: tuple[str, ...]
    branch: str = ""
    files: tuple[str, ...] = ()
    session: str = ""
    prompt: str = ""
    facets: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Candidate:
    """A record of a briefing: its score, and the reasons for it, the heaviest first."""

    record: Record
    score: float
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Briefing:
    """The candidates, best first. ``total`` records are known of the projects, ``on_branch`` of
    them of the branch, and ``matching`` of them match the prompt, None without a prompt. ``newest``
    is when the newest was made, in ms since 1970.
    """

    situation: Situation
    total: int = 0
    on_branch: int = 0
    matching: int | None = None
    newest: int | None = None
    candidates: tuple[Candidate, ...] = ()
