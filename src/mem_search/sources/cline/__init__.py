"""The sources `cline` and `roo-code`: tasks become prompts, steps of work and summaries.

A task is a folder ``tasks/ID`` of the editor extension, with what the person saw in
``ui_messages.json`` and what the model got in ``api_conversation_history.json``. Newer versions of
Cline, its command line among them, write ``sessions/ID/ID.messages.json`` below ``~/.cline/data``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, Final

from mem_search.contracts import Machine
from mem_search.model import Draft, LedgerEntry, Location
from mem_search.model.ingest import WholeSession
from mem_search.sources.agent_work.events import MAIN, Line, SessionTitle
from mem_search.sources.agent_work.session_documents import (
    SessionDocuments,
    beside,
    document,
    editor_folders,
    path_of,
    seconds,
)
from mem_search.sources.agent_work.text import clean_text
from mem_search.sources.agent_work.transcripts import home_of
from mem_search.sources.cline import conversation, shown
from mem_search.sources.conversations import fields, items, moment
from mem_search.sources.whole_files import NotHere, WholeFile

_SHOWN: Final = "ui_messages.json"
_SENT: Final = "api_conversation_history.json"
_MESSAGES: Final = ".messages.json"


class Tasks(SessionDocuments):
    """A task is known by its folder. A file without it tells neither task nor directory."""

    file_format = None
    folder = "tasks"
    tools = shown.TOOLS
    extensions: ClassVar[tuple[str, ...]]

    @property
    def looks_in(self) -> str:
        return f"VS Code and its relatives: User/globalStorage/{self.extensions[0]}/tasks of each"

    def discover(self, machine: Machine) -> Iterable[Location]:
        for editor, user in editor_folders(machine):
            for extension in self.extensions:
                tasks = user / "globalStorage" / extension / self.folder
                if tasks.is_dir():
                    yield Location(self.name, str(tasks), label=f"{self.label} tasks in {editor}")

    def recognises(self, path: Path) -> bool:
        """A copy of tasks outside of the folder of an extension is taken for Cline's."""
        is_task = path.name in (_SHOWN, _SENT) and path.parts[-3:-2] == (self.folder,)
        return is_task and self._is_ours(path)

    def _is_ours(self, path: Path) -> bool:
        return bool({*self.extensions} & {*path.parts})

    def drafts(self, file: WholeFile) -> Iterator[Draft | LedgerEntry | WholeSession | NotHere]:
        if file.path.name == _SENT and file.path.with_name(_SHOWN).is_file():
            yield LedgerEntry(file.name, "left", f"{_SHOWN} beside it says the same, with times")
        else:
            yield from super().drafts(file)

    def lines(self, file: WholeFile) -> Iterator[Line]:
        task = file.path.parent.name
        known = _task(file.path.parent, task)
        cwd = path_of(
            known.get("workspace")
            or known.get("cwdOnTaskInitialization")
            or known.get("shadowGitConfigWorkTree")
        )
        began = moment(seconds(known.get("ts")))
        parent = clean_text(known.get("rootTaskId")) or clean_text(known.get("parentTaskId"))
        is_child = bool(parent) and parent != task
        read = conversation.messages if file.path.name == _SENT else shown.messages
        for key, at, place, events in read(self, file, is_child=is_child):
            cwd = cwd or place
            name = f"{task}:{key}" if is_child else key
            session, agent = (parent, task) if is_child else (task, MAIN)
            yield Line(name, session, at or began, cwd, "", agent, events)


def _task(folder: Path, task: str) -> Mapping[str, Any]:
    """What the list of tasks says of this one: Roo Code's in its folder, Cline's in one for all."""
    own = fields(beside(folder / "history_item.json"))
    listed = items(beside(folder.parent.parent / "state" / "taskHistory.json"))
    named = (each for each in map(fields, listed) if each.get("id") == task)
    return own or next(named, {})


class Cline(Tasks):
    """Also sessions of the versions that keep them in the home of the person."""

    name = "cline"
    label = "Cline"
    extensions = ("saoudrizwan.claude-dev",)

    @property
    def looks_in(self) -> str:
        return f"{super().looks_in}, ~/.cline/data, $CLINE_DIR/data or $CLINE_DATA_DIR"

    def discover(self, machine: Machine) -> Iterable[Location]:
        yield from super().discover(machine)
        data = home_of(machine, ".cline/data", "CLINE_DATA_DIR")
        if "CLINE_DATA_DIR" not in machine.environ and machine.environ.get("CLINE_DIR"):
            data = Path(machine.environ["CLINE_DIR"]).expanduser() / "data"
        for place in (data / self.folder, data / "sessions"):
            if place.is_dir():
                yield Location(self.name, str(place), label=f"Cline {place.name}")

    def recognises(self, path: Path) -> bool:
        is_session = path.name.endswith(_MESSAGES) and path.parts[-3:-2] == ("sessions",)
        return is_session or super().recognises(path)

    def _is_ours(self, path: Path) -> bool:
        return not {*RooCode.extensions} & {*path.parts}

    def lines(self, file: WholeFile) -> Iterator[Line]:
        if not file.path.name.endswith(_MESSAGES):
            yield from super().lines(file)
            return
        saved = fields(document(file))
        session, own = file.path.parent.name, file.path.name.removesuffix(_MESSAGES)
        known = fields(beside(file.path.with_name(f"{session}.json")))
        version = clean_text(fields(saved.get("origin")).get("version"))
        cwd = path_of(known.get("cwd")) or path_of(known.get("workspace_root"))
        is_child = own != session  # a subagent's lies beside that of its caller
        agent = own if is_child else MAIN
        said = self.messages(file, saved.get("messages"), version)
        for key, at, events in conversation.session(self, file, said, version, is_child=is_child):
            name = f"{own}:{key}" if is_child else key
            yield Line(name, session, at, cwd, "", agent, events)
        if (title := clean_text(fields(known.get("metadata")).get("title"))) and not is_child:
            yield Line("title", session, None, cwd, "", agent, (SessionTitle(title),))


class RooCode(Tasks):
    """A subtask belongs to the task that a person began."""

    name = "roo-code"
    label = "Roo Code"
    extensions = ("rooveterinaryinc.roo-cline", "roo-code.roo-cline")
