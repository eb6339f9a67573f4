"""Turning the events of one transcript file into drafts, in the order of the session.

A prompt and a decision become drafts at once, a step of work when it is over, the summary at the
end of the file. What is still open then is given as it is, and again under the same source id after
it grew. The state between two readings is a JSON value that stays small.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import astuple, replace
from typing import Any, Final
from zlib import crc32

from mem_search.model import Draft, Kind, Link
from mem_search.model.forgetting import SESSION, TOLD
from mem_search.model.records import Reading
from mem_search.projects import Identify
from mem_search.sources.agent_work import choices, events, tools
from mem_search.sources.agent_work.events import MAIN, Line
from mem_search.sources.agent_work.evidence import requested_change
from mem_search.sources.agent_work.history import History, Part, Work, hash_of, record_id, step_keys
from mem_search.sources.agent_work.session import compaction_fields, summary_text
from mem_search.sources.agent_work.step import Step, relative_to_project
from mem_search.sources.agent_work.text import HEADLINE, headline
from mem_search.sources.agent_work.titles import decision_title, wanted
from mem_search.text.platforms import platform_named
from mem_search.text.shortening import cut, one_line

_PROMPT = 32_000
_AWAITED = 64
_QUEUED = 8

VERSION: Final = 9
"""Of the rules by which sessions become records, and of the state between two readings. Raise it
when one of them changes: the sessions of all agents are then read again from their start."""


class DraftBuilder:
    """Builds the drafts of one file. ``state`` is that of an earlier builder, None at the start.

    ``source`` is the name of the source, whose agent the records are of unless a line names
    another. ``cwd`` is the directory that the session began in, if the file of its parent says so.
    The ledger calls the file ``item``; ``file_name`` may be its session.
    """

    def __init__(
        self,
        source: str,
        identify: Identify,
        state: Mapping[str, Any] | None = None,
        *,
        cwd: str = "",
        item: str = "",
        file_name: str = "",
    ) -> None:
        self._source, self._platform = source, platform_named(source)
        self._identify = identify
        self._item = item
        state = deepcopy(dict(state or {}))  # what the caller stored stays as it is
        self._history = History.of(file_name, state.get("history"))
        self._part = Part(*state.get("part", ()))
        self._aside: dict[str, Any] | None = state.get("aside")
        """The file's own session, while history is read that it copied."""
        self._former: tuple[str, ...] = ()
        self._decided = 0
        """How many decisions the line at hand has."""
        self._is_open = False
        self._begin(Work.of(state or {"session": {"cwd": cwd}}))
        self._touched = bool(state.get("touched"))

    @property
    def part(self) -> Part:
        """What the last line belonged to."""
        return self._part

    @property
    def state(self) -> dict[str, Any]:
        """What the builder of the next reading needs to continue."""
        return {
            **self._work.state,
            "history": self._history.state,
            "part": list(astuple(self._part)),
            "aside": self._aside,
            "touched": self._touched,
        }

    def feed(self, line: Line) -> Iterator[Draft]:
        """The drafts that this line completes."""
        part = self._history.part_of(line)
        # A line without events begins no part; it may say what those that follow are.
        if part != self._part and (line.events or not self._session.id):
            yield from self._turn_to(part)
        elif part != self._part:
            return
        session = self._session
        session.id = session.id or part.session
        session.cwd = session.cwd or line.cwd
        session.project = session.project or line.project
        session.platform = session.platform or line.platform
        session.told = session.told or line.told
        if not line.events:
            return
        self._touched = True
        self._former, self._decided = line.former, 0
        if line.agent == MAIN:
            session.seen_at(line.at)
            session.branch = line.branch or session.branch
        for event in line.events:
            self._history.events += 1
            session.events = session.events + 1 if part.is_copy else self._history.events
            yield from self._take(event, line)
        self._former = ()

    def _turn_to(self, part: Part) -> Iterator[Draft]:
        """What follows belongs to ``part``: to copied history, or again to the file's own session.

        A session knows nothing of the history that its file copied.
        """
        yield from self.open_drafts()
        if self._session.id and not self._part.is_copy:
            self._aside = deepcopy(self._work.state)
        self._part = part
        if not part.is_copy and self._aside is not None:
            self._begin(Work.of(self._aside))
            self._aside = None
        elif self._session.id:
            self._begin(Work())

    def _begin(self, work: Work) -> None:
        self._work = work
        self._session, self._steps, self._awaited = work.session, work.steps, work.awaited

    def at_work_on(self, agent: str) -> tuple[str, ...]:
        """The source ids of what ``agent`` is at work on: its step, earlier parts, its prompt."""
        step, session = self._steps.get(agent), self._session.id
        if step is None:
            return ()
        *earlier, own = step_keys(step.id, step.part)
        return tuple(record_id(session, key) for key in (own, *earlier, step.id))

    def open_drafts(self) -> Iterator[Draft]:
        """Unfinished steps and the summary as they are now; none if nothing changed since."""
        if not self._touched or not self._session.id:
            return
        self._touched, self._is_open = False, True
        for step in self._steps.values():
            yield from self._observation(step)
        if self._part.is_known:
            yield from self._summary()
        self._is_open = False

    def _summary(self) -> Iterator[Draft]:
        session = self._session
        metadata = session.metadata(self._steps.get(MAIN))
        # Titles of other sessions, with which a file can begin, are no session.
        if metadata and (session.started is not None or session.prompts):
            draft = self._draft(
                "session_summary",
                "summary",
                summary_text(metadata),
                title=session.name(metadata),
                times=(session.started, session.ended),
                metadata=metadata,
                earlier=[key for turn in session.turns.items() for key in step_keys(*turn)],
            )
            assert draft.reading is not None
            turns = tuple(f"{crc32(turn.encode()):08x}" for turn in session.turns)
            reading = replace(draft.reading, is_titled=bool(session.title), turns=turns)
            yield replace(draft, reading=reading)

    def _take(self, event: events.Event, line: Line) -> Iterator[Draft]:
        match event:
            case events.Prompt(text=text, queued=queued):
                if queued and text in self._session.delivered:
                    self._session.delivered.remove(text)
                else:
                    self._session.queued = [q for q in self._session.queued if q not in text]
                    yield from self._prompt(text, line, line.uuid)
            case events.Instruction(text=text):
                yield from self._open(line, line.uuid, text, requested_change(text))
            case events.AgentText(text=text):
                step = yield from self._room(line, len(text))
                chosen, because = choices.decision_in(text)
                step.add_text(text, line.at, chosen)
                if chosen:
                    yield self._decision(line, chosen, because)
            case events.ToolCall():
                call = self._await(event, line)
                step = yield from self._room(line, 0)
                if step.ends_before(call):
                    step = yield from self._closed(line, step, step.next_step())
                step.calls(call)
            case events.ToolResult(call=key, text=text, failed=failed):
                if (awaited := self._awaited.pop(key, None)) is not None:
                    step = yield from self._room(line, 0)
                    step.add_result(awaited, text, failed=failed)
                    if awaited.effect in (tools.PLANS, tools.ASKS) and not failed:
                        chosen, because = choices.choice_of_person(awaited, text)
                        if chosen:
                            yield self._decision(line, chosen, cut(because, _PROMPT))
            case events.Compaction(text=text):
                yield from self._compacted(text, line)
            case events.SessionTitle(text=text, leaf=leaf, by_person=by_person):
                # A file can begin with titles of other sessions, for lines that are not in it.
                if text and (self._session.started is not None or not leaf):
                    self._session.titled(one_line(text, HEADLINE), by_person=by_person)
            case events.PromptQueued(text=text):
                self._session.queued = [*self._session.queued, text][-_QUEUED:]
            case events.PromptDequeued(delivered=delivered):
                yield from self._unqueued(line, delivered=delivered)

    def _prompt(self, text: str, line: Line, key: str) -> Iterator[Draft]:
        session = self._session
        session.add_prompt(text)
        asked = before.conclusion if (before := self._steps.get(line.agent)) else ""
        chosen, because = choices.decision_of_person(text, asked)
        yield from self._open(line, key, text, requested_change(text, chooses=bool(chosen)))
        kept = cut(text, _PROMPT)
        metadata = {
            "prompt_number": session.prompts,
            "branch": line.branch or session.branch,
            "cwd": line.cwd or session.cwd,
            "session_id": session.id,
            **({} if kept == text else {"characters": len(text)}),
        }
        when = (line.at, line.at)
        yield self._draft(
            "user_prompt", key, kept, former=self._former, title=headline(kept), times=when,
            metadata=metadata,
        )  # fmt: skip
        if chosen:
            yield self._decision(line, chosen, because, key=key)

    def _unqueued(self, line: Line, *, delivered: bool) -> Iterator[Draft]:
        """Queued prompts that the agent got while it worked have no line of their own.

        Newer versions write one, before or after this line: the prompt counts once.
        """
        session = self._session
        texts, session.queued = session.queued, []
        if not delivered:
            return
        session.delivered = [*session.delivered, *texts][-_QUEUED:]
        for place, text in enumerate(texts):
            yield from self._prompt(text, line, f"{line.uuid}-{place}")

    def _compacted(self, text: str, line: Line) -> Iterator[Draft]:
        step, fields = self._steps.get(line.agent), compaction_fields(text)
        if not fields:
            return
        if line.agent == MAIN:
            self._session.summarised(fields)
        yield from self._open(line, line.uuid, "", step.request if step else "")

    def _open(self, line: Line, key: str, asked: str, request: str) -> Iterator[Draft]:
        """End the agent's turn and begin one with the id ``key``."""
        asked = wanted(asked)  # "go on" asks for what was asked before
        if (step := self._steps.pop(line.agent, None)) is not None:
            asked = asked or step.asked
            yield from self._observation(step)
            if line.agent == MAIN:
                self._session.did(step, over=True)
        if line.agent == MAIN:
            self._session.begins(key)
        self._steps[line.agent] = Step(
            id=key,
            agent=line.agent,
            prompt=self._session.prompts,
            request=request,
            asked=asked,
            branch=line.branch or self._session.branch,
            former=list(self._former),
        )

    def _room(self, line: Line, more: int) -> Generator[Draft, None, Step]:
        """The agent's step, or its next part, with room for ``more`` characters of text."""
        if line.agent not in self._steps:
            yield from self._open(line, line.uuid, "", "")
        step = self._steps[line.agent]
        if step.is_full(more):
            step = yield from self._closed(line, step, step.next_part())
        step.seen_at(line.at)
        step.events = self._session.events
        return step

    def _closed(self, line: Line, step: Step, following: Step) -> Generator[Draft, None, Step]:
        """End ``step`` and go on with ``following``."""
        yield from self._observation(step)
        if line.agent == MAIN:
            self._session.did(step, over=False)
        self._steps[line.agent] = following
        following.seen_at(line.at)
        following.events = self._session.events
        return following

    def _await(self, event: events.ToolCall, line: Line) -> tools.Call:
        call = relative_to_project(
            tools.interpret(event.tool, event.arguments), (self._session.cwd, line.cwd)
        )
        self._awaited[event.call] = call
        if len(self._awaited) > _AWAITED:  # the oldest was most likely interrupted: no answer
            del self._awaited[next(iter(self._awaited))]
        return call

    def _decision(self, line: Line, chosen: str, because: str, key: str = "") -> Draft:
        self._decided += 1
        ending = f"/decision/{self._decided}" if self._decided > 1 else "/decision"
        # Version 8 had what was chosen in the id, which grows while a program writes it.
        endings = (ending, f"-{hash_of(chosen)}/decision", "/decision")
        key = f"{key or line.uuid}{ending}"
        before = self._session.decided(record_id(self._session.id, key), chosen)
        draft = self._draft(
            "observation",
            key,
            because,
            former=[f"{each}{end}" for each in self._former for end in dict.fromkeys(endings)],
            title=decision_title(chosen, because),
            times=(line.at, line.at),
            earlier=step_keys(step.id, step.part) if (step := self._steps.get(line.agent)) else (),
            metadata={
                "type": "decision",
                "concepts": ["trade-off"],
                "branch": line.branch or self._session.branch,
                "agent": line.agent,
                "prompt_number": self._session.prompts,
            },
        )
        return replace(draft, links=(Link(before, "supersedes"),)) if before else draft

    def _observation(self, step: Step) -> Iterator[Draft]:
        if step.worthwhile:
            self._session.begins(step.id, step.part)
            *earlier, own = step_keys(step.id, step.part)
            ending = own.removeprefix(step.id)
            yield self._draft(
                "observation",
                own,
                step.text,
                former=[f"{each}{ending}" for each in step.former],
                events=step.events,
                title=step.title,
                times=(step.started, step.ended),
                earlier=earlier,
                metadata=step.metadata,
            )

    def _draft(
        self,
        kind: Kind,
        key: str,
        text: str,
        *,
        title: str,
        times: tuple[int | None, int | None],
        metadata: Mapping[str, Any],
        earlier: Sequence[str] = (),
        former: Sequence[str] = (),
        events: int | None = None,
    ) -> Draft:
        session, source_id = self._session, record_id(self._session.id, key)
        reading = Reading(
            VERSION,
            session.events if events is None else events,
            self._history.own,
            self._item,
            is_copy=self._part.is_copy,
            is_open=self._is_open,
            is_told=session.told,
        )
        # Before version 7 a record had the id of its session as well.
        formerly = {f"{each}/{key}" for each in (session.id, self._history.own)}
        former = tuple(sorted({*former, *formerly} - {source_id})) if source_id == key else former
        project = self._identify(session.cwd)
        name, _, worktree = session.project.partition("/")
        if not (name and worktree):
            name, worktree = session.project or project.name, project.worktree
        known = {"worktree": worktree, "platform": session.platform or self._platform}
        return Draft(
            kind=kind,
            source=self._source,
            source_id=source_id,
            text=text,
            title=title,
            created_at=times[0] if times[0] is not None else session.started,
            updated_at=times[1] if times[1] is not None else session.ended,
            project=name,
            session=session.id,
            metadata={**metadata, **{key: value for key, value in known.items() if value}},
            earlier=(
                *(("observation", record_id(session.id, key)) for key in earlier),
                *((kind, each) for each in former),
                (TOLD if session.told else SESSION, session.id),
            ),
            reading=reading,
            former=tuple(former),
            place=project.place if name == project.name else None,
        )
