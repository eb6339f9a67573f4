"""The source `gemini`: sessions of Google's Gemini CLI become prompts, steps of work and summaries.

A session is a file ``session-….json`` or, since 2026, ``session-….jsonl`` in ``chats`` below
``~/.gemini/tmp``. In the second form a line is a message, which replaces an earlier one of its id,
a change of the session (``$set``), or the removal of messages (``$rewindTo``). The file of a
subagent is ``chats/SESSION/SUBAGENT.jsonl``; its work belongs to that session.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final
from zlib import crc32

from mem_search.contracts import FileFormat
from mem_search.patterns import pattern
from mem_search.regular_file import read_regular_file
from mem_search.sources.agent_work.events import (
    MAIN,
    AgentText,
    Event,
    Instruction,
    Line,
    Prompt,
    SessionTitle,
)
from mem_search.sources.agent_work.history import is_uuid
from mem_search.sources.agent_work.text import clean_text, without_injected
from mem_search.sources.agent_work.transcripts import (
    SessionFiles,
    Tools,
    call_of,
    exit_code,
    result_of,
)
from mem_search.sources.conversations import fields, items, json_lines, moment, text
from mem_search.sources.growing import Rewritten
from mem_search.sources.whole_files import UnreadLines, WholeFile
from mem_search.text.json_reading import check_values, loads

_TOOLS: Final[Tools] = {
    "run_shell_command": ("Bash", "command"),
    "read_file": ("Read", "file_path", "absolute_path"),
    "write_file": ("Write", "file_path"),
    "replace": ("Edit", "file_path"),
    "edit": ("Edit", "file_path"),
    "grep_search": ("Grep", "pattern"),
    "search_file_content": ("Grep", "pattern"),
    "glob": ("Glob", "pattern"),
    "list_directory": ("LS", "dir_path", "path"),
    "web_fetch": ("WebFetch", "prompt"),
    "google_web_search": ("WebSearch", "query"),
    "invoke_agent": ("Agent", "prompt", "description"),
}
_MESSAGES: Final = ("user", "gemini", "info", "error", "warning")
"""Types of messages; the last three are the program's own."""
_EXIT_CODE: Final = pattern(r"^Exit Code: (\d{1,9})$", re.MULTILINE)
_ADDED: Final = pattern(r"\s*<session_context>.*</session_context>\s*", re.DOTALL)
"""A message that the program writes in the name of the person."""
_MAX_FILE_BYTES: Final = 256 * 2**20
"""Bytes of a session, which is one JSON document."""

_FIRST: Final = ("sessionId", "startTime")
_OF_ALL: Final = ("kind", "directories")
_STATED: Final = (*_FIRST, *_OF_ALL, "summary")
"""What is read of what a line states of the session."""

_GONE: Final = "$gone"
"""The mark of a message that was taken back: it counts, and is not recorded."""

_MAX_ROOT_CHARS: Final = 4096
_ROOT: Final = ".project_root"
"""A file beside ``chats`` with the directory of the project."""


class Gemini(SessionFiles):
    """The n-th message of a person has the id ``SESSION/n``, because older files have no others."""

    name = "gemini"
    label = "Gemini CLI"
    usual, folder = ".gemini", "tmp"
    file_format = FileFormat((".json", ".jsonl"))
    tools = _TOOLS

    def files_to_keep(self, root: Path) -> Iterable[Path]:
        """Gemini CLI deletes a session after 30 days (``general.sessionRetention``)."""
        sessions = [path for path, _ in self._below(root)]
        above = {path.parent for each in sessions for path in (each.parent, each.parent.parent)}
        places = {path / _ROOT for path in above}
        return [*sessions, *sorted(filter(Path.is_file, places))]

    def recognises(self, path: Path) -> bool:
        is_session = path.name.startswith("session-") and "chats" in path.parts
        return path.suffix in (".json", ".jsonl") and (is_session or _parent(path) != "")

    def lines(self, file: WholeFile) -> Iterator[Line]:
        state = file.place.remember("reader", {"found": {}, "given": [], "number": 0, "asked": 0})
        goes_on = file.place.offset > 0
        chat = _Chat(state["found"], frozenset(state["given"]))
        if goes_on or not chat.is_document(file):
            chat.replay(file)
        stated, given = chat.stated, state["given"]
        own = clean_text(stated.get("sessionId")) or Path(file.name).name.partition(".")[0]
        session = _parent(file.path)
        is_subagent = stated.get("kind") == "subagent" or session != ""
        agent, first, session = (own, f"{own}-", session) if session else (MAIN, "", own)
        directories = items(stated.get("directories"))
        cwd = _root(file.path) or clean_text(directories[0] if directories else "")
        if not goes_on:
            # What is older than its file was copied from another session.
            yield Line("start", session, moment(stated.get("startTime")), "", "", agent, ())
        for name, message in chat.messages.items():
            if name == chat.last:  # it may be written again
                state["found"] = chat.stated_before
                file.place.keep("unread", partial(asdict, chat.unread_before))
                file.place.let_go()
            given.append(crc32(name.encode()))
            if _GONE in message:
                yield Line("gone", session, None, cwd, "", agent, (), passed=1)
                continue
            state["number"] += 1
            words = _words(message.get("displayContent")) or _words(message.get("content"))
            own_id = clean_text(message.get("id"))
            key = f"{first}{own_id or 'message'}-{state['number']}"
            events: tuple[Event, ...] = ()
            if message.get("type") == "user" and words.strip():
                state["asked"] += 1
                key = f"{first}{state['asked']}"
                if not _ADDED.fullmatch(words) and (said := without_injected(words)):
                    events = (Instruction(said) if is_subagent else Prompt(said),)
            elif message.get("type") == "gemini":
                events = tuple(_work(words, items(message.get("toolCalls"))))
            at = moment(message.get("timestamp"))
            uuid, former = (own_id, (f"{session}/{key}",)) if is_uuid(own_id) else (key, ())
            yield Line(uuid, session, at, cwd, "", agent, events, former=former, is_reused=True)
        if agent == MAIN and (title := clean_text(stated.get("summary"))):
            yield Line("title", session, None, cwd, "", MAIN, (SessionTitle(title),))


def _parent(path: Path) -> str:
    """The session whose subagent has the file at ``path``; "" for a file of another place."""
    *_, folder, session, _ = ("", "", *path.parts)
    return session if folder == "chats" else ""


@dataclass(slots=True)
class _Chat:
    """A session, whatever its form: what is stated of it, and its messages by their ids.

    ``given`` are checksums of the ids of messages before those that are read now. What was known
    before the ``last`` message is kept, because a program writes that one again as it goes on.
    """

    stated: dict[str, Any]
    given: frozenset[int]
    messages: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    last: str | None = None
    stated_before: dict[str, Any] = field(default_factory=dict)
    unread_before: UnreadLines = field(default_factory=UnreadLines)

    def is_document(self, file: WholeFile) -> bool:
        """Whether the file is one JSON document, which is read. Raises OSError, ValueError."""
        content = read_regular_file(file.path, _MAX_FILE_BYTES, follow=False)
        check_values(content)
        try:
            self.stated = dict(fields(loads(content.decode("utf-8-sig"))))
        except ValueError as error:
            if Path(file.name).suffix == ".json":
                raise ValueError(f"it is not a complete JSON document: {error}") from error
            return False
        listed = enumerate(map(fields, items(self.stated.pop("messages", None))))
        self.messages = {str(number): message for number, message in listed}
        return True

    def replay(self, file: WholeFile) -> None:
        """Read lines: a message, a change, or the removal of messages. Raises OSError, ValueError
        for no such lines, Rewritten where one changes what was read before the place.
        """
        file.place.hold()
        for line in json_lines(file):
            if target := text(line.get("$rewindTo")):
                ids = list(self.messages)
                if target not in self.messages and self.given:
                    raise Rewritten
                for name in ids[ids.index(target) :] if target in self.messages else ids:
                    self.messages[name] = {**self.messages[name], _GONE: True}
            elif "$set" in line:
                self._state(fields(line["$set"]))
            elif "id" in line and "type" in line:
                self._message(text(line["id"]), line, file)
            elif "sessionId" in line:
                self._state(line)
            elif line:
                what = (
                    f"type {line['type']} without an id"
                    if "type" in line
                    else ", ".join(sorted(line))
                )
                file.unread.not_known(what)
        if not (self.stated or self.messages or self.given or file.unread.unknown):
            raise ValueError("it is neither JSON nor lines of JSON")

    def _message(self, name: str, line: Mapping[str, Any], file: WholeFile) -> None:
        if name not in self.messages:
            if crc32(name.encode()) in self.given:
                raise Rewritten
            self.last, self.stated_before = name, dict(self.stated)
            self.unread_before = deepcopy(file.unread)
            file.place.hold()
        self.messages[name] = line
        if line["type"] not in _MESSAGES:
            file.unread.not_known(f"message {line['type']}")

    def _state(self, stated: Mapping[str, Any]) -> None:
        """What is stated of the session, whose id and start are those that were stated first; and
        the messages that are listed, in place of those before them.
        """
        first = {name: self.stated[name] for name in _FIRST if name in self.stated}
        now = {name: stated[name] for name in _STATED if name in stated} | first
        is_listed = isinstance(stated.get("messages"), list)
        is_of_all = any(now.get(name) != self.stated.get(name) for name in _OF_ALL if name in now)
        if self.given and (is_listed or is_of_all):
            raise Rewritten
        self.stated |= now
        if is_listed:
            gone = {name: {**message, _GONE: True} for name, message in self.messages.items()}
            listed = map(fields, items(stated["messages"]))
            self.messages = {**gone, **{text(message.get("id")): message for message in listed}}


def _work(words: str, calls: list[Any]) -> Iterator[Event]:
    if words.strip():
        yield AgentText(words.strip())
    for call in map(fields, calls):
        key = call.get("id")
        yield call_of(_TOOLS, key, call.get("name"), call.get("args"))
        parts = [fields(fields(part).get("functionResponse")) for part in items(call.get("result"))]
        responses = [fields(part.get("response")) for part in parts]
        output = "\n".join(
            clean_text(said.get("output")) or clean_text(said.get("error")) for said in responses
        )
        codes = _EXIT_CODE.findall(output)
        shown = clean_text(call.get("resultDisplay")) or output
        failed = call.get("status") in ("error", "cancelled")
        yield result_of(key, shown, failed=failed, code=exit_code(codes[-1]) if codes else 0)


def _words(content: object) -> str:
    """The text of parts: a string, a part, or a list of both."""
    if isinstance(content, list):
        return "\n".join(filter(None, map(_words, content)))
    return text(content) or text(fields(content).get("text"))


def _root(path: Path) -> str:
    chats = path.parent.parent if _parent(path) else path.parent
    try:
        place = read_regular_file(chats.parent / _ROOT, _MAX_ROOT_CHARS, follow=False)
        return place.decode("utf-8", "replace").strip()
    except OSError:
        return ""
