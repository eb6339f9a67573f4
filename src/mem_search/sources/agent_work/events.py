"""What happens in a session of an agent, whichever agent it is: one model of events for all.

The source of an agent reads its files and yields a ``Line`` for each of their messages; ``drafts``
makes records of them. Tools have the names and arguments of Claude Code (``tools``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class Prompt:
    """The person wrote it; ``queued`` if the agent was working then."""

    text: str
    queued: bool = False


@dataclass(frozen=True, slots=True)
class Instruction:
    """An agent wrote it to its subagent."""

    text: str


@dataclass(frozen=True, slots=True)
class AgentText:
    """The agent's text."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """The agent called a tool."""

    call: str
    tool: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a tool call."""

    call: str
    text: str
    failed: bool


@dataclass(frozen=True, slots=True)
class Compaction:
    """The agent's own summary of the session so far."""

    text: str


@dataclass(frozen=True, slots=True)
class SessionTitle:
    """A title for the session; ``leaf`` is the line that it was made for, if that is known."""

    text: str
    leaf: str = ""
    by_person: bool = False


@dataclass(frozen=True, slots=True)
class PromptQueued:
    """The person wrote it while the agent worked; the agent does not have it yet."""

    text: str


@dataclass(frozen=True, slots=True)
class PromptDequeued:
    """A queued prompt was ``delivered`` to the agent, or taken back by the person."""

    delivered: bool


Event = (
    Prompt
    | Instruction
    | AgentText
    | ToolCall
    | ToolResult
    | Compaction
    | SessionTitle
    | PromptQueued
    | PromptDequeued
)

MAIN: Final = "main"
"""The agent of a session that is not a subagent."""


@dataclass(frozen=True, slots=True)
class Line:
    """One message of a session; ``uuid`` is its id there.

    ``left`` is the reason why one that could have events has none. ``project`` and ``platform`` are
    those that a client named, or the name of an agent. ``told``: ``at`` is when a hook told of it.
    ``origin`` is the session that the line says it was copied from. ``former`` are ids, with the
    session, that earlier versions gave to what the line became. ``passed`` counts what happened and
    is not recorded. ``is_reused``: in another copy of the session another message can have the id.
    """

    uuid: str
    session: str
    at: int | None
    cwd: str
    branch: str
    agent: str
    events: tuple[Event, ...]
    left: str = ""
    project: str = ""
    platform: str = ""
    told: bool = False
    origin: str = ""
    former: tuple[str, ...] = ()
    passed: int = 0
    is_reused: bool = False
