"""The source `aider`: chats of Aider become prompts, steps of work and summaries.

Aider writes all chats of a repository into ``.aider.chat.history.md`` at its root, as Markdown: the
person's words behind ``####``, its own behind ``>``, both with two spaces at the end of a line, and
the model's as they are. ``.aider.input.history`` beside it says when each prompt was written.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import ClassVar, Final

from mem_search.contracts import Machine
from mem_search.model import Draft, LedgerEntry, Location
from mem_search.model.ingest import WholeSession
from mem_search.patterns import pattern
from mem_search.platform import expanded
from mem_search.projects import identify, named_after, repository
from mem_search.regular_file import open_regular_file, read_regular_file
from mem_search.sources.agent_work.events import MAIN, AgentText, Event, Line, Prompt
from mem_search.sources.agent_work.session_documents import MAX_BESIDE_BYTES, MAX_DOCUMENT_BYTES
from mem_search.sources.agent_work.text import clean_text
from mem_search.sources.agent_work.transcripts import (
    SessionFiles,
    Tools,
    call_of,
    records_of,
    result_of,
)
from mem_search.sources.whole_files import WholeFile

_CHAT: Final = ".aider.chat.history.md"
_INPUT: Final = ".aider.input.history"
_VARIABLES: Final = {"AIDER_CHAT_HISTORY_FILE": _CHAT, "AIDER_INPUT_HISTORY_FILE": _INPUT}

_MAX_FOLDERS: Final = 1_000
_MAX_DEPTH: Final = 3
"""Below the home of the person, where repositories are looked for: some 100 ms."""
_NOT_LOOKED_INTO: Final = frozenset({"node_modules", "Library", "AppData", "snap", "venv"})

_BEGAN: Final = pattern(r"# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)")
_BEGINS: Final = pattern(
    rb"^# aider chat started at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\r?$", re.MULTILINE
)
_OWN: Final = pattern(r"^(#### |> ).*  $", re.MULTILINE)
_AT: Final = pattern(r"# (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{1,6})")
_EDITED: Final = pattern(r"Applied edit to (\S.*)")
_ADDED: Final = pattern(r"Added (?!\d+ lines? of output)(\S.*?) to (?:the chat|read-only files)\.?")
_RAN: Final = pattern(r"(?:## )?Running:? (\S.*)")
_COMMITTED: Final = pattern(r"Commit [0-9a-f]{7,40} \S.*")
_NO_MATCH: Final = pattern(r".*failed to exactly match lines in (\S.*)")
_CREATES: Final = "Create new file?"
_RUNS: Final = ("/run ", "/test ", "/lint ", "!")
_SAYS: Final = ("/ask ", "/code ", "/architect ", "/context ", "/help ")
"""Commands whose words are a prompt. Newer versions write that a second time, by itself."""


class Aider(SessionFiles):
    """A chat ends where the next one begins."""

    name = "aider"
    label = "Aider"
    file_format = None  # a file without its place is of no project
    tools: ClassVar[Tools] = {}

    looks_in = (
        "the current directory, its repository, repositories below ~ up to three folders deep,"
        " or $AIDER_CHAT_HISTORY_FILE"
    )

    def discover(self, machine: Machine) -> Iterable[Location]:
        given = [machine.environ.get(each, "") for each in _VARIABLES]
        named = [machine.cwd / Path(expanded(each)) for each in given if each]
        for place in dict.fromkeys([*named, *_histories(machine)]):
            is_told = place.name == _INPUT and place.with_name(_CHAT).is_file()
            if place.is_file() and not place.is_symlink() and not is_told:
                yield Location(self.name, str(place), label=f"Aider in {place.parent.name}")

    def recognises(self, path: Path) -> bool:
        return path.name in (_CHAT, _INPUT)

    def drafts(self, file: WholeFile) -> Iterator[Draft | LedgerEntry | WholeSession]:
        if file.path.name == _INPUT and file.path.with_name(_CHAT).is_file():
            yield LedgerEntry(file.name, "left", f"{_CHAT} beside it has its prompts")
            return
        project_of = named_after if file.is_upload else identify
        for _, lines in groupby(self.lines(file), attrgetter("session")):
            yield from records_of(self.name, lines, project_of, file.name)
        if file.unread.waiting:
            why = "its last prompt may be incomplete; it is read with what comes after it"
            yield LedgerEntry(f"{file.name}:1", "left", why)

    def lines(self, file: WholeFile) -> Iterator[Line]:
        content = _from(file)
        text = clean_text(content.decode("utf-8-sig", "replace").replace("\r\n", "\n"))
        cwd = "" if file.is_upload else str(file.path.parent)
        if file.path.name == _INPUT or _AT.fullmatch(text.lstrip("\n").partition("\n")[0]):
            yield from _inputs(text, cwd)
            return
        if not _BEGAN.search(text):
            raise ValueError(f"no chat begins in it, its form is not known ({self.label})")
        times = _times(file)
        whole, line_end, last = text.rpartition("\n")
        if last.startswith(("#", ">")):  # the program's own lines have an end
            text = f"{whole}{line_end}"
        chats = list(_chats(text))
        turn = chats[-1].turns[-1]
        if turn.is_unanswered and turn.asked not in times:
            chats[-1].turns.pop()
            file.unread.waiting = 1
        for chat in chats:
            if chat is chats[-1]:
                file.place.let_go()
            began = datetime.fromisoformat(chat.began).timestamp()
            asked = next((turn.asked for turn in chat.turns if turn.asked), "")
            digest = sha256(f"{chat.began}\n{asked}".encode()).hexdigest()[:8]
            session, at = f"{chat.began.replace(' ', 'T')}-{digest}", began
            for number, turn in enumerate(chat.turns, 1):
                known = times.get(turn.asked, [])
                place = bisect_left(known, at)
                at = known[place] if place < len(known) else at
                yield Line(str(number), session, round(at * 1000), cwd, "", MAIN, turn.events())


@dataclass(slots=True)
class _Turn:
    asked: str = ""
    past_events: list[Event] = field(default_factory=list)
    words: list[str] = field(default_factory=list)

    @property
    def is_unanswered(self) -> bool:
        """Whether only the prompt is there, which may still be being written."""
        return bool(self.asked) and not self.past_events and not any(map(str.strip, self.words))

    def close(self) -> None:
        """What the model said is said."""
        if said := "\n".join(_prose(self.words)).strip():
            self.past_events.append(AgentText(said))
        self.words = []

    def does(self, tool: str, argument: str, target: str, fault: str = "") -> None:
        """Aider says that it did this."""
        self.close()
        key = str(len(self.past_events))
        self.past_events.append(call_of({tool: (tool, argument)}, key, tool, {argument: target}))
        self.past_events.append(result_of(key, fault, failed=bool(fault)))

    def events(self) -> tuple[Event, ...]:
        self.close()
        return (Prompt(self.asked), *self.past_events) if self.asked else tuple(self.past_events)


def _prose(lines: Iterable[str]) -> list[str]:
    """What the model wrote, without the blocks that say what to change in a file."""
    kept, inside, closes = list[str](), False, False
    for line in lines:
        if line.startswith("<<<<<<< "):
            inside = True
            if closes := bool(kept) and kept[-1].startswith("```"):
                kept.pop()
                if kept and kept[-1].strip() and not kept[-1].strip().count(" "):
                    kept.pop()  # the name of the file
        elif inside:
            inside = not line.startswith(">>>>>>> ")
        elif closes and line.startswith("```"):
            closes = False
        else:
            kept.append(line)
    return kept


@dataclass(slots=True)
class _Chat:
    began: str
    turns: list[_Turn] = field(default_factory=lambda: [_Turn()])


def _chats(text: str) -> Iterator[_Chat]:
    """The chats of a history. A line is the model's unless it ends as Aider ends its own."""
    chat, prompt, output = None, list[str](), list[str]()
    # An editor, or a hook before a commit, takes blanks from the ends of lines.
    stripped = tuple({"#### ", "> "} - {own[1] for own in _OWN.finditer(text)})
    for raw in [*text.split("\n"), "# end"]:
        began = _BEGAN.fullmatch(raw)
        is_own = raw.endswith("  ") or raw.startswith(stripped) or raw in ("> ", "#### ")
        if prompt and not (is_own and raw.startswith("#### ")):
            _ask(chat, "\n".join(prompt).strip()) if chat else None
            prompt = []
        if output and not (is_own and raw.startswith("> ")):
            _tell(chat.turns[-1], output) if chat else None
            output = []
        if began or raw == "# end":
            if chat:
                yield chat
            chat = _Chat(began[1]) if began else None
        elif is_own and raw.startswith("#### "):
            prompt.append(raw[5:].removesuffix("  "))
        elif is_own and raw.startswith("> "):
            output.append(raw[2:].removesuffix("  "))
        elif chat and len(chat.turns) > 1:  # before the first prompt there is only its command line
            chat.turns[-1].words.append(raw)
    if chat:
        yield chat


def _ask(chat: _Chat, said: str) -> None:
    """A prompt, or a command, begins a turn where it asks the model for something."""
    turn = _Turn()
    if said.startswith(_RUNS):
        turn.does("Bash", "command", said.partition(" ")[2] if said[0] == "/" else said[1:])
    elif said.startswith(_SAYS):
        turn.asked = said.partition(" ")[2].strip()
    elif said and said[0] != "/":
        last = chat.turns[-1]
        if last.asked == said and last.is_unanswered:
            return  # the words of the command before it
        turn.asked = said
    chat.turns.append(turn)


def _tell(turn: _Turn, output: list[str]) -> None:
    """What Aider says that it did."""
    created = {output[n - 1] for n, line in enumerate(output) if line.startswith(_CREATES) and n}
    for number, line in enumerate(output):
        if match := _EDITED.fullmatch(line):
            turn.does("Write" if match[1] in created else "Edit", "file_path", match[1])
        elif match := _ADDED.fullmatch(line):
            turn.does("Read", "file_path", match[1])
        elif match := _NO_MATCH.fullmatch(line):
            turn.does("Edit", "file_path", match[1], fault=line.lstrip("# "))
        elif match := _RAN.fullmatch(line):
            fault = "\n".join(_until_question(output, number + 1)) if line[0] == "#" else ""
            turn.does("Bash", "command", match[1], fault=fault)
        elif _COMMITTED.fullmatch(line):
            turn.words.append(line)


def _until_question(output: list[str], start: int) -> Iterator[str]:
    """What a check wrote."""
    for line in (output[number] for number in range(start, len(output))):
        if "(Y)es" in line or line.startswith("## "):
            return
        if line.strip():
            yield line


def _entries(text: str) -> Iterator[tuple[float, str]]:
    """The prompts of an input history, with their times."""
    at, said = 0.0, list[str]()
    for raw in [*text.split("\n"), "# end"]:
        if raw.startswith("+"):
            said.append(raw[1:])
            continue
        if said:
            yield at, "\n".join(said).strip()
            said = []
        if match := _AT.fullmatch(raw):
            at = datetime.fromisoformat(match[1]).timestamp()


def _from(file: WholeFile) -> bytes:
    """The history from its place on. It is left where its last chat begins. Raises OSError."""
    place = file.place
    with open_regular_file(file.path, max_bytes=MAX_DOCUMENT_BYTES, follow=False) as stored:
        stored.seek(place.offset)
        content = stored.read()
        if begins := [match.start() for match in _BEGINS.finditer(content)]:
            place.remember("reader", {})
            place.offset += begins[-1]
            place.hold()
            place.leave(stored)
    return content


def _times(file: WholeFile) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {}
    try:
        content = read_regular_file(file.path.with_name(_INPUT), MAX_BESIDE_BYTES, follow=False)
    except OSError:
        return times
    for at, said in _entries(clean_text(content.decode("utf-8", "replace"))):
        insort(times.setdefault(said, []), at)
    return times


def _inputs(text: str, cwd: str) -> Iterator[Line]:
    """The prompts of which nothing else is known, those of a day as one session."""
    session, day, count = "", "", 0
    for at, said in _entries(text):
        if (date := datetime.fromtimestamp(at).date().isoformat()) != day:  # noqa: DTZ006  as written
            digest = sha256(f"{at}\n{said}".encode()).hexdigest()[:8]
            session, day, count = f"{date}-{digest}", date, 0
        count += 1
        events = (Prompt(said),) if said[:1] not in ("/", "!", "") else ()
        yield Line(str(count), session, round(at * 1000), cwd, "", MAIN, events)


def _histories(machine: Machine) -> Iterator[Path]:
    """The histories of the working directory, of its repository, and of those below the home."""
    around = repository(machine.cwd)
    for folder in (machine.cwd, *([Path(around.root)] if around else [])):
        yield from (folder / name for name in (_CHAT, _INPUT))
    waiting, looked = [(machine.home, 0)], 0
    while waiting and looked < _MAX_FOLDERS:
        folder, depth = waiting.pop(0)
        looked += 1
        try:
            with os.scandir(folder) as entries:
                for entry in sorted(entries, key=lambda each: each.name):
                    if entry.name in (_CHAT, _INPUT):
                        yield Path(entry.path)
                    elif (
                        depth < _MAX_DEPTH
                        and entry.name[0] != "."
                        and entry.name not in _NOT_LOOKED_INTO
                        and entry.is_dir(follow_symlinks=False)
                    ):
                        waiting.append((Path(entry.path), depth + 1))
        except OSError:  # it is of somebody else, or gone
            continue
