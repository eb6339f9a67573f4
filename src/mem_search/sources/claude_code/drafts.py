"""Turning the events of one transcript file into drafts, in the order of the session.

A prompt becomes a draft at once, a turn when it is over, the summary at the end of the file. What
is still open at the end is given as it is, and again under the same source id after it grew. The
state between two readings is a JSON value and stays small, however long the file is.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from copy import deepcopy
from dataclasses import asdict
from typing import Any, Final

from mem_search.model import Draft, Kind
from mem_search.projects import Project
from mem_search.sources.claude_code import events, session, tools
from mem_search.sources.claude_code.events import MAIN, Line
from mem_search.sources.claude_code.session import Session, summary_text
from mem_search.sources.claude_code.text import HEADLINE, cut, headline, one_line
from mem_search.sources.claude_code.turn import Turn, relative_to_project, requested_change

NAME: Final = "claude-code"
_PROMPT = 32_000
_AWAITED = 64
_QUEUED = 8

Identify = Callable[[str], Project]


class DraftBuilder:
    """Builds the drafts of one file. ``state`` is that of an earlier builder, None at the start.

    ``cwd`` is the directory that the session began in, if the file of its parent says so.
    """

    def __init__(
        self, identify: Identify, state: Mapping[str, Any] | None = None, *, cwd: str = ""
    ) -> None:
        self._identify = identify
        # A copy: the builder must not change what the caller stored.
        state = deepcopy(dict(state or {}))
        self._session = Session(**state.get("session", {"cwd": cwd}))
        self._turns = {agent: Turn(**turn) for agent, turn in state.get("turns", {}).items()}
        self._awaited = {
            call: tools.Call(*parts) for call, parts in state.get("awaited", {}).items()
        }
        self._touched = bool(state.get("touched"))

    @property
    def state(self) -> dict[str, Any]:
        """What the builder of the next reading needs to continue."""
        return {
            "session": asdict(self._session),
            "turns": {agent: asdict(turn) for agent, turn in self._turns.items()},
            "awaited": {
                call: [of.effect, of.target, of.verb] for call, of in self._awaited.items()
            },
            "touched": self._touched,
        }

    def feed(self, line: Line) -> Iterator[Draft]:
        """The drafts that this line completes."""
        session = self._session
        if line.session and session.id and line.session != session.id:
            yield from self.open_drafts()
            self._session = session = Session(cwd=line.cwd)
            self._turns.clear()
            self._awaited.clear()
        session.id = session.id or line.session
        session.cwd = session.cwd or line.cwd
        if not line.events:
            return
        self._touched = True
        if line.agent == MAIN:
            session.seen_at(line.at)
            session.branch = line.branch or session.branch
        for event in line.events:
            yield from self._take(event, line)

    def open_drafts(self) -> Iterator[Draft]:
        """Unfinished turns and the summary as they are now; none if nothing changed since."""
        if not self._touched or not self._session.id:
            return
        self._touched = False
        for turn in self._turns.values():
            yield from self._observation(turn)
        session = self._session
        metadata = session.metadata(self._turns.get(MAIN))
        if metadata and session.started is not None:
            yield self._draft(
                "session_summary",
                "summary",
                summary_text(metadata),
                title=session.name(metadata),
                times=(session.started, session.ended),
                metadata=metadata,
            )

    def _take(self, event: events.Event, line: Line) -> Iterator[Draft]:
        match event:
            case events.Prompt(text=text, queued=queued):
                if queued and text in self._session.delivered:
                    self._session.delivered.remove(text)
                else:
                    self._session.queued = [q for q in self._session.queued if q not in text]
                    yield from self._prompt(text, line, line.uuid)
            case events.Instruction(text=text):
                yield from self._open(line, line.uuid, requested_change(text))
            case events.AgentText(text=text, message=message):
                turn = yield from self._room(line, len(text))
                turn.add_text(text, message)
            case events.ToolCall():
                turn = yield from self._room(line, 0)
                turn.calls()
                self._await(event, line)
            case events.ToolResult(call=call, text=text, failed=failed):
                if (awaited := self._awaited.pop(call, None)) is not None:
                    turn = yield from self._room(line, 0)
                    turn.add_result(awaited, text, failed=failed)
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
        yield from self._open(line, key, requested_change(text))
        metadata = {
            "prompt_number": session.prompts,
            "branch": line.branch or session.branch,
            "cwd": line.cwd or session.cwd,
            "session_id": session.id,
        }
        kept = cut(text, _PROMPT)
        if kept != text:
            metadata["characters"] = len(text)
        yield self._draft(
            "user_prompt",
            key,
            kept,
            title=headline(kept),
            times=(line.at, line.at),
            metadata=metadata,
        )

    def _unqueued(self, line: Line, *, delivered: bool) -> Iterator[Draft]:
        """Queued prompts that the agent got while it worked have no line of their own.

        Newer versions write one, before or after this line: the prompt counts once.
        """
        session = self._session
        texts, session.queued = session.queued, []
        if not delivered:
            return
        for place, text in enumerate(texts):
            session.delivered = [*session.delivered, text][-_QUEUED:]
            yield from self._prompt(text, line, f"{line.uuid}-{place}")

    def _compacted(self, text: str, line: Line) -> Iterator[Draft]:
        turn = self._turns.get(line.agent)
        fields = session.compaction_fields(text)
        if not fields:
            return
        if line.agent == MAIN:
            self._session.summarised(fields)
        yield from self._open(line, line.uuid, turn.request if turn else "")

    def _open(self, line: Line, key: str, request: str) -> Iterator[Draft]:
        """End the agent's turn and begin a new one with the id ``key``."""
        if (turn := self._turns.pop(line.agent, None)) is not None:
            yield from self._observation(turn)
            if line.agent == MAIN:
                self._session.did(turn, over=True)
        self._turns[line.agent] = Turn(
            id=key,
            agent=line.agent,
            prompt=self._session.prompts,
            request=request,
            branch=line.branch or self._session.branch,
        )

    def _room(self, line: Line, more: int) -> Generator[Draft, None, Turn]:
        """The agent's turn, or its next part, with room for ``more`` characters of text."""
        if line.agent not in self._turns:
            yield from self._open(line, line.uuid, "")
        turn = self._turns[line.agent]
        if turn.is_full(more):
            yield from self._observation(turn)
            if line.agent == MAIN:
                self._session.did(turn, over=False)
            turn = self._turns[line.agent] = turn.next_part()
        turn.seen_at(line.at)
        return turn

    def _await(self, event: events.ToolCall, line: Line) -> None:
        call = relative_to_project(
            tools.interpret(event.tool, event.arguments), (self._session.cwd, line.cwd)
        )
        self._awaited[event.call] = call
        if len(self._awaited) > _AWAITED:
            # The oldest call was most likely interrupted and gets no answer.
            del self._awaited[next(iter(self._awaited))]

    def _observation(self, turn: Turn) -> Iterator[Draft]:
        if turn.worthwhile:
            part = f"/{turn.part}" if turn.part > 1 else ""
            yield self._draft(
                "observation",
                f"{turn.id}/work{part}",
                turn.text,
                title=turn.title,
                times=(turn.started, turn.ended),
                metadata=turn.metadata,
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
    ) -> Draft:
        session = self._session
        project = self._identify(session.cwd)
        worktree = {"worktree": project.worktree} if project.worktree else {}
        return Draft(
            kind=kind,
            source=NAME,
            source_id=f"{session.id}/{key}",
            text=text,
            title=title,
            created_at=times[0] if times[0] is not None else session.started,
            updated_at=times[1] if times[1] is not None else session.ended,
            project=project.name,
            session=session.id,
            metadata={**metadata, **worktree},
        )
