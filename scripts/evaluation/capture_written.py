"""The sessions of ``capture_written.txt`` as transcripts of Claude Code, and what they should give.

The form of that file is told at its head. Half of its sessions may be looked at when rules change
(``*``), the others are held out: they say how the rules do on sessions that nobody has seen.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

WRITTEN: Final = Path(__file__).parent / "capture_written.txt"
_START: Final = datetime(2026, 3, 2, 9, tzinfo=UTC)
_CWD: Final = "/home/dev/shop"
_TOOLS: Final = {
    "read": ("Read", "file_path"), "edit": ("Edit", "file_path"), "write": ("Write", "file_path"),
    "run": ("Bash", "command"), "refuse": ("Bash", "command"), "web": ("WebFetch", "url"),
}  # fmt: skip
_DONE: Final = {
    "read": "     1→", "write": "File created successfully at: {}",
    "edit": "The file {} has been updated successfully.", "web": "A page about it.",
}  # fmt: skip
_REFUSED: Final = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected. "
    "The user said: not on this machine"
)


@dataclass(slots=True)
class Session:
    """One written session: the lines of its transcript and the judgements by their numbers."""

    name: str
    held_out: bool
    lines: list[dict[str, Any]] = field(default_factory=list)
    steps: dict[str, list[int]] = field(default_factory=dict)
    decisions: list[int] = field(default_factory=list)
    undecided: list[int] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    rejected: list[int] = field(default_factory=list)

    @property
    def judgements(self) -> dict[str, Any]:
        """In the form of ``capture.toml``."""
        return {
            "steps": self.steps, "decisions": self.decisions, "undecided": self.undecided,
            "failed": self.failed, "rejected": self.rejected,
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
        if "session" in (word, rest.partition(" ")[0]):
            if session:
                yield session
            session = Session(line.split()[-1], held_out=not line.startswith("*"))
        elif session is None:
            raise ValueError(f"before the first session: {line}")
        else:
            _add(session, word, rest, lines[at + 1].split(" ", 2) if at + 1 < len(lines) else [""])
    if session:
        yield session


def _add(session: Session, word: str, rest: str, answer: list[str]) -> None:
    number = len(session.lines)
    if word.startswith("="):
        session.steps.setdefault(word[1:], []).append(number)
    elif word == "!decision":
        session.decisions.append(number)
    elif word == "?decision":
        session.undecided.append(number)
    elif word == ">":
        session.add("user", rest)
    elif word == "-":
        session.add("assistant", [{"type": "text", "text": rest}])
    elif word in _TOOLS:
        _call(session, word, rest, answer)
    elif word not in ("ok", "fail"):
        raise ValueError(f"no event and no label: {word} {rest}")


def _call(session: Session, word: str, rest: str, answer: list[str]) -> None:
    tool, name = _TOOLS[word]
    given = {name: f"{_CWD}/{rest}" if name == "file_path" else rest}
    call = f"toolu_{session.name}_{len(session.lines)}"
    session.add("assistant", [{"type": "tool_use", "id": call, "name": tool, "input": given}])
    failed, said = False, _DONE.get(word, "").format(rest)
    if word == "refuse":
        failed, said = True, _REFUSED
    elif word == "run" and answer[0] == "ok":
        said = " ".join(answer[1:])
    elif word == "run" and answer[0] == "fail":
        failed, said = True, f"Exit code {answer[1]}\n{' '.join(answer[2:])}".rstrip()
    result = {"type": "tool_result", "tool_use_id": call, "content": said, "is_error": failed}
    session.add("user", [result])
    if word == "refuse":
        session.rejected.append(len(session.lines))
    elif failed:
        session.failed[str(len(session.lines))] = " ".join(answer[2].split())[:40].strip()
