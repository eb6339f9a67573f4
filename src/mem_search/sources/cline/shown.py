"""What the person saw of a task of Cline or Roo Code: ``ui_messages.json``.

A message says something or asks for something; what it is about is text, or JSON in its text.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from mem_search.patterns import pattern
from mem_search.sources.agent_work.events import AgentText, Compaction, Event, Instruction, Prompt
from mem_search.sources.agent_work.session_documents import (
    SessionDocuments,
    document,
    not_understood,
    seconds,
)
from mem_search.sources.agent_work.text import clean_text, without_injected
from mem_search.sources.agent_work.transcripts import Tools, call_of, exit_code, result_of
from mem_search.sources.conversations import fields, items, moment
from mem_search.sources.whole_files import WholeFile

Messages = Iterator[tuple[str, int | None, str, tuple[Event, ...]]]
"""Of each message: its key, its time, the directory that it names, and its events."""

TOOLS: Final[Tools] = {
    "editedExistingFile": ("Edit", "path"),
    "appliedDiff": ("Edit", "path"),
    "insertContent": ("Edit", "path"),
    "searchAndReplace": ("Edit", "path"),
    "fileDeleted": ("Edit", "path"),
    "newFileCreated": ("Write", "path"),
    "readFile": ("Read", "path"),
    "searchFiles": ("Grep", "regex"),
    "codebaseSearch": ("Grep", "query"),
    "listFilesTopLevel": ("LS", "path"),
    "listFilesRecursive": ("LS", "path"),
    "webFetch": ("WebFetch", "path"),
    "webSearch": ("WebSearch", "path"),
    "newTask": ("Task", "content"),
    "command": ("Bash", "command"),
}
_ASKED: Final = ("task", "user_feedback")
_FAULTS: Final = ("error", "diff_error", "clineignore_error", "rooignore_error")
_RESUMES: Final = ("resume_task", "resume_completed_task")
_TELLS: Final = ("followup", "plan_mode_respond", "act_mode_respond")
_OTHERS: Final = frozenset(
    """
    api_req_deleted api_req_failed api_req_finished api_req_rate_limited api_req_retried
    api_req_retry_delayed api_req_started auto_approval_max_req_reached browser_action
    browser_action_launch browser_action_result browser_session_status checkpoint_created
    checkpoint_saved codebase_search_result command_output command_permission_denied condense
    condense_context condense_context_error conditional_rules_applied deleted_api_reqs error_retry
    generate_explanation hook_output_stream hook_status image info load_mcp_documentation
    mcp_notification mcp_server_request_started mcp_server_response mistake_limit_reached new_task
    reasoning report_bug shell_integration_warning shell_integration_warning_with_suggestion
    sliding_window_truncation subagent subagent_usage subtask_result summarize_task task_progress
    use_subagents user_edit_todos user_feedback_diff
    """.split()
)
"""Messages that say nothing which is stored by itself."""

_EXITED: Final = pattern(r"\bexit(?:ed with)? code:? (\d{1,9})\b", re.IGNORECASE)
_EXIT_WITHIN: Final = 400
"""Characters at the end of an output that have the exit code, where the program wrote it."""

_DIRECTORY: Final = pattern(r"Current (?:Working|Workspace) Directory \(([^()\n]{1,4096})\) Files")
_CHANGES: Final = "HAS_CHANGES"


def messages(source: SessionDocuments, file: WholeFile, *, is_child: bool) -> Messages:
    """The messages of the task; a child's first one was written by an agent."""
    shown = [fields(each) for each in source.messages(file, document(file))]
    seen: Counter[str] = Counter()
    for number, message in enumerate(shown):
        at, kind = moment(seconds(message.get("ts"))), _kind(message)
        key = str(at or f"message-{number + 1}")
        seen[key] += 1
        key = f"{key}-{seen[key]}" if seen[key] > 1 else key
        events: tuple[Event, ...] = ()
        if kind == "say task" or (number == 0 and kind == "say text"):
            asked = without_injected(clean_text(message.get("text")))
            events = (Instruction(asked) if is_child else Prompt(asked),) if asked else ()
        elif not kind.split()[1:] or not _is_known(kind.split()[1]):
            not_understood(file, number + 1, f"a message {kind!r}", source.label)
        else:
            events = tuple(_events(key, kind, shown, number))
        place = _DIRECTORY.search(clean_text(message.get("text")))
        yield key, at, place[1] if place else "", events


def _kind(message: Mapping[str, Any]) -> str:
    kind = clean_text(message.get("type"))
    return f"{kind} {clean_text(message.get(kind))}".strip() if kind in ("say", "ask") else kind


def _is_known(name: str) -> bool:
    own = (*_ASKED, *_FAULTS, *_RESUMES, *_TELLS)
    return name in _OTHERS or name in own or name in (
        "text", "completion_result", "tool", "command", "use_mcp_server",
    )  # fmt: skip


def _events(
    key: str, kind: str, shown: Sequence[Mapping[str, Any]], number: int
) -> Iterator[Event]:
    message = shown[number]
    text = clean_text(message.get("text")).strip()
    what, name = kind.split()
    if name in ("tool", "command", "use_mcp_server"):
        # What nobody has allowed yet was not done.
        if what == "say" or any(
            _kind(each).split()[-1:] != ["resume_task"] for each in _later(shown, number)
        ):
            yield from _work(key, name, text, _later(shown, number))
    elif name == "user_feedback" and (asked := without_injected(text)):
        yield Prompt(asked)
    elif what == "say" and name in ("text", "completion_result"):
        if said := text.removesuffix(_CHANGES).strip():
            yield AgentText(said)
    elif name in _TELLS:
        given = _json(text)
        if said := clean_text(given.get("question") or given.get("response")) or text:
            yield AgentText(said)
    elif name == "condense_context":
        yield Compaction(clean_text(fields(message.get("contextCondense")).get("summary")))


def _later(shown: Sequence[Mapping[str, Any]], number: int) -> Iterator[Mapping[str, Any]]:
    return (shown[each] for each in range(number + 1, len(shown)))


def _work(key: str, name: str, text: str, later: Iterable[Mapping[str, Any]]) -> Iterator[Event]:
    given = _json(text) if name != "command" else {"command": text}
    tool = clean_text(given.get("tool")) if name == "tool" else name
    answer, fault = _answer(later)
    if name == "use_mcp_server":
        tool = f"mcp__{clean_text(given.get('serverName'))}__{clean_text(given.get('toolName'))}"
    if tool == "summarizeTask":
        yield Compaction(clean_text(given.get("content")))
        return
    exited = _EXITED.findall(answer[-_EXIT_WITHIN:]) if name == "command" else []
    code = exit_code(exited[-1]) if exited else 0
    several = [fields(each) for each in items(given.get("batchFiles") or given.get("batchDiffs"))]
    for number, each in enumerate(several or [given]):
        call = f"{key}/{number}"
        yield call_of(TOOLS, call, tool, each)
        yield result_of(call, fault or answer, failed=bool(fault), code=code)


def _answer(later: Iterable[Mapping[str, Any]]) -> tuple[str, str]:
    """What a command wrote or a server said, and what went wrong, as the messages after it say."""
    said, fault = [], ""
    for message in later:
        name, text = _kind(message).split()[-1:], clean_text(message.get("text"))
        if name in (["command_output"], ["mcp_server_response"]):
            said.append(text)
        elif name and name[0] in _FAULTS:
            fault = text
            break
        elif (name and name[0] not in _OTHERS) or name == ["api_req_started"]:
            break
    return "\n".join(filter(None, said)), fault


def _json(text: str) -> Mapping[str, Any]:
    try:
        return fields(json.loads(text)) if text[:1] == "{" else {}
    except (ValueError, RecursionError):
        return {}
