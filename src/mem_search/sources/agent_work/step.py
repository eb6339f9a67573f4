"""A step: a piece of the agent's work with one purpose, and the observation that it becomes.

A turn is the work between two prompts. It has steps: what the agent looked at before it changed
something, a change with its checks, the repair after a check that failed, tests, documents. A long
step is split into parts: no conclusion is cut off, and the state of an open step stays small.
"""

from __future__ import annotations

import os.path
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from mem_search.sources.agent_work import evidence, titles, tools
from mem_search.sources.agent_work.events import MAIN
from mem_search.sources.agent_work.text import headline
from mem_search.text.shortening import cut

NARRATIVE: Final = 8000
"""Characters of the agent's text in one observation."""

_FACTS = 40
_FILES = 80
_MAX_FEW_WORDS = 5
_SUBTITLE = 300
_MAX_CHOSEN: Final = 8
_LOOKED_AROUND = 2
"""Lookups that are worth an observation of their own when a change follows."""


@dataclass(slots=True)
class Step:
    """What happened in one step so far. Fields are JSON values: the cursor stores them.

    ``request`` is the type of change that the prompt asked for, if its words say so, ``asked`` what
    it asked for. ``held`` is
    what the agent said last, at ``held_at``: the next call decides whether it begins a new step.
    ``chosen`` are its sentences that are decisions, ``defined`` names that its edits
    bring, ``commit`` is the subject of the first commit,
    ``passed`` a check that failed before and passes since a change.
    ``aim`` is what it said before the first change, ``last_text`` what it said last; ``at_work``:
    it has used a tool since. ``broken`` are checks that failed and have not passed since, ``tried``
    other commands;
    ``repairing``: they failed before the first change, or what was looked at was found broken;
    ``mended``: one of them passed after a change, and ``tidied``: a check of style did; ``idle``:
    nothing changed since a check failed. ``checked``: a check ran after the last change;
    ``delivered``: a commit was made. ``changed``: an earlier part modified files; ``created``:
    files of code are new. ``waiting`` counts calls without an answer. ``events`` is how many the
    session had at the last one of the step, ``former`` are ids that its turn once had.
    """

    id: str
    agent: str = MAIN
    part: int = 1
    prompt: int = 0
    request: str = ""
    asked: str = ""
    branch: str = ""
    started: int | None = None
    ended: int | None = None
    held: str = ""
    held_at: int | None = None
    aim: str = ""
    narrative: list[str] = field(default_factory=list)
    facts: list[str] = field(default_factory=list)
    read: list[str] = field(default_factory=list)
    modified: list[str] = field(default_factory=list)
    chosen: list[str] = field(default_factory=list)
    defined: list[str] = field(default_factory=list)
    commit: str = ""
    passed: str = ""
    failed: list[str] = field(default_factory=list)
    rejected: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    tried: list[str] = field(default_factory=list)
    looked: int = 0
    waiting: int = 0
    repairing: bool = False
    mended: bool = False
    checked: bool = False
    delivered: bool = False
    changed: bool = False
    created: bool = False
    tidied: bool = False
    idle: bool = False
    last_text: str = ""
    at_work: bool = False
    events: int = 0
    former: list[str] = field(default_factory=list)

    @property
    def texts(self) -> list[str]:
        """What the agent said in this step, with what is held."""
        return [*self.narrative, self.held] if self.held else self.narrative

    @property
    def worthwhile(self) -> bool:
        """Whether the agent did anything, or said more than a few words."""
        words = sum(len(text.split()) for text in self.texts)
        return bool(self.facts or self.read or self.modified) or words > _MAX_FEW_WORDS

    def is_full(self, more: int = 0) -> bool:
        """Whether ``more`` characters of narrative go to the next part."""
        size = sum(map(len, self.texts))
        files = len(self.read) + len(self.modified)
        return (
            (size > 0 and size + more > NARRATIVE) or len(self.facts) >= _FACTS or files >= _FILES
        )

    def ends_before(self, call: tools.Call) -> bool:
        """Whether ``call`` begins another step."""
        if self.waiting and not self.held:
            return False  # it was called together with others
        sort = evidence.command_class(call.target) if call.effect == tools.RUNS else ""
        modifies = call.effect == tools.MODIFIES or (
            call.effect == tools.RUNS and bool(evidence.removed_files(call.target))
        )
        looks = call.effect in (tools.READS, tools.LOOKS) or sort == evidence.LOOKS
        if self.delivered:
            of_git = sort in (evidence.DELIVERS, evidence.VERSIONS)
            return modifies or looks or (bool(self.held) and not of_git)
        if not self.modified:
            mends = self.broken or self.repairing or self.changed
            enough = 1 if self.held else _LOOKED_AROUND  # what was found was said
            return modifies and self.looked >= enough and not mends
        if self.checked:
            return modifies or looks
        if looks:
            return bool(self.held)
        if modifies and self.held:
            turns = evidence.purpose(self.held) not in ("", evidence.purpose(self.aim))
            before = evidence.sort_of_file(self.modified[-1])
            other = before != evidence.sort_of_file(call.target)
            return turns or (other and not self.repairing)
        return False

    def next_step(self) -> Step:
        """The step after this one, with the text that is held."""
        held, self.held = self.held, ""
        step = Step(
            id=self.id,
            agent=self.agent,
            part=self.part + self.worthwhile,  # else it gives no record, and its number is free
            prompt=self.prompt,
            request=self.request,
            asked=self.asked,
            chosen=list(self.chosen) if held else [],
            branch=self.branch,
            former=list(self.former),
            held=held,
            held_at=self.held_at,
            broken=list(self.broken),
            tried=list(self.tried),
            repairing=not all(map(evidence.is_style_check, self.broken))
            or (not self.modified and evidence.purpose("\n".join(self.narrative)) == "bugfix"),
            last_text=self.last_text,
            at_work=self.at_work,
        )
        if held:  # what was said before belongs to this step, and so does its time
            step.seen_at(self.held_at)
        return step

    def next_part(self) -> Step:
        """The next part of this step, still empty."""
        self._keep_held()
        return replace(
            self.next_step(),
            repairing=self.repairing,
            checked=self.checked,
            changed=self.changed or bool(self.modified),
        )

    def seen_at(self, at: int | None) -> None:
        """Something of this step happened at ``at``."""
        if at is not None:
            self.started = at if self.started is None else self.started
            self.ended = at

    def add_text(self, text: str, at: int | None, chosen: str = "") -> None:
        """The agent said ``text``; texts without a call between them are one conclusion. A sentence
        of it that is ``chosen`` is the title of a record of its own.
        """
        self.chosen = [*self.chosen, *([chosen] if chosen else [])][-_MAX_CHOSEN:]
        self._keep_held()
        text = cut(text, NARRATIVE)
        self.held, self.held_at, self.waiting = text, at, 0
        together = self.last_text and not self.at_work
        self.last_text = cut(f"{self.last_text}\n\n{text}", NARRATIVE) if together else text
        self.at_work = False

    def calls(self, call: tools.Call) -> None:
        """The agent called a tool, so what it said last was not a conclusion."""
        self._keep_held()
        if call.effect == tools.MODIFIES and not self.aim and self.narrative:
            self.aim = self.narrative[-1]
        self.at_work = True
        self.waiting += 1
        looks = call.effect in (tools.READS, tools.LOOKS, tools.TELLS)
        self.looked += looks or (call.effect == tools.RUNS and evidence.explores(call.target))

    def _keep_held(self) -> None:
        if self.held:
            self.narrative.append(self.held)
            self.held = ""

    @property
    def conclusion(self) -> str:
        """The text that ends the step, empty while the agent is still at work."""
        return "" if self.at_work else self.last_text

    def add_result(self, call: tools.Call, answer: str, *, failed: bool) -> None:
        """A tool answered ``call``, whose target, if a file, is relative to the project."""
        self.waiting = max(0, self.waiting - 1)
        sort = evidence.command_class(call.target) if call.effect == tools.RUNS else ""
        if (failure := tools.failure(call, answer, failed=failed)) is not None:
            self._notes(failure.fact)
            if failure.rejected:
                add_new(self.rejected, failure.line)
            elif call.effect == tools.RUNS and failure.line:
                add_new(self.failed, failure.line)
                if name := evidence.check_name(call.target):
                    add_new(self.broken, name)
                elif not sort:
                    add_new(self.tried, evidence.command_name(call.target))
                self.checked |= bool(self.modified)
                self.idle = bool(self.modified)
                is_broken = not all(map(evidence.is_style_check, self.broken))
                self.repairing |= is_broken and not self.modified
            return
        match call.effect:
            case tools.READS:
                add_new(self.read, call.target)
            case tools.MODIFIES:
                self.created |= self._creates(call, answer)
                add_new(self.modified, call.target)
                if call.defines and len(self.defined) < _MAX_CHOSEN:
                    add_new(self.defined, call.defines)
                self.checked = self.idle = False
            case tools.RUNS:
                self._notes(f"{call.verb}: {call.target}")
                for path in evidence.removed_files(call.target):
                    add_new(self.modified, path)
                if (name := evidence.check_name(call.target)) in self.broken:
                    self.broken.remove(name)
                    changed = (bool(self.modified) or self.changed) and not self.idle
                    tidy = evidence.is_style_check(name)
                    self.tidied |= changed and tidy
                    self.mended |= changed and not tidy
                    self.passed = name if changed else self.passed
                elif (name := evidence.command_name(call.target)) in self.tried:
                    self.tried.remove(name)
                    changed = bool(self.modified) and not self.idle
                    self.mended |= changed
                    self.passed = name if changed else self.passed
                self.checked |= sort == evidence.CHECKS and bool(self.modified)
                self.commit = self.commit or call.subject
                if sort == evidence.DELIVERS:
                    self.delivered, self.broken = True, []
            case tools.TELLS:
                self._notes(f"{call.verb}: {call.target}")

    def _creates(self, call: tools.Call, answer: str) -> bool:
        """Whether the call wrote a file of code that was not there before."""
        known = call.target in self.read or call.target in self.modified
        new = call.verb == tools.WRITE and not known and not tools.OVERWRITTEN.search(answer[:500])
        return new and evidence.sort_of_file(call.target) in ("code", "settings")

    def _notes(self, fact: str) -> None:
        if fact:
            add_new(self.facts, fact)

    @property
    def type(self) -> str:
        """claude-mem's type of observation, as far as the step shows it."""
        if not (self.modified or self.changed):
            return "discovery"
        return evidence.type_of_change(
            self.texts,
            self.modified,
            repairing=self.repairing,
            mended=self.mended,
            tidied=self.tidied,
            created=self.created,
            request=self.request,
        )

    @property
    def title(self) -> str:
        """What was done to what, where, and how it went."""
        known = {name: getattr(self, name) for name in titles.Evidence.__slots__}
        return titles.step_title(titles.Evidence(**known))

    @property
    def text(self) -> str:
        """What failed, the narrative, then the facts; the title of a step that has none of them."""
        failed = [fact for fact in self.facts if fact.startswith(tuple(self.failed))]
        others = [fact for fact in self.facts if fact not in failed]
        return "\n\n".join([*failed, *self.texts, *others]) or self.title

    @property
    def metadata(self) -> dict[str, Any]:
        """The metadata of the observation, by claude-mem's names."""
        concepts = {
            "problem-solution": self.mended,
            "what-changed": bool(self.modified),
            "how-it-works": self.type == "discovery" and bool(self.read),
        }
        given = {"failed": list(self.failed), "rejected": list(self.rejected)}
        return {
            "type": self.type,
            "subtitle": self._subtitle,
            "facts": list(self.facts),
            "narrative": "\n\n".join(self.texts),
            "concepts": [name for name, evident in concepts.items() if evident],
            "files_read": list(self.read),
            "files_modified": list(self.modified),
            "branch": self.branch,
            "agent": self.agent,
            "prompt_number": self.prompt,
            **{name: lines for name, lines in given.items() if lines},
        }

    @property
    def _subtitle(self) -> str:
        """The first words of the last paragraph, which say the result."""
        words = headline(self.conclusion.rpartition("\n\n")[2], _SUBTITLE).rstrip("…")
        # Only words that are in the text as they are, or composing would add them again.
        is_new = not _same_beginning(words, self.title)
        return words if is_new and words in self.text else ""


def _same_beginning(words: str, title: str) -> bool:
    one, other = words.rstrip("…."), title.rstrip("….")
    return one.startswith(other) or other.startswith(one)


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
