"""The source ``claude-mem``: observations, session summaries and prompts of its store.

Its database is read while claude-mem runs and is never written to; any version of it will do.
Each reading takes new, changed and deleted rows. ``database`` opens it, ``tables`` knows its
columns, ``changes`` finds the rows that differ, ``drafts`` turns a row into a draft. Other parts of
claude-mem (its vectors, its queue, its HTTP server) are not used.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from mem_search.contracts import FileFormat, Machine
from mem_search.model import Batch, Draft, LedgerEntry, Location
from mem_search.regular_file import MAX_SETTINGS, read_regular_file
from mem_search.sources.base import BaseSource, BatchBuilder, guarded
from mem_search.sources.claude_mem.database import (
    FILE_NAME,
    NOTHING,
    Block,
    Database,
    Row,
    Table,
    block_of,
    changed_rows,
    dump_blocks,
    find_database,
    load_blocks,
    open_database,
    signature,
)
from mem_search.sources.claude_mem.drafts import OBSERVER_PROJECT, draft_of, is_observer

_DIRECTORY: Final = "CLAUDE_MEM_DATA_DIR"
_REASONS: Final = {
    OBSERVER_PROJECT: "rows belong to sessions of claude-mem's own observer",
    "empty": "rows have no text, or only text that no person typed",
}

_GONE: Final = "no longer in the store"
_EMPTIED: Final = "the row has no text any more"
_WATCHED: Final = "the row belongs to a session of claude-mem's own observer now"


class ClaudeMem(BaseSource):
    """Reads one claude-mem store per location: ``claude-mem.db`` or the directory it is in.

    ``source_id`` is ``observation:12`` for the store in ``~/.claude-mem``. Every other store counts
    its rows from 1 as well, so its ids have a prefix of eight digits (``3f2a9c1b:observation:12``)
    made from its path: two stores never overwrite each other's records, and a store that is moved
    becomes another one. The prefix of an uploaded store is made from the time when claude-mem
    created it, so a newer copy updates the same records.

    The cursor holds a digest of each block of 256 rows (``changes``) and, as ``seen``, the sizes
    and times of the files after a complete reading: an unchanged store costs two calls of ``stat``.
    """

    name = "claude-mem"
    follows = True
    file_format = FileFormat(
        (".db", ".sqlite", ".sqlite3"), ("application/vnd.sqlite3", "application/x-sqlite3")
    )

    looks_in = "~/.claude-mem or $CLAUDE_MEM_DATA_DIR"

    def discover(self, machine: Machine) -> Iterable[Location]:
        """The store that claude-mem itself would use, if it exists."""
        path = _data_directory(machine) / FILE_NAME
        if os.access(path, os.F_OK):
            yield Location(self.name, str(path), "claude-mem")

    def read(self, location: Location, cursor: Mapping[str, Any]) -> Iterator[Batch]:
        """Rows that are new or changed, and the ids of deleted ones.

        Raises SourceError for a store that is missing, locked, corrupt or not claude-mem's.
        """
        path = find_database(Path(location.path))
        before = signature(path)
        if before is not None and before == cursor.get("seen"):
            return
        with open_database(path) as database:
            if location.upload:
                prefix = _prefix(database.created or location.upload)
            else:
                prefix = _prefix_at(path)
            yield from _Reading(database, cursor, prefix).batches(before)


class _Reading:
    """One reading of all tables: what is known so far, and the progress."""

    def __init__(self, database: Database, cursor: Mapping[str, Any], prefix: str) -> None:
        self.database = database
        self.prefix = prefix
        self.known = {table.name: load_blocks(cursor.get(table.name)) for table in database.tables}
        self.seen = cursor.get("seen")
        self.batch = BatchBuilder(total=sum(database.count(table) for table in database.tables))
        self.done = 0
        self.left: dict[tuple[str, str], int] = {}

    def batches(self, state: list[int] | None) -> Iterator[Batch]:
        """One batch per changed block, then one with the totals for the ledger.

        ``state`` is the signature of the files before they were read, None when it is not known.
        """
        changed = False
        for table in self.database.tables:
            known = self.known[table.name]
            for number in sorted({*self.database.blocks(table), *known}):
                self._block(table, known, number)
                if self.batch:
                    changed = True
                    yield self._build()
        if changed or (state is not None and state != self.seen):
            self._sum_up()
            yield self._build(seen=state)

    def _block(self, table: Table, known: dict[int, Block], number: int) -> None:
        """Read one block and put what changed in it into the next batch."""
        before = known.get(number, NOTHING)
        rows = self.database.rows(table, number)
        self.done += len(rows)
        ours = [row for row in rows if not is_observer(table, row)]
        self._leave(table, OBSERVER_PROJECT, len(rows) - len(ours))
        silent: set[int] = set()
        for row in changed_rows(before, ours):
            item = f"{self.prefix}{table.kind}:{row[0]}"
            (draft,) = guarded(item, partial(_drafts, table, row, self.prefix))
            if isinstance(draft, LedgerEntry):
                self.batch.note(draft)
            elif draft is None:
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
            known[number] = block_of(taken)
        elif self.batch:
            del known[number]

    def _leave(self, table: Table, why: str, count: int) -> None:
        key = (table.name, why)
        self.left[key] = self.left.get(key, 0) + count

    def _sum_up(self) -> None:
        """Ledger: one entry per table for rows taken, one per reason for rows left."""
        for table in self.database.tables:
            taken = sum(len(block.ids) for block in self.known[table.name].values())
            self.batch.note(LedgerEntry(table.name, "taken", records=taken))
        for (name, why), count in self.left.items():
            if count:
                self.batch.leave(_item(name, why), f"{count} {_REASONS[why]}")
            else:  # an earlier reading left rows for this reason, and none is left now
                self.batch.outdate(_item(name, why))

    def _build(self, *, seen: list[int] | None = None) -> Batch:
        cursor: dict[str, Any] = {name: dump_blocks(blocks) for name, blocks in self.known.items()}
        return self.batch.build({**cursor, "seen": seen}, self.done)


def _drafts(table: Table, row: Row, prefix: str) -> tuple[Draft | None]:
    return (draft_of(table, row, prefix=prefix),)


def _item(table: str, why: str) -> str:
    """The ledger's name for the rows of a table that are left for one reason."""
    return f"{table} ({why})"


def _prefix_at(path: Path) -> str:
    """The prefix of the ids of the store at ``path``; empty for the default store."""
    real = os.path.realpath(path)
    if real == os.path.realpath(os.path.expanduser(f"~/.claude-mem/{FILE_NAME}")):  # noqa: PTH111
        return ""
    return _prefix(real)


def _prefix(identity: str) -> str:
    return hashlib.blake2b(os.fsencode(identity), digest_size=4).hexdigest() + ":"


def _data_directory(machine: Machine) -> Path:
    """Where claude-mem keeps its data: environment, else its settings, else its default."""
    default = machine.home / ".claude-mem"
    directory = machine.environ.get(_DIRECTORY) or _setting(default / "settings.json")
    if directory == "~" or directory.startswith("~/"):
        return machine.home / directory[2:]
    return machine.home / directory if directory else default


def _setting(file: Path) -> str:
    """The data directory in claude-mem's settings; older versions nest them under ``env``."""
    try:
        settings = json.loads(read_regular_file(file, MAX_SETTINGS).decode("utf-8-sig"))
    except (OSError, ValueError):
        return ""  # claude-mem cannot read such settings either and uses its default
    if not isinstance(settings, dict):
        return ""
    nested = settings.get("env")
    for place in (settings, nested if isinstance(nested, dict) else {}):
        value = place.get(_DIRECTORY)
        if isinstance(value, str) and value.strip():
            return value.strip()
    return ""
