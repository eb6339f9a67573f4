"""A session and the summary that it becomes: the agent's own summary, or extracts."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from textwrap import dedent
from typing import Any

from mem_search.sources.claude_code.text import cut, headline, without_injected
from mem_search.sources.claude_code.turn import Turn, add_new

_SECTION = 3000
_WHOLE = 8000
_HEADINGS = {
    # how a heading of the agent's summary begins: the field of a session summary
    "primary request": "request",
    "key technical concepts": "notes",
    "files and code": "investigated",
    "errors and fixes": "learned",
    "problem solving": "learned",
    "all user messages": "",  # they are records of their own
    "pending tasks": "next_steps",
    "current work": "completed",
    "optional next step": "next_steps",
    "next step": "next_steps",
}
_HEADING = re.compile(
    rf"^\s*(?:#+\s*)?(?:\d+\.\s*)?\**({'|'.join(_HEADINGS)})[^\n:]{{0,40}}:\**[ \t]*",
    re.IGNORECASE | re.MULTILINE,
)
_START = re.compile(r"^(?:<summary>|Summary:)\s*$", re.MULTILINE)
_END = re.compile(
    r"^(?:</summary>|If you need specific details from before compaction"
    r"|Please continue the conversation|Continue the conversation from where)",
    re.MULTILINE,
)
_CODE = re.compile(r"^[ \t]*```.*?^[ \t]*```[ \t]*\n?", re.MULTILINE | re.DOTALL)


def compaction_fields(text: str) -> dict[str, str]:
    """The sections of the summary that the agent writes at a compaction, by claude-mem's names.

    The agent's notes before the summary and the instructions after it are left out. A summary
    without the usual headings becomes ``notes``.
    """
    if start := _START.search(text):
        text = text[start.end() :]
    if end := _END.search(text):
        text = text[: end.start()]
    text = without_injected(text)
    headings = list(_HEADING.finditer(text))
    if not headings:
        return {"notes": cut(text.strip(), _WHOLE)} if text.strip() else {}
    found: dict[str, str] = {}
    ends = [heading.start() for heading in headings[1:]] + [len(text)]
    for heading, until in zip(headings, ends, strict=True):
        name = _HEADINGS[heading[1].lower()]
        content = dedent(_CODE.sub("", text[heading.end() : until])).strip()
        if name and content:
            before = f"{found[name]}\n\n" if name in found else ""
            found[name] = cut(before + content, _SECTION)
    return found


_REQUEST = 2000
_CONCLUSION = 1500
_CONCLUSIONS = 3
_FILES = 200
_LABELS = {
    "request": "Request",
    "investigated": "Investigated",
    "learned": "Learned",
    "completed": "Completed",
    "next_steps": "Next steps",
    "notes": "Notes",
}


@dataclass(slots=True)
class Session:
    """What is known of a session so far. Fields are JSON values: the cursor stores them.

    ``own`` are the sections of the agent's own summary, ``conclusions`` the texts that ended the
    last turns since. ``queued`` prompts wait; ``delivered`` ones may get a line
    of their own later. ``named``: the person chose the title.
    """

    id: str = ""
    cwd: str = ""
    branch: str = ""
    title: str = ""
    named: bool = False
    request: str = ""
    own: dict[str, str] = field(default_factory=dict)
    conclusions: list[str] = field(default_factory=list)
    read: list[str] = field(default_factory=list)
    edited: list[str] = field(default_factory=list)
    prompts: int = 0
    queued: list[str] = field(default_factory=list)
    delivered: list[str] = field(default_factory=list)
    started: int | None = None
    ended: int | None = None

    def seen_at(self, at: int | None) -> None:
        """Something of the main conversation happened at ``at``."""
        if at is not None:
            self.started = at if self.started is None else self.started
            self.ended = at

    def titled(self, title: str, *, by_person: bool) -> None:
        """The session got a title; one that the person chose stays."""
        if by_person or not self.named:
            self.title, self.named = title, by_person

    def add_prompt(self, prompt: str) -> None:
        """The person wrote ``prompt``."""
        self.prompts += 1
        self.request = self.request or cut(prompt, _REQUEST)

    def summarised(self, own: dict[str, str]) -> None:
        """The agent wrote a summary of everything before."""
        self.own = own
        self.conclusions = []

    def did(self, turn: Turn, *, over: bool) -> None:
        """Add the files of ``turn``, and its conclusion if it is ``over``."""
        for mine, its in ((self.read, turn.read), (self.edited, turn.modified)):
            for path in its:
                if len(mine) < _FILES:
                    add_new(mine, path)
        if over:
            self.conclusions = self.concluded(turn)

    def concluded(self, turn: Turn | None) -> list[str]:
        """The conclusions as if ``turn`` ended now."""
        last_text = cut(turn.conclusion, _CONCLUSION) if turn else ""
        return [*self.conclusions, *([last_text] if last_text else [])][-_CONCLUSIONS:]

    def metadata(self, current: Turn | None) -> dict[str, Any]:
        """The fields of the summary while the turn ``current`` is open; empty if there are none."""
        fields = {"request": self.request} | self.own
        if conclusions := self.concluded(current):
            fields["completed"] = "\n\n".join(conclusions)
        elif current and not any(fields.values()):
            # There was no request: the agent's last words say best what happened.
            fields["completed"] = cut(current.last_text, _CONCLUSION)
        fields_shown: dict[str, Any] = {name: fields[name] for name in _LABELS if fields.get(name)}
        if not fields_shown:
            return {}
        for name, mine, its in (
            ("files_read", self.read, current.read if current else []),
            ("files_edited", self.edited, current.modified if current else []),
        ):
            if files := list(dict.fromkeys([*mine, *its]))[:_FILES]:
                fields_shown[name] = files
        if not self.own:
            fields_shown["extracted"] = True
        if self.branch:
            fields_shown["branch"] = self.branch
        return fields_shown

    def name(self, metadata: dict[str, Any]) -> str:
        """The title by the person or the agent, else the first line of the request."""
        first = metadata.get("request") or metadata.get("completed") or metadata.get("notes", "")
        return self.title or headline(first)


def summary_text(metadata: dict[str, Any]) -> str:
    """The text of a summary: its fields, each after its label."""
    return "\n\n".join(
        f"{label}: {metadata[name]}" for name, label in _LABELS.items() if name in metadata
    )
