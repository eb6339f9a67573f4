"""The written sessions as transcripts of Claude Code, and what they should give.

The form is told at the head of ``capture_written.txt``, whose sessions may be looked at when rules
change. Those of ``capture_held_out.txt`` may not: they say how the rules do on unseen sessions.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

LOOKED_AT: Final = Path(__file__).parent / "capture_written.txt"
HELD_OUT: Final = Path(__file__).parent / "capture_held_out.txt"
_START: Final = datetime(2026, 3, 2, 9, tzinfo=UTC)
_CWD: Final = "/home/dev/shop"
_TOOLS: Final = {
    "read": ("Read", "file_path"), "edit": ("Edit", "file_path"), "write": ("Write", "file_path"),
    "run": ("Bash", "command"), "refuse": ("Bash", "command"), "web": ("WebFetch", "url"),
    "grep": ("Grep", "pattern"), "glob": ("Glob", "pattern"),
    "ask": ("AskUserQuestion", "questions"),
}  # fmt: skip
_DONE: Final = {
    "read": "     1→", "write": "File created successfully at: {}",
    "edit": "The file {} has been updated successfully.", "web": "A page about it.",
}  # fmt: skip
_ANSWERS: Final = ("ok", "fail", "error")
_REFUSED: Final = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected. "
    "The user said: not on this machine"
)


@dataclass(slots=True)
class Session:
    """One written session: the lines of its transcript and the judgements by their numbers."""

    name: str
    lines: list[dict[str, Any]] = field(default_factory=list)
    steps: dict[str, list[int]] = field(default_factory=dict)
    decisions: list[int] = field(default_factory=list)
    undecided: list[int] = field(default_factory=list)
    either: list[int] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    rejected: list[int] = field(default_factory=list)

    @property
    def judgements(self) -> dict[str, Any]:
        """In the form of ``capture.toml``."""
        return {
            "steps": self.steps, "decisions": self.decisions, "undecided": self.undecided,
            "either": self.either, "failed": self.failed, "rejected": self.rejected,
        }  # fmt: skip

    def add(self, role: str, content: str | list[dict[str, Any]]) -> None:
        """Append one line of the transcript, seven seconds after the last one."""
        number = len(self.lines) + 1
        at = _START + timedelta(seconds=7 * number)
        self.lines.append({
            "type": role, "uuid": f"{self.name}-{number}", "sessionId": self.name,
            "timestamp": at.isoformat().replace("+00:00", "Z"), "cwd": _CWD, "gitBranch": "main",
            "isSidechain": False, "message": {"role": role, "content": content},
        })  # fmt: skip

    def write(self, folder: Path) -> Path:
        path = folder / f"{self.name}.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in self.lines), "utf-8")
        return path


def sessions(text: str) -> Iterator[Session]:
    """Every session of ``text``. Raises ValueError at a line that is no event and no label."""
    session: Session | None = None
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    for at, line in enumerate(lines):
        word, _, rest = line.partition(" ")
        if word == "session":
            if session:
                yield session
            session = Session(rest)
        elif session is None:
            raise ValueError(f"before the first session: {line}")
        else:
            answer = lines[at + 1] if at + 1 < len(lines) else ""
            _add(session, word, rest.replace("\\n", "\n"), answer.replace("\\n", "\n"))
    if session:
        yield session


def _add(session: Session, word: str, rest: str, answer: str) -> None:
    number = len(session.lines)
    decisions = {
        "!decision": session.decisions, "?decision": session.undecided, "~decision": session.either,
    }  # fmt: skip
    if word.startswith("="):
        session.steps.setdefault(word[1:], []).append(number)
    elif word in decisions:
        decisions[word].append(number)
    elif word == "!error":
        if str(number) not in session.failed:
            raise ValueError(f"no command that failed before: {word} {rest}")
        session.failed[str(number)] = rest
    elif word == ">":
        session.add("user", rest)
    elif word == "-":
        session.add("assistant", [{"type": "text", "text": rest}])
    elif word in _TOOLS:
        _call(session, word, rest, answer)
    elif word not in _ANSWERS:
        raise ValueError(f"no event and no label: {word} {rest}")


def _call(session: Session, word: str, rest: str, answer: str) -> None:
    tool, _ = _TOOLS[word]
    call = f"toolu_{session.name}_{len(session.lines)}"
    use = {"type": "tool_use", "id": call, "name": tool, "input": _arguments(word, rest)}
    session.add("assistant", [use])
    how, _, told = answer.partition(" ")
    failed, said = False, _DONE.get(word, "").format(rest.partition(" :: ")[0])
    if word == "refuse":
        failed, said = True, _REFUSED
    elif how == "ok":
        said = told
    elif how == "error":
        failed, said = True, f"<tool_use_error>{told}</tool_use_error>"
    elif how == "fail":
        code, _, told = told.partition(" ")
        failed, said = True, f"Exit code {code}\n{told}".rstrip()
    result = {"type": "tool_result", "tool_use_id": call, "content": said, "is_error": failed}
    session.add("user", [result])
    if word == "refuse":
        session.rejected.append(len(session.lines))
    elif failed and how == "fail":
        session.failed[str(len(session.lines))] = " ".join(told.split())[:40].strip()


def _arguments(word: str, rest: str) -> dict[str, Any]:
    """The input of the call, as the tool of ``word`` takes it."""
    _, name = _TOOLS[word]
    what, _, more = rest.partition(" :: ")
    if word == "ask":
        question, *options = rest.split(" | ")
        labels = [{"label": option, "description": option} for option in options]
        return {name: [{"question": question, "header": "Choice", "options": labels}]}
    if name == "command":
        command, _, description = rest.partition(" ## ")
        return {name: command} | ({"description": description} if description else {})
    if name != "file_path":
        return {name: rest}
    given = {name: f"{_CWD}/{what}"}
    if word == "edit" and more:
        old, _, new = more.partition(" => ")
        given |= {"old_string": old, "new_string": new}
    elif word == "write" and more:
        given["content"] = more
    return given
