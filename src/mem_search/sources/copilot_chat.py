"""The source `copilot-chat`: chats of VS Code become prompts, steps of work and summaries.

A chat is a file ``workspaceStorage/WORKSPACE/chatSessions/ID.jsonl``, or in
``globalStorage/emptyWindowChatSessions`` where no folder was open. It has the chat as it was, then
a line for each change of it; an older ``ID.json`` has the chat itself.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any, Final

from mem_search.contracts import Machine
from mem_search.model import Draft, LedgerEntry, Location
from mem_search.model.ingest import WholeSession
from mem_search.patterns import pattern
from mem_search.sources.agent_work.events import MAIN, AgentText, Event, Line, Prompt, SessionTitle
from mem_search.sources.agent_work.session_documents import (
    SessionDocuments,
    beside,
    document,
    editor_folders,
    not_understood,
    path_of,
    seconds,
)
from mem_search.sources.agent_work.text import clean_text, without_injected
from mem_search.sources.agent_work.transcripts import Tools, call_of, exit_code, result_of
from mem_search.sources.conversations import fields, items, json_lines, moment
from mem_search.sources.growing import Rewritten
from mem_search.sources.whole_files import NotHere, WholeFile

_WORKSPACES: Final = "workspaceStorage"
_CHATS: Final = "chatSessions"
_FOLDERS: Final = (_CHATS, "emptyWindowChatSessions", "transferredChatSessions")
_VERSION: Final = 3
_ADD: Final = 2
_CHANGES: Final = (1, _ADD, 3)
_HEAD: Final = ("version", "sessionId", "creationDate", "workingDirectory", "customTitle")
"""What is read of a chat beside its requests."""
_DENIED: Final = 0
"""Why a call was not made: the person said no."""

_PATHS: Final = ("filePath", "path")
_TOOLS: Final[Tools] = {
    **dict.fromkeys(("run_in_terminal", "runInTerminal"), ("Bash", "command")),
    **dict.fromkeys(("read_file", "copilot_readFile"), ("Read", *_PATHS)),
    **dict.fromkeys(("create_file", "copilot_createFile"), ("Write", *_PATHS)),
    **dict.fromkeys(
        ("replace_string_in_file", "multi_replace_string_in_file", "insert_edit_into_file",
         "copilot_replaceString", "copilot_multiReplaceString", "copilot_insertEdit",
         "vscode_editFile_internal", "textEditGroup", "notebookEditGroup"),
        ("Edit", *_PATHS),
    ),
    **dict.fromkeys(("grep_search", "copilot_findTextInFiles"), ("Grep", "query")),
    **dict.fromkeys(("file_search", "copilot_findFiles"), ("Glob", "query")),
    **dict.fromkeys(("list_dir", "copilot_listDirectory"), ("LS", "path")),
    **dict.fromkeys(("runSubagent", "run_subagent"), ("Task", "description")),
}  # fmt: skip
_TEXTS: Final = ("", "markdownContent", "markdownVuln")
_OTHERS: Final = frozenset(
    """
    agentQuestion clearToPreviousToolInvocation codeCitation codeblockUri command confirmation
    disabledClaudeHooks elicitation elicitationSerialized extensions externalEdit hook
    mcpServersStarting mcpServersStartingSerialized multiDiffData planReview prepareToolInvocation
    progressMessage progressTask progressTaskSerialized pullRequest questionCarousel reference
    systemNotification thinking toolInvocation treeData undoStop usage usedContext warning
    workspaceEdit
    """.split()
)
"""Parts of an answer that are neither words of the agent nor its work."""

_LINK: Final = pattern(r"\]\((file:[^()\s]{1,4096})\)")


class CopilotChat(SessionDocuments):
    """Chats of GitHub Copilot, and of whatever else answers in VS Code's chat."""

    name = "copilot-chat"
    label = "VS Code Chat"
    file_format = None  # the directory is in a file beside it
    tools = _TOOLS

    looks_in = "VS Code and its relatives: User/workspaceStorage and User/globalStorage of each"

    def discover(self, machine: Machine) -> Iterable[Location]:
        for editor, user in editor_folders(machine):
            if any((user / _WORKSPACES).glob(f"*/{_CHATS}")):
                yield Location(self.name, str(user / _WORKSPACES), label=f"chats in {editor}")
            for place in (user / "globalStorage" / name for name in _FOLDERS[1:]):
                if place.is_dir():
                    yield Location(self.name, str(place), label=f"chats in {editor}, no folder")

    def recognises(self, path: Path) -> bool:
        return path.suffix in (".json", ".jsonl") and path.parent.name in _FOLDERS

    def _below(
        self,
        root: Path,
        refuse: Callable[[OSError], None] = lambda _: None,
        *,
        is_copy: bool = False,
    ) -> Iterator[tuple[Path, str]]:
        """Only chats: beside them extensions keep hundreds of thousands of files."""
        if root.name != _WORKSPACES:
            yield from super()._below(root, refuse, is_copy=is_copy)
            return
        for chats in sorted(root.glob(f"*/{_CHATS}")):
            if not chats.is_symlink() and not chats.parent.is_symlink():
                for path, _ in super()._below(chats, refuse, is_copy=is_copy):
                    yield path, str(path.relative_to(root))

    def drafts(self, file: WholeFile) -> Iterator[Draft | LedgerEntry | WholeSession | NotHere]:
        if file.path.suffix == ".json" and file.path.with_suffix(".jsonl").is_file():
            yield LedgerEntry(file.name, "left", "the newer form of this chat is beside it")
        else:
            yield from super().drafts(file)

    def lines(self, file: WholeFile) -> Iterator[Line]:
        is_log = file.path.suffix == ".jsonl"
        of: dict[str, Any] = {"before": 0, "at": None, "chat": {}}
        held: Mapping[str, Any] = {}
        chat: Mapping[str, Any] = {}
        noted: tuple[Any, ...] = ()
        if is_log:
            chat, held, noted = _replayed(file, file.place.remember("reader", of))
        else:
            chat = fields(document(file))
        requests, version = chat.get("requests"), chat.get("version", 1)
        program = f"format {version}"
        if is_log and file.unread.count and not isinstance(requests, list):
            return  # its lines are named
        requests = self.messages(file, requests, program)
        file.unread.unit = "line" if is_log else "request"
        if version not in range(1, _VERSION + 1):
            not_understood(file, 1, "a version that is not known", f"{self.label} {program}")
        session = clean_text(chat.get("sessionId")) or Path(file.name).stem
        cwd = path_of(chat.get("workingDirectory")) or _folder(file.path)
        at, given = of["at"] or moment(seconds(chat.get("creationDate"))), of["before"]
        for number, request in enumerate(map(fields, requests[given:]), given + 1):
            if held and number == held["before"] + 1 and _unread(file) == noted:
                of |= {**held, "at": at}
                file.place.let_go()
            at = moment(seconds(request.get("timestamp"))) or at
            key = clean_text(request.get("requestId")) or f"request-{number}"
            for part in map(fields, items(request.get("response"))):
                kind = clean_text(part.get("kind"))
                if kind not in _KNOWN:
                    what = f"a part {kind!r} of an answer"
                    not_understood(file, number, what, f"{self.label} {program}")
            yield Line(key, session, at, cwd, "", MAIN, tuple(_events(request, key)))
        if title := clean_text(chat.get("customTitle")):
            yield Line("title", session, None, cwd, "", MAIN, (SessionTitle(title),))


_CALL: Final = "toolInvocationSerialized"
_KNOWN: Final = frozenset({*_TEXTS, *_TOOLS, *_OTHERS, "inlineReference", _CALL})


def _folder(path: Path) -> str:
    """The folder that is open in the workspace of a chat."""
    known = fields(beside(path.parent.parent / "workspace.json"))
    several = path_of(known.get("workspace") or known.get("configuration"))
    return path_of(known.get("folder")) or (str(Path(several).parent) if several else "")


def _replayed(
    file: WholeFile, state: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any], tuple[Any, ...]]:
    """The chat after all changes; one that cannot be made is named, and the others are.

    The file is held where its last request begins, with what was known there: the chat, how many
    requests came ``before``; and what was not read. Raises Rewritten for a change of these.
    """
    given, goes_on = state["before"], file.place.offset > 0
    chat: dict[str, Any] = {**state["chat"], "requests": [None] * given} if goes_on else {}
    held, noted = dict[str, Any](), _unread(file)
    file.place.hold()
    for raw in json_lines(file):
        kind, path = raw.get("kind"), items(raw.get("k"))
        if kind == 0 or (kind in _CHANGES and path == ["requests"]):
            kept, count = raw.get("i"), len(items(chat.get("requests"))) if kind == _ADD else 0
            count = min(kept, count) if isinstance(kept, int) else count
            head = {name: chat[name] for name in _HEAD if name in chat}
            held, noted = {"chat": head, "before": max(0, count)}, _unread(file)
            file.place.hold()
        if kind == 0:
            chat = dict(fields(raw.get("v")))
        elif kind in _CHANGES:
            try:
                _change(chat, path, kind, raw)
            except (LookupError, TypeError, ValueError):
                file.unread.add(file.unread.at, "cannot be applied: what it changes is not there")
        elif raw:
            what = f"a change of kind {clean_text(str(kind))}"
            not_understood(file, file.unread.at, what, "VS Code Chat")
        if goes_on and (
            _unread(file) != noted or items(chat.get("requests"))[:given] != [None] * given
        ):
            raise Rewritten
    return chat, held, noted


def _unread(file: WholeFile) -> tuple[Any, ...]:
    return file.unread.count, deepcopy(file.unread.unknown)


def _change(chat: dict[str, Any], path: list[Any], kind: int, raw: Mapping[str, Any]) -> None:
    """Set, add to, or delete what ``path`` leads to. Raises LookupError, TypeError, ValueError."""
    *above, name = path
    place: Any = chat
    for each in above:
        place = place[each]
    if kind != _ADD:
        place[name] = raw.get("v")
        return
    known = place.get(name) if isinstance(place, dict) else place[name]
    kept = raw.get("i")
    before = items(known)[:kept] if isinstance(kept, int) and kept >= 0 else items(known)
    place[name] = [*before, *items(raw.get("v"))]


def _events(request: Mapping[str, Any], key: str) -> Iterator[Event]:
    message = request.get("message")
    asked = without_injected(clean_text(fields(message).get("text")) or clean_text(message))
    if asked and not request.get("isSystemInitiated") and not request.get("confirmation"):
        yield Prompt(asked)
    metadata = fields(fields(request.get("result")).get("metadata"))
    rounds = [fields(each) for each in items(metadata.get("toolCallRounds"))]
    calls = {
        clean_text(call.get("id")).partition("__vscode")[0]: call
        for each in rounds
        for call in map(fields, items(each.get("toolCalls")))
    }
    said: list[str] = []
    for number, part in enumerate(map(fields, items(request.get("response")))):
        kind = clean_text(part.get("kind"))
        if kind in _TEXTS:
            value = part.get("value") or part.get("content")
            said.append(clean_text(value) or clean_text(fields(value).get("value")))
        elif kind == "inlineReference":
            said.append(_named(part))
        elif kind in _TOOLS or kind == _CALL:
            yield from _spoken(said)
            said = []
            yield from _work(part, kind, calls, f"{key}/{number}")
    yield from _spoken(said)


def _spoken(said: list[str]) -> Iterator[Event]:
    if words := "".join(said).strip():
        yield AgentText(words)


def _named(part: Mapping[str, Any]) -> str:
    place = fields(part.get("inlineReference"))
    uri = fields(place.get("uri") or fields(place.get("location")).get("uri") or place)
    name = clean_text(part.get("name")) or clean_text(place.get("name"))
    return name or Path(clean_text(uri.get("path"))).name


def _work(
    part: Mapping[str, Any], kind: str, calls: Mapping[str, Mapping[str, Any]], key: str
) -> Iterator[Event]:
    uri = fields(part.get("uri"))
    if kind != _CALL:
        yield call_of(_TOOLS, key, kind, {"path": uri.get("fsPath") or uri.get("path")})
        yield result_of(key, "", failed=False)
        return
    call = fields(calls.get(clean_text(part.get("toolCallId")).partition("__vscode")[0]))
    data, result = fields(part.get("toolSpecificData")), fields(part.get("resultDetails"))
    line = fields(data.get("commandLine"))
    command = line.get("userEdited") or line.get("toolEdited") or line.get("original")
    told = clean_text(_value(part.get("pastTenseMessage"))) or clean_text(
        _value(part.get("invocationMessage"))
    )
    link = _LINK.search(told)
    given = {**_arguments(call.get("arguments"))}
    given |= {"command": command or data.get("command")} if line or data.get("command") else {}
    given |= {"path": path_of(link[1])} if link and not {*_PATHS} & {*given} else {}
    yield call_of(_TOOLS, key, part.get("toolId") or call.get("name"), given)
    output = fields(data.get("terminalCommandOutput")).get("text")
    outputs = [clean_text(fields(each).get("value")) for each in items(result.get("output"))]
    code = exit_code(fields(data.get("terminalCommandState")).get("exitCode"))
    confirmed = part.get("isConfirmed")
    denied = confirmed is False or fields(confirmed).get("type", 1) == _DENIED
    said = clean_text(output) or "\n".join(outputs)
    said = "The user rejected this call" if denied else said
    failed = denied or result.get("isError") is True
    yield result_of(key, said, failed=failed, code=0 if denied else code)


def _value(message: object) -> object:
    return fields(message).get("value", message)


def _arguments(text: object) -> Mapping[str, Any]:
    try:
        return fields(json.loads(text)) if isinstance(text, str) else fields(text)
    except (ValueError, RecursionError):
        return {}
