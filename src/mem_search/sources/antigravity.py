"""The source `antigravity`: what Google's Antigravity tells of its work becomes prompts, steps of
work and summaries.

A conversation has a folder ``~/.gemini/antigravity/brain/CONVERSATION`` with the plans that its
agent wrote (Markdown) and, in newer versions, a log of steps (JSON lines). The conversations
themselves (``conversations/*.pb``, ``*.db``) are in a form that only Antigravity reads.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from mem_search.contracts import Machine
from mem_search.patterns import pattern
from mem_search.regular_file import MAX_SETTINGS, read_regular_file
from mem_search.sources.agent_work.events import MAIN, AgentText, Event, Line, Prompt, SessionTitle
from mem_search.sources.agent_work.session_stores import (
    SessionStores,
    Store,
    StoredSession,
    beside,
    object_of,
    when,
)
from mem_search.sources.agent_work.text import clean_text, headline, without_injected
from mem_search.sources.agent_work.transcripts import Tools, call_of, exit_code, result_of
from mem_search.sources.conversations import fields, items, json_lines
from mem_search.sources.databases import ForeignDatabase
from mem_search.sources.whole_files import UnreadLines, WholeFile
from mem_search.text.file_names import as_text

_PROGRAMS: Final = ("antigravity", "antigravity-ide", "antigravity-cli")
_LOGS: Final = ("transcript_full.jsonl", "transcript.jsonl", "overview.txt")
"""Logs of steps, the most complete first."""
_PLANS: Final = ("task.md", "implementation_plan.md", "walkthrough.md")
_MAX_PLAN_BYTES: Final = 2**20
"""Bytes of a plan; the longest that others show have 40 kB."""

_TOOLS: Final[Tools] = {
    "run_command": ("Bash", "CommandLine"),
    "view_file": ("Read", "AbsolutePath"),
    "view_file_outline": ("Read", "AbsolutePath"),
    "view_code_item": ("Read", "File", "AbsolutePath"),
    "write_to_file": ("Write", "TargetFile"),
    "replace_file_content": ("Edit", "TargetFile"),
    "multi_replace_file_content": ("MultiEdit", "TargetFile"),
    "grep_search": ("Grep", "Query"),
    "codebase_search": ("Grep", "Query"),
    "find_by_name": ("Glob", "Pattern"),
    "list_dir": ("LS", "DirectoryPath"),
    "search_web": ("WebSearch", "query"),
    "read_url_content": ("WebFetch", "Url"),
    "browser_subagent": ("Task", "Task"),
    "invoke_subagent": ("Task", "Task", "prompt"),
}
_ASKED: Final = pattern(r"<USER_REQUEST>\s*(.*?)\s*</USER_REQUEST>", re.DOTALL)
_TIMES: Final = pattern(r"\A(?:(?:Created|Completed) At: [^\n]*\n+)+")
_EXITED: Final = pattern(r"\bexit(?:ed with)? (?:code|status):? (\d{1,9})\b", re.IGNORECASE)


_ANSWERS: Final = frozenset((
    "ASK_USER_QUESTION", "BROWSER_SUBAGENT", "CODE_ACTION", "CODEBASE_SEARCH", "COMMAND_STATUS",
    "ERROR_MESSAGE", "FIND", "FIND_BY_NAME", "GENERIC", "GREP_SEARCH", "INVOKE_SUBAGENT",
    "LIST_DIRECTORY", "MCP_TOOL", "NOTIFY_USER", "PROXY_WEB_SERVER", "READ_URL_CONTENT",
    "RETRIEVE_MEMORY", "RUN_COMMAND", "SEARCH_WEB", "SEND_COMMAND_INPUT", "TASK_BOUNDARY",
    "TODO_LIST", "VIEW_CODE_ITEM", "VIEW_FILE", "VIEW_FILE_OUTLINE", "WRITE_TO_FILE",
))  # fmt: skip
_SILENT: Final = frozenset((
    "CHECKPOINT", "CONVERSATION_HISTORY", "EPHEMERAL_MESSAGE", "FILE_PERMISSION",
    "KNOWLEDGE_ARTIFACTS", "SYSTEM_MESSAGE",
))  # fmt: skip
"""Steps of the program itself, which answer no call."""


_OPAQUE: Final = (".pb", ".db")
_SUMMARY: Final = "select workspace_uris from conversation_summaries where conversation_id = ?"


class Antigravity(SessionStores):
    """A step has its number in the log as id, a plan its name."""

    name = "antigravity"
    label = "Antigravity"

    def places(self, machine: Machine) -> Iterable[Path]:
        return (machine.home / ".gemini" / program for program in _PROGRAMS)

    def recognises(self, path: Path) -> bool:
        return path.name in _LOGS and path.parts[-3:-1] == (".system_generated", "logs")

    def stores(self, root: Path) -> Iterable[Store]:
        """A store is the log of a conversation; without one, the first of its plans."""
        if root.is_file():
            return (Store(root),)
        folders = sorted(each for each in (root / "brain").glob("*") if each.is_dir())
        opaque = [each for sort in _OPAQUE for each in root.glob(f"conversations/*{sort}")]
        told = [
            Store(path, beside=tuple(folder / name for name in _PLANS))
            for folder in folders
            if (path := _told(folder))
        ]
        known = {_folder(store.path).name for store in told}
        return [*told, *(Store(path) for path in sorted(opaque) if path.stem not in known)]

    def in_database(self, store: Store, database: ForeignDatabase) -> Iterator[StoredSession]:
        return _opaque(store.path)

    def in_file(self, store: Store) -> Iterator[StoredSession]:
        if store.path.suffix in _OPAQUE:
            yield from _opaque(store.path)
            return
        folder = _folder(store.path)
        lines = partial(_lines, store, folder)
        yield StoredSession(as_text(folder.name), store.stamp(), lines)


def _opaque(path: Path) -> Iterator[StoredSession]:
    why = "only Antigravity reads its form, and below brain it has neither a log nor plans"
    yield StoredSession(as_text(path.stem), "opaque", lambda _: (), why)


def _told(folder: Path) -> Path | None:
    """The log of a conversation; without one, the first of its plans."""
    logs = (folder / ".system_generated" / "logs" / name for name in _LOGS)
    return next(filter(Path.is_file, (*logs, *(folder / name for name in _PLANS))), None)


def _folder(path: Path) -> Path:
    """The folder of a conversation."""
    return path.parent.parent.parent if path.parent.name == "logs" else path.parent


def _lines(store: Store, folder: Path, unread: UnreadLines) -> Iterator[Line]:
    """The steps of the log; then the plans, which the agent writes anew."""
    session, plans = as_text(folder.name), list(_plans(folder))
    title = next((headline(plan) for _, plan, _ in plans if headline(plan)), "")
    of: dict[str, Any] = {"cwd": "", "waiting": [], "last": None}
    if store.path.name in _LOGS:
        store.place.remember("reader", of)
        of["cwd"] = of["cwd"] or _workspace(folder) or _first_directory(store.path)
        if not of["cwd"]:
            store.place.forget()  # a later step may tell
        for step in json_lines(WholeFile(store.path, "", unread=unread, place=store.place)):
            key, at = str(step.get("step_index", unread.at)), when(step.get("created_at"))
            of["last"] = at or of["last"]
            events = tuple(_events(step, key, of["waiting"], unread))
            named = (SessionTitle(title),) if title and events else ()
            yield Line(key, session, at, of["cwd"], "", MAIN, (*events, *named))
    cwd = of["cwd"] or _workspace(folder)
    for name, plan, written in plans:
        said = (AgentText(plan), SessionTitle(title)) if plan else ()
        yield Line(name, session, of["last"] or written, cwd, "", MAIN, said)


def _plans(folder: Path) -> Iterator[tuple[str, str, int]]:
    """The name of each plan, its text, and when it was written."""
    for name in _PLANS:
        try:
            data = read_regular_file(folder / name, _MAX_PLAN_BYTES, follow=False)
            about = object_of(_beside(folder / f"{name}.metadata.json"))
            written = when(about.get("updatedAt")) or round((folder / name).stat().st_mtime * 1000)
        except FileNotFoundError:
            continue
        yield name, clean_text(data.decode("utf-8", "replace")).strip(), written


def _events(
    step: Mapping[str, Any], key: str, waiting: list[str], unread: UnreadLines
) -> Iterator[Event]:
    """What a step says. Calls have no ids: an answer is that of the first call that waits."""
    source, kind, said = step.get("source"), step.get("type"), clean_text(step.get("content"))
    if not isinstance(kind, str):
        kind = clean_text(kind)
    if kind == "USER_INPUT":
        # What a hook or the program adds comes from another source.
        if source in (None, "USER_EXPLICIT"):
            match = _ASKED.search(said)
            if asked := without_injected(match[1] if match else said):
                yield Prompt(asked)
    elif kind == "PLANNER_RESPONSE":
        waiting.clear()
        if said.strip():
            yield AgentText(said.strip())
        for number, call in enumerate(map(fields, items(step.get("tool_calls")))):
            waiting.append(f"{key}-{number}")
            name = clean_text(call.get("name")).removeprefix("default_api:")
            given = {key: _decoded(value) for key, value in fields(call.get("args")).items()}
            yield call_of(_TOOLS, waiting[-1], name, given)
    elif kind in _ANSWERS:
        if not waiting or (source != "MODEL" and kind != "ERROR_MESSAGE"):
            return
        failed = kind == "ERROR_MESSAGE" or step.get("status") == "ERROR"
        answer = _TIMES.sub("", said or clean_text(step.get("error")))
        exited = _EXITED.search(answer) if kind == "RUN_COMMAND" else None
        code = exit_code(exited[1]) if exited else 0
        yield result_of(waiting.pop(0), answer, failed=failed, code=code)
    elif step and kind not in _SILENT:
        of = f"of type {clean_text(kind)}" if kind else f"with {', '.join(map(clean_text, step))}"
        unread.not_known(f"a step {of}")


def _decoded(value: object) -> object:
    """An argument, which the CLI writes as JSON in a text."""
    if isinstance(value, str) and value[:1] in '"[{':
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _first_directory(path: Path) -> str:
    """The directory of the first command in a log."""
    steps = json_lines(WholeFile(path, ""))
    calls = (fields(call) for step in steps for call in items(step.get("tool_calls")))
    given = (_decoded(fields(call.get("args")).get("Cwd")) for call in calls)
    return next(filter(None, map(clean_text, given)), "")


def _workspace(folder: Path) -> str:
    """The folder that the summaries beside ``brain`` name for a conversation; "" for none."""
    path = folder.parent.parent / "conversation_summaries.db"
    if path.is_file():
        with beside(path, "conversation_summaries") as database:
            rows = database.rows(_SUMMARY, folder.name) if database else []
        for (uris,) in rows:
            with suppress(ValueError, RecursionError):
                for uri in map(clean_text, items(json.loads(clean_text(uris)))):
                    return unquote(urlsplit(uri).path)
    return ""


def _beside(path: Path) -> bytes:
    try:
        return read_regular_file(path, MAX_SETTINGS)
    except OSError:
        return b""
