"""The source `gemini`: sessions of Google's Gemini CLI become prompts, steps of work and summaries.

A session is a file ``session-….json`` or, since 2026, ``session-….jsonl`` in ``chats`` below
``~/.gemini/tmp``. In the second form a line is a message, which replaces an earlier one of its id,
a change of the session (``$set``), or the removal of messages (``$rewindTo``).
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
_EXIT_CODE: Final = pattern(r"^Exit Code: (\d{1,9})$", re.MULTILINE)
_ADDED: Final = pattern(r"\s*<session_context>.*</session_context>\s*", re.DOTALL)
"""A message that the program writes in the name of the person."""
_MAX_FILE_BYTES: Final = 256 * 2**20
"""Bytes of a session, which is one JSON document."""

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
        places = {path.parent.parent / _ROOT for path in sessions}
        return [*sessions, *sorted(filter(Path.is_file, places))]

    def recognises(self, path: Path) -> bool:
        is_session = path.name.startswith("session-") and path.suffix in (".json", ".jsonl")
        return is_session and "chats" in path.parts

    def lines(self, file: WholeFile) -> Iterator[Line]:
        content = read_regular_file(file.path, _MAX_FILE_BYTES, follow=False)
        check_values(content)
        found = _session(content.decode("utf-8", "replace"), file.unread)
        session = clean_text(found.get("sessionId")) or Path(file.name).name.partition(".")[0]
        directories = items(found.get("directories"))
        cwd = _root(file.path) or clean_text(directories[0] if directories else "")
        is_subagent = found.get("kind") == "subagent"
        asked = 0
        for number, message in enumerate(map(fields, items(found.get("messages"))), 1):
            words = _words(message.get("displayContent")) or _words(message.get("content"))
            key = f"{clean_text(message.get('id')) or 'message'}-{number}"
            events: tuple[Event, ...] = ()
            if message.get("type") == "user" and words.strip():
                asked += 1
                key = str(asked)
                if not _ADDED.fullmatch(words) and (said := without_injected(words)):
                    events = (Instruction(said) if is_subagent else Prompt(said),)
            elif message.get("type") == "gemini":
                events = tuple(_work(words, items(message.get("toolCalls"))))
            at = moment(message.get("timestamp"))
            yield Line(key, session, at, cwd, "", MAIN, events)
        if title := clean_text(found.get("summary")):
            yield Line("title", session, None, cwd, "", MAIN, (SessionTitle(title),))


def _session(data: str, unread: UnreadLines) -> Mapping[str, Any]:
    """The session, whatever its form. Raises ValueError for neither."""
    try:
        return fields(loads(data))
    except ValueError:
        pass  # a line for each message
    found: dict[str, Any] = {}
    messages: dict[str, Any] = {}
    lines = data.split("\n")
    for number, raw in enumerate(lines, 1):
        line, fault = object_in(raw)
        if fault and number < len(lines):  # the last line may still be being written
            unread.add(number, fault)
        if target := text(line.get("$rewindTo")):
            ids = list(messages)
            for identity in ids[ids.index(target) :] if target in messages else ids:
                del messages[identity]
        elif "$set" in line:
            found |= fields(line["$set"])
            if "messages" in fields(line["$set"]):
                messages = {text(m.get("id")): m for m in map(fields, items(found["messages"]))}
        elif "id" in line and "type" in line:
            messages[text(line["id"])] = line
        else:
            found |= line
    if not found and not messages:
        raise ValueError("it is neither JSON nor lines of JSON")
    return {**found, "messages": list(messages.values())}


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
    try:
        place = read_regular_file(path.parent.parent / _ROOT, _MAX_ROOT_CHARS, follow=False)
        return place.decode("utf-8", "replace").strip()
    except OSError:
        return ""
