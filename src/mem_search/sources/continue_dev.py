"""The source `continue`: sessions of Continue become prompts, steps of work and summaries.

A session is a JSON document ``sessions/ID.json`` below ``~/.continue``, of its command line and of
its editor extensions. Its messages have no times; ``sessions.json`` beside them says when each
session began. One that it does not have is of the time of its file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from mem_search.patterns import pattern
from mem_search.sources.agent_work.events import (
    MAIN,
    AgentText,
    Compaction,
    Event,
    Line,
    Prompt,
    SessionTitle,
)
from mem_search.sources.agent_work.session_documents import (
    SessionDocuments,
    beside,
    document,
    not_understood,
    path_of,
    seconds,
)
from mem_search.sources.agent_work.text import clean_text, without_injected
from mem_search.sources.agent_work.transcripts import Tools, call_of, exit_code, result_of, words
from mem_search.sources.conversations import fields, items, moment
from mem_search.sources.whole_files import WholeFile

_LIST: Final = "sessions.json"
_NAMED: Final = pattern(r"[0-9a-f]{8}-[0-9a-f-]{27}\.json")
_PATHS: Final = ("filepath", "file_path", "path")
_TOOLS: Final[Tools] = {
    "Bash": ("Bash", "command"),
    "run_terminal_command": ("Bash", "command"),
    "Read": ("Read", *_PATHS),
    "read_file": ("Read", *_PATHS),
    "read_file_range": ("Read", *_PATHS),
    "Write": ("Write", *_PATHS),
    "create_new_file": ("Write", *_PATHS),
    "Edit": ("Edit", *_PATHS),
    "MultiEdit": ("MultiEdit", *_PATHS),
    "edit_existing_file": ("Edit", *_PATHS),
    "single_find_and_replace": ("Edit", *_PATHS),
    "multi_edit": ("MultiEdit", *_PATHS),
    "Search": ("Grep", "pattern"),
    "grep_search": ("Grep", "query"),
    "file_glob_search": ("Glob", "pattern"),
    "List": ("LS", "dirpath"),
    "ls": ("LS", "dirPath"),
    "Fetch": ("WebFetch", "url"),
    "fetch_url_content": ("WebFetch", "url"),
    "search_web": ("WebSearch", "query"),
    "Subagent": ("Task", "description", "prompt"),
}
_ROLES: Final = ("user", "assistant", "thinking", "system", "tool")
_FAILED: Final = ("errored", "canceled")
_ANSWERED: Final = ("done", *_FAILED)
_EXITED: Final = pattern(r"\bexit(?:ed with)? code:? (\d{1,9})\b\)?:?\s*", re.IGNORECASE)
_UNTITLED: Final = ("Untitled Session", "New Session")


class Continue(SessionDocuments):
    """A call stands with its answer in the message that made it."""

    name = "continue"
    label = "Continue"
    usual, folder = ".continue", "sessions"
    variables = ("CONTINUE_GLOBAL_DIR",)
    tools = _TOOLS

    def recognises(self, path: Path) -> bool:
        is_one = path.suffix == ".json" and path.name != _LIST and path.parent.name == self.folder
        is_named = _NAMED.fullmatch(path.name) is not None
        return is_one and (is_named or path.parts[-3:-2] == (self.usual,))

    def lines(self, file: WholeFile) -> Iterator[Line]:
        saved = fields(document(file))
        session = clean_text(saved.get("sessionId")) or Path(file.name).stem
        cwd, at = path_of(saved.get("workspaceDirectory")), _began(file, session)
        for number, entry in enumerate(map(fields, self.messages(file, saved.get("history"))), 1):
            message = fields(entry.get("message"))
            if message.get("role") not in _ROLES:
                what = f"a message of {clean_text(message.get('role')) or 'nobody'}"
                not_understood(file, number, what, self.label)
            yield Line(str(number), session, at, cwd, "", MAIN, tuple(_events(entry, message)))
        title = clean_text(saved.get("title"))
        if title and title not in _UNTITLED:
            yield Line("title", session, None, cwd, "", MAIN, (SessionTitle(title),))


def _began(file: WholeFile, session: str) -> int | None:
    if file.is_upload:
        return None
    for each in map(fields, items(beside(file.path.with_name(_LIST)))):
        if each.get("sessionId") == session:
            date = clean_text(each.get("dateCreated"))
            at = moment(seconds(int(date)) if date.isdecimal() and len(date) < 15 else date)
            if at is not None:
                return at
    return round(file.path.stat().st_mtime * 1000)


def _events(each: Mapping[str, Any], message: Mapping[str, Any]) -> Iterator[Event]:
    said = words(message.get("content"))
    match message.get("role"):
        case "user":
            if asked := without_injected(said):
                yield Prompt(asked)
        case "assistant":
            if said:
                yield AgentText(said)
            for state in map(fields, items(each.get("toolCallStates"))):
                yield from _work(state)
    if summary := clean_text(each.get("conversationSummary")):
        yield Compaction(summary)


def _work(state: Mapping[str, Any]) -> Iterator[Event]:
    call, status = fields(state.get("toolCall")), state.get("status")
    function = fields(call.get("function"))
    key = clean_text(state.get("toolCallId")) or clean_text(call.get("id"))
    name = clean_text(function.get("name")).removeprefix("builtin_")
    given = fields(state.get("parsedArgs")) or _arguments(function.get("arguments"))
    yield call_of(_TOOLS, key, name, given)
    if status in _ANSWERED:
        parts = [fields(part) for part in items(state.get("output"))]
        said = "\n".join(clean_text(part.get("content")) for part in parts)
        exited = _EXITED.search(said) if status == "errored" else None
        answer = said[exited.end() :] if exited else said
        code = exit_code(exited[1]) if exited else 0
        yield result_of(key, answer, failed=status in _FAILED, code=code)


def _arguments(text: object) -> Mapping[str, Any]:
    try:
        return fields(json.loads(text)) if isinstance(text, str) else {}
    except (ValueError, RecursionError):
        return {}
