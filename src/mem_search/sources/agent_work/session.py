"""A session and its summary: the agent's own summary and what came after it, or extracts.

The summary is of the whole session: work that a compaction called open, and that was done later, is
not served as open.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from textwrap import dedent
from typing import Any, Final

from mem_search.patterns import pattern
from mem_search.sources.agent_work.step import Step, add_new
from mem_search.sources.agent_work.text import headline, without_injected
from mem_search.text.shortening import cut

# What the last words of an agent leave open: its next steps, as sentences and lists. Pure.
#
# Agents end with ``## Next steps`` and a list, with ``Remaining:`` and a list, or with a sentence
# such as ``Next: write the changelog.``. All expressions take linear time.

_STILL: Final = pattern(
    r"\b(?:next steps?|remaining|still (?:open|to do|needs?|missing|fails?)|follow[- ]?ups?|to-?do"
    r"|not (?:yet )?(?:done|implemented|committed|fixed|started)|left to do"
    r"|(?:discovered|found) (?:&|and) filed|known (?:issues?|bugs?|limitations?))\b",
    re.IGNORECASE,
)
_NEXT_HEADING: Final = pattern(r"(?:what's )?next(?: up)?\W*", re.IGNORECASE)
_NEXT_SENTENCE: Final = pattern(r"(?:what's )?next(?: up)?[*_]{0,2}:[*_]{0,2} ", re.IGNORECASE)
_NOTHING: Final = pattern(r"\b(?:no|nothing|none|without|any)\b", re.IGNORECASE)
_NO_ITEM: Final = pattern(r"(?:none|n/a|nothing(?: \w+){0,4})\W*", re.IGNORECASE)
_SENTENCE: Final = pattern(r"(?<=[.!?])\s+")
_TEXT_HEADING: Final = pattern(r"#{1,6}\s+\S|\*\*[^*\n]+\*\*:?$")
_MARKUP: Final = "#*_: \t"
_BULLET: Final = pattern(r"(?:[-*•+]|\d{1,2}[.)])\s+(?=\S)")
_TICKED: Final = pattern(r"\[x\]|✅|✓|☑|~~", re.IGNORECASE)
_MIN_WORDS: Final = 4
"""Of a sentence; what is shorter names nothing."""


def left_open(text: str) -> list[str]:
    """The items and sentences of ``text`` that say what is still to do, each once."""
    return list(dict.fromkeys(_open_lines(text)))


def _open_lines(text: str) -> Iterator[str]:
    """A heading about open work, or a line that introduces it, begins a section.

    The section has the list below, or the first paragraph where a heading has no list. It ends at
    the next heading, or at a line after the list.
    """
    is_open = headed = in_list = in_paragraph = False
    for line in text.splitlines():
        said = line.strip()
        bullet = _BULLET.match(said)
        if not said:
            is_open, in_paragraph = is_open and not in_paragraph, False
        elif _TEXT_HEADING.match(said):
            is_open = headed = _announces(said)
            in_list = in_paragraph = False
        elif said.endswith(":") and not bullet and (_announces(said) or not headed):
            is_open, headed, in_list = _announces(said), False, False
        elif bullet and is_open:
            in_list = True
            item = said[bullet.end() :]
            if not _TICKED.match(item) and not _NO_ITEM.fullmatch(item):
                yield said
        elif is_open and in_list and line[:1].isspace():
            continue  # more words about the item above
        elif is_open and headed and not in_list and not said.endswith(":"):
            in_paragraph = True
            yield from (part for part in _SENTENCE.split(said) if not _NO_ITEM.fullmatch(part))
        else:
            is_open = is_open and said.endswith(":")
            yield from filter(_says_open, _SENTENCE.split(said))


def _announces(line: str) -> bool:
    """Whether a heading, or a line that ends with a colon, is about open work."""
    words = line.strip(_MARKUP)
    about = _STILL.search(words) or _NEXT_HEADING.fullmatch(words)
    return bool(about) and not _NOTHING.search(words)


def _says_open(sentence: str) -> bool:
    said = _STILL.search(sentence) or _NEXT_SENTENCE.match(sentence)
    is_one = len(sentence.split()) >= _MIN_WORDS
    return bool(said) and is_one and not _NOTHING.search(sentence)


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
_HEADING = pattern(
    rf"^\s*(?:#+\s*)?(?:\d+\.\s*)?\**({'|'.join(_HEADINGS)})[^\n:]{{0,40}}:\**[ \t]*",
    re.IGNORECASE | re.MULTILINE,
)
_START = pattern(r"^(?:<summary>|Summary:)\s*$", re.MULTILINE)
_END = pattern(
    r"^(?:</summary>|If you need specific details from before compaction"
    r"|Please continue the conversation|Continue the conversation from where)",
    re.MULTILINE,
)
_CODE = pattern(r"^[ \t]*```.*?^[ \t]*```[ \t]*\n?", re.MULTILINE | re.DOTALL)


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
    sections: dict[str, str] = {}
    ends = [heading.start() for heading in headings[1:]] + [len(text)]
    for heading, until in zip(headings, ends, strict=True):
        name = _HEADINGS[heading[1].lower()]
        content = dedent(_CODE.sub("", text[heading.end() : until])).strip()
        if name and content:
            before = f"{sections[name]}\n\n" if name in sections else ""
            sections[name] = cut(before + content, _SECTION)
    return sections


_REQUEST = 2000
_CONCLUSION = 1500
_CONCLUSIONS = 3
_TITLES = 30
_SETTLED = 300
_ITEM_LENGTH = 300
_FILES = 200
_TURNS = 500
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
    last turns since, ``left`` what the last of them leaves open. ``investigated``, ``learned`` and
    ``completed`` are titles of steps; ``settled`` are names of what was done since the agent's
    summary; ``decisions`` have a source id and the names in the title. ``queued`` prompts wait;
    ``delivered`` ones may get a line of their own later. ``named``: the person chose the title.
    ``project`` and ``platform``: a client named them. ``turns``: id of a turn → how many parts its
    steps have. ``told``: hooks tell of it, and its times are theirs. ``events``
    counts what happened.
    """

    id: str = ""
    cwd: str = ""
    branch: str = ""
    project: str = ""
    platform: str = ""
    title: str = ""
    named: bool = False
    request: str = ""
    own: dict[str, str] = field(default_factory=dict)
    investigated: list[str] = field(default_factory=list)
    learned: list[str] = field(default_factory=list)
    completed: list[str] = field(default_factory=list)
    settled: list[str] = field(default_factory=list)
    decisions: list[list[str]] = field(default_factory=list)
    conclusions: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    read: list[str] = field(default_factory=list)
    edited: list[str] = field(default_factory=list)
    prompts: int = 0
    turns: dict[str, int] = field(default_factory=dict)
    queued: list[str] = field(default_factory=list)
    delivered: list[str] = field(default_factory=list)
    told: bool = False
    events: int = 0
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
        self.conclusions, self.settled, self.left = [], [], []

    def begins(self, turn: str, parts: int = 0) -> None:
        """A ``turn`` begins, or so many ``parts`` of its steps became observations."""
        self.turns[turn] = parts
        while len(self.turns) > _TURNS:
            del self.turns[next(iter(self.turns))]

    def did(self, step: Step, *, over: bool) -> None:
        """Add the files and the title of ``step``, and its conclusion if the turn is ``over``."""
        for mine, its in ((self.read, step.read), (self.edited, step.modified)):
            for path in its:
                if len(mine) < _FILES:
                    add_new(mine, path)
        for section, title in _learned_from(step):
            titles: list[str] = getattr(self, section)
            add_new(titles, title)
            del titles[:-_TITLES]
        self.settled = self._settled_by(step)
        if over:
            self.conclusions, self.left = self.concluded(step), self._left(step)

    def decided(self, source_id: str, chosen: str) -> str:
        """One way was chosen; the source id of an earlier decision that this one takes back."""
        add_new(self.learned, chosen)
        del self.learned[:-_TITLES]
        names = [name.lower() for name in _NAME.findall(chosen)]
        before = next(
            (key for key, *its in reversed(self.decisions) if not set(its).isdisjoint(names)), ""
        )
        self.decisions = [*self.decisions, [source_id, *names]][-_TITLES:]
        return before if _TAKES_BACK.search(chosen) else ""

    def concluded(self, step: Step | None) -> list[str]:
        """The conclusions as if ``step`` ended now."""
        last_text = cut(step.conclusion, _CONCLUSION) if step else ""
        return [*self.conclusions, *([last_text] if last_text else [])][-_CONCLUSIONS:]

    def _left(self, step: Step | None) -> list[str]:
        """What the last conclusion leaves open, as if ``step`` ended now."""
        if step is None or not step.conclusion:
            return self.left
        return [cut(each, _ITEM_LENGTH) for each in left_open(step.conclusion)][:_TITLES]

    def _settled_by(self, step: Step) -> list[str]:
        """The names of what was done, with those that ``step`` says are done."""
        settled = list(self.settled)
        said = [*step.facts, *filter(_DONE.search, _LINE.split(step.conclusion))]
        for name in (name for text in said for name in _NAME.findall(text[:2000])):
            add_new(settled, name.lower())
        return settled[-_SETTLED:]

    def metadata(self, current: Step | None) -> dict[str, Any]:
        """The fields of the summary while the step ``current`` is open; empty if there are none."""
        fields = {"request": self.request} | self.own
        conclusions = self.concluded(current)
        now = {"investigated": self.investigated, "learned": self.learned}
        now["completed"] = self.completed
        if current and current.worthwhile:
            for section, title in _learned_from(current):
                now[section] = [*(each for each in now[section] if each != title), title]
        for section in ("investigated", "learned"):
            if not self.own and now[section]:
                fields[section] = _bullets(now[section])
        if conclusions:
            fields["completed"] = "\n\n".join([*conclusions, _bullets(now["completed"])]).strip()
        elif current and not (self.request or self.own):
            # There was no request: the agent's last words say best what happened.
            fields["completed"] = cut(current.last_text, _CONCLUSION)
        elif now["completed"] and not fields.get("completed"):
            fields["completed"] = _bullets(now["completed"])
        settled = self._settled_by(current) if current else self.settled
        kept = still_open(fields.get("next_steps", ""), settled, conclusions)
        left = (each for each in self._left(current) if each not in kept)
        fields["next_steps"] = cut("\n".join([*kept, *left]), _SECTION)
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


def _learned_from(step: Step) -> list[tuple[str, str]]:
    """The section of the summary that the title of ``step`` belongs to, if any."""
    title = step.title if step.facts or step.read or step.modified else ""
    if not title:
        return []
    if (sort := step.type) == "discovery":
        return [("investigated", title)]
    return [("completed", title)] + [("learned", title)] * (sort == "bugfix")


def _bullets(titles: list[str]) -> str:
    return cut("\n".join(f"- {title}" for title in titles), _SECTION)


_LINE = pattern(r"\n+|(?<=[.!?])\s+")
_ITEM = pattern(r"\n(?=[ \t]{0,1}(?:[-*•]|\d{1,2}[.)])\s)")
_NAME = pattern(r"(?<![\w./-])(?=[\w./-]{0,80}(?:[\d_/]|[.-]\w))[.\w][\w./-]{2,80}(?<![./-])")
"""A name of a thing: an issue, a file, a function. Words without a digit or a mark are none."""

_TAKES_BACK = pattern(
    r"\b(?:no longer|instead|rather|remov(?:e|es|ing)|revert|back to|switch(?:es|ing)?|drop"
    r"|replac(?:e|es|ing)|undo|not .{1,80}any ?more)\b",
    re.IGNORECASE,
)

_DONE = pattern(
    r"\b(?:done|complete[sd]?|closed|pushed|committed|merged|finished|implemented|fixed|resolved"
    r"|pass(?:es|ed)?|all green)\b",
    re.IGNORECASE,
)
_FINISHED = pattern(
    r"\b(?:all (?:done|\d+ tasks|tasks|of it|work|items)|everything|epic|fully|entire(?:ly)?)\b"
    r".{0,160}\b(?:done|complete[d]?|pushed|implemented|finished|closed)\b|^all done\b",
    re.IGNORECASE | re.MULTILINE,
)


def still_open(items: str, settled: list[str], conclusions: list[str]) -> list[str]:
    """The ``items`` that nothing said since has settled.

    An item is settled when what it names was done, or when a conclusion says that all is.
    """
    if any(_FINISHED.search(said) for said in conclusions):
        return []
    known = set(settled)
    return [
        item
        for item in _ITEM.split(items)
        if item.strip() and not any(name.lower() in known for name in _NAME.findall(item)[:1])
    ]
