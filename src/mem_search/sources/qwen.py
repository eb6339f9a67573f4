"""The source `qwen`: sessions of Qwen Code become prompts, steps of work and summaries.

A session is a file ``projects/DIRECTORY/chats/SESSION.jsonl`` below ``~/.qwen``, with a line for
each message. Messages have the form of Gemini's API: ``parts`` with text, calls and answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from mem_search.patterns import pattern
from mem_search.sources.agent_work.events import MAIN, AgentText, Event, Line, Prompt, SessionTitle
from mem_search.sources.agent_work.text import clean_text, without_injected
from mem_search.sources.agent_work.transcripts import (
    SessionFiles,
    Tools,
    call_of,
    exit_code,
    result_of,
    words,
)
from mem_search.sources.conversations import fields, items, json_lines, moment
from mem_search.sources.whole_files import WholeFile, head

_TOOLS: Final[Tools] = {
    "run_shell_command": ("Bash", "command"),
    "read_file": ("Read", "file_path", "absolute_path"),
    "write_file": ("Write", "file_path"),
    "edit": ("Edit", "file_path"),
    "grep_search": ("Grep", "pattern"),
    "glob": ("Glob", "pattern"),
    "list_directory": ("LS", "path"),
    "web_fetch": ("WebFetch", "url"),
    "web_search": ("WebSearch", "query"),
    "agent": ("Agent", "description"),
    "task": ("Task", "description"),
    "exit_plan_mode": ("ExitPlanMode", "plan"),
}
_TYPES: Final = ("user", "assistant", "tool_result", "system")
_EXIT_CODE: Final = pattern(r"^Exit Code: (\d{1,9})$", re.MULTILINE)

_GIVEN: Final = "&lt;hook_context&gt;"
_GIVEN_END: Final = "&lt;/hook_context&gt;"
"""Around what our hook gave: the program escapes it, and puts it behind the prompt."""


class Qwen(SessionFiles):
    """What the program tells the agent by itself (``notification``, ``cron``) is no prompt."""

    name = "qwen"
    label = "Qwen Code"
    usual, folder = ".qwen", "projects"
    variables = ("QWEN_RUNTIME_DIR", "QWEN_HOME")
    tools = _TOOLS

    def recognises(self, path: Path) -> bool:
        return (
            path.suffix == ".jsonl"
            and path.parts[-2:-1] == ("chats",)
            and not head(path, 16).startswith(b'{"kind"')  # our own records
            and not (
                path.name.startswith("session-")  # Gemini CLI, from which Qwen Code was made
            )
        )

    def session_of(self, file: WholeFile) -> str:
        return Path(file.name).stem

    def lines(self, file: WholeFile) -> Iterator[Line]:
        file.place.remember("reader", {})  # a line says all that is to be known of it
        for raw in json_lines(file):
            sort, message = raw.get("type"), fields(raw.get("message"))
            if version := clean_text(raw.get("version")):
                file.unread.program = f"{self.label} {version}"
            if raw and sort not in _TYPES:
                file.unread.not_known(f"type {sort}")
            elif raw and sort != "system" and not isinstance(message.get("parts"), list):
                file.unread.not_known(f"{sort} without parts")
            yield Line(
                uuid=clean_text(raw.get("uuid")) or f"line-{file.unread.at}",
                session=clean_text(raw.get("sessionId")),
                at=moment(raw.get("timestamp")),
                cwd=clean_text(raw.get("cwd")),
                branch=clean_text(raw.get("gitBranch")),
                agent=MAIN,
                events=tuple(_events(raw)),
                origin=clean_text(fields(raw.get("forkedFrom")).get("sessionId")),
            )


def _events(raw: Mapping[str, Any]) -> Iterator[Event]:
    parts = items(fields(raw.get("message")).get("parts"))
    match raw.get("type"):
        case "user" if raw.get("subtype") not in ("notification", "cron"):
            said = words(parts)
            before, given, after = said.rpartition(_GIVEN)
            is_given = given and after.rstrip().endswith(_GIVEN_END)
            if asked := without_injected(before if is_given else said):
                yield Prompt(asked)
        case "assistant":
            for part in map(fields, parts):
                if said := words([part]):
                    yield AgentText(said)
                elif call := fields(part.get("functionCall")):
                    yield call_of(_TOOLS, call.get("id"), call.get("name"), call.get("args"))
        case "tool_result":
            for part in map(fields, parts):
                yield from _answer(fields(part.get("functionResponse")), raw)
        case "system" if raw.get("subtype") == "custom_title":
            payload = fields(raw.get("systemPayload"))
            by_person = payload.get("titleSource") == "manual"
            yield SessionTitle(clean_text(payload.get("customTitle")), by_person=by_person)


def _answer(given: Mapping[str, Any], raw: Mapping[str, Any]) -> Iterator[Event]:
    if given:
        response, result = fields(given.get("response")), fields(raw.get("toolCallResult"))
        output = clean_text(response.get("output")) or clean_text(response.get("error"))
        exited = _EXIT_CODE.search(output)
        failed = "error" in response or result.get("status") in ("error", "cancelled")
        # What a command wrote is between lines of the program; this is without them.
        shown = clean_text(result.get("resultDisplay")) or output
        code = exit_code(exited[1]) if exited else 0
        yield result_of(given.get("id"), shown, failed=failed, code=code)
