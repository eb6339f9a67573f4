"""Keeping the store in step with a folder that a file sync carries between machines.

A turn has three steps: what changed here since the last one gets its next version; the files that
other machines wrote are applied; what the folder has not seen of this store is written into it.
Each step can be repeated, so a turn that ended early only begins again.

This machine replaces all of its files by a *base*, with every state, when they have more old lines
than new ones, when one of them has gone, and when a record was forgotten or secrets were removed
since: what was forgotten stays in no file of the folder.
"""

from __future__ import annotations

import asyncio
import logging
import re
import socket
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, TypeVar

from mem_search.errors import InputError, MemSearchError, NotFound, SourceError
from mem_search.features.mirror import files
from mem_search.features.mirror.model import Change
from mem_search.features.mirror.sql import MirrorStore
from mem_search.features.mirror.states import AT_ONCE
from mem_search.ingest.prepare_process import PrepareProcess
from mem_search.ingest.writer import IngestWriter
from mem_search.jobs.queue import Report
from mem_search.model import Batch, Draft, Location
from mem_search.model.ingest import PreparedDraft
from mem_search.sources.jsonl.exchange import NAME as LINES
from mem_search.sources.jsonl.exchange import ExchangeRecord
from mem_search.storage.redacted import clean
from mem_search.storage.store import Store
from mem_search.text.counted import counted
from mem_search.text.redaction import Redaction

log = logging.getLogger(__name__)

T = TypeVar("T")

JOB: Final = "mirror"

EVERY_SECONDS: Final = 30.0
"""Between two turns; one in which nothing changed reads the names in the folder and one row."""

_OLD_LINES: Final = 2
"""So many lines for each state make the files worth writing anew."""


@dataclass(slots=True)
class Progress:
    """How far a folder is, as it is stored. ``read`` and ``written`` are names of files.

    ``cursor`` is the last change of a record that was looked at, ``turn`` the last states that were
    written, in ``lines`` lines; ``forgotten`` of them and the rules of secrets, ``rules``, when the
    base was written.
    """

    read: list[str] = field(default_factory=list)
    written: list[str] = field(default_factory=list)
    cursor: int = 0
    turn: int = 0
    lines: int = 0
    forgotten: int = 0
    rules: str = ""

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> Progress:
        return cls(**{name: stored[name] for name in cls.__slots__ if name in stored})

    @property
    def stored(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(slots=True)
class Turn:
    """What a turn did: counts of records, files that wait for the rest of them, what is wrong."""

    counts: Counter[str] = field(default_factory=Counter)
    waiting: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    @property
    def result(self) -> dict[str, Any]:
        return {"counts": dict(self.counts), "waiting": self.waiting, "errors": self.errors}


def machine_of(home: Path) -> str:
    """The name of this machine and home in files and versions: ``laptop-3f9a2c``.

    It is made anew each time: a home that is copied to another machine has another name there.
    """
    host, node = socket.gethostname(), uuid.getnode()
    hardware = "" if node >> 40 & 1 else node  # RFC 9562, 6.10: the bit marks a random number
    marks = sha256(f"{host}\0{hardware}\0{home}".encode("utf-8", "surrogateescape")).hexdigest()
    plain = re.sub(r"[^a-z0-9]+", "-", host.partition(".")[0].lower()).strip("-")
    return f"{plain[:24].strip('-') or 'machine'}-{marks[:6]}"


class Mirrors:
    """The folders of one store. ``run`` until cancelled.

    ``stored`` is called after records changed, ``rules`` names the rules of secrets in use.
    """

    def __init__(
        self,
        store: Store,
        writer: IngestWriter,
        preparing: PrepareProcess,
        forget: Callable[[Sequence[int]], Awaitable[object]],
        redaction: Redaction,
        home: Path,
        stored: Callable[[], None],
    ) -> None:
        self._states = store.part(lambda database: MirrorStore(database, store.writer))
        self._store = store
        self._writer = writer
        self._preparing = preparing
        self._forget = forget
        self._redaction = redaction
        self._machine = machine_of(home)
        self._home = home
        self._stored = stored
        self._lock = asyncio.Lock()
        self._refused: dict[Path, str] = {}
        """Files that cannot be used by this version, and why; the next start tries them again."""
        self._checked: set[Path] = set()
        """Folders whose files of this machine were looked at since the start: they are whole."""

    async def listed(self) -> list[tuple[str, dict[str, Any], int | None, str]]:
        """(folder, progress, when it was last in step, error) of each folder."""
        return await self._states.mirrors()

    async def stop(self, folder: str) -> None:
        """Mirror into the folder no more; files and records stay. Raises NotFound."""
        if not await self._states.drop(folder):
            raise NotFound(f"{folder} is not mirrored; to list what is: mem-search mirror")

    async def run(self) -> None:
        """A turn for each folder, again and again, until cancelled."""
        while True:
            await asyncio.sleep(EVERY_SECONDS)
            try:
                for folder, *_ in await self._states.mirrors():
                    await self.turn(folder)
            except MemSearchError as error:  # it is stored with its folder as well
                log.warning("mirror: %s", error)

    async def turn(self, folder: str, report: Report | None = None, *, begin: bool = False) -> Turn:
        """Bring store and folder in step; ``begin`` makes the folder, and looks at it from now on.

        Raises SourceError when the folder cannot be read or written.
        """
        place = Path(folder)
        if begin:
            self._refused.clear()
            self._checked.discard(place)
            await asyncio.to_thread(_make, place, self._home)
        async with self._lock:
            known = {name: state for name, state, *_ in await self._states.mirrors()}
            progress = Progress.of(known.get(folder, {}))
            turn = Turn()
            try:
                await self._learn(progress)
                await self._read(place, progress, turn, report)
                await self._learn(progress)
                await self._write(place, progress, turn)
            except MemSearchError as error:
                await self._states.keep(folder, progress.stored, error.message)
                raise
            missing = "; ".join((*turn.errors, *turn.waiting))
            await self._states.keep(folder, progress.stored, missing)
        turn.counts = +turn.counts
        if turn.counts:
            self._stored()
        return turn

    async def _learn(self, progress: Progress) -> None:
        """Give what changed here its next version."""
        numbers, cursor = await self._states.changed(progress.cursor)
        for some in _parts(numbers):
            await self._states.learn(self._machine, some)
        await self._states.learn_removed(self._machine)
        progress.cursor = cursor

    async def _read(
        self, folder: Path, progress: Progress, turn: Turn, report: Report | None
    ) -> None:
        """Apply the files that other machines wrote."""
        there = await asyncio.to_thread(files.names_in, folder)
        mine, before = set(progress.written), set(progress.read)
        if _machines(before) - _machines(there):
            await self._states.adopt(str(folder))  # its files have gone, and nobody else has them
            progress.turn = 0
        progress.read = [name for name in there if name in before]
        refused = {name: why for name in there if (why := self._refused.get(folder / name))}
        turn.errors += refused.values()
        new = [name for name in there if name not in before | mine | refused.keys()]
        for done, name in enumerate(new):
            if report is not None:
                await report(done, len(new), f"reading {name}")
            try:
                content = await asyncio.to_thread(files.read, folder, name)
            except files.IncompleteFile as wait:
                turn.waiting.append(wait.message)
                continue
            except SourceError as error:
                turn.errors.append(error.message)
                self._refused[folder / name] = error.message
                continue
            await self._apply(str(folder), content, turn)
            if content.failed:
                (item, why), more = next(iter(content.failed.items())), len(content.failed) - 1
                also = f" (and {counted(more, 'other line')})" if more else ""
                turn.errors.append(f"{name}: {item}: {why}{also}")
                self._refused[folder / name] = turn.errors[-1]
            else:
                progress.read.append(name)

    async def _apply(self, folder: str, content: files.Content, turn: Turn) -> None:
        for removed in _parts(content.removed):
            await self._take_away(folder, removed, turn)
        for stored in _parts(content.stored):
            items = await self._prepared(stored, content)
            kept: set[str] = set()
            while items:
                applied = await self._states.apply(self._machine, folder, items, kept)
                turn.counts.update(applied.counts)
                await self._keep(folder, applied.beside)
                kept |= applied.lost
                items = applied.again

    async def _take_away(self, folder: str, changes: Sequence[Change], turn: Turn) -> None:
        new = await self._states.unknown(changes)
        if not new:
            return
        held = await self._states.matching(new)
        items = [(each, held.get(each.digest)) for each in new]
        forget, removed = await self._states.take_away(self._machine, folder, items)
        turn.counts["removed"] += removed
        if forget:
            turn.counts["forgotten"] += len(forget)
            await self._forget(forget)
            left = [(each, None) for each, number in items if number in forget]
            await self._states.take_away(self._machine, folder, left)

    async def _prepared(
        self, stored: Sequence[tuple[Change, ExchangeRecord]], content: files.Content
    ) -> list[tuple[Change, PreparedDraft]]:
        drafts = tuple(each.draft(each.source_id) for _, each in stored)
        batch = await asyncio.to_thread(clean, Batch(drafts=drafts), self._redaction)
        items = []
        outcomes = await self._preparing.prepare(batch.drafts)
        for (change, _), draft, outcome in zip(stored, batch.drafts, outcomes, strict=True):
            if isinstance(outcome, str):
                content.failed[f"{draft.kind} {draft.source_id}"] = outcome
            else:
                items.append((change, outcome))
        return items

    async def _keep(self, folder: str, drafts: Sequence[Draft]) -> None:
        """Store what lost against something that was written beside it, as records of its own."""
        if drafts:
            location = Location(LINES, folder)
            await self._writer.take(location, Batch(drafts=tuple(drafts)))
            await self._store.ingest.drop_location(location)

    async def _write(self, folder: Path, progress: Progress, turn: Turn) -> None:
        """Write what the folder has not seen of this store."""
        there = set(await asyncio.to_thread(files.names_in, folder))
        rows, forgotten = await self._states.rows(str(folder))
        rules = await self._store.redacting.rules()
        damaged: list[str] = []
        if folder not in self._checked:
            mine = there.intersection(progress.written)
            damaged = await asyncio.to_thread(lambda: [*files.damaged(folder, mine)])
        whole = bool(
            not progress.turn
            or damaged
            or not there.issuperset(progress.written)
            or forgotten > progress.forgotten
            or rules != progress.rules
            or progress.lines > _OLD_LINES * rows + files.MAX_LINES
        )
        until = await self._states.last_turn()
        if not whole and until == progress.turn:
            self._checked.add(folder)
            return
        lines = 0 if whole else progress.lines
        names: list[str] = [] if whole else list(progress.written)
        place = (0 if whole else progress.turn, "g")  # after every digest
        pending: list[str] = []
        more = True
        while more:
            page = await self._states.outgoing(str(folder), place, until)
            more = bool(page)
            pending += [files.line_of(change, record) for _, change, record in page]
            place = page[-1][0] if page else place
            if pending and (not more or len(pending) >= files.MAX_LINES - AT_ONCE):
                made = await asyncio.to_thread(
                    lambda some: list(files.written(folder, self._machine, some)), pending
                )
                names += made
                lines += len(pending)
                turn.counts["written"] += len(pending)
                pending = []
        if whole:
            await asyncio.to_thread(_remove, folder, set(progress.written) - set(names))
            progress.forgotten, progress.rules = forgotten, rules
        progress.written, progress.lines, progress.turn = names, lines, until
        self._checked.add(folder)


class MirrorJob:
    """A turn for one folder, which is kept in step from then on."""

    name = JOB

    def __init__(self, mirrors: Mirrors) -> None:
        self._mirrors = mirrors

    async def run(self, params: Mapping[str, Any], report: Report) -> Mapping[str, Any]:
        turn = await self._mirrors.turn(str(params["folder"]), report, begin=True)
        return {"folder": params["folder"], **turn.result}


def _make(folder: Path, home: Path) -> None:
    """Raises InputError or SourceError for a folder that cannot be a mirror."""
    if folder.resolve().is_relative_to(home.resolve()):
        raise InputError(
            f"{folder} is in mem-search's own folder; choose one that a sync program carries",
            field="folder",
        )
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise SourceError(f"cannot make {folder}: {error.strerror}", field="folder") from error


def _remove(folder: Path, names: set[str]) -> None:
    for name in names:
        (folder / name).unlink(missing_ok=True)


def _machines(names: Sequence[str] | set[str]) -> set[str]:
    return {name.partition(".")[0] for name in names}


def _parts(items: Sequence[T]) -> Iterator[list[T]]:
    for start in range(0, len(items), AT_ONCE):
        yield list(items[start : start + AT_ONCE])
