"""The source `kiro`: sessions of Kiro's CLI become prompts, steps of work and summaries.

It was Amazon Q's CLI, and has kept sessions in four forms: a row for each directory, then for each
session, in ``data.sqlite3``; then a file ``~/.kiro/sessions/cli/SESSION.jsonl`` with its state
beside it; since version 3 a folder ``~/.kiro/sessions/WORKSPACE/sess_SESSION``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final
from zlib import crc32

from mem_search.contracts import Machine
from mem_search.patterns import pattern
from mem_search.regular_file import read_regular_file
from mem_search.sources.agent_work.events import (
    MAIN,
    AgentText,
    Event,
    Line,
    Prompt,
    SessionTitle,
    ToolCall,
)
from mem_search.sources.agent_work.session_stores import (
    SessionStores,
    Store,
    StoredSession,
    UnknownForm,
    data_folders,
    object_of,
    value_of,
    when,
)
from mem_search.sources.agent_work.text import clean_text, without_injected
from mem_search.sources.agent_work.transcripts import (
    Tools,
    call_of,
    exit_code,
    home_of,
    result_of,
    words,
)
from mem_search.sources.conversations import fields, items, json_lines
from mem_search.sources.databases import ForeignDatabase
from mem_search.sources.whole_files import UnreadLines, WholeFile
from mem_search.text.file_names import as_text

_FILE: Final = "data.sqlite3"
_PROGRAMS: Final = ("kiro-cli", "amazon-q")
_MAX_STATE_BYTES: Final = 64 * 2**20
"""Bytes of the state of a session, of which the directory and the title are read."""

_READ: Final = ("Read", "path", "file_path")
_TOOLS: Final[Tools] = {
    **dict.fromkeys(("execute_bash", "execute_cmd", "shell", "bash", "run_command"),
                    ("Bash", "command")),
    **dict.fromkeys(("fs_read", "read", "read_file"), _READ),
    **dict.fromkeys(("fs_write", "write", "edit", "str_replace"), ("Edit", "path", "file_path")),
    **dict.fromkeys(("create", "write_file"), ("Write", "path", "file_path")),
    "grep": ("Grep", "pattern"),
    "glob": ("Glob", "pattern"),
    "list": ("LS", "path"),
    "web_search": ("WebSearch", "query"),
    "web_fetch": ("WebFetch", "url"),
    **dict.fromkeys(("delegate", "subagent", "use_subagent"), ("Task", "task", "prompt")),
}  # fmt: skip
_WRITES: Final = ("fs_write", "write")
_EXITED: Final = pattern(r"\bexit (?:code|status):? (\d{1,9})\b", re.IGNORECASE)
_KINDS: Final = ("Prompt", "AssistantMessage", "ToolResults")
_EVENTS: Final = ("user", "assistant", "tool_call", "tool_result")
_SILENT: Final = ("Clear", "Compaction", "ResetTo", "CancelledPrompt", "SystemPrompt")
"""Lines of version 2 of which nothing is stored."""
_NEWER: Final = "select key, conversation_id, updated_at from conversations_v2 order by created_at"
_NEWER_ROW: Final = "select value from conversations_v2 where key = ? and conversation_id = ?"
_OLDER_ROW: Final = "select value from conversations where key = ?"


class Kiro(SessionStores):
    """The n-th message of a session has the id ``SESSION/n`` where it has none of its own."""

    name = "kiro"
    label = "Kiro CLI"
    optional = ("conversations", "conversations_v2")

    def places(self, machine: Machine) -> Iterable[Path]:
        yield home_of(machine, ".kiro", "KIRO_HOME") / "sessions"
        for program in _PROGRAMS:
            yield from (folder / _FILE for folder in data_folders(machine, program, program))

    def recognises(self, path: Path) -> bool:
        is_store = path.name == _FILE and path.parent.name in _PROGRAMS
        is_file = path.suffix == ".jsonl" and path.parts[-3:-1] == ("sessions", "cli")
        return is_store or is_file or _is_of_folder(path)

    def stores(self, root: Path) -> Iterable[Store]:
        if root.is_file():
            return (Store(root),)
        files = [*root.glob("cli/*.jsonl"), *root.glob("*/sess_*/messages.jsonl")]
        return [Store(path, beside=(_state(path),)) for path in sorted(files)]

    def in_database(self, store: Store, database: ForeignDatabase) -> Iterator[StoredSession]:
        columns = database.columns
        if not columns:
            raise ValueError("it has neither a table conversations nor conversations_v2")
        if "conversation_id" in columns.get("conversations_v2", ()):
            for folder, session, changed in database.rows(_NEWER):
                read = partial(database.rows, _NEWER_ROW, folder, session)
                yield StoredSession(session, str(changed), partial(_of_row, folder, session, read))
        if "value" in columns.get("conversations", ()):
            for folder, value in database.rows("select key, value from conversations"):
                about = object_of(value)
                session = clean_text(about.get("conversation_id")) or clean_text(folder)
                stamp = str(crc32(value if isinstance(value, bytes) else str(value).encode()))
                read = partial(database.rows, _OLDER_ROW, folder)
                yield StoredSession(session, stamp, partial(_of_row, folder, session, read))

    def in_file(self, store: Store) -> Iterator[StoredSession]:
        path, is_folder = store.path, _is_of_folder(store.path)
        state = _state(path)
        about: Mapping[str, Any] = {}
        if state.is_file():
            about = object_of(read_regular_file(state, _MAX_STATE_BYTES))
        named = as_text(path.parent.name if is_folder else path.stem)
        session = clean_text(about.get("session_id") or about.get("id")) or named
        yield StoredSession(session, store.stamp(), partial(_of_file, store, session, about))


def _is_of_folder(path: Path) -> bool:
    return path.name == "messages.jsonl" and path.parent.name.startswith("sess_")


def _state(path: Path) -> Path:
    """The file with the directory and the title of a session."""
    return path.with_name("session.json") if _is_of_folder(path) else path.with_suffix(".json")


def _of_row(
    folder: str, session: str, read: Callable[[], list[tuple[Any, ...]]], unread: UnreadLines
) -> Iterator[Line]:
    """The turns of a row; a compaction takes the older ones away, so each has an id of its own."""
    about = fields(value_of(read()[0][0], unread))
    cwd = clean_text(folder)
    if about and not isinstance(about.get("history"), list):
        raise UnknownForm(f"it has no history, but {', '.join(sorted(about))[:200]}")
    for unread.at, turn in enumerate(map(fields, items(about.get("history"))), 1):
        meta, user = fields(turn.get("request_metadata")), fields(turn.get("user"))
        asked, said = fields(user.get("content")), fields(turn.get("assistant"))
        reply = fields(said.get("ToolUse") or said.get("Response"))
        key = clean_text(reply.get("message_id")) or clean_text(meta.get("message_id"))
        key = key or clean_text(user.get("timestamp")) or str(unread.at)
        at = when(meta.get("request_start_timestamp_ms"))
        at = when(user.get("timestamp")) or at
        events: list[Event] = []
        for kind, content in ((kind, fields(content)) for kind, content in asked.items()):
            if prompt := without_injected(clean_text(content.get("prompt"))):
                events.append(Prompt(prompt))
            elif kind not in ("Prompt", "ToolUseResults", "CancelledToolUses"):
                unread.not_known(f"a message {clean_text(kind)}")
            results = map(fields, items(content.get("tool_use_results")))
            events += [_result(each, each.get("tool_use_id")) for each in results]
        yield Line(key, session, at, cwd, "", MAIN, tuple(events))
        done: list[Event] = [AgentText(text)] if (text := words(reply.get("content"))) else []
        uses = map(fields, items(reply.get("tool_uses")))
        done += [_called(each.get("id"), each.get("name"), each.get("args")) for each in uses]
        ended = when(meta.get("stream_end_timestamp_ms")) or at
        yield Line(f"{key}-reply", session, ended, cwd, "", MAIN, tuple(done))


def _of_file(
    store: Store, session: str, about: Mapping[str, Any], unread: UnreadLines
) -> Iterator[Line]:
    folders = [about.get("cwd"), *items(about.get("workspacePaths"))]
    cwd = next(filter(None, map(clean_text, folders)), "")
    title = SessionTitle(clean_text(about.get("title")))
    of = {"at": when(about.get("created_at") or about.get("createdAt"))}
    store.place.remember("reader", of)
    for line in json_lines(WholeFile(store.path, "", unread=unread, place=store.place)):
        payload, data = fields(line.get("payload")), fields(line.get("data"))
        if payload:
            at, key = when(line.get("timestamp")), clean_text(line.get("id"))
            events = list(_third(payload))
            if not events and payload.get("content") and payload.get("type") not in _EVENTS:
                unread.not_known(f"an event {clean_text(payload.get('type'))}")
        else:
            at = when(fields(data.get("meta")).get("timestamp"))
            key, events = clean_text(data.get("message_id")), list(_second(line.get("kind"), data))
            if line and not events and line.get("kind") not in (*_KINDS, *_SILENT):
                unread.program = f"Kiro, lines of version {clean_text(line.get('version'))}"
                unread.not_known(f"a line {clean_text(line.get('kind')) or ', '.join(line)}")
        if any(isinstance(event, Prompt) for event in events):
            events.append(title)
        of["at"] = at or of["at"]
        yield Line(key or str(unread.at), session, of["at"], cwd, "", MAIN, tuple(events))


def _second(kind: object, data: Mapping[str, Any]) -> Iterator[Event]:
    """What a line of version 2 says: parts with a kind and data."""
    for part in map(fields, items(data.get("content"))):
        value, sort = part.get("data"), part.get("kind")
        text = clean_text(value).strip() if sort == "text" else ""
        if text and kind == "Prompt" and (asked := without_injected(text)):
            yield Prompt(asked)
        elif text and kind == "AssistantMessage":
            yield AgentText(text)
        elif sort == "toolUse":
            use = fields(value)
            yield _called(use.get("toolUseId"), use.get("name"), use.get("input"))
        elif sort == "toolResult":
            yield _result(fields(value), fields(value).get("toolUseId"))


def _third(payload: Mapping[str, Any]) -> Iterator[Event]:
    """What a line of version 3 says: one event."""
    text = words(payload.get("content"))
    match payload.get("type"):
        case "user" if asked := without_injected(text):
            yield Prompt(asked)
        case "assistant" if text and payload.get("operationType", "Say") in ("Say", "Summary"):
            yield AgentText(text)
        case "tool_call":
            yield _called(payload.get("toolCallId"), payload.get("toolName"), payload.get("args"))
        case "tool_result":
            failed = payload.get("success") is False
            exited = _EXITED.search(text)
            code = exit_code(exited[1]) if exited else 0
            yield result_of(payload.get("toolCallId"), text, failed=failed, code=code)


def _called(call: object, tool: object, arguments: object) -> ToolCall:
    """A call; ``fs_read`` and ``fs_write`` name a path in their first operation, or a mode."""
    given, name = dict(fields(arguments)), clean_text(tool)
    operation = fields(next(iter(items(given.get("operations"))), None))
    mode = clean_text(given.get("command") if name in _WRITES else operation.get("mode"))
    name = {"Directory": "list", "Search": "grep"}.get(mode, name)
    if name in _WRITES and mode == "create":
        name = "create"
    return call_of(_TOOLS, call, name, {**operation, **given})


def _result(result: Mapping[str, Any], call: object) -> Event:
    """The answer of a tool: parts with text, or with JSON as a command has it."""
    parts = [fields(part) for part in items(result.get("content"))]
    output: Mapping[str, Any] = {}
    texts = [clean_text(part.get("Text")) or clean_text(part.get("data")) for part in parts]
    for part in parts:
        output = output or fields(part.get("Json")) or fields(part.get("data"))
    texts += [clean_text(output.get("stdout")), clean_text(output.get("stderr"))]
    said = "\n".join(text for text in texts if text)
    code = exit_code(output.get("exit_status", output.get("exit_code")))
    failed = clean_text(result.get("status")).lower() == "error"
    return result_of(call, said, failed=failed, code=code)
