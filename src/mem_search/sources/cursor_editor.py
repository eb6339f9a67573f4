"""The source `cursor-editor`: chats of Cursor's editor become prompts, steps of work and summaries.

They are in ``globalStorage/state.vscdb`` below its user folder, a table of keys and JSON:
``composerData:CHAT`` with the order of the messages, ``bubbleId:CHAT:MESSAGE`` with each of them.
Cursor before 0.43 kept chats in ``workspaceStorage/WORKSPACE/state.vscdb``. Its vendor documents
neither; this follows what others found in real files.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from mem_search.contracts import Machine
from mem_search.model import Location
from mem_search.regular_file import MAX_SETTINGS, read_regular_file
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
    application_folders,
    beside,
    object_of,
    value_of,
    when,
)
from mem_search.sources.agent_work.text import clean_text, without_injected
from mem_search.sources.agent_work.transcripts import Tools, call_of, exit_code, result_of
from mem_search.sources.conversations import fields, items
from mem_search.sources.databases import ForeignDatabase
from mem_search.sources.whole_files import UnreadLines

_FILE: Final = "state.vscdb"
_GLOBAL, _OF_WORKSPACES = "globalStorage", "workspaceStorage"
_PATHS: Final = ("target_file", "file_path", "path", "targetFile", "relativeWorkspacePath",
                 "effectiveUri")  # fmt: skip
_TOOLS: Final[Tools] = {
    **dict.fromkeys(("run_terminal_cmd", "run_terminal_command_v2", "shell"), ("Bash", "command")),
    **dict.fromkeys(("read_file", "read_file_v2"), ("Read", *_PATHS)),
    **dict.fromkeys(("edit_file", "edit_file_v2", "search_replace", "delete_file", "reapply"),
                    ("Edit", *_PATHS)),
    "write": ("Write", *_PATHS),
    **dict.fromkeys(("grep", "rg", "grep_search", "ripgrep_search", "ripgrep_raw_search"),
                    ("Grep", "pattern", "query")),
    **dict.fromkeys(("glob_file_search", "file_search"),
                    ("Glob", "glob_pattern", "globPattern", "query")),
    **dict.fromkeys(("list_dir", "list_dir_v2"),
                    ("LS", "target_directory", "relative_workspace_path", "directoryPath")),
    **dict.fromkeys(("task", "task_v2"), ("Task", "description")),
    "web_search": ("WebSearch", "search_term", "searchTerm"),
    "web_fetch": ("WebFetch", "url"),
}  # fmt: skip
_PAUSE_SECONDS: Final = 60.0
"""A running editor writes all the time, and the keys of years of chats have tens of megabytes."""
_REJECTED: Final = "The user rejected this call"
_KEYS: Final = "select key, rowid from cursorDiskKV where key >= ? and key < ?"
_VALUES: Final = "select key, value from cursorDiskKV where key >= ? and key < ?"
_ITEM: Final = "select value from ItemTable where key = ?"
_TABS: Final = "workbench.panel.aichat.view.aichat.chatdata"


class CursorEditor(SessionStores):
    """A key that is written anew gets a new row: ``on conflict replace``. So rows are the stamp."""

    name = "cursor-editor"
    label = "Cursor editor"
    tables = ("ItemTable",)
    optional = ("cursorDiskKV", "composerHeaders")

    def places(self, machine: Machine) -> Iterable[Path]:
        for folder in application_folders(machine, "Cursor"):
            yield folder / "User" / _GLOBAL / _FILE

    def pause(self, location: Location) -> float:
        return _PAUSE_SECONDS

    def recognises(self, path: Path) -> bool:
        is_of_all = path.parts[-2:-1] == (_GLOBAL,)
        is_state = is_of_all or path.parts[-3:-2] == (_OF_WORKSPACES,)
        return path.name == _FILE and is_state and "Cursor" in path.parts

    def stores(self, root: Path) -> Iterable[Store]:
        """The database of all workspaces, and with it those of each; or one of these alone."""
        user = root if root.is_dir() else root.parent.parent
        if root.is_file() and root.parent.name != _GLOBAL:
            return (Store(root),)
        workspaces = sorted((user / _OF_WORKSPACES).glob(f"*/{_FILE}"))
        return [Store(path) for path in (user / _GLOBAL / _FILE, *workspaces)]

    def in_database(self, store: Store, database: ForeignDatabase) -> Iterator[StoredSession]:
        if store.path.parent.name != _GLOBAL:
            yield from _tabs(database, _folder_of(store.path.parent))
        elif "value" in database.columns.get("cursorDiskKV", ()):
            rows: dict[str, list[int]] = defaultdict(list)
            for key, row in database.rows(_KEYS, "bubbleId:", "bubbleId;"):
                rows[clean_text(key).partition(":")[2].partition(":")[0]].append(row)
            folders = cache(lambda: _folders(store.path.parent.parent, database))
            for key, row in database.rows(_KEYS, "composerData:", "composerData;"):
                chat = clean_text(key).partition(":")[2]
                stamp = f"{row}-{len(rows[chat])}-{max(rows[chat], default=0)}"
                yield StoredSession(chat, stamp, partial(_lines, database, chat, folders))


def _lines(
    database: ForeignDatabase,
    chat: str,
    folders: Callable[[], Mapping[str, str]],
    unread: UnreadLines,
) -> Iterator[Line]:
    key = f"composerData:{chat}"
    ((_, data),) = database.rows(_VALUES, key, f"{key};")
    about = fields(value_of(data, unread))
    rows = database.rows(_VALUES, f"bubbleId:{chat}:", f"bubbleId:{chat};")
    stored = {clean_text(key).rpartition(":")[2]: value for key, value in rows}
    inline = fields(about.get("conversationMap"))
    headers = items(about.get("fullConversationHeadersOnly"))
    order = [fields(each) for each in headers or items(about.get("conversation"))]
    if not order and (stored or inline):
        version = about.get("_v", "none")
        raise UnknownForm(f"it has no list of messages that is known (its version is {version})")
    folder, at = "", when(about.get("createdAt"))
    above = fields(about.get("subagentInfo"))
    root = clean_text(above.get("rootParentConversationId") or above.get("parentComposerId"))
    bubbles = []
    for unread.at, header in enumerate(order, 1):
        name = clean_text(header.get("bubbleId"))
        bubble = fields(inline.get(name)) or header
        if name in stored:
            bubble = fields(value_of(stored[name], unread))
        elif headers and bubble is header:
            unread.add(unread.at, "is not in the database")
        folder = folder or _path(next(iter(items(bubble.get("workspaceUris"))), ""))
        bubbles.append((name or str(unread.at), bubble))
    folder = folder or folders().get(chat, "")
    title = SessionTitle(clean_text(about.get("name")))
    for name, bubble in bubbles:
        at = when(bubble.get("createdAt")) or at
        events = tuple(_events(bubble, name, is_person=not root))
        if any(isinstance(event, Prompt) for event in events):
            events = (*events, title)
        yield Line(name, root or chat, at, folder, "", chat if root else MAIN, events)


def _events(bubble: Mapping[str, Any], name: str, *, is_person: bool) -> Iterator[Event]:
    said = clean_text(bubble.get("text")) or clean_text(bubble.get("rawText"))
    if bubble.get("type") in (1, "user"):
        if asked := without_injected(said):
            yield Prompt(asked) if is_person else Instruction(asked)
        return
    if said.strip():
        yield AgentText(said.strip())
    if tool := fields(bubble.get("toolFormerData")):
        call = clean_text(tool.get("toolCallId")) or name
        given = {**object_of(tool.get("params")), **object_of(tool.get("rawArgs"))}
        yield call_of(_TOOLS, call, tool.get("name"), given)
        yield from _answer(call, tool)


def _answer(call: str, tool: Mapping[str, Any]) -> Iterator[Event]:
    status, result = tool.get("status"), object_of(tool.get("result"))
    more = object_of(tool.get("additionalData"))
    if result.get("rejected") is True or tool.get("userDecision") == "rejected":
        yield result_of(call, _REJECTED, failed=True)
    elif status in ("completed", "success", "error"):
        error = fields(object_of(tool.get("error")))
        output = clean_text(result.get("output")) or clean_text(result.get("error"))
        said = clean_text(error.get("modelVisibleErrorMessage")) or output
        code = exit_code(result.get("exitCodeV2", result.get("exitCode")))
        failed = status == "error" or more.get("status") == "error"
        yield result_of(call, said or clean_text(tool.get("result")), failed=failed, code=code)


def _tabs(database: ForeignDatabase, folder: str) -> Iterator[StoredSession]:
    """The chats of a workspace of Cursor before 0.43."""
    for (value,) in database.rows(_ITEM, _TABS):
        for tab in map(fields, items(object_of(value).get("tabs"))):
            said = [fields(each) for each in items(tab.get("bubbles"))]
            chat = clean_text(tab.get("tabId") or tab.get("id"))
            stamp = f"{len(said)}-{tab.get('lastSendTime')}"
            if chat:
                yield StoredSession(chat, stamp, partial(_of_tab, chat, tab, said, folder))


def _of_tab(
    chat: str, tab: Mapping[str, Any], said: list[Mapping[str, Any]], folder: str, _: UnreadLines
) -> Iterator[Line]:
    at = when(tab.get("createdAt")) or when(tab.get("lastSendTime"))
    title = SessionTitle(clean_text(tab.get("chatTitle") or tab.get("title")))
    for number, bubble in enumerate(said, 1):
        name = clean_text(bubble.get("id")) or str(number)
        events = (*_events(bubble, name, is_person=True), title)
        yield Line(name, chat, at, folder, "", MAIN, events)


def _folders(user: Path, database: ForeignDatabase) -> Mapping[str, str]:
    """Chat → the folder of its workspace, as the databases of workspaces and of all say."""
    folders: dict[str, str] = {}
    for path in sorted((user / _OF_WORKSPACES).glob(f"*/{_FILE}")):
        with beside(path, "ItemTable") as workspace:
            rows = workspace.rows(_ITEM, "composer.composerData") if workspace else []
        for chat in [
            each for (value,) in rows for each in items(object_of(value).get("allComposers"))
        ]:
            folders[clean_text(fields(chat).get("composerId"))] = _folder_of(path.parent)
    if {"composerId", "workspaceId"} <= database.columns.get("composerHeaders", frozenset()):
        for chat, name in database.rows("select composerId, workspaceId from composerHeaders"):
            if folder := _folder_of(user / _OF_WORKSPACES / Path(clean_text(name)).name):
                folders[clean_text(chat)] = folder
    return folders


def _folder_of(workspace: Path) -> str:
    """The folder that is open in a workspace, or that its list of several folders is in."""
    try:
        about = object_of(read_regular_file(workspace / "workspace.json", MAX_SETTINGS))
    except OSError:
        return ""
    several = _path(about.get("workspace"))
    return _path(about.get("folder")) or (str(Path(several).parent) if several else "")


def _path(uri: object) -> str:
    """The path of a URI: ``file:///x``, or ``vscode-remote://ssh-remote+host/x``."""
    text = clean_text(uri) or clean_text(fields(uri).get("external"))
    try:
        return unquote(urlsplit(text).path) if "://" in text else text
    except ValueError:
        return ""
