"""The source ``claude-mem``: observations, session summaries and prompts of its store.

The store is read live and never written to, whatever version of claude-mem made it; new,
changed and deleted rows are followed. ``store`` opens it, ``tables`` knows its columns,
``changes`` tells what is new, ``rows`` makes drafts. Other parts of claude-mem (its vectors,
its queue, its HTTP server) are not used.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from mem_search.contracts import FileFormat, Machine
from mem_search.model import Batch, LedgerEntry, Location
from mem_search.sources.base import BaseSource, BatchBuilder
from mem_search.sources.claude_mem.changes import NOTHING, Block, dump, fresh, load, remember
from mem_search.sources.claude_mem.rows import OBSERVER_PROJECT, draft_of, is_observer
from mem_search.sources.claude_mem.store import DATABASE, Store, located, opened, signature
from mem_search.sources.claude_mem.tables import Table

_DIRECTORY: Final = "CLAUDE_MEM_DATA_DIR"
_REASONS: Final = {
    OBSERVER_PROJECT: "rows are claude-mem's talk with its own observer",
    "empty": "rows have no text, or none that the person typed",
}

_GONE: Final = "no longer in the store"
_EMPTIED: Final = "has no text any more"
_WATCHED: Final = "is claude-mem's talk with its own observer now"


class ClaudeMem(BaseSource):
    """Reads one store per location; ``path`` is ``claude-mem.db`` or its directory.

    ``source_id`` is ``observation:12`` for the store in ``~/.claude-mem``. A store anywhere
    else has numbers of its own, so its ids begin with eight digits made from its path
    (``3f2a9c1b:observation:12``): two stores never overwrite each other, and the usual one
    keeps plain ids. Moving a store elsewhere makes it another store. The digits of an uploaded
    store are made from the time when claude-mem created it, so a newer copy of it updates the
    same records.

    The cursor holds, for each table, what is known of each block of 256 ids (``changes``), and
    as ``seen`` the state of the files after a complete reading, so that a store at rest costs
    two calls of ``stat``.
    """

    name = "claude-mem"
    follows = True
    file_format = FileFormat(
        (".db", ".sqlite", ".sqlite3"), ("application/vnd.sqlite3", "application/x-sqlite3")
    )

    def discover(self, machine: Machine) -> Iterable[Location]:
        """The store where claude-mem itself would look for it, if there is one."""
        path = _data_directory(machine) / DATABASE
        if os.access(path, os.F_OK):
            yield Location(self.name, str(path), "claude-mem")

    def read(self, location: Location, cursor: Mapping[str, Any]) -> Iterator[Batch]:
        """Rows that are new or changed, and the ids of those that are gone.

        Raises SourceError for a store that is missing, locked, corrupt or not claude-mem's.
        """
        path = located(Path(location.path))
        before = signature(path)
        if before is not None and before == cursor.get("seen"):
            return
        with opened(path) as store:
            prefix = (
                _prefix(store.created or location.upload) if location.upload else (_prefix_at(path))
            )
            yield from _Reading(store, cursor, prefix).batches(before)


class _Reading:
    """One pass over the tables: what is known so far, and how far it came."""

    def __init__(self, store: Store, cursor: Mapping[str, Any], prefix: str) -> None:
        self.store = store
        self.prefix = prefix
        self.known = {table.name: load(cursor.get(table.name)) for table in store.tables}
        self.seen = cursor.get("seen")
        self.batch = BatchBuilder(total=sum(store.count(table) for table in store.tables))
        self.done = 0
        self.left: dict[tuple[str, str], int] = {}

    def batches(self, state: list[int] | None) -> Iterator[Batch]:
        """A batch per changed block, then one with the ledger and the ``state`` of the files."""
        changed = False
        for table in self.store.tables:
            known = self.known[table.name]
            for number in sorted({*self.store.blocks(table), *known}):
                self._block(table, known, number)
                if self.batch:
                    changed = True
                    yield self._build()
        if changed or (state is not None and state != self.seen):
            self._sum_up()
            yield self._build(seen=state)

    def _block(self, table: Table, known: dict[int, Block], number: int) -> None:
        """Read one block; what changed in it is in the next batch."""
        before = known.get(number, NOTHING)
        rows = self.store.rows(table, number)
        self.done += len(rows)
        ours = [row for row in rows if not is_observer(table, row)]
        self._leave(table, OBSERVER_PROJECT, len(rows) - len(ours))
        silent: set[int] = set()
        for row in fresh(before, ours):
            draft = draft_of(table, row, prefix=self.prefix)
            if draft is None:
                silent.add(row[0])
            else:
                self.batch.take(draft)
        self._leave(table, "empty", len(silent))
        taken = [row for row in ours if row[0] not in silent]
        gone = sorted(before.ids - {row[0] for row in taken})
        there = {row[0] for row in rows}
        for row_id in gone:
            why = _EMPTIED if row_id in silent else _WATCHED if row_id in there else _GONE
            self.batch.delete(f"{self.prefix}{table.kind}:{row_id}", why)
        if self.batch and taken:
            known[number] = remember(taken)
        elif self.batch:
            del known[number]

    def _leave(self, table: Table, why: str, count: int) -> None:
        key = (table.name, why)
        self.left[key] = self.left.get(key, 0) + count

    def _sum_up(self) -> None:
        """One entry per table for what is taken, and one per reason for what is left."""
        for table in self.store.tables:
            taken = sum(len(block.ids) for block in self.known[table.name].values())
            self.batch.note(LedgerEntry(table.name, "taken", records=taken))
        for (name, why), count in self.left.items():
            if count:
                self.batch.leave(_item(name, why), f"{count} {_REASONS[why]}")
            else:  # rows were left for this reason once; none is now
                self.batch.outdate(_item(name, why))

    def _build(self, *, seen: list[int] | None = None) -> Batch:
        cursor: dict[str, Any] = {name: dump(blocks) for name, blocks in self.known.items()}
        return self.batch.build({**cursor, "seen": seen}, self.done)


def _item(table: str, why: str) -> str:
    """What the ledger calls the rows of a table that are left for one reason."""
    return f"{table} ({why})"


def _prefix_at(path: Path) -> str:
    """What sets the ids of this store apart; empty for the one that nearly everybody has."""
    real = os.path.realpath(path)
    if real == os.path.realpath(os.path.expanduser(f"~/.claude-mem/{DATABASE}")):  # noqa: PTH111
        return ""
    return _prefix(real)


def _prefix(identity: str) -> str:
    return hashlib.blake2b(os.fsencode(identity), digest_size=4).hexdigest() + ":"


def _data_directory(machine: Machine) -> Path:
    """claude-mem's own order: environment, its settings, its default."""
    default = machine.home / ".claude-mem"
    told = machine.environ.get(_DIRECTORY) or _setting(default / "settings.json")
    if told == "~" or told.startswith("~/"):
        return machine.home / told[2:]
    return machine.home / told if told else default


def _setting(file: Path) -> str:
    """The data directory in claude-mem's settings, which were once nested under ``env``."""
    try:
        settings = json.loads(file.read_text("utf-8-sig"))
    except (OSError, ValueError):
        return ""  # no settings, or none that claude-mem could use either: its default holds
    if not isinstance(settings, dict):
        return ""
    nested = settings.get("env")
    for place in (settings, nested if isinstance(nested, dict) else {}):
        value = place.get(_DIRECTORY)
        if isinstance(value, str) and value.strip():
            return value.strip()
    return ""
