"""One line of a transcript as events: prompts, texts, tool calls and results. Pure.

Every other line (progress, snapshots, attachments that the program injected, requests to the
model, types that are not known) has no events.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from mem_search.errors import InputError
from mem_search.projects import named_after
from mem_search.records.base import json_type
from mem_search.regular_file import open_regular_file
from mem_search.sources.agent_work.drafts import DraftBuilder
from mem_search.sources.agent_work.events import (
    MAIN,
    AgentText,
    Compaction,
    Event,
    Instruction,
    Line,
    Prompt,
    PromptDequeued,
    PromptQueued,
    SessionTitle,
    ToolCall,
    ToolResult,
)
from mem_search.sources.agent_work.text import clean_text, command_words, without_injected
from mem_search.sources.claude_code.files import (
    NAME,
    Incomplete,
    Place,
    complete_lines,
    session_named_by,
)
from mem_search.text import dates
from mem_search.text.json_reading import loads

_CONTINUED = "This session is being continued from a previous conversation"
_INTERRUPTED = "[Request interrupted by user"
_NOTIFICATION = "<task-notification>"
"""A message that begins with this was not written by the person, nor was the text after it."""
_OWN_RUNS = ("acompact", "aprompt_suggestion")
"""Subagents that Claude Code starts for itself; the session has their results."""


_STRINGS: Final = ("uuid", "sessionId", "timestamp", "cwd", "gitBranch", "agentId")


class _Skipped(Exception):
    """The reason why a line that could have events has none."""


def parse_line(raw: Mapping[str, Any], number: int) -> Line:
    """Parse ``raw``, line ``number`` of its file; the number names a line without a uuid.

    Raises InputError naming a field of another type than Claude Code gives it, or what a message is
    whose type is not known.
    """
    if raw.get("type") in ("user", "assistant"):
        _check_types(raw)
    left = ""
    events: tuple[Event, ...] = ()
    try:
        events = tuple(_events(raw))
    except _Skipped as reason:
        left = str(reason)
    branch = clean_text(raw.get("gitBranch"))
    told = raw.get("told")
    is_told = isinstance(told, Mapping)
    told = _mapping(told)
    sidechain = raw.get("isSidechain") is True
    return Line(
        uuid=clean_text(raw.get("uuid")) or f"line-{number}",
        session=clean_text(raw.get("sessionId")),
        at=_milliseconds(raw.get("timestamp")),
        cwd=clean_text(raw.get("cwd")),
        branch="" if branch == "HEAD" else branch,
        agent=(clean_text(raw.get("agentId")) or "subagent") if sidechain else MAIN,
        events=events,
        left=left,
        project=clean_text(told.get("project")),
        platform=clean_text(told.get("platform")),
        told=is_told,
        origin=clean_text(_mapping(raw.get("forkedFrom")).get("sessionId")),
    )


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _check_types(raw: Mapping[str, Any]) -> None:
    message = raw.get("message")
    content = _mapping(message).get("content")
    blocks = content if isinstance(content, list) else ()
    for field, value, kinds in (
        *((name, raw.get(name), "a string") for name in _STRINGS),
        ("message", message, "an object"),
        ("message.content", content, "a string or a list"),
        *((f"message.content.{n}", block, "an object") for n, block in enumerate(blocks)),
        *(
            (f"message.content.{n}.text", block.get("text"), "a string")
            for n, block in enumerate(blocks)
            if isinstance(block, Mapping)
        ),
    ):
        given = json_type(value)
        if value is not None and given not in kinds:
            raise InputError(f"{field}: input should be {kinds}, not {given}", field=field)


def _events(raw: Mapping[str, Any]) -> Iterator[Event]:
    if clean_text(raw.get("agentId")).startswith(_OWN_RUNS):
        raise _Skipped("line of a subagent of Claude Code itself")
    match raw.get("type"):
        case "user":
            yield from _user(raw)
        case "assistant":
            yield from _assistant(raw)
        case "attachment":
            yield from _attachment(raw)
        case "queue-operation":
            yield from _queue(raw)
        case "summary":
            yield SessionTitle(clean_text(raw.get("summary")), leaf=clean_text(raw.get("leafUuid")))
        case "ai-title":
            yield SessionTitle(clean_text(raw.get("aiTitle")))
        case "custom-title":
            yield SessionTitle(clean_text(raw.get("customTitle")), by_person=True)
        case sort if "uuid" in raw and isinstance(raw.get("message"), Mapping):
            by = f"Claude Code {clean_text(raw.get('version')) or 'without a version'}"
            reason = f"type: a message of the type {sort!r} is not known ({by})"
            raise InputError(reason, field="type")


def _user(raw: Mapping[str, Any]) -> Iterator[Event]:
    blocks = _blocks(raw)
    answers = [block for block in blocks if block.get("type") == "tool_result"]
    text = _text(blocks)
    if answers:
        for block in answers:
            yield ToolResult(
                call=clean_text(block.get("tool_use_id")),
                text=_text(_as_blocks(block.get("content"))),
                failed=block.get("is_error") is True,
            )
    elif raw.get("isCompactSummary") is True or text.startswith(_CONTINUED):
        yield Compaction(text)
    elif raw.get("isMeta") is True or raw.get("isVisibleInTranscriptOnly") is True:
        raise _Skipped("injected message")
    else:
        words = _persons_words(text, raw.get("origin"))
        yield Instruction(words) if raw.get("isSidechain") is True else Prompt(words)


def _persons_words(text: str, origin: object) -> str:
    """What the person wrote in ``text``; raises _Skipped if that is nothing."""
    if isinstance(origin, Mapping) and origin.get("kind") not in (None, "human"):
        raise _Skipped("injected message")
    if text.startswith(_NOTIFICATION):
        raise _Skipped("message of a background task")
    words = command_words(text)
    if words == "":
        raise _Skipped("slash command")
    words = words or without_injected(text)
    if words.startswith(_INTERRUPTED):
        raise _Skipped("interruption")
    if not words:
        raise _Skipped("injected message" if text else "message without text")
    return words


def _assistant(raw: Mapping[str, Any]) -> Iterator[Event]:
    message = _mapping(raw.get("message"))
    if raw.get("isApiErrorMessage") is True or message.get("model") == "<synthetic>":
        raise _Skipped("message written by Claude Code itself")
    for block in _blocks(raw):
        if block.get("type") == "text":
            if text := without_injected(clean_text(block.get("text"))):
                yield AgentText(text)
        elif block.get("type") == "tool_use":
            arguments = block.get("input")
            yield ToolCall(
                call=clean_text(block.get("id")),
                tool=clean_text(block.get("name")),
                arguments=arguments if isinstance(arguments, Mapping) else {},
            )


def _attachment(raw: Mapping[str, Any]) -> Iterator[Event]:
    attachment = raw.get("attachment")
    if not isinstance(attachment, Mapping) or attachment.get("type") != "queued_command":
        return
    if attachment.get("commandMode", "prompt") != "prompt" or attachment.get("isMeta") is True:
        raise _Skipped("injected message")
    text = _text(_as_blocks(attachment.get("prompt")))
    yield Prompt(_persons_words(text, attachment.get("origin")), queued=True)


def _queue(raw: Mapping[str, Any]) -> Iterator[Event]:
    match raw.get("operation"):
        case "enqueue":
            content = clean_text(raw.get("content"))
            text = "" if content.startswith(_NOTIFICATION) else without_injected(content)
            if text and not text.startswith("/"):
                yield PromptQueued(text)
        case "remove":
            yield PromptDequeued(delivered=True)
        case "popAll":
            yield PromptDequeued(delivered=False)


def _blocks(raw: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    message = raw.get("message")
    return _as_blocks(message.get("content")) if isinstance(message, Mapping) else []


def _as_blocks(content: object) -> list[Mapping[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if isinstance(content, list):
        return [block for block in content if isinstance(block, Mapping)]
    return []


def _text(blocks: list[Mapping[str, Any]]) -> str:
    texts = [clean_text(block.get("text")) for block in blocks if block.get("type") == "text"]
    return "\n\n".join(text for text in texts if text).strip()


def _milliseconds(timestamp: object) -> int | None:
    try:
        return dates.from_iso(timestamp) if isinstance(timestamp, str) else None
    except InputError:
        return None


# Which records the calls of tools in a transcript belong to.

MAX_BYTES: Final = 256 * 2**20
"""Of a transcript: as many as the route reads of all; calls behind that have no record."""


def records_of_calls(path: Path) -> Mapping[str, tuple[str, ...]]:
    """The calls in the transcript: id → the source ids that its work may be stored under.

    The first is that of its step, then those of its turn and of its prompt. A call in copied
    history has the records of the session that it is from. Raises OSError. Linear in the file,
    which is read up to ``MAX_BYTES``.
    """
    builder = DraftBuilder(NAME, named_after, file_name=session_named_by(path))
    place, records = Place(), dict[str, tuple[str, ...]]()
    with open_regular_file(path, follow=False, own=True) as file:
        for raw in complete_lines(file, place, Incomplete()):
            if place.offset > MAX_BYTES:
                break
            try:
                value = loads(raw or b"null")
                line = parse_line(value, place.line) if isinstance(value, dict) else None
            except (ValueError, RecursionError, InputError):
                continue  # the ledger has it since the transcript was read
            if line is None:
                continue
            for _ in builder.feed(line):
                pass
            for event in line.events:
                if isinstance(event, ToolCall):
                    records[event.call] = builder.at_work_on(line.agent)
    return records
