"""The source `cursor`: sessions of Cursor become prompts, steps of work and summaries.

A session of the CLI is a SQLite database ``~/.cursor/chats/DIRECTORY/SESSION/store.db``: messages
as JSON in the table ``blobs``, among state in another form, and the session's own fields in
``meta``. CLI and editor also write a transcript below ``~/.cursor/projects``:
``DIRECTORY/agent-transcripts/SESSION.jsonl``, or in a folder of that name, ``subagents/….jsonl``,
and once as text. It has no times but those of prompts, and no answers of tools, so it is read where
there is no database. The vendor documents neither; this follows what others found in real files
(skillsynchq/txcript, docs/formats/cursor.md). Two forms take more lines than one.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from mem_search.contracts import Machine
from mem_search.errors import SourceError
from mem_search.model import Draft, LedgerEntry, Location
from mem_search.model.ingest import WholeSession
from mem_search.patterns import pattern
from mem_search.regular_file import MAX_SETTINGS, open_regular_file, read_regular_file
from mem_search.sources.agent_work.events import (
    MAIN,
    AgentText,
    Event,
    Instruction,
    Line,
    Prompt,
    SessionTitle,
)
from mem_search.sources.agent_work.text import clean_text, without_injected
from mem_search.sources.agent_work.transcripts import (
    SessionFiles,
    Tools,
    answered,
    called,
    exit_code,
    home_of,
    read_only,
    words,
)
from mem_search.sources.conversations import MAX_LINE_BYTES, fields, items, json_lines
from mem_search.sources.growing import Rewritten
from mem_search.sources.whole_files import MAX_FILE_BYTES, UnreadLines, WholeFile

_FILE: Final = "store.db"
_PATHS: Final = ("path", "file_path", "target_file")
_TOOLS: Final[Tools] = {
    "Shell": ("Bash", "command"),
    "Read": ("Read", *_PATHS),
    "Write": ("Write", *_PATHS),
    "StrReplace": ("Edit", *_PATHS),
    "MultiStrReplace": ("MultiEdit", *_PATHS),
    "Edit": ("Edit", *_PATHS),
    "Delete": ("Edit", *_PATHS),
    "Grep": ("Grep", "pattern"),
    "Glob": ("Glob", "glob_pattern", "pattern"),
    "LS": ("LS", "path"),
    "Task": ("Task", "description"),
    "WebSearch": ("WebSearch", "search_term", "query"),
    "WebFetch": ("WebFetch", "url"),
}
_ASKED: Final = pattern(r"<user_query>([^<]*(?:<(?!/user_query>)[^<]*)*)</user_query>")
_ADDED: Final = "<user_info>"
_EXITED: Final = pattern(r"\bexit(?:ed with)? code:? (\d{1,9})\b", re.IGNORECASE)
_ERROR: Final = pattern(r"\s*Error:")


_TRANSCRIPTS: Final = "agent-transcripts"
_FOLDERS: Final = ((".workspace-trusted", "workspacePath"), ("repo.json", "workspace"))
"""Files that say for which directory a folder of transcripts is, and the field that has it."""

_SENT: Final = pattern(
    r"<timestamp>\w+, (\w{3})\w* (\d{1,2}), (\d{4}), (\d{1,2}):(\d\d) ?([AP])M"
    r" \(UTC(?:([+-]\d{1,2})(?::?(\d\d))?)?\)</timestamp>"
)
"""When a prompt was sent, by the clock of the machine."""
_MONTHS: Final = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
_LEFT_OUT: Final = "[REDACTED]"
"""What stands in a transcript in place of what the agent thought."""
_SPEAKER: Final = pattern(r"(user|assistant|A|tool|system):\s*")
_MARK: Final = pattern(r"\[(Thinking|Tool call|Tool result)\] ?(.*)")
_ARGUMENT: Final = pattern(r"  (\w+): (.*)")
_NOT_WORK: Final = (
    "thinking",
    "reasoning",
    "redacted_thinking",
    "redacted-reasoning",
    "image",
    "file",
)


class Cursor(SessionFiles):
    """Messages have no order but that in which they were stored."""

    name = "cursor"
    label = "Cursor CLI"
    usual, folder = ".cursor", "chats"
    file_format = None  # an upload of it lacks its log
    tools = _TOOLS

    def discover(self, machine: Machine) -> Iterable[Location]:
        yield from super().discover(machine)
        projects = home_of(machine, self.usual, *self.variables) / "projects"
        if next(projects.glob(f"*/{_TRANSCRIPTS}"), None):
            yield Location(self.name, str(projects), label="Cursor transcripts")

    def recognises(self, path: Path) -> bool:
        if path.name == _FILE:
            return path.parts[-4:-3] == ("chats",)
        return path.suffix in (".jsonl", ".txt") and _TRANSCRIPTS in path.parts[:-1]

    def drafts(self, file: WholeFile) -> Iterator[Draft | LedgerEntry | WholeSession]:
        if file.path.name != _FILE and (store := _store_of(file.path)):
            why = f"the session is read from {store}, which says more: mem-search sync cursor"
            yield LedgerEntry(file.name, "left", why)
        else:
            yield from super().drafts(file)

    def lines(self, file: WholeFile) -> Iterator[Line]:
        return _stored(file) if file.path.name == _FILE else _transcript(file)


def _stored(file: WholeFile) -> Iterator[Line]:
    """The messages of a session of the CLI."""
    with read_only(file.path, ("blobs", "meta")) as database:
        found = database.rows("select value from meta where key = '0'")
        rows = database.rows("select id, data from blobs order by rowid")
    meta = _meta(found[0][0] if found else None)
    session = clean_text(meta.get("agentId")) or file.path.parent.name
    began, cwd = _milliseconds(meta.get("createdAt")), clean_text(meta.get("workspacePath"))
    title = (SessionTitle(clean_text(meta.get("name"))),)
    file.unread.unit, has_messages = "blob", False
    for file.unread.at, (key, data) in enumerate(rows, 1):
        message = _object(data)
        has_messages = has_messages or "role" in message
        at = _milliseconds(message.get("createdAt")) or began
        events = tuple(_events(message, file.unread))
        named = title if any(isinstance(event, Prompt) for event in events) else ()
        yield Line(clean_text(key), session, at, cwd, "", MAIN, (*events, *named))
    if rows and not has_messages:
        file.unread.not_known("none is a message in JSON")


def _transcript(file: WholeFile) -> Iterator[Line]:
    """The messages of a transcript; what has no time has that of the prompt before it."""
    session, agent = _named(file.path)
    of: dict[str, Any] = {"at": _began(file.path), "cwd": "", "is_noted": False, "number": 0}
    if not file.place.offset:
        of["cwd"], of["is_noted"] = _directory(file)
    file.place.remember("reader", of)
    is_main = agent == MAIN
    for raw in _spoken(file) if file.path.suffix == ".txt" else json_lines(file):
        of["number"] += 1
        number = of["number"]
        content = fields(raw.get("message")).get("content", raw.get("content"))
        if sent := _SENT.search(words(content)):
            of["at"] = _moment(sent) or of["at"]
        if not of["is_noted"] and _ran_in(content):
            raise Rewritten  # now it is known where the session works
        events = list(_events({"role": raw.get("role"), "content": content}, file.unread, number))
        if raw and "role" not in raw and raw.get("type") != "turn_ended":
            file.unread.not_known(f"type {raw.get('type')}")
        if not is_main:
            events = [Instruction(e.text) if isinstance(e, Prompt) else e for e in events]
        key = f"line-{number}" if is_main else f"{agent}-line-{number}"
        yield Line(key, session, of["at"], of["cwd"], "", agent, tuple(events))


def _named(path: Path) -> tuple[str, str]:
    """The session of a transcript, and who works in it."""
    below = (
        path.parts[path.parts.index(_TRANSCRIPTS) + 1 : -1] if _TRANSCRIPTS in path.parts else ()
    )
    if "subagents" not in below:
        return path.stem, MAIN
    above = below[: below.index("subagents")]
    return (above[-1] if above else path.stem), path.stem


def _store_of(path: Path) -> Path | None:
    """The database of the session of a transcript, if it has what the person asked."""
    session, agent = _named(path)
    if _TRANSCRIPTS not in path.parts or agent != MAIN:
        return None
    home = Path(*path.parts[: path.parts.index(_TRANSCRIPTS)]).parent.parent
    for store in sorted((home / "chats").glob(f"*/{session}/{_FILE}")):
        try:
            lines = list(_stored(WholeFile(store, store.name)))
        except SourceError:  # the reading of that file says so
            continue
        if any(isinstance(event, Prompt) for line in lines for event in line.events):
            return store
    return None


def _began(path: Path) -> int | None:
    """About when the file was made: its folder changed then, or later; ms since 1970."""
    try:
        return min(path.stat().st_mtime_ns, path.parent.stat().st_mtime_ns) // 1_000_000
    except OSError:
        return None


def _moment(sent: re.Match[str]) -> int | None:
    month, day, year, hour, minute, half, offset, minutes = sent.groups()
    try:
        clock = int(hour) % 12 + 12 * (half == "P")
        number = _MONTHS.index(month.title()) + 1
        at = datetime(int(year), number, int(day), clock, int(minute), tzinfo=UTC)
    except ValueError:
        return None
    sign = -1 if (offset or "").startswith("-") else 1
    ahead = timedelta(hours=abs(int(offset or 0)), minutes=int(minutes or 0))
    return round((at - sign * ahead).timestamp() * 1000)


def _directory(file: WholeFile) -> tuple[str, bool]:
    """The directory that the session worked in: what the program noted, what a command ran in, or a
    directory of this machine that the folder is named after; whether it is no such guess.
    """
    if _TRANSCRIPTS not in file.path.parts:
        return "", True
    folder = Path(*file.path.parts[: file.path.parts.index(_TRANSCRIPTS)])
    for name, field in _FOLDERS:
        try:
            noted = _object(read_regular_file(folder / name, MAX_SETTINGS, follow=False))
        except OSError:
            continue
        if path := clean_text(noted.get(field)):
            return path, True
    if file.path.suffix == ".jsonl":
        for raw in json_lines(WholeFile(file.path, file.name)):
            if path := _ran_in(fields(raw.get("message")).get("content")):
                return path, True
    return "" if file.is_upload else _on_disk(Path("/"), folder.name), False


def _ran_in(content: object) -> str:
    """The directory of the first command in a message."""
    given = (fields(fields(part).get("input")) for part in items(content))
    return next(filter(None, (clean_text(each.get("working_directory")) for each in given)), "")


def _on_disk(folder: Path, slug: str) -> str:
    """The directory below ``folder`` whose path is ``slug`` with dashes for all signs."""
    try:
        names = sorted(
            each.name for each in os.scandir(folder) if each.is_dir(follow_symlinks=False)
        )
    except OSError:
        return ""
    for name in names:
        dashed = re.sub(r"[^A-Za-z0-9]", "-", name).strip("-")
        if dashed and slug == dashed:
            return str(folder / name)
        is_above = dashed and slug.startswith(f"{dashed}-")
        if is_above and (found := _on_disk(folder / name, slug.removeprefix(f"{dashed}-"))):
            return found
    return ""


def _spoken(file: WholeFile) -> Iterator[Mapping[str, Any]]:
    """The messages of a transcript that is text, in the form that one in JSON has."""
    message: dict[str, Any] = {}
    place, at = file.place, file.place.offset
    file.unread.at = place.line
    with open_regular_file(file.path, max_bytes=MAX_FILE_BYTES, follow=False) as content:
        content.seek(at)
        while raw := content.readline(MAX_LINE_BYTES):
            file.unread.at += 1
            at += len(raw)
            try:
                line = raw.decode("utf-8").rstrip("\n").removesuffix("\r")
            except UnicodeDecodeError as error:
                file.unread.add(file.unread.at, f"cannot be read: {error}")
                continue
            if speaker := _SPEAKER.fullmatch(line):
                if message or not place.offset:
                    yield message
                place.offset, place.line = at - len(raw), file.unread.at - 1
                role = "assistant" if speaker[1] == "A" else speaker[1]
                message = {"role": role, "content": [{"type": "text", "text": ""}]}
            elif parts := message.get("content"):
                _add(line, parts)
            elif line.strip():
                file.unread.not_known("text before anybody speaks")
        place.leave(content)
    yield message


def _add(line: str, parts: list[dict[str, Any]]) -> None:
    """A line of a message: a mark begins a part, and an empty line ends a thought."""
    if mark := _MARK.fullmatch(line):
        kind = {"Thinking": "thinking", "Tool call": "tool_use"}.get(mark[1], "tool_note")
        parts.append({"type": kind, "name": mark[2].strip(), "input": {}})
    elif parts[-1]["type"] == "tool_use" and (argument := _ARGUMENT.fullmatch(line)):
        parts[-1]["input"][argument[1]] = argument[2]
    elif parts[-1]["type"] == "text":
        parts[-1]["text"] += f"{line}\n"
    elif not line.strip():
        parts.append({"type": "text", "text": ""})


def _meta(value: object) -> Mapping[str, Any]:
    """The fields of the session, which are JSON, or its bytes in hexadecimal."""
    if isinstance(value, str) and not value.lstrip().startswith("{"):
        try:
            value = bytes.fromhex(value)
        except ValueError:
            return {}
    return _object(value)


def _object(data: object) -> Mapping[str, Any]:
    """A message; {} for a blob in another form."""
    try:
        text = data.decode("utf-8") if isinstance(data, bytes) else data
        return fields(json.loads(text)) if isinstance(text, str) and text[:1] == "{" else {}
    except (ValueError, RecursionError):
        return {}


def _milliseconds(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _events(message: Mapping[str, Any], unread: UnreadLines, number: int = 0) -> Iterator[Event]:
    """The events of a message; its ``number`` is there where its calls have no ids."""
    content = message.get("content")
    parts = [content] if isinstance(content, str | dict) else items(content)
    match message.get("role"):
        case "user":
            text = words(content)
            asked = "\n\n".join(found.strip() for found in _ASKED.findall(text))
            asked = asked or ("" if _ADDED in text else without_injected(_SENT.sub("", text)))
            if asked:
                yield Prompt(asked)
            yield from (_answer(part) for part in map(fields, parts) if "tool_use_id" in part)
        case "assistant":
            for place, part in enumerate(parts):
                yield from _said(part, f"{number}-{place}", unread)
        case "tool":
            for part in map(fields, parts):
                if part.get("type") in ("tool-result", "tool_result"):
                    yield _answer(part)
        case role if role not in (None, "system"):
            unread.not_known(f"role {role}")


def _said(part: object, place: str, unread: UnreadLines) -> Iterator[Event]:
    """A part of what the agent said; a call without an id gets no answer, so it counts as done."""
    if said := words(part if isinstance(part, str) else [part]).replace(_LEFT_OUT, "").strip():
        yield AgentText(said)
        return
    given = fields(part)
    kind = given.get("type")
    if kind in ("tool-call", "tool_use"):
        key = given.get("toolCallId") or given.get("id")
        yield called(_TOOLS, key or place, given.get("toolName") or given.get("name"), _args(given))
        if not key:
            yield answered(place, "", failed=False)
    elif kind not in (None, "text", "tool_note", *_NOT_WORK):
        unread.not_known(f"content {kind}")


def _args(part: Mapping[str, Any]) -> object:
    return part.get("args") or part.get("input")


def _answer(part: Mapping[str, Any]) -> Event:
    given = part.get("result", part.get("output", part.get("content")))
    answer = clean_text(given) or words(given) or words(part.get("experimental_content"))
    exited = _EXITED.search(answer) if part.get("toolName") == "Shell" else None
    known = part.get("isError", part.get("is_error"))
    failed = known if isinstance(known, bool) else _ERROR.match(answer) is not None
    code = exit_code(exited[1]) if exited else 0
    call = part.get("toolCallId") or part.get("tool_use_id")
    return answered(call, answer, failed=failed, code=code)
