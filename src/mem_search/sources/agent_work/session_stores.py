"""The base of sources whose agent keeps many sessions in one place: a database, or files of a form
of its own.

A session is read again when its stamp changed, a place when its file or the log beside it did.
"""

from __future__ import annotations

import logging
import os
import stat
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Final

from mem_search.contracts import Machine
from mem_search.errors import MemSearchError, SourceError
from mem_search.model import Batch, Draft, LedgerEntry, Location
from mem_search.model.ingest import WholeSession
from mem_search.platform import expanded
from mem_search.projects import identify
from mem_search.regular_file import kind_of
from mem_search.sources.agent_work.drafts import VERSION
from mem_search.sources.agent_work.events import Line
from mem_search.sources.agent_work.text import clean_text
from mem_search.sources.agent_work.transcripts import home_of, records_of
from mem_search.sources.base import BaseSource, BatchBuilder, guarded
from mem_search.sources.conversations import fields, moment
from mem_search.sources.databases import (
    ENDED,
    ForeignDatabase,
    UnreadableDatabase,
    foreign_database,
)
from mem_search.sources.growing import STATES_KEPT, Growing, continued
from mem_search.sources.whole_files import UnreadLines
from mem_search.text.file_names import as_text
from mem_search.text.json_reading import loads

log = logging.getLogger(__name__)

_DATABASES: Final = (".db", ".sqlite3", ".vscdb")
_BUSY: Final = ("SQLITE_BUSY", "SQLITE_LOCKED")
_OF_ALL: Final = (ENDED, *_BUSY, "SQLITE_IOERR")
"""Errors of the whole database; another one is of the session that is read."""
_FILE: Final = ""
"""The key of a store's own stamp among those of its sessions, which have names."""
_NAMELESS: Final = "a session without an id"
_MS_FROM: Final = 10**11
"""A time from this number on is in milliseconds: in seconds it would be after the year 5100."""


@dataclass(frozen=True, slots=True)
class Store:
    """A file with sessions. ``folder`` is the directory that they worked in, if the place says;
    ``beside`` are files that say more of them. ``place`` is how far a file of lines was read.
    """

    path: Path
    folder: str = ""
    beside: tuple[Path, ...] = ()
    place: Growing = field(default_factory=Growing, compare=False)

    def stamp(self) -> str:
        """What changes with the file, with the log of a database, or with a file beside it."""
        stamps = []
        for each in (self.path, self.path.with_name(f"{self.path.name}-wal"), *self.beside):
            with suppress(OSError):
                status = each.stat()
                stamps.append(f"{status.st_mtime_ns}-{status.st_size}")
        return "-".join(stamps)


@dataclass(frozen=True, slots=True)
class StoredSession:
    """A session in a store; ``lines`` notes what it cannot read by the number of the message.

    ``left`` is the reason why one has nothing that is read.
    """

    id: str
    stamp: str
    lines: Callable[[UnreadLines], Iterable[Line]]
    left: str = ""


class UnknownForm(Exception):
    """A session is stored in a form that this version does not know; the message says which."""


class SessionStores(BaseSource):
    """``in_database`` or ``in_file`` lists the sessions of a store; the rest is the same for all.

    A session that several stores have is that of the first.
    """

    follows = True
    label: ClassVar[str]
    """The name of the agent, for people."""
    tables: ClassVar[tuple[str, ...]] = ()
    optional: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def places(self, machine: Machine) -> Iterable[Path]:
        """Where the agent keeps its sessions, whether that exists or not."""

    def stores(self, root: Path) -> Iterable[Store]:
        """The stores of a location, the most complete first."""
        return (Store(root),)

    def in_database(self, store: Store, database: ForeignDatabase) -> Iterator[StoredSession]:
        """The sessions of a database, the oldest first. Raises UnreadableDatabase."""
        return iter(())

    def in_file(self, store: Store) -> Iterator[StoredSession]:
        """The sessions of another file. Raises OSError, ValueError."""
        return iter(())

    @property
    def looks_in(self) -> str:
        nobody = Machine(home=Path("~"), environ={}, cwd=Path())
        return ", ".join(dict.fromkeys(map(str, self.places(nobody))))

    def discover(self, machine: Machine) -> Iterable[Location]:
        for path in dict.fromkeys(self.places(machine)):
            if path.exists():
                yield Location(self.name, str(path), label=f"{self.label} sessions")

    def read(self, location: Location, cursor: Mapping[str, Any]) -> Iterator[Batch]:
        root = Path(expanded(location.path))
        if not root.exists():
            raise SourceError(f"{root} does not exist", field="path")
        is_known = cursor.get("version") == VERSION
        known: dict[str, dict[str, str]] = {}
        places: dict[str, Any] = {}
        if is_known:
            known = {name: dict(each) for name, each in cursor.get("stores", {}).items()}
            places = dict(cursor.get("places", {}))
        state = {"version": VERSION, "stores": known, "places": places}
        stores = [each for each in self.stores(root) if os.path.lexists(each.path)]
        batch, earlier = BatchBuilder(total=len(stores)), set[str]()
        for done, store in enumerate(stores):
            name = _named(store.path, root)
            sessions = known.setdefault(name, {})
            stamp = store.stamp()
            if sessions.get(_FILE) != stamp:
                batch.outdate(name)
                left = places.pop(name, None)
                if place := continued(store.path, left) if left else None:
                    store = replace(store, place=place)
                try:
                    for _ in self._store(store, sessions, earlier, batch):
                        if batch.is_full:
                            yield batch.build(state, done)
                    sessions[_FILE] = stamp
                    if store.place.left:
                        places[name] = store.place.left
                        while len(places) > STATES_KEPT:
                            del places[next(iter(places))]
                except Exception as error:  # a foreign file may hold anything anywhere
                    if isinstance(error, MemSearchError) and not isinstance(error, SourceError):
                        raise  # such as a full disk: no fault of the file
                    step = "; sync again in a minute" if _is_busy(error) else ""
                    why = as_text(f"{store.path} cannot be read: {error}{step}")
                    if store.path == root:
                        raise SourceError(why) from error
                    log.warning("%s: %r", name, error)
                    batch.fail(name, why)
                    if not step:
                        sessions[_FILE] = stamp
            earlier |= sessions.keys() - {_FILE}
        if batch:
            yield batch.build(state, len(stores))

    def _listed(self, store: Store) -> Iterator[StoredSession]:
        is_database = store.path.suffix in _DATABASES
        mode = (store.path.stat() if is_database else store.path.lstat()).st_mode
        if not stat.S_ISREG(mode):
            raise OSError(f"it is {kind_of(mode)}, and only files are read")
        if is_database:
            with foreign_database(store.path, self.tables, self.optional) as database:
                yield from self.in_database(store, database)
        else:
            yield from self.in_file(store)

    def _store(
        self, store: Store, known: dict[str, str], earlier: Collection[str], batch: BatchBuilder
    ) -> Iterator[None]:
        """Take what changed in a store, session by session."""
        for session in self._listed(store):
            item, failed = clean_text(session.id) or _NAMELESS, False
            if item in earlier or known.get(item) == session.stamp:
                continue
            unread, place = UnreadLines("message"), store.place
            taken: dict[str, bool] = {}
            batch.outdate(f"{item}:{place.line + 1}" if place.offset else item)
            for output in guarded(item, partial(self._records, item, session, unread, place)):
                if isinstance(output, Draft):
                    taken[output.source_id] = bool(place.left)
                    batch.take(output, item)
                elif isinstance(output, LedgerEntry):
                    failed = True
                    batch.note(output)
                else:
                    batch.finish(output)
            not_read = list(unread.entries(item))
            batch.note(*not_read)
            if (records := place.count(taken)) and not failed:
                batch.note(LedgerEntry(item, "taken", records=records))
            elif not (failed or not_read):
                batch.leave(item, session.left or "there is nothing in it that could be stored")
            known[item] = session.stamp
            yield

    def _records(
        self, item: str, session: StoredSession, unread: UnreadLines, place: Growing
    ) -> Iterator[Draft | WholeSession | LedgerEntry]:
        """The records of a session. Raises SourceError when the database cannot be asked any more.

        One of which something cannot be read is not whole: nothing of it is deleted.
        """
        try:
            lines = session.lines(unread)
            for each in records_of(self.name, lines, identify, item, place, unread):
                is_whole = not (unread.count or unread.unknown or unread.waiting)
                if is_whole or not isinstance(each, WholeSession):
                    yield each
        except UnknownForm as error:
            yield LedgerEntry(item, "failed", str(error))
        except UnreadableDatabase as error:
            if error.name in _OF_ALL:
                raise SourceError(f"the database cannot be asked any more ({error})") from error
            raise


@contextmanager
def beside(path: Path, *tables: str) -> Iterator[ForeignDatabase | None]:
    """A small database that says more about sessions; None where it cannot be read."""
    try:
        with foreign_database(path, tables) as database:
            yield database
    except (UnreadableDatabase, OSError):
        yield None


def application_folders(machine: Machine, name: str) -> Iterator[Path]:
    """The folders in which a desktop program keeps its state, on Linux and macOS."""
    yield home_of(machine, ".config", "XDG_CONFIG_HOME") / name
    yield machine.home / "Library" / "Application Support" / name


def data_folders(machine: Machine, linux: str, mac: str) -> Iterator[Path]:
    """The folders in which a program keeps its data, on Linux and macOS."""
    yield home_of(machine, ".local/share", "XDG_DATA_HOME") / linux
    yield machine.home / "Library" / "Application Support" / mac


def value_of(data: object, unread: UnreadLines) -> Any:
    """The JSON of the message at hand; None with a note for what is none."""
    try:
        return loads(data) if isinstance(data, str | bytes) else None
    except RecursionError:
        unread.add(unread.at, "cannot be read: it is nested too deeply")
    except ValueError as error:
        unread.add(unread.at, f"cannot be read: {error}")
    return None


def object_of(value: object) -> Mapping[str, Any]:
    """An object, or the one that a text is in JSON; {} for anything else."""
    return fields(value_of(value, UnreadLines()) if isinstance(value, str | bytes) else value)


def when(value: object) -> int | None:
    """ms since 1970 of an ISO date, or of seconds or milliseconds; None for anything else."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return moment(value / 1000 if value >= _MS_FROM else value) if value > 0 else None
    return moment(value) if isinstance(value, str) else None


def root_of(session: str, parents: Mapping[str, str | None]) -> str:
    """The session that a person began."""
    seen = {session}
    while (above := parents.get(session)) and above not in seen:
        seen.add(above)
        session = above
    return session


def _is_busy(error: Exception) -> bool:
    cause = error if isinstance(error, UnreadableDatabase) else error.__cause__
    return isinstance(cause, UnreadableDatabase) and cause.name.startswith(_BUSY)


def _named(path: Path, root: Path) -> str:
    is_below = path.is_relative_to(root) and path != root
    return as_text(str(path.relative_to(root) if is_below else path))
