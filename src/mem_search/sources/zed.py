"""The source `zed`: threads of Zed's agent become prompts, steps of work and summaries.

All threads are in one SQLite database, ``threads/threads.db`` in Zed's data folder: a row for each,
whose ``data`` is JSON, mostly compressed with zstd. Messages have no time of their own. Threads of
other agents inside Zed are in the files of these agents.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, Final

from mem_search.contracts import Machine
from mem_search.patterns import pattern
from mem_search.sources.agent_work.events import (
    MAIN,
    AgentText,
    Event,
    Instruction,
    Line,
    Prompt,
    SessionTitle,
)
from mem_search.sources.agent_work.session_stores import (
    SessionStores,
    Store,
    StoredSession,
    UnknownForm,
    data_folders,
    root_of,
    when,
)
from mem_search.sources.agent_work.text import clean_text, without_injected
from mem_search.sources.agent_work.transcripts import Tools, call_of, exit_code, result_of, words
from mem_search.sources.compressed import unpacked
from mem_search.sources.conversations import fields, items
from mem_search.sources.databases import ForeignDatabase
from mem_search.sources.whole_files import UnreadLines
from mem_search.text.json_reading import loads

MAX_THREAD_BYTES: Final = 64 * 2**20
"""Bytes of a thread that is unpacked: as many as one value of a database may have."""

_CURRENT: Final = "0.3.0"
_OLD: Final = (None, "0.1.0", "0.2.0")
_PATHS: Final = ("path", "source_path")
_TOOLS: Final[Tools] = {
    "terminal": ("Bash", "command"),
    "sandboxed_terminal": ("Bash", "command"),
    "read_file": ("Read", *_PATHS),
    "edit_file": ("Edit", *_PATHS),
    "streaming_edit_file": ("Edit", *_PATHS),
    "write_file": ("Write", *_PATHS),
    "delete_path": ("Edit", *_PATHS),
    "move_path": ("Edit", *_PATHS),
    "grep": ("Grep", "regex"),
    "find_path": ("Glob", "glob"),
    "list_directory": ("LS", *_PATHS),
    "fetch": ("WebFetch", "url"),
    "web_search": ("WebSearch", "query"),
    "spawn_agent": ("Task", "label", "message"),
    "subagent": ("Task", "label", "task_prompt"),
}
_WRITES: Final = ("create", "overwrite", "write")
_SILENT: Final = ("Thinking", "RedactedThinking", "Image")
_EXITED: Final = pattern(r"failed with exit code (\d{1,9})\.?")
_COLUMNS: Final = ("id", "parent_id", "folder_paths", "summary", "created_at", "updated_at")


class Zed(SessionStores):
    """A subagent's thread belongs to the one above it. What an agent wrote has its number as id."""

    name = "zed"
    label = "Zed"
    tables = ("threads",)

    def places(self, machine: Machine) -> Iterable[Path]:
        for folder in data_folders(machine, "zed", "Zed"):
            yield folder / "threads" / "threads.db"
        yield machine.home / ".var/app/dev.zed.Zed/data/zed/threads/threads.db"  # Flatpak

    def recognises(self, path: Path) -> bool:
        return path.parts[-2:] == ("threads", "threads.db")

    def in_database(self, store: Store, database: ForeignDatabase) -> Iterator[StoredSession]:
        known = [each for each in _COLUMNS if each in database.columns["threads"]]
        rows = database.rows(f"select {', '.join(known)} from threads order by updated_at, id")  # noqa: S608
        threads = [dict(zip(known, row, strict=True)) for row in rows]
        parents = {each["id"]: each.get("parent_id") for each in threads}
        for thread in threads:
            root = root_of(thread["id"], parents)
            lines = partial(_lines, database, thread, root)
            yield StoredSession(thread["id"], str(thread["updated_at"]), lines)


def _lines(
    database: ForeignDatabase, thread: Mapping[str, Any], root: str, unread: UnreadLines
) -> Iterator[Line]:
    ((sort, data),) = database.rows(
        "select data_type, data from threads where id = ?", thread["id"]
    )
    if sort not in ("json", "zstd"):
        raise UnknownForm(f"its data are of the unknown type {clean_text(sort)}")
    try:
        saved = fields(loads(unpacked(data, MAX_THREAD_BYTES) if sort == "zstd" else data))
    except OSError as error:
        raise UnknownForm(str(error)) from error
    version = saved.get("version")
    if version not in (_CURRENT, *_OLD):
        raise UnknownForm(f"the thread has the unknown version {clean_text(version)}")
    folders = clean_text(thread.get("folder_paths")).split("\n")
    snapshots = items(fields(saved.get("initial_project_snapshot")).get("worktree_snapshots"))
    folder = folders[0] or clean_text(fields(next(iter(snapshots), None)).get("worktree_path"))
    session, agent = clean_text(thread["id"]), MAIN
    if root != thread["id"]:
        agent = session
    at = when(thread.get("created_at")) or when(thread["updated_at"])
    title = SessionTitle(clean_text(saved.get("title") or saved.get("summary")))
    unread.program = f"Zed, thread {version or 'without a version'}"
    for unread.at, message in enumerate(items(saved.get("messages")), 1):
        whole = _message(fields(message)) if version == _CURRENT else _old(fields(message))
        if whole is None:
            if message != "Resume":
                unread.not_known(f"a message {clean_text(message) or ', '.join(fields(message))}")
            continue
        role, key, content, results = whole
        events: list[Event] = []
        if role == "user" and (asked := without_injected(_asked(content))):
            events = [Prompt(asked), title] if agent == MAIN else [Instruction(asked)]
        elif role == "assistant":
            events = list(_work(content, folders if folders[0] else [folder], unread))
        events += map(_answer, results)
        yield Line(key or str(unread.at), clean_text(root), at, folder, "", agent, tuple(events))


_Message = tuple[str, str, list[Any], list[Mapping[str, Any]]]
"""The role of a message, its id, its content, and answers of tools."""


def _message(message: Mapping[str, Any]) -> _Message | None:
    for kind, role in (("User", "user"), ("Agent", "assistant")):
        if kind in message:
            said = fields(message[kind])
            answers = fields(said.get("tool_results"))
            results: list[Mapping[str, Any]]
            results = [{"tool_use_id": key, **fields(each)} for key, each in answers.items()]
            return role, clean_text(said.get("id")), items(said.get("content")), results
    return None


def _old(message: Mapping[str, Any]) -> _Message | None:
    """The same of a thread from before 2025-09, which has a role and segments."""
    role, results = clean_text(message.get("role")), items(message.get("tool_results"))
    if role not in ("user", "assistant", "system"):
        return None
    said = words(message.get("segments")) or clean_text(message.get("text"))
    content = [{"Text": said}, *({"ToolUse": each} for each in items(message.get("tool_uses")))]
    is_answer = role == "user" and bool(results)
    return "" if is_answer else role, "", content, list(map(fields, results))


def _asked(content: list[Any]) -> str:
    """What a person wrote, with the names of what they mentioned."""
    parts = []
    for part in map(fields, content):
        mention = fields(part.get("Mention"))
        uri = fields(next(iter(fields(mention.get("uri")).values()), None))
        name = clean_text(uri.get("name")) or PurePosixPath(clean_text(uri.get("abs_path"))).name
        parts.append(clean_text(part.get("Text")) or (f"@{name}" if name else ""))
    return "".join(parts).strip()


def _work(content: list[Any], folders: list[str], unread: UnreadLines) -> Iterator[Event]:
    for part in map(fields, content):
        kind = next(iter(part), "")
        if kind == "Text" and (said := clean_text(part["Text"]).strip()):
            yield AgentText(said)
        elif kind == "ToolUse":
            use = fields(part["ToolUse"])
            given, tool = dict(fields(use.get("input"))), clean_text(use.get("name"))
            if tool == "edit_file" and given.get("mode") in _WRITES:
                tool = "write_file"
            for name in _PATHS:
                if path := clean_text(given.get(name)):
                    given[name] = _placed(path, folders)
            yield call_of(_TOOLS, use.get("id"), tool, given)
        elif kind not in ("Text", *_SILENT):
            unread.not_known(f"a part {clean_text(kind)}")


def _placed(path: str, folders: list[str]) -> str:
    """A path as Zed's agent gives it begins with the name of one of the project's folders."""
    first, _, rest = path.partition("/")
    for folder in folders:
        if folder and PurePosixPath(folder).name == first:
            return f"{folder}/{rest}"
    return path


def _answer(result: Mapping[str, Any]) -> Event:
    content = result.get("content")
    parts = content if isinstance(content, list) else [content]
    said = "\n".join(clean_text(fields(each).get("Text")) or words([each]) or clean_text(each)
                     for each in parts)  # fmt: skip
    is_command = "terminal" in clean_text(result.get("tool_name"))
    exited = _EXITED.search(said) if is_command else None
    code = exit_code(exited[1]) if exited else 0
    failed = result.get("is_error") is True
    return result_of(result.get("tool_use_id"), said, failed=failed, code=code)
