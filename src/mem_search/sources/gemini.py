"""The source `gemini`: sessions of Google's Gemini CLI become prompts, steps of work and summaries.

A session is a file ``session-….json`` or, since 2026, ``session-….jsonl`` in ``chats`` below
``~/.gemini/tmp``. In the second form a line is a message, which replaces an earlier one of its id,
a change of the session (``$set``), or the removal of messages (``$rewindTo``). The file of a
subagent is ``chats/SESSION/SUBAGENT.jsonl``; its work belongs to that session.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

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
    answered,
    called,
    exit_code,
)
from mem_search.sources.conversations import fields, items, moment, object_in, text
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
        content = read_regular_file(file.path, _MAX_FILE_BYTES, follow=False)
        check_values(content)
        found = _session(content, Path(file.name).suffix, file.unread)
        own = clean_text(found.get("sessionId")) or Path(file.name).name.partition(".")[0]
        session = _parent(file.path)
        is_subagent = found.get("kind") == "subagent" or session != ""
        agent, first, session = (own, f"{own}-", session) if session else (MAIN, "", own)
        # What is older than its file was copied from another session.
        yield Line("start", session, moment(found.get("startTime")), "", "", agent, ())
        directories = items(found.get("directories"))
        cwd = _root(file.path) or clean_text(directories[0] if directories else "")
        asked = number = 0
        for message in map(fields, items(found.get("messages"))):
            if _GONE in message:
                yield Line("gone", session, None, cwd, "", agent, (), passed=1)
                continue
            number += 1
            words = _words(message.get("displayContent")) or _words(message.get("content"))
            own_id = clean_text(message.get("id"))
            key = f"{first}{own_id or 'message'}-{number}"
            events: tuple[Event, ...] = ()
            if message.get("type") == "user" and words.strip():
                asked += 1
                key = f"{first}{asked}"
                if not _ADDED.fullmatch(words) and (said := without_injected(words)):
                    events = (Instruction(said) if is_subagent else Prompt(said),)
            elif message.get("type") == "gemini":
                events = tuple(_work(words, items(message.get("toolCalls"))))
            at = moment(message.get("timestamp"))
            uuid, former = (own_id, (f"{session}/{key}",)) if is_uuid(own_id) else (key, ())
            yield Line(uuid, session, at, cwd, "", agent, events, former=former)
        if agent == MAIN and (title := clean_text(found.get("summary"))):
            yield Line("title", session, None, cwd, "", MAIN, (SessionTitle(title),))


def _parent(path: Path) -> str:
    """The session whose subagent has the file at ``path``; "" for a file of another place."""
    *_, folder, session, _ = ("", "", *path.parts)
    return session if folder == "chats" else ""


def _session(data: bytes, suffix: str, unread: UnreadLines) -> Mapping[str, Any]:
    """The session, whatever its form. Raises ValueError for neither."""
    try:
        return fields(loads(data.decode("utf-8-sig")))
    except ValueError as error:
        if suffix == ".json":
            raise ValueError(f"it is no whole JSON document: {error}") from error
    found: dict[str, Any] = {}  # a line for each message
    messages: dict[str, Any] = {}
    lines = data.split(b"\n")
    for unread.at, raw in enumerate(lines, 1):
        line, fault = object_in(raw)
        if fault and unread.at < len(lines):
            unread.add(unread.at, fault)
        elif fault:
            unread.waiting = unread.at
        if target := text(line.get("$rewindTo")):
            ids = list(messages)
            for identity in ids[ids.index(target) :] if target in messages else ids:
                messages[identity] = {**messages[identity], _GONE: True}
        elif "$set" in line:
            found |= _changed(fields(line["$set"]), found)
            messages = _listed(fields(line["$set"]), messages)
        elif "id" in line and "type" in line:
            messages[text(line["id"])] = line
            if line["type"] not in _MESSAGES:
                unread.not_known(f"message {line['type']}")
        elif "sessionId" in line or not line:
            found |= _changed(line, found)
            messages = _listed(line, messages)
        else:
            what = (
                f"type {line['type']} without an id" if "type" in line else ", ".join(sorted(line))
            )
            unread.not_known(what)
    if not found and not messages and not unread.unknown:
        raise ValueError("it is neither JSON nor lines of JSON")
    return {**found, "messages": list(messages.values())}


def _changed(stated: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    """What a line states of the session, whose id and start are those that were stated first."""
    first = {name: before[name] for name in ("sessionId", "startTime") if name in before}
    return {**stated, **first}


def _listed(stated: Mapping[str, Any], messages: Mapping[str, Any]) -> dict[str, Any]:
    """The messages that a line lists, in place of those before it; else those before it."""
    if not isinstance(stated.get("messages"), list):
        return {**messages}
    gone = {identity: {**message, _GONE: True} for identity, message in messages.items()}
    listed = map(fields, items(stated["messages"]))
    return {**gone, **{text(message.get("id")): message for message in listed}}


def _work(words: str, calls: list[Any]) -> Iterator[Event]:
    if words.strip():
        yield AgentText(words.strip())
    for call in map(fields, calls):
        key = call.get("id")
        yield called(_TOOLS, key, call.get("name"), call.get("args"))
        parts = [fields(fields(part).get("functionResponse")) for part in items(call.get("result"))]
        responses = [fields(part.get("response")) for part in parts]
        output = "\n".join(
            clean_text(said.get("output")) or clean_text(said.get("error")) for said in responses
        )
        codes = _EXIT_CODE.findall(output)
        shown = clean_text(call.get("resultDisplay")) or output
        failed = call.get("status") in ("error", "cancelled")
        yield answered(key, shown, failed=failed, code=exit_code(codes[-1]) if codes else 0)


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
