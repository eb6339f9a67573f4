"""The messages of Cursor's sessions, as databases and transcripts have them: their events."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from mem_search.patterns import pattern
from mem_search.regular_file import MAX_SETTINGS, open_regular_file, read_regular_file
from mem_search.sources.agent_work.events import MAIN, AgentText, Event, Instruction, Line, Prompt
from mem_search.sources.agent_work.text import clean_text, without_injected
from mem_search.sources.agent_work.transcripts import Tools, call_of, exit_code, result_of, words
from mem_search.sources.conversations import MAX_LINE_BYTES, fields, items, json_lines
from mem_search.sources.growing import Rewritten
from mem_search.sources.whole_files import MAX_FILE_BYTES, UnreadLines, WholeFile

_PATHS: Final = ("path", "file_path", "target_file")
TOOLS: Final[Tools] = {
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


SENT: Final = pattern(
    r"<timestamp>\w+, (\w{3})\w* (\d{1,2}), (\d{4}), (\d{1,2}):(\d\d) ?([AP])M"
    r" \(UTC(?:([+-]\d{1,2})(?::?(\d\d))?)?\)</timestamp>"
)
"""When a prompt was sent, by the clock of the machine."""
_LEFT_OUT: Final = "[REDACTED]"
"""What stands in a transcript in place of what the agent thought."""
_NOT_WORK: Final = (
    "thinking",
    "reasoning",
    "redacted_thinking",
    "redacted-reasoning",
    "image",
    "file",
)


def object_of(data: object) -> Mapping[str, Any]:
    """A message; {} for a blob in another form."""
    try:
        text = data.decode("utf-8") if isinstance(data, bytes) else data
        return fields(json.loads(text)) if isinstance(text, str) and text[:1] == "{" else {}
    except (ValueError, RecursionError):
        return {}


def events(message: Mapping[str, Any], unread: UnreadLines, number: int = 0) -> Iterator[Event]:
    """The events of a message; its ``number`` is there where its calls have no ids."""
    content = message.get("content")
    parts = [content] if isinstance(content, str | dict) else items(content)
    match message.get("role"):
        case "user":
            text = words(content)
            asked = "\n\n".join(prompt.strip() for prompt in _ASKED.findall(text))
            asked = asked or ("" if _ADDED in text else without_injected(SENT.sub("", text)))
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
        tool = given.get("toolName") or given.get("name")
        yield call_of(TOOLS, key or place, tool, _args(given))
        if not key:
            yield result_of(place, "", failed=False)
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
    return result_of(call, answer, failed=failed, code=code)


TRANSCRIPTS: Final = "agent-transcripts"
_FOLDERS: Final = ((".workspace-trusted", "workspacePath"), ("repo.json", "workspace"))
"""Files that say for which directory a folder of transcripts is, and the field that has it."""

_MONTHS: Final = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
_SPEAKER: Final = pattern(r"(user|assistant|A|tool|system):\s*")
_MARK: Final = pattern(r"\[(Thinking|Tool call|Tool result)\] ?(.*)")
_ARGUMENT: Final = pattern(r"  (\w+): (.*)")


def transcript(file: WholeFile) -> Iterator[Line]:
    """The messages of a transcript; what has no time has that of the prompt before it."""
    session, agent = named(file.path)
    state: dict[str, Any] = {"at": _began(file.path), "cwd": "", "is_noted": False, "number": 0}
    goes_on = file.place.offset > 0
    if not goes_on:
        state["cwd"], state["is_noted"] = _directory(file)
    file.place.remember("reader", state)
    is_main = agent == MAIN
    for raw in _spoken(file) if file.path.suffix == ".txt" else json_lines(file):
        state["number"] += 1
        number = state["number"]
        content = fields(raw.get("message")).get("content", raw.get("content"))
        if sent := SENT.search(words(content)):
            state["at"] = _moment(sent) or state["at"]
        if goes_on and not state["is_noted"] and _ran_in(content):
            raise Rewritten  # now it is known where the session works
        happened = list(events({"role": raw.get("role"), "content": content}, file.unread, number))
        if raw and "role" not in raw and raw.get("type") != "turn_ended":
            file.unread.not_known(f"type {raw.get('type')}")
        if not is_main:
            happened = [Instruction(e.text) if isinstance(e, Prompt) else e for e in happened]
        key = f"line-{number}" if is_main else f"{agent}-line-{number}"
        yield Line(key, session, state["at"], state["cwd"], "", agent, tuple(happened))


def named(path: Path) -> tuple[str, str]:
    """The session of a transcript, and who works in it."""
    below = path.parts[path.parts.index(TRANSCRIPTS) + 1 : -1] if TRANSCRIPTS in path.parts else ()
    if "subagents" not in below:
        return path.stem, MAIN
    above = below[: below.index("subagents")]
    return (above[-1] if above else path.stem), path.stem


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
    if TRANSCRIPTS not in file.path.parts:
        return "", True
    folder = Path(*file.path.parts[: file.path.parts.index(TRANSCRIPTS)])
    for name, field in _FOLDERS:
        try:
            noted = object_of(read_regular_file(folder / name, MAX_SETTINGS, follow=False))
        except OSError:
            continue
        if path := clean_text(noted.get(field)):
            return path, True
    is_text = file.path.suffix == ".txt"
    other = WholeFile(file.path, file.name)
    for raw in _spoken(other) if is_text else json_lines(other):
        if path := _ran_in(fields(raw.get("message")).get("content", raw.get("content"))):
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
        if is_above and (path := _on_disk(folder / name, slug.removeprefix(f"{dashed}-"))):
            return path
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
