"""The source `copilot`: sessions of GitHub's Copilot CLI become prompts, steps of work, summaries.

A session is a file ``session-state/SESSION/events.jsonl`` below ``~/.copilot``, once
``session-state/SESSION.jsonl``. A line is an event with ``type`` and ``data``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from mem_search.sources.agent_work.events import (
    MAIN,
    AgentText,
    Compaction,
    Event,
    Instruction,
    Line,
    Prompt,
    ToolCall,
)
from mem_search.sources.agent_work.text import clean_text, without_injected
from mem_search.sources.agent_work.transcripts import (
    SessionFiles,
    Tools,
    call_of,
    exit_code,
    result_of,
)
from mem_search.sources.conversations import fields, items, json_lines, moment
from mem_search.sources.whole_files import WholeFile

_FOLDER: Final = "session-state"
_TOOLS: Final[Tools] = {
    "bash": ("Bash", "command"),
    "powershell": ("PowerShell", "command"),
    "view": ("Read", "path"),
    "create": ("Write", "path"),
    "edit": ("Edit", "path"),
    "str_replace_editor": ("Edit", "path"),
    "grep": ("Grep", "pattern"),
    "glob": ("Glob", "pattern"),
    "task": ("Task", "description"),
    "web_search": ("WebSearch", "query"),
    "web_fetch": ("WebFetch", "url"),
}
_FAMILIES: Final = (
    "abort", "assistant", "auto_mode_switch", "capabilities", "command", "commands",
    "custom_notification", "elicitation", "exit_plan_mode", "external_tool", "hook", "mcp", "model",
    "pending_messages", "permission", "sampling", "session", "skill", "subagent", "system", "tool",
    "user", "user_input", "workspace",
)  # fmt: skip
"""What the types of events begin with; of most only a few say something of the work."""
_AWAITED: Final = 64
"""Calls of tools that are not known; the oldest gets no answer any more."""


class Copilot(SessionFiles):
    """A subagent's events name the call that started it."""

    name = "copilot"
    label = "Copilot CLI"
    usual, folder = ".copilot", _FOLDER
    variables = ("COPILOT_HOME",)
    tools = _TOOLS

    def recognises(self, path: Path) -> bool:
        if path.name == "events.jsonl":
            return path.parts[-3:-2] == (_FOLDER,)
        return path.suffix == ".jsonl" and path.parts[-2:-1] == (_FOLDER,)

    def session_of(self, file: WholeFile) -> str:
        place = Path(file.name)
        return place.parent.name if place.name == "events.jsonl" else place.stem

    def lines(self, file: WholeFile) -> Iterator[Line]:
        begun: dict[str, Any] = {
            "session": self.session_of(file),
            "cwd": "",
            "branch": "",
            "others": [],
        }
        state = file.place.remember("reader", begun)
        for raw in json_lines(file):
            data, sort = fields(raw.get("data")), raw.get("type")
            if sort in ("session.start", "session.resume"):
                context = fields(data.get("context"))
                state["session"] = clean_text(data.get("sessionId")) or state["session"]
                state["cwd"] = clean_text(context.get("cwd")) or state["cwd"]
                state["branch"] = clean_text(context.get("branch")) or state["branch"]
                if version := clean_text(data.get("copilotVersion")):
                    file.unread.program = f"{self.label} {version}"
            if raw and str(sort).partition(".")[0] not in _FAMILIES:
                file.unread.not_known(f"type {sort}")
            elif sort in ("user.message", "assistant.message") and "content" not in data:
                file.unread.not_known(f"{sort} without content")
            agent = clean_text(data.get("parentToolCallId")) or MAIN
            yield Line(
                uuid=clean_text(raw.get("id")) or f"line-{file.unread.at}",
                session=state["session"],
                at=moment(raw.get("timestamp")),
                cwd=state["cwd"],
                branch=state["branch"],
                agent=agent,
                events=tuple(_events(sort, data, state["others"], is_main=agent == MAIN)),
                is_reused=True,
            )


def _events(
    sort: object, data: Mapping[str, Any], others: list[str], *, is_main: bool
) -> Iterator[Event]:
    """The events of one line. ``others`` are calls of tools that are not known by their names."""
    match sort:
        case "user.message" if data.get("source", "user") == "user":
            if asked := without_injected(clean_text(data.get("content"))):
                yield Prompt(asked) if is_main else Instruction(asked)
        case "assistant.message":
            if said := clean_text(data.get("content")).strip():
                yield AgentText(said)
        case "tool.execution_start":
            tool = data.get("toolName")
            call = call_of(_TOOLS, data.get("toolCallId"), tool, data.get("arguments"))
            if tool not in _TOOLS:
                others[:] = [*others, call.call][-_AWAITED:]
            yield call
        case "tool.execution_complete":
            yield from _completed(data, others)
        case "session.compaction_complete":
            yield Compaction(clean_text(data.get("summaryContent")))


def _completed(data: Mapping[str, Any], others: list[str]) -> Iterator[Event]:
    call, code = clean_text(data.get("toolCallId")), fields(data.get("shellExecution"))
    failed = data.get("success") is False
    answer = fields(data.get("result")).get("content") or fields(data.get("error")).get("message")
    yield result_of(call, clean_text(answer), failed=failed, code=exit_code(code.get("exitCode")))
    if call in others and not failed:  # a patch, or an editor of somebody else
        for number, edit in enumerate(map(fields, items(data.get("fileEdits"))), 1):
            key = f"{call}/{number}"
            yield ToolCall(key, "Edit", {"file_path": edit.get("path")})
            yield result_of(key, "", failed=False)
