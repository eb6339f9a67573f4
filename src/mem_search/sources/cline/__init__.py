"""The sources `cline` and `roo-code`: tasks become prompts, steps of work and summaries.

A task is a folder ``tasks/ID`` of the editor extension, with what the person saw in
``ui_messages.json`` and what the model got in ``api_conversation_history.json``. Newer versions of
Cline, its command line among them, write ``sessions/ID/ID.messages.json`` below ``~/.cline/data``.

What the model got has the form of Anthropic's API. Older versions write calls as tags into the text
of the model, and their results into what is sent as the person's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, Final, NamedTuple

from mem_search.contracts import Machine
from mem_search.model import Draft, LedgerEntry, Location
from mem_search.model.ingest import WholeSession
from mem_search.patterns import pattern
from mem_search.platform import expanded
from mem_search.sources.agent_work.events import (
    MAIN,
    AgentText,
    Event,
    Instruction,
    Line,
    Prompt,
    SessionTitle,
    ToolCall,
)
from mem_search.sources.agent_work.session_documents import (
    SessionDocuments,
    beside,
    document,
    editor_folders,
    not_understood,
    path_of,
    said_in,
    seconds,
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
from mem_search.sources.cline import shown
from mem_search.sources.cline.shown import Messages
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
        read = _sent_messages if file.path.name == _SENT else shown.messages
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
            data = Path(expanded(machine.environ["CLINE_DIR"])) / "data"
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
        for key, at, events in _session(self, file, said, version, is_child=is_child):
            name = f"{own}:{key}" if is_child else key
            yield Line(name, session, at, cwd, "", agent, events)
        if (title := clean_text(fields(known.get("metadata")).get("title"))) and not is_child:
            yield Line("title", session, None, cwd, "", agent, (SessionTitle(title),))


class RooCode(Tasks):
    """A subtask belongs to the task that a person began."""

    name = "roo-code"
    label = "Roo Code"
    extensions = ("rooveterinaryinc.roo-cline", "roo-code.roo-cline")


_TOOLS: Final[Tools] = {
    "execute_command": ("Bash", "command"),
    "run_commands": ("Bash", "command", "commands"),
    "read_file": ("Read", "path"),
    "read_files": ("Read", "path"),
    "editor": ("Edit", "path"),
    "write_to_file": ("Write", "path"),
    "replace_in_file": ("Edit", "path"),
    "apply_diff": ("Edit", "path"),
    "insert_content": ("Edit", "path"),
    "search_and_replace": ("Edit", "path"),
    "search_files": ("Grep", "regex"),
    "search_codebase": ("Grep", "query", "queries"),
    "list_files": ("LS", "path"),
    "web_fetch": ("WebFetch", "url"),
    "fetch_web_content": ("WebFetch", "url"),
    "web_search": ("WebSearch", "query"),
    "new_task": ("Task", "message"),
    "spawn_agent": ("Task", "task"),
}
_ROLES: Final = ("user", "assistant", "system")
_PERSON: Final = ("task", "user_message", "feedback", "answer", "user_input")
_CALLS: Final = (
    "execute_command", "read_file", "write_to_file", "replace_in_file", "apply_diff",
    "insert_content", "search_and_replace", "search_files", "list_files", "new_task",
)  # fmt: skip
_DETAILS: Final = ("environment_details",)
_OPENS: Final = pattern(r"<([a-z_]{1,30})(?: [^<>]{0,200})?>")
_ARGUMENT: Final = pattern(r"<(command|path|regex|message)>([^<]*)</\1>")
_RESULT: Final = pattern(r"\[[a-z_]+(?: for [^\n]*)?\] Result:")
_DIRECTORY: Final = pattern(r"Current (?:Working|Workspace) Directory \(([^()\n]{1,4096})\) Files")
_EXITED: Final = pattern(r"\bexit(?:ed with)? code:? (\d{1,9})\b\]?\s*", re.IGNORECASE)
_STREAM: Final = pattern(r"^\[std(?:out|err)\]\s*", re.MULTILINE)


def _sent_messages(source: SessionDocuments, file: WholeFile, *, is_child: bool) -> Messages:
    """The messages of a task whose ``ui_messages.json`` is not there."""
    sent = source.messages(file, document(file))
    place = ""
    for number, message in enumerate(map(fields, sent), 1):
        content = message.get("content")
        named = _DIRECTORY.search(words(content))
        place = named[1] if named else place
        at = moment(seconds(message.get("ts")))
        yield f"sent-{number}", at, place, _events(source, file, number, message, "", is_child)


def _session(
    source: SessionDocuments, file: WholeFile, sent: list[Any], version: str, *, is_child: bool
) -> Iterator[tuple[str, int | None, tuple[Event, ...]]]:
    """The messages of a session of the newer versions: key, time and events of each."""
    for number, message in enumerate(map(fields, sent), 1):
        key = clean_text(message.get("id")) or f"message-{number}"
        at = moment(seconds(message.get("ts")))
        yield key, at, _events(source, file, number, message, version, is_child)


def _events(
    source: SessionDocuments,
    file: WholeFile,
    number: int,
    message: Mapping[str, Any],
    version: str,
    is_child: bool,
) -> tuple[Event, ...]:
    role, content = message.get("role"), message.get("content")
    if role not in _ROLES or not isinstance(content, str | list):
        what = f"a message of {clean_text(role) or 'nobody'} in another form"
        not_understood(file, number, what, f"{source.label} {version}")
    events: list[Event] = []
    for event in said_in(_TOOLS, role, content, _answer):
        if isinstance(event, Prompt):
            asked = _asked(event.text)
            events += [Instruction(asked) if is_child else Prompt(asked)] if asked else []
        elif isinstance(event, AgentText):
            events += _written(event.text, number)
        elif isinstance(event, ToolCall):
            events += _several(event, fields(_part(content, event.call)))
        else:
            events.append(event)
    return tuple(events)


def _asked(text: str) -> str:
    """What the person wrote, of all that is sent as the person's."""
    said = [each.inner.strip() for each in _tagged(text, _PERSON)]
    if not said and not _RESULT.search(text) and not text.startswith(("[ERROR]", "[TASK RES")):
        said = [_without(text, _DETAILS)]
    return without_injected("\n\n".join(filter(None, said)))


class _Tagged(NamedTuple):
    name: str
    inner: str
    start: int
    end: int


def _tagged(text: str, names: Collection[str]) -> Iterator[_Tagged]:
    """What stands in tags of these names, one after the other; a tag that never ends is text."""
    at, unclosed = 0, set[str]()
    for tag in _OPENS.finditer(text):
        if tag.start() < at or tag[1] not in names or tag[1] in unclosed:
            continue
        close = f"</{tag[1]}>"
        end = text.find(close, tag.end())
        if end < 0:
            unclosed.add(tag[1])
        else:
            at = end + len(close)
            yield _Tagged(tag[1], text[tag.end() : end], tag.start(), at)


def _without(text: str, names: Collection[str]) -> str:
    at, kept = 0, []
    for each in _tagged(text, names):
        kept.append(text[at : each.start])
        at = each.end
    return "".join([*kept, text[at:]]).strip()


def _written(text: str, number: int) -> Iterator[Event]:
    """What the model said, and the calls that it wrote into it as tags."""
    said = _without(text, ("thinking",))
    if words := _without(said, _CALLS):
        yield AgentText(words)
    for place, each in enumerate(_tagged(said, _CALLS)):
        call = f"{number}/{place}"
        given = {key: value.strip() for key, value in _ARGUMENT.findall(each.inner)}
        yield call_of(_TOOLS, call, each.name, given)
        yield result_of(call, "", failed=False)


def _part(content: object, call: str) -> object:
    return next((part for part in items(content) if fields(part).get("id") == call), None)


def _several(call: ToolCall, part: Mapping[str, Any]) -> Iterator[Event]:
    """A call that names several commands or files, as one for each; the first has the answer."""
    given = fields(part.get("input"))
    several = items(given.get("commands")) or items(given.get("files")) or [None]
    for number, each in enumerate(several):
        name = call.call if not number else f"{call.call}/{number}"
        if each is None:
            yield call
        else:
            one = {"command": each} if "commands" in given else fields(each)
            yield call_of(_TOOLS, name, part.get("name"), one)
        if number:
            yield result_of(name, "", failed=False)


def _answer(part: Mapping[str, Any]) -> Event:
    content = part.get("content")
    results = [fields(each) for each in items(content) if "success" in fields(each)]
    if isinstance(content, str) and content[:1] == "{":
        try:
            results = [fields(json.loads(content))]
        except (ValueError, RecursionError):
            results = []
    failed = part.get("is_error") is True or any(e.get("success") is False for e in results)
    said = "\n".join(clean_text(e.get("result")) or clean_text(e.get("error")) for e in results)
    said = said or clean_text(content) or words(content)
    exited = _EXITED.search(said) if failed else None
    code = exit_code(exited[1]) if exited else 0
    answer = _STREAM.sub("", said[exited.end() :] if exited else said).strip()
    return result_of(part.get("tool_use_id"), answer, failed=failed, code=code)
