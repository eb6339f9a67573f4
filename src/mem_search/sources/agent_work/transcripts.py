"""The base of sources whose agent writes a file for each session, and what their readers share."""

from __future__ import annotations

import stat
from abc import abstractmethod
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import ClassVar

from mem_search.contracts import FileFormat, Machine
from mem_search.errors import SourceError
from mem_search.model import Draft, LedgerEntry, Location
from mem_search.model.ingest import WholeSession
from mem_search.platform import expanded
from mem_search.projects import Identify, asked_once, identify, named_after
from mem_search.sources.agent_work.drafts import VERSION, DraftBuilder
from mem_search.sources.agent_work.events import Line, ToolCall, ToolResult
from mem_search.sources.agent_work.history import Part, keyed
from mem_search.sources.agent_work.text import clean_text
from mem_search.sources.agent_work.tools import argument_of
from mem_search.sources.conversations import fields, items
from mem_search.sources.databases import ForeignDatabase, UnreadableDatabase, foreign_database
from mem_search.sources.growing import Growing
from mem_search.sources.whole_files import NotHere, UnreadLines, WholeFile, WholeFiles

Tools = Mapping[str, tuple[str, ...]]
"""An agent's name of a tool → Claude Code's, and the argument that says on what, by each name."""


class SessionFiles(WholeFiles):
    """``lines`` says what happened in the session of a file; the rest is the same for all agents.

    A file that grew is read from where it was left, if ``lines`` keeps what it knows in
    ``file.place``; else it is read again. Its records have the ids of its messages, so those that
    are stored already stay as they are.
    """

    follows = True
    version = VERSION
    file_format: FileFormat | None = FileFormat((".jsonl",))
    tools: ClassVar[Tools]
    label: ClassVar[str]
    """The name of the agent, for people."""
    folder: ClassVar[str]
    """Where sessions are, in the agent's home: ``usual`` in the person's, unless a variable of the
    environment, one of ``variables``, names another.
    """
    usual: ClassVar[str]
    variables: ClassVar[tuple[str, ...]] = ()

    @property
    def looks_in(self) -> str:
        given = "".join(f" or ${each}/{self.folder}" for each in self.variables)
        return f"~/{self.usual}/{self.folder}{given}"

    def discover(self, machine: Machine) -> Iterable[Location]:
        root = home_of(machine, self.usual, *self.variables) / self.folder
        if root.is_dir():
            yield Location(self.name, str(root), label=f"{self.label} sessions")

    @abstractmethod
    def lines(self, file: WholeFile) -> Iterator[Line]:
        """The messages of the session in order, also those without events."""

    def files_to_keep(self, root: Path) -> Iterable[Path]:
        """The files at ``root`` of which a copy is kept, because the agent deletes them."""
        return ()

    def session_of(self, file: WholeFile) -> str:
        """The session that the program calls the file by; "" if its name says nothing of it."""
        return ""

    def drafts(self, file: WholeFile) -> Iterator[Draft | LedgerEntry | WholeSession | NotHere]:
        status = file.path.lstat()
        if stat.S_ISREG(status.st_mode) and not status.st_size:  # a program begins some so
            yield LedgerEntry(file.name, "left", "it is empty")
            return
        project_of = named_after if file.is_upload else identify
        builder = DraftBuilder(
            self.name,
            asked_once(project_of),
            file.place.known.get("work"),
            item=file.name,
            file_name=self.session_of(file),
        )
        for each in _records_of(builder, self.lines(file), file.place, file.unread):
            # A copy may have less than the file had.
            if not (file.is_copy and isinstance(each, WholeSession)):
                yield each
        yield from file.unread.entries(file.name)


def records_of(
    source: str,
    lines: Iterable[Line],
    project_of: Identify,
    item: str = "",
    place: Growing | None = None,
    unread: UnreadLines | None = None,
) -> Iterator[Draft | WholeSession]:
    """The records of a session that is read from its ``place`` to its end; then the session, if it
    was read from its start. The ledger calls what is read ``item``.
    """
    place, unread = place or Growing(), unread or UnreadLines()
    builder = DraftBuilder(source, asked_once(project_of), place.known.get("work"), item=item)
    return _records_of(builder, lines, place, unread)


def _records_of(
    builder: DraftBuilder, lines: Iterable[Line], place: Growing, unread: UnreadLines
) -> Iterator[Draft | WholeSession]:
    sessions, is_whole = WholeSessions(), not place.offset
    for name, value in place.known.get("unread", {}).items():
        setattr(unread, name, value)
    unread.waiting = 0
    place.keep("work", lambda: builder.state)
    place.keep("unread", lambda: asdict(unread))
    for given in lines:
        line = keyed(given)
        drafts = list(builder.feed(line))
        sessions.saw(line, builder.part, given.uuid)
        sessions.gave(drafts)
        yield from drafts
    still_open = list(builder.open_drafts())
    sessions.gave(still_open)
    yield from still_open
    if is_whole:
        yield from sessions.ended()


def home_of(machine: Machine, usual: str, *variables: str) -> Path:
    """The folder that the first of ``variables`` with a value names, else ``usual``."""
    given = next(filter(None, map(machine.environ.get, variables)), "")
    return Path(expanded(given)) if given else machine.home / usual


def call_of(tools: Tools, call: object, tool: object, arguments: object) -> ToolCall:
    """A call as Claude Code would have made it. A tool without a counterpart keeps its name."""
    given, name = fields(arguments), clean_text(tool)
    known, *theirs = tools.get(name, (name,))
    target = next((given[each] for each in theirs if each in given), None)
    return ToolCall(clean_text(call), known, {argument_of(known): target} if theirs else given)


def result_of(call: object, answer: str, *, failed: bool, code: int = 0) -> ToolResult:
    """The answer of a tool; ``code`` is the exit code of a command."""
    said = f"Exit code {code}\n{answer}" if code else answer
    return ToolResult(clean_text(call), clean_text(said), failed or bool(code))


def exit_code(value: object) -> int:
    """An exit code as a number or as its digits; 0 for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        return 0
    return int(value) if str(value).isdecimal() and len(str(value)) < 10 else 0


def words(content: object) -> str:
    """The text of a message: a string, or a list of parts with ``text``; thoughts are left out."""
    if isinstance(content, str):
        return clean_text(content).strip()
    parts = [fields(part) for part in items(content)]
    texts = [
        clean_text(part.get("text"))
        for part in parts
        if part.get("type", "text") == "text" and not part.get("thought")
    ]
    return "\n\n".join(text for text in texts if text).strip()


@contextmanager
def read_only(
    path: Path, tables: Collection[str], optional: Collection[str] = ()
) -> Iterator[ForeignDatabase]:
    """The database of a program that may be writing to it. Raises SourceError saying what to do."""
    try:
        with foreign_database(path, tables, optional) as database:
            yield database
    except UnreadableDatabase as error:
        step = "; sync again in a minute" if error.name.startswith("SQLITE_") else ""
        raise SourceError(f"{path} cannot be read: {error}{step}") from error


# Which sessions a reading of a whole file has read, and which records it gave of each.
#
# Rules change from version to version, and with them where steps end and which sentences are
# decisions. The store deletes what earlier rules made of the same lines.


@dataclass(slots=True)
class _Session:
    lines: set[str] = field(default_factory=set)
    given: set[str] = field(default_factory=set)
    until: int | None = None


class WholeSessions:
    """Collects lines and drafts of one file, from its start to its end, without copied history."""

    def __init__(self) -> None:
        self._sessions: dict[str, _Session] = defaultdict(_Session)

    def saw(self, line: Line, part: Part, place: str = "") -> None:
        """``line`` was read, which belongs to ``part``. At its ``place`` there can be another event
        in another file, of which earlier rules made records: these are not stale for it.
        """
        if part.is_copy:
            return
        session = self._sessions[part.session]
        former = {each.rpartition("/")[2] for each in line.former} - {place}
        session.lines |= {line.uuid, *former}
        if line.at is not None:
            session.until = max(line.at, session.until or line.at)

    def gave(self, drafts: Iterable[Draft]) -> None:
        """These records were made; a prompt that waited has an id beside that of its line."""
        for draft in drafts:
            session = self._sessions[draft.session]
            session.given.add(draft.source_id)
            if draft.kind == "user_prompt":
                session.lines.add(draft.source_id.removeprefix(f"{draft.session}/"))

    def ended(self) -> Iterator[WholeSession]:
        """The sessions, at the end of the file."""
        for name, each in self._sessions.items():
            if name and each.lines:
                lines, given = frozenset(each.lines), frozenset(each.given)
                yield WholeSession(name, lines, given, each.until, VERSION)
