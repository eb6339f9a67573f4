"""The source `kiro-ide`: sessions of Kiro's editor become prompts, steps of work and summaries.

A session is a file ``workspace-sessions/WORKSPACE/SESSION.json`` below ``kiro.kiroagent``, whose
replies only say "On it." What was done is in files beside ``workspace-sessions``, one for each
request, in a folder with the hash of the workspace. Its vendor documents neither; this follows what
others found in real files. Newer sessions are where those of Kiro's CLI are: the source `kiro`.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Final

from mem_search.contracts import Machine
from mem_search.patterns import pattern
from mem_search.regular_file import read_regular_file
from mem_search.sources.agent_work.events import MAIN, AgentText, Event, Line, Prompt, SessionTitle
from mem_search.sources.agent_work.session_stores import (
    SessionStores,
    Store,
    StoredSession,
    UnknownForm,
    application_folders,
    value_of,
    when,
)
from mem_search.sources.agent_work.text import clean_text, without_injected
from mem_search.sources.agent_work.transcripts import Tools, call_of, exit_code, result_of, words
from mem_search.sources.conversations import fields, items
from mem_search.sources.whole_files import UnreadLines, head
from mem_search.text.file_names import as_text

_FOLDER: Final = "workspace-sessions"
_LIST: Final = "sessions.json"
_MAX_BYTES: Final = 256 * 2**20
"""Bytes of a session or of what was done for a request, each one JSON document."""
_MAX_REQUESTS: Final = 20_000
"""Files of requests of a workspace that are looked at."""

_TOOLS: Final[Tools] = {
    "runCommand": ("Bash", "command"),
    "readFiles": ("Read", "path"),
    "readFile": ("Read", "path"),
    "replace": ("Edit", "file", "path"),
    "append": ("Edit", "file", "path"),
    "smartRelocate": ("Edit", "sourcePath"),
    "delete": ("Edit", "file", "path"),
    "write": ("Write", "file", "path"),
    "create": ("Write", "file", "path"),
    "search": ("Grep", "query"),
    "fileSearch": ("Glob", "query"),
    "listDirectory": ("LS", "path"),
    "remoteWebSearch": ("WebSearch", "query"),
    "webFetch": ("WebFetch", "url"),
    "invokeSubAgent": ("Task", "prompt"),
}
_SILENT: Final = ("reasoning", "model", "intentClassification")
_REQUEST: Final = pattern(rb'"executionId"\s*:\s*"([\w-]{1,100})"')
_PLACEHOLDER: Final = "On it."
_ADDED: Final = ("<identity>", "<key_kiro_features>", "<EnvironmentContext>", "## Included Rules")
"""What Kiro writes in the name of the person begins with one of these."""


class KiroIde(SessionStores):
    """What was done for a request has the request's id."""

    name = "kiro-ide"
    label = "Kiro editor"

    def places(self, machine: Machine) -> Iterable[Path]:
        for folder in application_folders(machine, "Kiro"):
            yield folder / "User" / "globalStorage" / "kiro.kiroagent"

    def recognises(self, path: Path) -> bool:
        is_session = path.parts[-3:-2] == (_FOLDER,) and path.suffix == ".json"
        return is_session and path.name != _LIST

    def stores(self, root: Path) -> Iterable[Store]:
        if root.is_file():
            return (Store(root, _folder(root.parent.name)),)
        paths = sorted((root / _FOLDER).glob("*/*.json"))
        return [Store(path, _folder(path.parent.name)) for path in paths if path.name != _LIST]

    def in_file(self, store: Store) -> Iterator[StoredSession]:
        yield StoredSession(as_text(store.path.stem), store.stamp(), partial(_lines, store))


def _folder(name: str) -> str:
    """The path that the name of a workspace's folder is, in base64; "" for another name."""
    text = name.rstrip("_=")
    try:
        return urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode()
    except ValueError:
        return ""


def _lines(store: Store, unread: UnreadLines) -> Iterator[Line]:
    about = fields(value_of(read_regular_file(store.path, _MAX_BYTES, follow=False), unread))
    if about and not isinstance(about.get("history"), list):
        raise UnknownForm(f"it has no history, but {', '.join(sorted(about))[:200]}")
    session = as_text(store.path.stem)
    cwd = clean_text(about.get("workspaceDirectory")) or store.folder
    title = SessionTitle(clean_text(about.get("title")))
    requests = _requests(store.path.parent.parent.parent, cwd)
    turns: list[tuple[str, int | None, tuple[Event, ...]]] = []
    for unread.at, entry in enumerate(map(fields, items(about.get("history"))), 1):
        message, request = fields(entry.get("message")), clean_text(entry.get("executionId"))
        key = clean_text(message.get("id")) or str(unread.at)
        said = words(message.get("content"))
        if message.get("role") == "user":
            asked = "" if said.startswith(_ADDED) else without_injected(said)
            turns.append((key, None, (Prompt(asked), title) if asked else ()))
            continue
        done = list(_work(path, unread)) if (path := requests.get(request)) else []
        turns += [(f"{key}-{name}", at, events) for name, at, events in done]
        if request and said == _PLACEHOLDER and not path:
            unread.add(unread.at, f"is not told: the file of its request {request} is not there")
        did_say = any(isinstance(event, AgentText) for *_, events in done for event in events)
        if said and said != _PLACEHOLDER and not did_say:
            turns.append((key, None, (AgentText(said),)))
    # A message has no time: it is that of what was done next, or else before.
    last = round(store.path.stat().st_mtime * 1000)
    times: list[int] = []
    for _, at, _ in reversed(turns):
        times.append(at or (times[-1] if times else last))
    for (key, _, events), at in zip(turns, reversed(times), strict=True):
        yield Line(key, session, at, cwd, "", MAIN, events)


def _requests(base: Path, workspace: str) -> Mapping[str, Path]:
    """Request → the file that says what was done for it."""
    by_request: dict[str, Path] = {}
    folder = base / sha256(workspace.encode()).hexdigest()[:32]
    for _, path in zip(range(_MAX_REQUESTS), folder.glob("*/*"), strict=False):
        if named := _REQUEST.search(head(path)):
            by_request[named[1].decode()] = path
    return by_request


def _work(path: Path, unread: UnreadLines) -> Iterator[tuple[str, int | None, tuple[Event, ...]]]:
    """The actions of a request: the name of each, when it was, and its events."""
    done = fields(value_of(read_regular_file(path, _MAX_BYTES, follow=False), unread))
    for place, action in enumerate(map(fields, items(done.get("actions"))), 1):
        kind, output = clean_text(action.get("actionType")), fields(action.get("output"))
        given, call = dict(fields(action.get("input"))), f"{unread.at}-{place}"
        at = when(action.get("emittedAt")) or when(done.get("startTime"))
        if kind == "say":
            said = clean_text(output.get("message")).strip()
            yield str(place), at, (AgentText(said),) if said else ()
        elif kind and kind not in _SILENT:
            files = [fields(each).get("path") for each in items(given.get("files"))]
            calls = [{**given, "path": each} for each in files] or [given]
            failed = action.get("actionState") in ("Error", "Failed", "Rejected", "Canceled")
            answer = clean_text(output.get("output")) or clean_text(action.get("errorMessage"))
            code = exit_code(output.get("exitCode"))
            for part, each in enumerate(calls):
                name = f"{call}-{part}"
                events = (
                    call_of(_TOOLS, name, kind, each),
                    result_of(name, answer, failed=failed, code=code),
                )
                yield f"{place}-{part}", at, events
