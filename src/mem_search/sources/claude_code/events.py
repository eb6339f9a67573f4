"""What can happen in a transcript, as far as memory cares. Values, no behaviour."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Prompted:
    """The person wrote it; ``queued`` while the agent was working."""

    text: str
    queued: bool = False


@dataclass(frozen=True, slots=True)
class Instructed:
    """An agent wrote it to its subagent."""

    text: str


@dataclass(frozen=True, slots=True)
class Said:
    """The agent's text; the pieces of one message share ``message``."""

    text: str
    message: str


@dataclass(frozen=True, slots=True)
class Called:
    """The agent asked for a tool."""

    call: str
    tool: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Answered:
    """What the tool answered."""

    call: str
    text: str
    failed: bool


@dataclass(frozen=True, slots=True)
class Compacted:
    """The agent's own summary of the session so far."""

    text: str


@dataclass(frozen=True, slots=True)
class Titled:
    """A name for the session; ``leaf`` is the line it was made for, if that is known."""

    text: str
    leaf: str = ""
    by_person: bool = False


@dataclass(frozen=True, slots=True)
class Queued:
    """The person wrote it while the agent worked; not delivered yet."""

    text: str


@dataclass(frozen=True, slots=True)
class Unqueued:
    """Queued prompts left the queue: given to the agent at work, or taken back to edit."""

    given: bool


Event = Prompted | Instructed | Said | Called | Answered | Compacted | Titled | Queued | Unqueued
