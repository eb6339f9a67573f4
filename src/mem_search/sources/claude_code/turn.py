"""A turn: the agent's work between two prompts, and the observation that it becomes.

A long turn is split into parts, each an observation: no conclusion is cut off, and the state of an
open turn stays small.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from mem_search.sources.claude_code import tools
from mem_search.sources.claude_code.events import MAIN
from mem_search.sources.claude_code.text import clean_text, cut, headline, one_line

NARRATIVE: Final = 8000
"""Characters of the agent's text in one observation."""

_FACTS = 40
_FILES = 80
_FEW_WORDS = 5
_ANSWER = 1000
_SUBTITLE = 300
_INTENTS = re.compile(
    r"\b(?:(?P<bugfix>fix(?:es|ed|ing)?|bugs?|broken|crash(?:es|ed|ing)?|regression)"
    r"|(?P<refactor>refactor(?:ing)?|renam(?:e|ing)|clean(?:ing)? ?up|simplify)"
    r"|(?P<feature>implement(?:ing)?|add(?:ing)?|create|build|introduce|support))\b",
    re.IGNORECASE,
)


@dataclass(slots=True)
class Turn:
    """What happened in one turn so far. Fields are JSON values: the cursor stores them.

    ``request`` is the type of change that the prompt asked for, if its words say so.
    ``broken`` are commands that failed; ``mended``: one of them passed after a change;
    ``changed``: an earlier part modified files.
    ``last_text`` is what the agent said last; ``at_work``: it has used a tool since.
    """

    id: str
    agent: str = MAIN
    part: int = 1
    prompt: int = 0
    request: str = ""
    branch: str = ""
    started: int | None = None
    ended: int | None = None
    narrative: list[str] = field(default_factory=list)
    facts: list[str] = field(default_factory=list)
    read: list[str] = field(default_factory=list)
    modified: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    mended: bool = False
    changed: bool = False
    decided: bool = False
    last_text: str = ""
    message: str = ""
    at_work: bool = False

    @property
    def worthwhile(self) -> bool:
        """Whether the agent did anything, or said more than a few words."""
        words = sum(len(text.split()) for text in self.narrative)
        return bool(self.facts or self.read or self.modified) or words > _FEW_WORDS

    def is_full(self, more: int = 0) -> bool:
        """Whether ``more`` characters of narrative go to the next part."""
        size = sum(map(len, self.narrative))
        files = len(self.read) + len(self.modified)
        return (
            (size > 0 and size + more > NARRATIVE) or len(self.facts) >= _FACTS or files >= _FILES
        )

    def next_part(self) -> Turn:
        """The next part, still empty."""
        return Turn(
            id=self.id,
            agent=self.agent,
            part=self.part + 1,
            prompt=self.prompt,
            request=self.request,
            branch=self.branch,
            changed=self.changed or bool(self.modified),
            last_text=self.last_text,
            message=self.message,
            at_work=self.at_work,
        )

    def seen_at(self, at: int | None) -> None:
        """Something of this turn happened at ``at``."""
        if at is not None:
            self.started = at if self.started is None else self.started
            self.ended = at

    def add_text(self, text: str, message: str) -> None:
        """The agent said ``text``; the pieces of one ``message`` are one conclusion."""
        text = cut(text, NARRATIVE)
        self.narrative.append(text)
        together = not self.at_work and message and message == self.message
        self.last_text = cut(f"{self.last_text}\n\n{text}", NARRATIVE) if together else text
        self.message, self.at_work = message, False

    def calls(self) -> None:
        """The agent called a tool, so what it said last was not a conclusion."""
        self.at_work = True

    @property
    def conclusion(self) -> str:
        """The text that ends the turn, empty while the agent is still at work."""
        return "" if self.at_work else self.last_text

    def add_result(self, call: tools.Call, answer: str, *, failed: bool) -> None:
        """A tool answered ``call``, whose target, if a file, is relative to the project."""
        if (failure := tools.failure(call, answer, failed=failed)) is not None:
            self._notes(failure)
            if call.effect == tools.RUNS and failure:
                self.broken = [*self.broken, call.target][-_FACTS:]
            return
        match call.effect:
            case tools.READS:
                add_new(self.read, call.target)
            case tools.MODIFIES:
                add_new(self.modified, call.target)
            case tools.RUNS:
                self._notes(f"{call.verb}: {call.target}")
                self.mended |= call.target in self.broken and bool(self.modified)
            case tools.PLANS:
                self.decided = True
                if call.target:
                    self.narrative.append(f"{call.verb}:\n{call.target}")
            case tools.ASKS:
                self.decided = True
                self._notes(one_line(clean_text(answer), _ANSWER))
            case tools.TELLS:
                self._notes(f"{call.verb}: {call.target}")

    def _notes(self, fact: str) -> None:
        if fact:
            add_new(self.facts, fact)

    @property
    def type(self) -> str:
        """claude-mem's type of observation, as far as the turn shows it."""
        if self.modified or self.changed:
            return self.request or "change"
        return "decision" if self.decided else "discovery"

    @property
    def title(self) -> str:
        """The agent's first line with content, else what it did."""
        if last_text := headline("\n".join(self.narrative)):
            return last_text
        for verb, files in (("Changed", self.modified), ("Read", self.read)):
            if files:
                return one_line(f"{verb} {', '.join(files)}", 100)
        return one_line(self.facts[0], 100) if self.facts else ""

    @property
    def text(self) -> str:
        """Narrative, then facts; the title of a turn that has neither."""
        return "\n\n".join([*self.narrative, *self.facts]) or self.title

    @property
    def metadata(self) -> dict[str, Any]:
        """The metadata of the observation, by claude-mem's names."""
        concepts = {
            "problem-solution": self.mended,
            "what-changed": bool(self.modified),
            "how-it-works": self.type == "discovery" and bool(self.read),
        }
        return {
            "type": self.type,
            "subtitle": self._subtitle,
            "facts": list(self.facts),
            "narrative": "\n\n".join(self.narrative),
            "concepts": [name for name, evident in concepts.items() if evident],
            "files_read": list(self.read),
            "files_modified": list(self.modified),
            "branch": self.branch,
            "agent": self.agent,
            "prompt_number": self.prompt,
        }

    @property
    def _subtitle(self) -> str:
        """The first words of the last paragraph, which say the result."""
        words = headline(self.conclusion.rpartition("\n\n")[2], _SUBTITLE).rstrip("…")
        # Only words that are in the text as they are, or composing would add them again.
        is_new = not words.startswith(self.title.rstrip("…"))
        return words if is_new and words in self.text else ""


def requested_change(prompt: str) -> str:
    """The type of change that a prompt asks for: bugfix, refactor, feature, or empty."""
    match = _INTENTS.search(prompt)
    return (match.lastgroup or "") if match else ""


def add_new(items: list[str], item: str) -> None:
    """Append ``item`` if it is not in ``items`` yet."""
    if item and item not in items:
        items.append(item)


def relative_to_project(call: tools.Call, bases: Sequence[str]) -> tools.Call:
    """The call with its file relative to the first of ``bases`` that contains it."""
    if call.effect not in (tools.READS, tools.MODIFIES):
        return call
    path = os.path.normpath(call.target) if call.target else ""
    for base in bases:
        inside = path.removeprefix(base.rstrip("/\\")) if base else path
        # The remainder begins with a separator only if base is a parent directory.
        if inside != path and inside[:1] in ("/", "\\"):
            return replace(call, target=inside[1:])
    return replace(call, target=path)
