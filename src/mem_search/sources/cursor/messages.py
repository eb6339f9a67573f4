"""The messages of Cursor's sessions, as databases and transcripts have them: their events."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from mem_search.patterns import pattern
from mem_search.sources.agent_work.events import AgentText, Event, Prompt
from mem_search.sources.agent_work.text import clean_text, without_injected
from mem_search.sources.agent_work.transcripts import Tools, call_of, exit_code, result_of, words
from mem_search.sources.conversations import fields, items
from mem_search.sources.whole_files import UnreadLines

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
