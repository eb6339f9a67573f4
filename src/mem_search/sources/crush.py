"""The source `crush`: sessions of Charm's Crush become prompts, steps of work and summaries.

Each project has a database, ``.crush/crush.db`` or where ``data_directory`` of its settings says;
``projects.json`` in Crush's data folder lists them. It is only read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from mem_search.contracts import Machine
from mem_search.patterns import pattern
from mem_search.platform import expanded
from mem_search.regular_file import MAX_SETTINGS, read_regular_file
from mem_search.sources.agent_work.events import (
    MAIN,
    AgentText,
    Compaction,
    Event,
    Instruction,
    Line,
    Prompt,
    SessionTitle,
    ToolCall,
)
from mem_search.sources.agent_work.session_stores import (
    SessionStores,
    Store,
    StoredSession,
    object_of,
    root_of,
    value_of,
    when,
)
from mem_search.sources.agent_work.text import clean_text, without_injected
from mem_search.sources.agent_work.transcripts import Tools, call_of, exit_code, home_of, result_of
from mem_search.sources.conversations import fields, items
from mem_search.sources.databases import ForeignDatabase
from mem_search.sources.whole_files import UnreadLines

_FILE: Final = "crush.db"
_PROJECTS: Final = "projects.json"
_TOOLS: Final[Tools] = {
    "bash": ("Bash", "command"),
    "view": ("Read", "file_path"),
    "write": ("Write", "file_path"),
    "edit": ("Edit", "file_path"),
    "multiedit": ("MultiEdit", "file_path"),
    "download": ("Write", "file_path"),
    "grep": ("Grep", "pattern"),
    "glob": ("Glob", "pattern"),
    "ls": ("LS", "path"),
    "agent": ("Task", "prompt"),
    "agentic_fetch": ("WebFetch", "url", "prompt"),
    "fetch": ("WebFetch", "url"),
    "web_fetch": ("WebFetch", "url"),
    "web_search": ("WebSearch", "query"),
}
_SILENT: Final = ("reasoning", "image_url", "binary", "finish")
"""Parts of which nothing is stored."""
_UNTITLED: Final = ("Untitled Session", "New Session")
_EXITED: Final = pattern(r"\s*^Exit code (\d{1,9})\s*(?=<cwd>|\Z)", re.MULTILINE)
_CWD: Final = pattern(r"\s*<cwd>[^<]*</cwd>\s*\Z")
_SESSIONS: Final = """
    select s.id, s.parent_session_id, s.title, count(m.id), max(m.updated_at),
           max(coalesce(m.finished_at, 0))
    from sessions s join messages m on m.session_id = s.id group by s.id
    order by s.created_at, s.id
"""


class Crush(SessionStores):
    """The work of a subagent, which has a session of its own, belongs to the session above it."""

    name = "crush"
    label = "Crush"
    tables = ("sessions", "messages")
    optional = ("goose_db_version",)

    def places(self, machine: Machine) -> Iterable[Path]:
        given = machine.environ.get("CRUSH_GLOBAL_DATA", "")
        data = Path(expanded(given)) if given else None
        data = data or home_of(machine, ".local/share", "XDG_DATA_HOME") / "crush"
        if (data / _PROJECTS).is_file():
            yield data
        here = machine.cwd / ".crush" / _FILE
        if all(here != store.path for store in self.stores(data)):
            yield here  # Crush before 2026 has no list

    def recognises(self, path: Path) -> bool:
        return path.name == _FILE

    def stores(self, root: Path) -> Iterable[Store]:
        if root.is_file():
            is_usual = root.parent.name == ".crush"
            yield Store(root, str(root.parent.parent if is_usual else root.parent))
            return
        for project in _projects(root / _PROJECTS):
            folder, data = clean_text(project.get("path")), clean_text(project.get("data_dir"))
            if folder and data:
                yield Store(Path(folder, data, _FILE), folder)
        for path in (root / _FILE, root / ".crush" / _FILE):
            yield Store(path, str(root.parent if root.name == ".crush" else root))

    def in_database(self, store: Store, database: ForeignDatabase) -> Iterator[StoredSession]:
        rows = database.rows(_SESSIONS)
        parents = {row[0]: row[1] for row in rows}
        for session, _, title, count, changed, finished in rows:
            root, name = root_of(session, parents), clean_text(title)
            told = "" if root != session or name in _UNTITLED else name
            lines = partial(_lines, database, session, root, store.folder, told)
            yield StoredSession(session, f"{changed}-{finished}-{count}", lines)


def _projects(path: Path) -> Iterator[Mapping[str, Any]]:
    try:
        content = read_regular_file(path, MAX_SETTINGS)
    except OSError:
        return iter(())
    return map(fields, items(object_of(content).get("projects")))


def _lines(
    database: ForeignDatabase,
    session: str,
    root: str,
    folder: str,
    title: str,
    unread: UnreadLines,
) -> Iterator[Line]:
    agent = MAIN if session == root else session
    has_summary = "is_summary_message" in database.columns["messages"]
    rows = database.rows(
        f"select id, role, parts, created_at, {'is_summary_message' if has_summary else '0'}"  # noqa: S608
        " from messages where session_id = ? order by created_at, rowid",
        session,
    )
    if "version_id" in database.columns.get("goose_db_version", ()):
        ((version,),) = database.rows("select max(version_id) from goose_db_version")
        unread.program = f"Crush, schema {version}"
    for unread.at, (key, role, parts, at, is_summary) in enumerate(rows, 1):
        events: list[Event] = []
        for part in map(fields, items(value_of(parts, unread))):
            kind, data = part.get("type"), fields(part.get("data"))
            if kind == "text" and (said := clean_text(data.get("text")).strip()):
                events += _said(said, clean_text(role), agent, is_summary=bool(is_summary))
            elif kind in ("tool_call", "tool_result", "shell_command"):
                events += _work(clean_text(kind), data, clean_text(key))
            elif kind not in ("text", *_SILENT):
                unread.not_known(f"a part {clean_text(kind) or kind}")
        if title and any(isinstance(event, Prompt) for event in events):
            events.append(SessionTitle(title))
        yield Line(clean_text(key), root, when(at), folder, "", agent, tuple(events))


def _said(text: str, role: str, agent: str, *, is_summary: bool) -> Iterator[Event]:
    if role == "user" and (asked := without_injected(text)):
        yield Prompt(asked) if agent == MAIN else Instruction(asked)
    elif role == "assistant":
        yield Compaction(text) if is_summary else AgentText(text)


def _work(kind: str, data: Mapping[str, Any], key: str) -> Iterator[Event]:
    if kind == "tool_call":
        yield call_of(_TOOLS, data.get("id"), data.get("name"), object_of(data.get("input")))
    elif kind == "tool_result":
        said = _CWD.sub("", clean_text(data.get("content")))
        codes = _EXITED.findall(said) if data.get("name") == "bash" else []
        code = exit_code(codes[-1]) if codes else 0
        said = _EXITED.sub("", said) if codes else said
        failed = data.get("is_error") is True
        yield result_of(data.get("tool_call_id"), said, failed=failed, code=code)
    else:  # the person ran it with `!`
        yield ToolCall(f"{key}/shell", "Bash", {"command": data.get("command")})
        code = exit_code(data.get("exit_code"))
        yield result_of(f"{key}/shell", clean_text(data.get("output")), failed=False, code=code)
