"""Which session an event of a file belongs to: one rule for the transcripts of all agents.

The session of a file is what the program calls the file by, else what it states first. An event
that states another session, that names the session it was copied from, or that is older than the
file, is *copied history*: a fork, a subagent and a resumed session begin with some. It belongs to
where it was written first, as far as that is known; what a file copied is never its own.

The id of an event is its own (a UUID), whatever file has it; else its session, its place there and
a hash of what was said: copies of a session that went on differently have other events at a place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, astuple, dataclass, field, replace
from hashlib import sha256
from typing import Any, Final

from mem_search.patterns import pattern
from mem_search.sources.agent_work.events import (
    AgentText,
    Compaction,
    Instruction,
    Line,
    Prompt,
    ToolCall,
)
from mem_search.sources.agent_work.session import Session
from mem_search.sources.agent_work.step import Step
from mem_search.sources.agent_work.tools import Call
from mem_search.text.embedded_data import plain_words, without_data
from mem_search.text.redaction import redact

_UUID: Final = pattern(r"[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}")
_OLDER_MS: Final = 1000
"""An event is a copy if it is so much older than the file: lines of one moment are not sorted."""
_BEGINS: Final = (Prompt, Instruction, Compaction)
_MAX_HASHED_CHARS: Final = 20_000
_WORK: Final = (Prompt, Instruction, AgentText, ToolCall)


def is_uuid(text: str) -> bool:
    """Whether no other thing has this name."""
    return _UUID.fullmatch(text) is not None


def made_at(uuid: str) -> int | None:
    """When a UUID of version 7 was made, in ms since 1970; None for another id."""
    return int(uuid.replace("-", "")[:12], 16) if is_uuid(uuid) and uuid[14] == "7" else None


def record_id(session: str, key: str) -> str:
    """The source id of what an event became: ``UUID/work``, else ``SESSION/12/work``."""
    return key if _UUID.match(key) else f"{session}/{key}"


def hash_of(text: str) -> str:
    """What tells two events at one place apart. What a program writes again as it grows, the
    agent's words, has none in its id; what begins a turn does not grow.

    Only plain words and short numbers count: a kept transcript has neither secrets nor pictures.
    """
    clean, _ = redact(without_data(text)[:_MAX_HASHED_CHARS])
    return sha256(plain_words(clean).encode("utf-8", "replace")).hexdigest()[:8]


def keyed(line: Line) -> Line:
    """The line with what begins a turn in its id, unless that is its own. No time is in it: the
    copies in a fork, and a history without the file beside it, have another.
    """
    if is_uuid(line.uuid) and not line.is_reused:
        return line
    said = next((each for each in line.events if isinstance(each, _BEGINS)), None)
    ending = f"-{hash_of(said.text)}" if said else ""
    of = [f"{each}/{line.uuid}" for each in (line.origin, line.session) if each]
    own = [line.uuid] if _UUID.match(line.uuid) else []
    names = [f"{each}{ending}" for each in line.former if each.endswith(f"/{line.uuid}")]
    former = tuple(dict.fromkeys([*names, *line.former, *of, *own]))
    return replace(line, uuid=f"{line.uuid}{ending}", former=former, is_reused=True)


def step_keys(turn: str, parts: int) -> list[str]:
    """The keys of the observations of a turn up to this part.

    Other versions end steps elsewhere, so what was forgotten under one key can be under a later
    one, in a decision, or in the summary.
    """
    return [f"{turn}/work" + (f"/{part}" if part > 1 else "") for part in range(1, parts + 1)]


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a file: events of one session that were written there, or copied from elsewhere."""

    session: str = ""
    is_copy: bool = False
    is_known: bool = True
    """Whether the session is the one that they were copied from, and not the one that copied."""


@dataclass(slots=True)
class History:
    """What the lines of a file so far say of those that follow. Fields are JSON values.

    ``own`` is the session of the file, ``began`` when its first event was (ms), ``until`` when the
    last event was that names where it was copied from: what came before is copied as well.
    ``events`` counts all of the file. Copies come first: once something ``is_begun`` that is the
    file's own, what is older was written while the clock went backwards.
    """

    own: str = ""
    began: int | None = None
    until: int | None = None
    events: int = 0
    is_begun: bool = False

    @classmethod
    def of(cls, file_name: str, state: Mapping[str, Any] | None) -> History:
        """The history of a file that its program calls by ``file_name``, if that is a session."""
        return cls(**state) if state else cls(own=file_name if is_uuid(file_name) else "")

    @property
    def state(self) -> dict[str, Any]:
        return asdict(self)

    def part_of(self, line: Line) -> Part:
        """Where the line belongs; one that states nothing belongs to the session of the file."""
        self.own = self.own or line.session
        self.events += line.passed
        if self.began is None:
            self.began = line.at
        if line.origin and line.origin != self.own:
            if line.at is not None:
                self.until = max(line.at, self.until or line.at)
            return Part(line.origin, is_copy=True)
        if line.session and line.session != self.own:
            return Part(line.session, is_copy=True)
        if self._is_older(line.at):
            return Part(self.own, is_copy=True, is_known=False)
        self.is_begun = self.is_begun or any(isinstance(each, _WORK) for each in line.events)
        return Part(self.own)

    def _is_older(self, at: int | None) -> bool:
        if at is None or self.began is None or self.is_begun:
            return False
        return at < self.began - _OLDER_MS or (self.until is not None and at <= self.until)


@dataclass(slots=True)
class Work:
    """What is known of one session while its lines are read."""

    session: Session = field(default_factory=Session)
    steps: dict[str, Step] = field(default_factory=dict)
    """The step that each agent is at work on."""
    awaited: dict[str, Call] = field(default_factory=dict)
    """The calls of tools without an answer."""

    @classmethod
    def of(cls, state: Mapping[str, Any]) -> Work:
        """From what ``state`` was, a JSON value."""
        return cls(
            Session(**state["session"]),
            {agent: Step(**step) for agent, step in state.get("steps", {}).items()},
            {call: Call(*parts) for call, parts in state.get("awaited", {}).items()},
        )

    @property
    def state(self) -> dict[str, Any]:
        return {
            "session": asdict(self.session),
            "steps": {agent: asdict(step) for agent, step in self.steps.items()},
            "awaited": {call: list(astuple(of)) for call, of in self.awaited.items()},
        }
