"""Where the transcript of an event's session lies, and transcripts of sessions that keep none.

Such a transcript is what hooks told, as lines that a source can read: an event becomes one or two
lines of ``HOME/hooks/sessions/SESSION.jsonl``. A line is there once and whole, however often its
event is taken: a worker may have been killed, or the disk have been full, after some of them.

``SuspectEvents`` has in a file which events are being taken, so that the next worker knows over
what this one died. It is written before events are read, and removed when they were. Events over
which a worker died are taken one at a time from then on, so that the second death names the one
that is the cause. That one is set aside, and kept.
"""

from __future__ import annotations

import json
import logging
import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import IO, Any, Final

from mem_search.agents.base import folders_in
from mem_search.agents.known import AGENTS
from mem_search.errors import NO_ROOM, MemSearchError
from mem_search.features.capture.costs import drop
from mem_search.ingest.copies import quotes
from mem_search.jobs.reader import PLACES, find_locations, machine_from
from mem_search.model.forgetting import Traces
from mem_search.patterns import pattern
from mem_search.regular_file import read_regular_file, replace_file
from mem_search.sources.claude_code.files import transcript_of
from mem_search.text.platforms import platform_named
from mem_search.text.redaction import Redaction

SOURCE: Final = "claude-code"
_LOOK_SECONDS: Final = 2.0
"""For a look whether a transcript is there, on a disk that may be gone."""

MAX_EVENT_BYTES: Final = 10 * 2**20
_CLAUDE: Final = ("", "claude")
"""Platforms that may be Claude Code."""

Place = tuple[str, str]
"""A source and the path to read; with an empty path all that the source knows or finds."""

Session = tuple[str, str]
"""An agent and the id of a session in it."""

ReadEvent = tuple[Path, int, Mapping[str, Any] | None]
"""The file of an event, when it was written (ns), and the event; None for one of no use."""

Taken = tuple[Path, int, Place | None]
"""The file of an event, when it was written (ns), and what to read for it."""

KEPT_SECONDS: Final = 7 * 24 * 3600.0
"""After the last event of a session; who comes back to it does so within days."""

SAFE_SESSION: Final = pattern(r"[A-Za-z0-9][\w:.@+-]{0,199}", re.ASCII)
"""Ids of sessions, which name files; some agents have colons in theirs."""

_KNOWN_SESSIONS: Final = 16
"""Sessions whose lines are remembered; of others they are read again."""

_ENDS: Final = ("", "-answer")
"""Of the ids of the lines that an event becomes."""

_UUID: Final = pattern(rb'^\{"uuid": "([^"\n]+)"', re.MULTILINE)


class Journals:
    """The transcripts below ``folder``, which lies in the home. Its methods block."""

    def __init__(self, folder: Path, redaction: Redaction) -> None:
        self._folder = folder
        self._home = folder.parents[1]
        self._redaction = redaction
        self._known: dict[str, tuple[int, set[str]]] = {}
        """Session → the size of its transcript, and the ids of its lines; the newest last."""

    def append(self, event: Mapping[str, Any], uuid: str, at: datetime) -> None:
        """Add what is missing of the lines of an event. Raises OSError; try again then."""
        session = event["session_id"]
        if not SAFE_SESSION.fullmatch(session):
            drop(self._home, f"{uuid}: its session_id is not one")
            return
        common = {
            "sessionId": session,
            "timestamp": at.isoformat(),
            "cwd": event.get("cwd") if isinstance(event.get("cwd"), str) else "",
            "told": {name: event[name] for name in ("project", "platform") if event.get(name)},
        }
        if isinstance(agent := event.get("agent_id"), str) and agent:  # of a subagent
            common |= {"isSidechain": True, "agentId": agent}
        lines = {
            f"{uuid}{end}": {"uuid": f"{uuid}{end}", **common, **line}
            for end, line in zip(_ENDS, _lines_of(event, uuid), strict=False)
        }
        if not lines and not _may_be_empty(event):
            drop(self._home, f"{uuid}: nothing in it can be recorded")
            return
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with (self._folder / f"{session}.jsonl").open("a+b") as file:
            known = self._lines_in(file, session)
            missing = {uuid: line for uuid, line in lines.items() if uuid not in known}
            texts = [json.dumps(self._redaction.values(line)) for line in missing.values()]
            file.write("".join(f"{text}\n" for text in texts).encode())
            file.flush()
            # Only now: a write that fails leaves a size that is not the remembered one.
            self._known[session] = file.tell(), known | missing.keys()
        while len(self._known) > _KNOWN_SESSIONS:
            del self._known[next(iter(self._known))]

    def _lines_in(self, file: IO[bytes], session: str) -> set[str]:
        """The ids of the lines of a transcript. A last line that was cut off is removed."""
        size, known = self._known.pop(session, (0, set[str]()))
        if size == file.tell():
            return known
        file.seek(0)
        content = file.read()
        if len(content) > (whole := content.rfind(b"\n") + 1):
            file.truncate(whole)
            file.seek(whole)
        return {uuid.decode() for uuid in _UUID.findall(content, 0, whole)}

    def remove(self, names: Collection[str]) -> None:
        """Remove the lines of these events from all transcripts. Raises OSError."""
        gone = {f"{name}{end}".encode() for name in names for end in _ENDS}
        self._take_out(lambda line: bool((id_ := _UUID.match(line)) and id_[1] in gone))

    def forget(self, traces: Traces) -> int:
        """Take out the lines that quote what was forgotten; how many transcripts had one.

        Raises OSError.
        """
        return self._take_out(lambda line: quotes(line, traces))

    def _take_out(self, is_gone: Callable[[bytes], bool]) -> int:
        changed = 0
        for file in self._folder.glob("*.jsonl"):
            lines = file.read_bytes().splitlines(keepends=True)
            kept = [line for line in lines if not is_gone(line)]
            if len(kept) == len(lines):
                continue
            changed += 1
            self._known.pop(file.stem, None)
            if kept:
                replace_file(file, b"".join(kept))
            else:
                file.unlink(missing_ok=True)
        return changed

    def sweep(self, now: float) -> None:
        """Remove transcripts of sessions that nothing came to for a week. Raises OSError."""
        for file in self._folder.glob("*.jsonl"):
            if abs(now - file.stat().st_mtime) > KEPT_SECONDS:  # also of a clock that was ahead
                file.unlink(missing_ok=True)


def _may_be_empty(event: Mapping[str, Any]) -> bool:
    """Whether an event of this name can have nothing to record."""
    name = event.get("hook_event_name")
    ends = name in ("Stop", "SubagentStop") and event.get("last_assistant_message") is None
    return ends or name in ("SessionStart", "SessionEnd")


def _lines_of(event: Mapping[str, Any], uuid: str) -> Iterator[dict[str, Any]]:
    """The lines of a transcript that an event stands for; none for an event without content."""
    match event.get("hook_event_name"):
        case "UserPromptSubmit":
            if isinstance(prompt := event.get("prompt"), str):
                yield {"type": "user", "message": {"role": "user", "content": prompt}}
        case "PostToolUse" | "PostToolUseFailure" as name:
            use = {"type": "tool_use", "id": uuid, "name": event.get("tool_name")}
            arguments = event.get("tool_input")
            use["input"] = arguments if isinstance(arguments, dict) else {}
            yield {"type": "assistant", "message": {"id": uuid, "content": [use]}}
            failed = name == "PostToolUseFailure"
            answer = event.get("error") if failed else event.get("tool_response")
            result = {"type": "tool_result", "tool_use_id": uuid, "content": _words(answer)}
            content = [{**result, "is_error": failed}]
            yield {"type": "user", "message": {"role": "user", "content": content}}
        case "Stop" | "SubagentStop":
            if isinstance(said := event.get("last_assistant_message"), str):
                text = {"type": "text", "text": said}
                yield {"type": "assistant", "message": {"id": uuid, "content": [text]}}
        case "PostCompact":
            if isinstance(summary := event.get("compact_summary"), str):
                message = {"role": "user", "content": summary}
                yield {"type": "user", "isCompactSummary": True, "message": message}


def _words(answer: object) -> str:
    """The words of a tool's answer."""
    if isinstance(answer, str):
        return answer
    if isinstance(answer, Mapping):
        said = [answer.get(name) for name in ("stdout", "stderr", "error", "content")]
        return "\n".join(each for each in said if isinstance(each, str) and each)
    return ""


def of_other_agent(event: Mapping[str, Any]) -> Session | None:
    """The session of an event that a client tells of another agent, whose sessions a source reads.

    None for our own hooks, and for agents that are none of ours.
    """
    platform = platform_named(str(event.get("platform") or ""))
    agents = {agent.sessions for agent in AGENTS} - {SOURCE}
    return (platform, event["session_id"]) if platform in agents else None


def transcript_at(event: Mapping[str, Any]) -> str:
    """The transcript of the event's session on this machine; "" while there is none.

    A client of another program does not say where it is, and tells of the first prompt before it is
    there: it has the name of the session.
    """
    path = str(event.get("transcript_path") or "")
    # Not Path.is_file: it raises for a path that is too long, or in a folder of another user.
    is_there = PLACES.call(os.path.isfile, path, seconds=_LOOK_SECONDS, otherwise=False)
    if path.endswith(".jsonl") and is_there:
        return path
    platform = platform_named(str(event.get("platform") or ""))
    return transcript_of(event["session_id"]) if platform in _CLAUDE else ""


def read_event(file: Path, home: Path) -> Mapping[str, Any] | None:
    """The event in a file; None for one of no use, which is noted as dropped."""
    try:
        event = json.loads(read_regular_file(file, MAX_EVENT_BYTES, follow=False))
        if not isinstance(event, dict) or not isinstance(event.get("session_id"), str):
            raise ValueError("no object with a session_id")
    except (OSError, ValueError, RecursionError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        if isinstance(error, RecursionError):  # each Python says it in its own words
            reason = "its JSON is nested too deep"
        drop(home, f"{file.name}: {reason}")
        return None
    return event


def quotes_forgotten(file: Path, traces: Traces) -> bool:
    """Whether an event quotes what was forgotten; one that cannot be read may do so."""
    try:
        return quotes(read_regular_file(file, MAX_EVENT_BYTES, follow=False), traces)
    except FileNotFoundError:
        return False
    except OSError:
        return True


def remove(taken: Sequence[Taken]) -> None:
    for file, written, _ in taken:
        # A hook may have written the file of its session again meanwhile.
        if file.exists() and file.stat().st_mtime_ns == written:
            file.unlink()


log = logging.getLogger(__name__)

MAX_DEATHS: Final = 2

MAX_GROUP: Final = 200
MAX_GROUP_BYTES: Final = 20 * 2**20
"""Events that are in memory together."""


class SuspectEvents:
    """``deaths``: the name of an event → how many workers died over it. Its methods block."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._now: Counter[str] = Counter()
        self.deaths: dict[str, int] = {}

    def remember(self) -> None:
        """Count a death for each event that the last worker was taking."""
        try:
            state = json.loads(self._file.read_bytes())
            self.deaths = {str(name): int(count) for name, count in state["deaths"].items()}
            for name in state["now"]:
                self.deaths[str(name)] = self.deaths.get(str(name), 0) + 1
        except FileNotFoundError:
            return
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            log.warning("%s says nothing that can be read: %s", self._file, error)
        self._write()

    def to_set_aside(self) -> list[str]:
        """The events over which the worker died too often."""
        return [name for name, count in self.deaths.items() if count >= MAX_DEATHS]

    def forget(self, names: Iterable[str]) -> None:
        """Count their deaths from zero again."""
        for name in names:
            self.deaths.pop(name, None)
        self._write()

    def in_groups(self, sizes: Mapping[str, int]) -> Iterator[list[str]]:
        """Groups that are taken together: of those over which nobody died; the others alone.

        ``sizes`` has each event with its bytes.
        """
        group, size = list[str](), 0
        for name in sizes:
            if name not in self.deaths:
                group, size = [*group, name], size + sizes[name]
            if len(group) == MAX_GROUP or size > MAX_GROUP_BYTES:
                yield group
                group, size = [], 0
        if group:
            yield group
        yield from ([name] for name in sizes if name in self.deaths)

    @contextmanager
    def taking(self, names: Collection[str]) -> Iterator[None]:
        """Around what is done with the events: a worker that dies within it died over them."""
        self._now.update(names)
        self._write()
        try:
            yield
        finally:
            self._now.subtract(names)
            self._now += Counter()  # without those of which nothing is left
            self.forget(name for name in names if name not in self._now)

    def _write(self) -> None:
        try:
            if self._now or self.deaths:
                said = {"now": sorted(self._now), "deaths": self.deaths}
                self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._file.write_text(json.dumps(said))
            else:
                self._file.unlink(missing_ok=True)
        except OSError as error:
            if error.errno not in NO_ROOM:
                raise
            log.warning("cannot write %s: %s", self._file, error)


def folder_of(agent: str, event: Mapping[str, Any]) -> str:
    """Where the agent's sessions lie, if the event says so; empty for where they usually are.

    Only its source says what in a folder that is named is read; the folder has to be this user's.
    """
    if not folders_in(event.get("environ")):
        return ""
    try:
        usual = [each.path for each in find_locations(machine_from({}, os.environ), agent)]
        locations = find_locations(machine_from({"environ": event["environ"]}, os.environ), agent)
        others = [each.path for each in locations if each.path not in usual]
        is_own = others and Path(others[0]).stat().st_uid in (os.geteuid(), 0)
    except (MemSearchError, OSError):
        return ""
    return others[0] if is_own else ""
