"""The source `amp`: threads of Amp become prompts, steps of work and summaries.

A thread is a JSON document ``threads/T-ID.json`` below ``~/.local/share/amp``, once of its editor
extension ``threads3/T-ID.json``. Its messages have the form of Anthropic's API. Newer versions keep
threads on their vendor's servers, and nothing here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from mem_search.contracts import Machine
from mem_search.model import Location
from mem_search.sources.agent_work.events import MAIN, Event, Line, SessionTitle
from mem_search.sources.agent_work.session_documents import (
    SessionDocuments,
    document,
    editor_folders,
    not_understood,
    path_of,
    said_in,
    seconds,
)
from mem_search.sources.agent_work.text import clean_text
from mem_search.sources.agent_work.transcripts import Tools, exit_code, home_of, result_of
from mem_search.sources.conversations import fields, items, moment
from mem_search.sources.whole_files import WholeFile

_EXTENSION: Final = Path("globalStorage", "sourcegraph.amp", "threads3")
_TOOLS: Final[Tools] = {
    "Bash": ("Bash", "cmd", "command"),
    "shell_command": ("Bash", "command", "cmd"),
    "Read": ("Read", "path"),
    "read_file": ("Read", "path"),
    "edit_file": ("Edit", "path"),
    "undo_edit": ("Edit", "path"),
    "create_file": ("Write", "path"),
    "Grep": ("Grep", "pattern"),
    "glob": ("Glob", "filePattern", "pattern"),
    "list_directory": ("LS", "path"),
    "finder": ("Grep", "query"),
    "web_search": ("WebSearch", "query", "objective"),
    "read_web_page": ("WebFetch", "url"),
    "Task": ("Task", "description"),
    "oracle": ("Task", "task"),
}
_ROLES: Final = ("user", "assistant", "system", "parent", "info")
"""``parent``: what a thread says of the one that it was made from."""


class Amp(SessionDocuments):
    """Only what the person wrote and the times of some messages are dated."""

    name = "amp"
    label = "Amp"
    usual, folder = ".local/share/amp", "threads"
    tools = _TOOLS

    looks_in = (
        "~/.local/share/amp/threads or $XDG_DATA_HOME/amp/threads, sourcegraph.amp in VS Code and"
        " its relatives"
    )

    def discover(self, machine: Machine) -> Iterable[Location]:
        root = home_of(machine, ".local/share", "XDG_DATA_HOME") / "amp" / self.folder
        for place in (root, *(user / _EXTENSION for _, user in editor_folders(machine))):
            if place.is_dir():
                yield Location(self.name, str(place), label="Amp threads")

    def recognises(self, path: Path) -> bool:
        is_thread = path.name.startswith("T-") and path.suffix == ".json"
        return is_thread and path.parent.name in ("threads", "threads3")

    def lines(self, file: WholeFile) -> Iterator[Line]:
        thread = fields(document(file))
        began = fields(fields(thread.get("env")).get("initial"))
        version = clean_text(fields(began.get("platform")).get("clientVersion"))
        tree = fields(next(iter(items(began.get("trees"))), None))
        cwd = path_of(tree.get("uri"))
        branch = clean_text(fields(tree.get("repository")).get("ref")).removeprefix("refs/heads/")
        session = clean_text(thread.get("id")) or Path(file.name).stem
        at = moment(seconds(thread.get("created")))
        messages = self.messages(file, thread.get("messages"), version)
        for number, message in enumerate(map(fields, messages), 1):
            sent = moment(seconds(fields(message.get("meta")).get("sentAt")))
            at = sent or moment(fields(message.get("usage")).get("timestamp")) or at
            role, content = message.get("role"), message.get("content")
            if role not in _ROLES or not isinstance(content, str | list):
                what = f"a message of {clean_text(role) or 'nobody'} in another form"
                not_understood(file, number, what, f"Amp {version}")
            key = message.get("messageId")
            name = f"message-{key if isinstance(key, int | str) else f'at-{number}'}"
            events = tuple(said_in(_TOOLS, role, _shown(content), _answer))
            yield Line(name, session, at, cwd, branch, MAIN, events)
        if title := clean_text(thread.get("title")):
            yield Line("title", session, None, cwd, branch, MAIN, (SessionTitle(title),))


def _shown(content: object) -> object:
    """The content without what the program hides from the person."""
    parts = items(content)
    return [part for part in parts if fields(part).get("hidden") is not True] if parts else content


def _answer(part: Mapping[str, Any]) -> Event:
    run = fields(part.get("run"))
    result, status = run.get("result"), run.get("status")
    code = exit_code(fields(result).get("exitCode"))
    said = clean_text(result) or clean_text(fields(result).get("output"))
    if status in ("error", "cancelled"):
        said = said or clean_text(fields(run.get("error")).get("message")) or clean_text(status)
    if status == "rejected-by-user":
        said = f"The user rejected this call; the user said: {clean_text(run.get('reason'))}"
    failed = status in ("error", "cancelled", "rejected-by-user")
    return result_of(part.get("toolUseID"), said, failed=failed, code=code)
