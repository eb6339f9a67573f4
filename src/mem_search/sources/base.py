"""The base class of sources, and the builder of batches.

A source derives from ``BaseSource`` and writes ``read``. In ``read`` it gives everything it sees
to a ``BatchBuilder``, which knows the rules of the ledger:

* ``taken``: the item gave records; the entry says how many.
* ``left``: the source saw the item and does not want it; the reason says why.
* ``failed``: the item should have given a record and could not; the reason says what is wrong.
* ``deleted``: the location no longer has the item; its record is deleted, too.

Where several locations may have one record, a source *releases* it instead of deleting it, and says
in ``having`` which records a location has.

The newest entry of an item replaces the older one, and a batch is stored in one transaction with
its entries and its cursor. ``docs/extending.md`` has a complete source as an example.
"""

from __future__ import annotations

import logging
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeVar

from mem_search.contracts import FileFormat, Machine
from mem_search.errors import UNWRITABLE, MemSearchError, StorageError
from mem_search.model import Batch, Draft, LedgerEntry, Location
from mem_search.model.forgetting import Tombstone
from mem_search.model.ingest import WholeSession
from mem_search.text.file_names import as_text

log = logging.getLogger(__name__)

T = TypeVar("T")

UPLOADED: Final = "upload"
"""The source of documents that were sent with their identity, in ``Location.options``:
``source_id``, and of ``source name title created_at tags project url fetched_from source_type
metadata sha256`` what is known. ``name`` is that of the file, ``tags`` and ``metadata`` are JSON,
and ``created_at`` is in ms since 1970."""

KEPT: Final = "kept"
"""The option of a location that names a folder with copies of its transcripts that are gone."""

_SCRATCH: Final = "mem-search-scratch-"

BATCH_SIZE: Final = 200
"""Drafts and ledger entries of one batch: few enough that a search never waits long for it."""

BATCH_SECONDS: Final = 5.0
"""A reading that finds little still reports its progress and stores its cursor this often."""


def scratch_folder() -> tempfile.TemporaryDirectory[str]:
    """A folder for files that a source has to unpack; ``sweep_scratch`` finds it after a kill."""
    return tempfile.TemporaryDirectory(prefix=f"{_SCRATCH}{os.getpid()}-")


@contextmanager
def unpacking() -> Iterator[None]:
    """Around what is written into a scratch folder. Raises StorageError where there is no room.

    A full disk is no fault of the file that is read: the reading stops there and goes on later.
    """
    try:
        yield
    except OSError as error:
        if error.errno not in UNWRITABLE:
            raise
        raise StorageError(
            f"cannot unpack into {tempfile.gettempdir()}: {error.strerror}; free some space there,"
            " then start it again: what was stored stays"
        ) from error


def sweep_scratch() -> int:
    """Remove what workers left in the folder for temporary files when they were killed."""
    removed = 0
    for folder in Path(tempfile.gettempdir()).glob(f"{_SCRATCH}*-*"):
        pid = folder.name.removeprefix(_SCRATCH).partition("-")[0]
        try:
            status = folder.lstat()
            if stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and _has_ended(pid):
                shutil.rmtree(folder)
                removed += 1
        except OSError:
            continue  # another worker removes it, or the next start
    return removed


def _has_ended(pid: str) -> bool:
    if not (pid.isascii() and pid.isdecimal()):
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    return False


def guarded(item: str, make: Callable[[], Iterable[T]]) -> Iterator[T | LedgerEntry]:
    """What ``make`` gives for one of many items. A fault in it fails this item, and no other.

    Only what is no fault of the item is raised: MemSearchError, such as a full disk.
    """
    try:
        yield from make()
    except MemSearchError:
        raise
    except RecursionError:
        yield LedgerEntry(item, "failed", "it cannot be read: it is nested too deeply")
    except Exception as error:  # noqa: BLE001  a foreign file may hold anything anywhere
        log.warning("%s: %r", item, error)
        why = f"it is not as expected ({type(error).__name__}: {error})"
        yield LedgerEntry(item, "failed", why)


class BaseSource:
    """A source with defaults: no locations of its own, not followed, paths unchanged."""

    name: str
    follows: bool = False
    file_format: FileFormat | None = None
    schemes: tuple[str, ...] = ()

    @property
    def looks_in(self) -> str:
        """Where ``discover`` looks, for people; "" for a source that only reads what is named."""
        return ""

    def discover(self, machine: Machine) -> Iterable[Location]:
        return ()

    def recognises(self, path: Path) -> bool:
        return False

    def locate(self, path: str) -> Location:
        return Location(self.name, path)

    def pause(self, location: Location) -> float:
        return 0.0

    def to_watch(self, location: Location) -> Iterable[Path]:
        return ()

    def again(self, cursor: Mapping[str, Any]) -> Mapping[str, Any]:
        """The cursor from which everything is read again."""
        return {}

    def having(self, cursor: Mapping[str, Any], ids: Collection[str]) -> Collection[str]:
        return ()


class BatchBuilder:
    """Collects what a source finds and builds the next batch from it.

    ``total`` is the size of the whole reading in the source's own unit (bytes, rows, commits).
    ``shared`` is that of ``Batch``. ``taken`` counts the drafts of all batches.
    """

    def __init__(self, *, total: int = 0, shared: bool = False) -> None:
        self.total = total
        self.taken = 0
        self._shared = shared
        self._started: float | None = None
        self._clear()

    def _clear(self) -> None:
        self._drafts: list[Draft] = []
        self._places: list[str] = []
        self._deletions: list[str] = []
        self._released: list[str] = []
        self._ledger: list[LedgerEntry] = []
        self._outdated: list[str] = []
        self._tombstones: list[Tombstone] = []
        self._whole: list[WholeSession] = []

    def take(self, draft: Draft, item: str = "") -> None:
        """Store ``draft``. ``item`` is what the ledger calls it, else its source id."""
        self._drafts.append(draft)
        self._places.append(item or draft.source_id)
        self.taken += 1

    def refuse(self, tombstone: Tombstone) -> None:
        """Refuse a record that another store has forgotten."""
        self._tombstones.append(tombstone)

    def finish(self, *sessions: WholeSession) -> None:
        """Sessions were read whole: their observations that were not given are deleted."""
        self._whole += sessions

    def leave(self, item: str, reason: str) -> None:
        """The source leaves out ``item``."""
        self.note(LedgerEntry(item, "left", reason))

    def fail(self, item: str, reason: str) -> None:
        """``item`` should have become a record but failed."""
        self.note(LedgerEntry(item, "failed", reason))

    def delete(self, source_id: str, reason: str, item: str = "") -> None:
        """Delete the record ``source_id``, which the location no longer has."""
        self.drop(source_id)
        self.note(LedgerEntry(item or source_id, "deleted", reason))

    def drop(self, source_id: str) -> None:
        """Delete the record ``source_id`` of an item whose entry in the ledger says why."""
        self._deletions.append(source_id)

    def release(self, *names: str) -> None:
        """The location no longer has these records: ``Batch.released``."""
        self._released += names

    def note(self, *entries: LedgerEntry) -> None:
        """Add entries to the ledger."""
        self._ledger += (
            replace(each, item=as_text(each.item), reason=as_text(each.reason)) for each in entries
        )

    def outdate(self, *items: str) -> None:
        """Remove what the ledger says of ``items`` so far; an empty one is the whole location."""
        self._outdated += items

    def __bool__(self) -> bool:
        """Whether there is anything to store."""
        content = self._drafts or self._deletions or self._ledger or self._outdated
        return bool(content or self._released or self._tombstones or self._whole)

    @property
    def is_full(self) -> bool:
        """Whether it is time for a batch: enough was found, or the last one is long ago."""
        now = time.monotonic()
        if self._started is None:  # the time in which the last batch was stored does not count
            self._started = now
        count = len(self._drafts) + len(self._ledger) + len(self._tombstones)
        return count >= BATCH_SIZE or now - self._started >= BATCH_SECONDS

    def build(self, cursor: Mapping[str, Any], done: int, *, item: str = "") -> Batch:
        """The batch of everything since the last one; the next reading starts at ``cursor``.

        ``done`` is the progress, in the unit of ``total``. With ``item`` the ledger gets one
        ``taken`` entry of that name, which counts the records that were really stored.
        """
        batch = Batch(
            drafts=tuple(self._drafts),
            deletions=tuple(self._deletions),
            released=tuple(self._released),
            ledger=tuple(self._ledger),
            cursor=cursor,
            done=done,
            total=max(done, self.total),
            outdated=tuple(self._outdated),
            places=tuple(self._places),
            item=item,
            shared=self._shared,
            tombstones=tuple(self._tombstones),
            whole=tuple(self._whole),
        )
        self._clear()
        self._started = None
        return batch
