"""The effect of a tool call: read or changed a file, ran a command, made a decision. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from mem_search.patterns import pattern
from mem_search.sources.agent_work.evidence import commit_subject, error_line
from mem_search.sources.agent_work.text import HEADLINE, clean_text
from mem_search.text.shortening import cut, one_line

READS: Final = "reads"
MODIFIES: Final = "modifies"
RUNS: Final = "runs"
PLANS: Final = "plans"
ASKS: Final = "asks"
TELLS: Final = "tells"
LOOKS: Final = "looks"
OTHER: Final = "other"
WRITE: Final = "Write"
"""The verb of a call that writes a whole file."""

OVERWRITTEN = pattern(r"\b(?:has been updated|overwrote|overwritten|overwrit)", re.IGNORECASE)
"""What programs answer when the file was there before."""

_COMMAND = 300
_PLAN = 6000
_FAILURE_LINES = 4
_FAILURE_LINE = 240
_EFFECTS: Final[Mapping[str, tuple[str, str, str]]] = {
    # tool: (effect, the argument that says on what, how a fact begins)
    "Read": (READS, "file_path", "Read"),
    "NotebookRead": (READS, "notebook_path", "Read"),
    "Edit": (MODIFIES, "file_path", "Edit"),
    "MultiEdit": (MODIFIES, "file_path", "Edit"),
    "Write": (MODIFIES, "file_path", WRITE),
    "NotebookEdit": (MODIFIES, "notebook_path", "Edit"),
    "Bash": (RUNS, "command", "Ran"),
    "PowerShell": (RUNS, "command", "Ran"),
    "ExitPlanMode": (PLANS, "plan", "Plan"),
    "AskUserQuestion": (ASKS, "", "Asked"),
    "WebSearch": (TELLS, "query", "Searched the web"),
    "WebFetch": (TELLS, "url", "Fetched"),
    "Grep": (LOOKS, "pattern", "Grep"),
    "Glob": (LOOKS, "pattern", "Glob"),
    "LS": (LOOKS, "path", "LS"),
    "Task": (TELLS, "description", "Asked a subagent"),
    "Agent": (TELLS, "description", "Asked a subagent"),
}
_EXIT_CODE = pattern(r"(?:Error: )?Exit code (\d+)\s*")
_REJECTED = ("The user doesn't want to", "The user rejected")
_REASON = pattern(r"(?:the user said|feedback):\s*(\S.*)", re.DOTALL)
_MAX_REASON_CHARS = 4000
_NOT_RUN = pattern(r"Sibling tool call errored|Cancelled: parallel tool call")
_ERROR_TAGS = pattern(r"</?tool_use_error>")


_DEFINES = pattern(
    r"(?m)^[ \t]{0,40}(?:(?:pub|public|private|protected|export|default|static|async|final)"
    r"[ (]{1,2}){0,4}"
    r"(?:def|defp|defmodule|class|function|func|fn|interface|struct|trait|enum|resource)\s{1,4}"
    r"([A-Za-z_][\w.]{2,60})"
)
_MAX_READ = 50_000
_MAX_DEFINED = 3


def _defined(arguments: Mapping[str, Any]) -> list[str]:
    """Functions and classes that are in the new text of an edit, and were not in the old one."""
    before = clean_text(arguments.get("old_string"))[:_MAX_READ]
    after = arguments.get("new_string") or arguments.get("content")
    names = dict.fromkeys(each[1] for each in _DEFINES.finditer(clean_text(after)[:_MAX_READ]))
    return [name for name in names if name not in before][:_MAX_DEFINED]


def argument_of(tool: str) -> str:
    """The argument of one of Claude Code's tools that says on what; "" for an unknown tool."""
    return _EFFECTS.get(tool, ("", "", ""))[1]


@dataclass(frozen=True, slots=True)
class Call:
    """A call that waits for its answer; strings only, because the cursor stores it."""

    effect: str
    target: str
    verb: str
    subject: str = ""
    """Of the commit that a command makes."""
    defines: str = ""
    """Names of functions and classes that an edit brings, with commas between them."""


def interpret(tool: str, arguments: Mapping[str, Any]) -> Call:
    """The effect of a call. An unknown tool yields a fact only when it fails."""
    effect, argument, verb = _EFFECTS.get(tool, (OTHER, "", tool))
    text = clean_text(arguments.get(argument))
    if effect == PLANS:
        return Call(effect, cut(text, _PLAN), verb)
    if effect == MODIFIES:
        return Call(effect, text.strip(), verb, defines=", ".join(_defined(arguments)))
    if effect == READS:
        return Call(effect, text.strip(), verb)
    subject = one_line(commit_subject(text), HEADLINE) if effect == RUNS else ""
    return Call(effect, one_line(text, _COMMAND), verb, subject)


@dataclass(frozen=True, slots=True)
class Failure:
    """``line`` has the command, its exit code and the error's line; ``fact`` also what came last.

    Both are empty if the call failed for a reason of no interest.
    """

    fact: str = ""
    line: str = ""
    rejected: bool = False


def failure(call: Call, answer: str, *, failed: bool) -> Failure | None:
    """How the call failed; None if it did not fail."""
    answer = _ERROR_TAGS.sub("", answer).strip()
    code = _EXIT_CODE.match(answer) if call.effect == RUNS else None
    if not failed and (code is None or int(code[1][:9]) == 0):
        return None
    if _NOT_RUN.search(answer):
        return Failure()
    # A plan can be long; its first words are enough to say which one it is.
    what = f"{call.verb}: {one_line(call.target, _COMMAND)}" if call.target else call.verb
    if answer.startswith(_REJECTED):
        reason = _REASON.search(cut(answer, _MAX_REASON_CHARS))
        because = f" — {one_line(reason[1], _FAILURE_LINE)}" if reason else ""
        line = f"Rejected by the user: {what}{because}"
        return Failure(line, line, rejected=True)
    reason_given = answer[code.end() :] if code else answer
    lines = [one_line(line, _FAILURE_LINE) for line in reason_given.splitlines() if line.strip()]
    how = f"Failed with exit code {code[1]}: {what}" if code else f"Failed: {what}"
    telling = error_line(reason_given, _FAILURE_LINE)
    last = [line for line in lines[-_FAILURE_LINES:] if line != telling]
    line = f"{how} — {telling}" if telling else how
    return Failure("\n".join([line, *last]), line)
