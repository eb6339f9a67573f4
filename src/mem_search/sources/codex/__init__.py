"""The source `codex`: sessions of OpenAI's Codex CLI become prompts, steps of work and summaries.

A session is a file ``rollout-….jsonl`` below ``~/.codex/sessions`` or ``archived_sessions``, which
newer versions compress (``.zst``). Its lines are objects with ``type`` and ``payload``; before
September 2025 the payload was the line. Only what the person wrote and the agent said, ran and
changed is taken, not the instructions that the program adds.

A thread that was taken back to an earlier turn goes on in a file of its own, whose ``history_base``
says how much of which other file comes before it. Both are one session.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from mem_search.contracts import FileFormat, Machine
from mem_search.model import Location
from mem_search.sources.agent_work.events import MAIN, Event, Instruction, Line, Prompt
from mem_search.sources.agent_work.text import clean_text
from mem_search.sources.agent_work.transcripts import SessionFiles, home_of
from mem_search.sources.codex.rollout import NAMED, TOOLS, Rollout
from mem_search.sources.conversations import fields, json_lines, moment
from mem_search.sources.whole_files import WholeFile

MAX_BASES: Final = 32
"""Files that a thread goes through; the chain of a damaged one may have no end."""


class Codex(SessionFiles):
    """The n-th prompt of a session has the id ``SESSION/n``, because messages once had none; in a
    file that goes on another one ``SESSION/n-FILE``.
    """

    name = "codex"
    label = "Codex"
    usual, folder = ".codex", "sessions"
    variables = ("CODEX_HOME",)
    file_format = FileFormat((".jsonl", ".jsonl.zst"))
    tools = TOOLS

    def discover(self, machine: Machine) -> Iterable[Location]:
        yield from super().discover(machine)
        archived = home_of(machine, self.usual, *self.variables) / "archived_sessions"
        if archived.is_dir():
            yield Location(self.name, str(archived), label="Codex sessions that were archived")

    def recognises(self, path: Path) -> bool:
        if not path.name.startswith("rollout-"):
            return False
        # While a file is compressed, both are there.
        return path.suffix == ".jsonl" or (
            path.name.endswith(".jsonl.zst") and not path.with_suffix("").exists()
        )

    def lines(self, file: WholeFile) -> Iterator[Line]:
        return _lines(file, None, MAX_BASES)


def _lines(file: WholeFile, end: int | None, depth: int) -> Iterator[Line]:
    """The lines of a file before the ``end``, and before them those of the file that it goes on."""
    reading = Rollout(Path(file.name).name.partition(".")[0], file.unread)
    file.place.remember("reader", vars(reading), "_unread")
    reading.base = []
    parent: Iterator[tuple[Event, str]] | None = None
    for line in json_lines(file):
        place = line.get("ordinal")
        if end is not None and (place if isinstance(place, int) else file.unread.at - 1) >= end:
            return
        payload = fields(line["payload"]) if "payload" in line else line
        events = tuple(reading.events(line.get("type"), payload))
        if reading.base and (base := fields(reading.base.pop())):
            yield from _inherited(file, reading.session, base, depth)
        # Until August 2025 only the first line had a time.
        at = moment(line.get("timestamp") or payload.get("timestamp")) or reading.at
        reading.at = at
        if events and (above := reading.above):
            if parent is None:
                parent, known = _written(file, above, depth)
                reading.finds(known)
                missing = above[: above.index(known) if known else None]
                file.place.wait_for(*([] if file.is_upload else missing))
            reading.compare(events, parent)
            file.place.forget(really=bool(reading.above))  # the next line cannot be compared alone
        session = reading.session_at(at)
        session = session if events else reading.session
        if session == reading.session and reading.is_subagent:
            events = tuple(Instruction(e.text) if isinstance(e, Prompt) else e for e in events)
        reading.count += len(events)
        key = str(reading.prompts) if reading.began else f"event-{reading.count}"
        key, of = f"{key}{reading.ending}", reading.threads or [reading.session]
        names = [f"{of[-1]}/line-{file.unread.at}{reading.ending}"]
        yield Line(
            uuid=key,
            session=session,
            at=at,
            cwd=reading.directories.get(session, "") or reading.cwd,
            branch=reading.branch,
            agent=MAIN,
            events=events,
            former=(*names, *(f"{each}/{key}" for each in [*of, reading.session])),
        )


def _written(
    file: WholeFile, threads: Sequence[str], depth: int
) -> tuple[Iterator[tuple[Event, str]], str]:
    """What happened in the file of the first of ``threads`` that is there, with the session of
    each, and that thread; nothing and "" if none is.
    """
    for thread in [] if file.is_upload or depth <= 0 else threads:
        if path := _path_of(file.path, thread):
            lines = _lines(WholeFile(path, path.name), None, depth - 1)
            return ((event, line.session) for line in lines for event in line.events), thread
    return iter(()), ""


def _inherited(
    file: WholeFile, session: str, base: Mapping[str, Any], depth: int
) -> Iterator[Line]:
    """What ``base`` names of another file of the same thread; a fork has no part in its parent."""
    wanted, end = clean_text(base.get("thread_id")), base.get("end_ordinal_exclusive")
    if not wanted or not isinstance(end, int) or isinstance(end, bool) or depth <= 0:
        file.unread.add(file.unread.at, "has a history_base that is not understood")
        return
    before = None if file.is_upload else _path_of(file.path, wanted)
    if before is None:
        why = f"goes on the file {wanted}, which is not there; what it has is read from here on"
        file.unread.add(file.unread.at, why)
        return
    other = WholeFile(before, before.name)
    for line in _lines(other, end, depth - 1):
        if line.session != session:
            return
        yield line


def _path_of(path: Path, rollout: str) -> Path | None:
    """The file with this id below the folder of Codex that ``path`` is in, beside it at least."""
    named = [n for n, part in enumerate(path.parts) if part in ("sessions", "archived_sessions")]
    beside = next(each for each in path.parents if not each.name.isdigit())  # a folder for a day
    home = Path(*path.parts[: named[-1]]) if named else beside
    roots = [home / "sessions", home / "archived_sessions"] if named else [home]
    for root in roots:
        for each in sorted(root.rglob("rollout-*.jsonl*")):
            if (name := NAMED.match(each.name)) and name[1] == rollout and each != path:
                return each
    return None
