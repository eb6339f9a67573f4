"""A claude-mem database, read beside the program that writes it, as ``databases`` reads any."""

from __future__ import annotations

import hashlib
import marshal
import stat
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from mem_search.errors import SourceError
from mem_search.model import Kind
from mem_search.sources.databases import (
    MISSING,
    ForeignDatabase,
    UnreadableDatabase,
    foreign_database,
)

BLOCK: Final = 256
_SHAPE: Final = b"2"
"""Raise this when the same rows give other drafts: everything is then read again."""

Row = tuple[Any, ...]
"""The row's id, then every value that its draft depends on; texts are UTF-8 bytes."""


@dataclass(frozen=True, slots=True)
class Block:
    """What is known of the ids ``[number * BLOCK, (number + 1) * BLOCK)``."""

    digest: str
    ids: frozenset[int]


NOTHING: Final = Block("", frozenset())


def changed_rows(known: Block, rows: Sequence[Row]) -> Sequence[Row]:
    """The rows of a block that are new or may have changed since ``known``.

    While the known rows have the same digest, these are the new rows only, so that each new row of
    a growing table does not store the rows before it again. Otherwise these are all rows, because
    one digest does not tell which row changed; storing an unchanged row again changes nothing.
    """
    before = [row for row in rows if row[0] in known.ids]
    if len(before) < len(known.ids) or digest(before) != known.digest:
        return rows
    return [row for row in rows if row[0] not in known.ids]


def block_of(rows: Sequence[Row]) -> Block:
    """The block after its ``rows``, in order of id, were taken."""
    return Block(digest(rows), frozenset(row[0] for row in rows))


def digest(rows: Iterable[Row]) -> str:
    """64 bits over the rows in their order."""
    # While claude-mem writes, every row passes through here every few seconds. marshal is the
    # cheapest exact form; its version 2 depends on the values alone.
    return hashlib.blake2b(marshal.dumps(list(rows), 2), digest_size=8, key=_SHAPE).hexdigest()


def load_blocks(state: object) -> dict[int, Block]:
    """Blocks by number, from a cursor. A block that is not understood is read again."""
    blocks: dict[int, Block] = {}
    if not isinstance(state, Mapping):
        return blocks
    for number, entry in state.items():
        try:
            value, ranges = entry
            ids = frozenset(n for first, last in ranges for n in range(int(first), int(last) + 1))
            blocks[int(number)] = Block(str(value), ids)
        except (TypeError, ValueError):
            continue
    return blocks


def dump_blocks(blocks: Mapping[int, Block]) -> dict[str, list[Any]]:
    """The JSON form of ``blocks``: ``{"0": ["3f…", [[1, 255]]]}``."""
    return {
        str(number): [block.digest, _ranges(block.ids)] for number, block in sorted(blocks.items())
    }


def _ranges(ids: Iterable[int]) -> list[list[int]]:
    ranges: list[list[int]] = []
    for number in sorted(ids):
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ranges


# The three tables of claude-mem that are read, and the names their columns have had.
#
# The columns that exist decide how a database is read, not its version number: claude-mem's own
# migrations look at columns, too, and branches of it used the same numbers for different changes.

MEMORY_SESSION: Final = ("memory_session_id", "sdk_session_id")
"""The session's id in the observer; the second name is from before 8.2.6."""
CONTENT_SESSION: Final = ("content_session_id", "claude_session_id")
"""The session's id in the coding agent; the second name is from before 8.2.6."""
NEEDED: Final = ("observations", "sdk_sessions", "session_summaries")
"""A database without these tables is not claude-mem's. ``user_prompts`` came later."""


SHARED: Final = {
    "created_at_epoch": ("created_at_epoch",),
    "project": ("project",),
    "merged_into_project": ("merged_into_project",),
    "memory_session": MEMORY_SESSION,
    "content_session": CONTENT_SESSION,
    "prompt_number": ("prompt_number",),
}
"""Fields of every table: our name, and its column's names, newest first."""
SESSION: Final = {
    "session_project": ("project",),
    "session_memory": MEMORY_SESSION,
    "session_content": CONTENT_SESSION,
    "platform": ("platform_source",),
}
"""Fields that a row gets from its session in ``sdk_sessions``."""


@dataclass(frozen=True, slots=True)
class Table:
    """One table; ``own`` are the columns that only it has, which were never renamed."""

    name: str
    kind: Kind
    own: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Our names for the fields of a row, in order, after its id."""
        return (*SHARED, *SESSION, *self.own)

    def select(self, columns: Set[str], session_columns: Set[str]) -> str:
        """SQL for the id and ``names`` of the rows with ids from ``?`` to ``?``, in order of id.

        A column that this database does not have is null.
        """
        wanted = ["t.id"]
        wanted += [_column("t", names, columns) for names in SHARED.values()]
        wanted += [_column("s", names, session_columns) for names in SESSION.values()]
        wanted += [_column("t", (name,), columns) for name in self.own]
        return (
            f"select {', '.join(wanted)} from {self.name} t"  # noqa: S608 - names from above
            f" left join sdk_sessions s on {self._join(columns, session_columns)}"
            " where t.id between ? and ? order by t.id"
        )

    def place(self, name: str) -> int:
        """The index of the field ``name`` in a row."""
        return self.names.index(name) + 1

    def _join(self, columns: Set[str], session_columns: Set[str]) -> str:
        memory, there = _pick(MEMORY_SESSION, columns), _pick(MEMORY_SESSION, session_columns)
        if memory and there:
            return f"s.{there} = t.{memory}"
        content, there = _pick(CONTENT_SESSION, columns), _pick(CONTENT_SESSION, session_columns)
        if not content or not there:
            return "false"
        # The session id of an agent can occur once per platform; any of them will do.
        session_id = f"(select min(x.id) from sdk_sessions x where x.{there} = t.{content})"  # noqa: S608
        if "session_db_id" in columns:
            session_id = f"coalesce(t.session_db_id, {session_id})"
        return f"s.id = {session_id}"


TABLES: Final = (
    Table(
        "observations",
        "observation",
        (
            "type", "title", "subtitle", "narrative", "text", "facts", "concepts", "files_read",
            "files_modified", "agent_type", "discovery_tokens",
        ),
    ),
    Table(
        "session_summaries",
        "session_summary",
        (
            "request", "investigated", "learned", "completed", "next_steps", "notes",
            "files_read", "files_edited", "discovery_tokens",
        ),
    ),
    Table("user_prompts", "user_prompt", ("prompt_text",)),
)  # fmt: skip


def _pick(names: tuple[str, ...], columns: Set[str]) -> str | None:
    return next((name for name in names if name in columns), None)


def _column(table: str, names: tuple[str, ...], columns: Set[str]) -> str:
    name = _pick(names, columns)
    return f"{table}.{name}" if name else "null"


FILE_NAME: Final = "claude-mem.db"
_VERSIONS: Final = "schema_versions"
_SETTLED_SECONDS: Final = 2.0
"""File times are coarse: a file that changed more recently may change again unnoticed."""


class Database:
    """An open database. Inside ``open_database`` its errors become SourceError."""

    def __init__(self, path: Path, opened: ForeignDatabase) -> None:
        self._opened = opened
        sessions = opened.columns["sdk_sessions"]
        self._queries: dict[str, str] = {}
        for table in TABLES:
            if columns := opened.columns.get(table.name):
                if "id" not in columns:
                    raise SourceError(f"{path} is not a claude-mem store: {table.name} has no id")
                self._queries[table.name] = table.select(columns, sessions)

    @property
    def tables(self) -> Sequence[Table]:
        """The tables that this database has."""
        return [table for table in TABLES if table.name in self._queries]

    @property
    def created(self) -> str:
        """When claude-mem created this database, as text; empty if it did not write it down."""
        if "applied_at" not in self._opened.columns.get(_VERSIONS, ()):
            return ""
        ((moment,),) = self._opened.rows(f"select min(applied_at) from {_VERSIONS}")  # noqa: S608
        return moment.decode(errors="replace") if isinstance(moment, bytes) else ""

    def count(self, table: Table) -> int:
        ((count,),) = self._opened.rows(f"select count(*) from {table.name}")  # noqa: S608
        return int(count)

    def blocks(self, table: Table) -> list[int]:
        """The numbers of the blocks of ids that have rows, in order."""
        sql = f"select distinct id / {BLOCK} from {table.name} where id >= 0 order by 1"  # noqa: S608
        return [int(number) for (number,) in self._opened.rows(sql)]

    def rows(self, table: Table, block: int) -> list[Row]:
        """The block's rows in order of id, each id once."""
        first = block * BLOCK
        rows = self._opened.rows(self._queries[table.name], first, first + BLOCK - 1)
        return list({row[0]: row for row in reversed(rows)}.values())[::-1]


def find_database(place: Path) -> Path:
    """The database file at ``place``, which is the file or the directory it is in."""
    file = place
    try:
        file = place / FILE_NAME if place.is_dir() else place
        is_file = stat.S_ISREG(file.stat().st_mode)
    except FileNotFoundError:
        raise SourceError(f"there is no {file}; sync again once claude-mem has made it") from None
    except OSError as error:
        raise SourceError(
            f"{place} cannot be reached: {error.strerror}; give this user access to it"
        ) from error
    if not is_file:  # opening a pipe would wait for ever
        raise SourceError(f"{file} is not a file; name the database of claude-mem", field="path")
    return file


@contextmanager
def open_database(path: Path) -> Iterator[Database]:
    """Open the database at ``path``. Raises SourceError that says what to do next."""
    names = [table.name for table in TABLES if table.name not in NEEDED]
    try:
        # Most rows are compared and never decoded, and text that is not UTF-8 must stop nothing.
        with foreign_database(path, NEEDED, (*names, _VERSIONS), as_bytes=True) as opened:
            yield Database(path, opened)
    except UnreadableDatabase as error:
        raise _refusal(path, error) from error


def signature(path: Path) -> list[int] | None:
    """Times and sizes of the database and its log: equal values mean that nothing changed.

    None when it changed too recently to tell. An empty log counts as none: opening a database
    can create one.
    """
    values: list[int] = []
    for file in (path, path.with_name(path.name + "-wal")):
        try:
            stat = file.stat()
        except OSError:
            stat = None  # there is no log; a missing database raises when it is opened
        if stat is None or not stat.st_size:
            values += [0, 0]
        elif 0 <= time.time() - stat.st_mtime < _SETTLED_SECONDS:
            return None
        else:
            values += [stat.st_mtime_ns, stat.st_size]
    return values


def _refusal(path: Path, error: UnreadableDatabase) -> SourceError:
    name = error.name
    if name == MISSING:
        return SourceError(f"{path} is not a claude-mem store: {error}")
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return SourceError(f"{path} is locked by another program; sync again in a minute")
    if name.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")):
        return SourceError(
            f"{path} is not a readable SQLite database ({error});"
            f" check it with: sqlite3 '{path}' 'pragma integrity_check'"
        )
    if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_IOERR")):
        return SourceError(
            f"{path} cannot be opened ({error}): reading beside claude-mem needs its -wal and"
            f" -shm files, so {path.parent} must be readable and writable by this user"
        )
    return SourceError(f"{path} cannot be read as a claude-mem store: {error}")
