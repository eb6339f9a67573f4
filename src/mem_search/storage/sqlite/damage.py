"""Damage of a file, and other errors of SQLite: what is wrong, and the next step.

The words indexes of FTS5, the column blocks, the sketches and the vectors hold nothing that the
records do not say. So damage in them is no damage of the store: whoever meets it has it dropped and
made again (``Database``), reads anew and answers.
"""

from __future__ import annotations

import json
import sqlite3
import struct
import threading
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final, Literal

from mem_search.errors import MemSearchError, StorageError, StoreDamaged
from mem_search.storage.rules import bm25
from mem_search.storage.rules.checksums import BYTES as CRC
from mem_search.storage.rules.checksums import is_whole
from mem_search.storage.sql.record_writer import remake_sketches, wrong_sketches
from mem_search.storage.sqlite import column_blocks, odd_rows
from mem_search.storage.sqlite.connection import SqliteConnection, as_read, problem_in
from mem_search.storage.sqlite.mark import damaged
from mem_search.storage.sqlite.posting_file import META_KEY
from mem_search.storage.sqlite.posting_lists import varints
from mem_search.storage.sqlite.words import FILLED_BY
from mem_search.text import sketch
from mem_search.text.sketch import Sketches

Part = Literal["words", "columns", "sketches", "vectors", "values", "rows"]

NAMES: Final[dict[Part, str]] = {
    "words": "the words index",
    "columns": "the stored columns",
    "sketches": "the sketches of near-duplicates",
    "vectors": "the stored vectors",
    "values": "a value in the rows of records",
    "rows": "a row of what runs by itself",
}

BYTES: Final = 2
"""Bytes of a number of a stored vector (``vectors``)."""

_SHADOWS: Final = ("data", "idx", "docsize", "config")


class DerivedDamaged(StoreDamaged):
    """``parts`` of what is derived are damaged; the records are not."""

    def __init__(self, parts: tuple[Part, ...], problem: str) -> None:
        super().__init__(f"{named(parts)}: {problem}; it is made again from the records")
        self.parts = parts


def named(parts: tuple[Part, ...]) -> str:
    """What ``parts`` are, in words."""
    return " and ".join(NAMES[part] for part in parts)


def damaged_parts(connection: sqlite3.Connection, *, deep: bool = False) -> tuple[Part, ...]:
    """The parts in which something is wrong; what costs no reading of all texts is looked at.

    ``deep`` compares the words index with the records, too, which takes as long as making it.
    ``connection`` has to be one that may write, with an empty schema ``fresh``.
    """
    made = connection.execute("select 1 from sqlite_master where name = 'column_blocks'")
    if made.fetchone() is None:
        return ()  # the schema is only being made
    looks = (
        ("words", _words_are_whole(connection) and not (deep and _words_differ(connection))),
        ("columns", not column_blocks.damaged_blocks(connection)),
        ("sketches", not wrong_sketches(connection)),
        ("vectors", not _wrong_vectors(connection) and not _wrong_sparse(connection)),
        ("values", not odd_rows.any_odd_value(connection)),
        ("rows", not odd_rows.any_odd(connection, times=False)),
    )
    return tuple(part for part, whole in looks if not whole)  # type: ignore[misc]


def mend(database: Path, busy_seconds: float, *, deep: bool = False) -> tuple[Part, ...]:
    """Make again what is damaged; the parts that were. Nobody else may write meanwhile.

    On connections of its own: FTS5 keeps what it has read of an index. Raises sqlite3.Error.
    """
    with closing(_connection(database, busy_seconds)) as connection:
        connection.execute("attach '' as fresh")  # a file that ends with the connection
        connection.execute("begin immediate")
        parts = damaged_parts(connection, deep=deep)
        connection.rollback()
    if not parts:
        return ()
    with closing(_connection(database, busy_seconds)) as connection:
        connection.execute("begin immediate")
        if "rows" in parts:
            odd_rows.put_right(connection)
        if "values" in parts:
            odd_rows.put_values_right(connection)
        if "words" in parts or "values" in parts:  # a text may be another one now
            _remake_words(connection)
        if "columns" in parts:
            column_blocks.drop_broken(connection)
        if "sketches" in parts:
            remake_sketches(connection)
        if "vectors" in parts:
            _drop_vectors(connection)
        connection.commit()
    return parts


def _connection(database: Path, busy_seconds: float) -> SqliteConnection:
    connection = sqlite3.connect(
        database, timeout=busy_seconds, isolation_level=None, factory=SqliteConnection
    )
    connection.text_factory = as_read
    connection.execute("pragma secure_delete = on")
    return connection


# Words


def _words_are_whole(connection: sqlite3.Connection) -> bool:
    """Whether FTS5 opens and reads its indexes, and the lengths of passages agree with its sums."""
    try:
        for table in FILLED_BY:
            connection.execute(f"select rowid from {table} where {table} match 'a*' limit 1")
        (lacks_words,) = connection.execute(
            "select not exists(select 1 from words) and"
            " exists(select 1 from records where source != 'sample' and body glob '*[a-z]*')"
        ).fetchone()
        return not lacks_words and _lengths_agree(connection)
    except (sqlite3.DatabaseError, MemoryError, UnicodeDecodeError, TypeError, ValueError):
        return False


def _lengths_agree(connection: sqlite3.Connection) -> bool:
    """The sums that FTS5 keeps (block 1) are those of the lengths of the passages that exist."""
    (block,) = connection.execute("select block from passages_fts_data where id = 1").fetchone()
    (sizes,) = connection.execute(
        "select group_concat(hex(sz), '') from passages_fts_docsize"
    ).fetchone()
    (passages,) = connection.execute("select count(*) from passages where ordinal >= 0").fetchone()
    lengths = varints(bytes.fromhex(sizes or ""))
    kept = varints(block).tolist() or [0]
    return bool(
        kept[0] == passages
        and len(lengths) == passages * len(bm25.WEIGHTS)
        and sum(kept[1:]) == int(lengths.sum())
    )


def _words_differ(connection: sqlite3.Connection) -> bool:
    """Whether an index is not what the texts say. ``connection`` has an empty schema ``fresh``."""
    try:
        for table in FILLED_BY:
            if table == "passages_fts":  # it knows its texts
                connection.execute(
                    f"insert into {table}({table}, rank) values('integrity-check', 1)"
                )
            elif _differs_from_fresh(connection, table):
                return True
    except (sqlite3.DatabaseError, MemoryError):
        return True
    return False


def _differs_from_fresh(connection: sqlite3.Connection, table: str) -> bool:
    """Whether an index that keeps no texts has other words than one that is made now."""
    (made,) = connection.execute(
        "select sql from sqlite_master where name = ?", (table,)
    ).fetchone()
    connection.execute(made.replace(f" {table} ", f" fresh.{table} ", 1))
    connection.execute(FILLED_BY[table].replace(table, f"fresh.{table}", 1))
    counted = "select term, doc, cnt from {0}"
    for schema in ("main", "fresh"):
        connection.execute(
            f"create virtual table temp.{schema}_{table} using fts5vocab({schema}, {table}, row)"
        )
    ours, theirs = counted.format(f"temp.main_{table}"), counted.format(f"temp.fresh_{table}")
    (differs,) = connection.execute(
        f"select exists({ours} except {theirs}) or exists({theirs} except {ours})"
    ).fetchone()
    return bool(differs)


def _remake_words(connection: sqlite3.Connection) -> None:
    """Empty the tables behind FTS5, as they are for a new index, and fill them again; posting lists
    that were made of them are made again, too.
    """
    connection.execute("delete from meta where key = ?", (META_KEY,))
    for table, fill in FILLED_BY.items():
        schema, new = _new_index(connection, table)
        for name in schema:
            connection.execute(f"delete from {name}")
        for name, rows in new.items():
            for row in rows:
                marks = ", ".join("?" * len(row))
                connection.execute(f"insert into {name} values({marks})", row)
        connection.execute(fill)


def _new_index(
    connection: sqlite3.Connection, table: str
) -> tuple[list[str], dict[str, list[tuple[object, ...]]]]:
    """The tables behind the index ``table``, and the rows that these have in an empty one."""
    (made,) = connection.execute(
        "select sql from sqlite_master where name = ?", (table,)
    ).fetchone()
    names = [
        name
        for shadow in _SHADOWS
        for (name,) in connection.execute(
            "select name from sqlite_master where name = ?", (f"{table}_{shadow}",)
        )
    ]
    with closing(sqlite3.connect(":memory:")) as empty:
        empty.execute(made)
        return names, {name: empty.execute(f"select * from {name}").fetchall() for name in names}


# Sketches


def sketches_of(
    connection: sqlite3.Connection, numbers: Collection[int]
) -> tuple[list[int], Sketches]:
    """The existing records, and a row of sketches for each. Raises DerivedDamaged."""
    rows = connection.execute(
        "select record_id, sketch from sketches"
        " where record_id in (select value from json_each(?))",
        (json.dumps(list(numbers)),),
    ).fetchall()
    return [number for number, _ in rows], sketch.read(whole_sketches(rows))


def whole_sketches(rows: Collection[tuple[int, bytes]]) -> bytes:
    """The sketches of rows of record and stored value. Raises DerivedDamaged."""
    for number, stored in rows:
        if not is_whole(stored, number, sketch.SIZE):
            raise DerivedDamaged(("sketches",), f"the one of record {number} was changed")
    return b"".join([stored[: sketch.SIZE] for _, stored in rows])


# Vectors


def _wrong_vectors(connection: sqlite3.Connection) -> list[tuple[int, int]]:
    """(entry, model) of vectors that are not what was written."""
    rows = connection.execute(
        "select v.entry_id, v.model_id, v.vector, m.dimensions"
        " from vectors v join embedding_models m on m.id = v.model_id"
    )
    return [
        (entry, model)
        for entry, model, stored, dimensions in rows
        if not is_whole(stored, entry, BYTES * dimensions)
    ]


def _wrong_sparse(connection: sqlite3.Connection) -> list[int]:
    """Passages whose sparse vector is not what was written."""
    rows = connection.execute("select passage_id, vector from sparse_vectors")
    return [
        passage
        for passage, stored in rows
        if not isinstance(stored, bytes) or not is_whole(stored, passage, len(stored) - CRC)
    ]


def _drop_vectors(connection: sqlite3.Connection) -> None:
    """Drop the damaged vectors; their passages are embedded again."""
    connection.executemany(
        "delete from sparse_vectors where passage_id = ?",
        [(each,) for each in _wrong_sparse(connection)],
    )
    wrong = _wrong_vectors(connection)
    connection.executemany("delete from vectors where entry_id = ? and model_id = ?", wrong)
    connection.executemany(
        "insert or replace into outbox(passage_id, step)"
        " select id, 'embed' from passages where id = ?",
        [(entry // 2,) for entry, _ in wrong],
    )


# Errors

_DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_NO_DAMAGE = {
    sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_INTERRUPT,
    sqlite3.SQLITE_CONSTRAINT,
}  # fmt: skip
_UNREADABLE = (json.JSONDecodeError, UnicodeDecodeError, struct.error)
"""What decoding raises: the store wrote every value itself, so an unreadable one was changed."""


class UndecodableText(StoreDamaged):
    """A stored text is not UTF-8. It can be read as ``connection.as_read`` does."""


@contextmanager
def translated(path: Path, local: threading.local) -> Iterator[None]:
    """Translate errors of SQLite into a StorageError with the next step.

    Flipped bytes show in many ways, down to a None where a row was. So whatever else fails is
    damage too if SQLite finds some in the file, or if what is derived has another shape than it
    was written in (DerivedDamaged), and a bug if not.
    """
    try:
        yield
    except MemSearchError:
        raise
    except _UNREADABLE as error:
        _raise_if_derived(local, error)
        raise damaged(path, f"a stored value is unreadable ({error})") from error
    except sqlite3.DatabaseError as error:
        code, text = getattr(error, "sqlite_errorcode", 0), str(error)
        if text.startswith("Could not decode"):
            raise UndecodableText(damaged(path, text).message) from error
        if code & 0xFF not in _NO_DAMAGE:
            _raise_if_derived(local, error)
        if (
            code & 0xFF in _DAMAGE
            or code == sqlite3.SQLITE_IOERR_SHORT_READ
            or text.startswith(("no such ", "vtable constructor failed"))
            or _is_damaged(local)
        ):
            raise damaged(path, text) from error
        if code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            step = "another process holds it; stop that process or try again"
        elif code & 0xFF == sqlite3.SQLITE_FULL:
            step = "the disk is full; free some space; no transaction was stored in part"
        elif code & 0xFF == sqlite3.SQLITE_IOERR:
            step = "the disk is full or failing; check it; no transaction was stored in part"
        elif code & 0xFF in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN):
            step = "check that the folder exists and is writable"
        else:
            raise
        raise StorageError(f"{path}: {text}; {step}") from error
    except Exception as error:
        _raise_if_derived(local, error)
        if _is_damaged(local):
            raise damaged(path, f"{type(error).__name__}: {error}") from error
        raise


def _raise_if_derived(local: threading.local, error: Exception) -> None:
    """Raises DerivedDamaged if that is what ``error`` comes from, and the file is whole."""
    connection: sqlite3.Connection | None = getattr(local, "connection", None)
    if connection is None:
        return
    try:
        parts = damaged_parts(connection)
        if not parts and getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_CORRUPT_VTAB:
            parts = ("words",)  # only FTS5 has such an error
    except sqlite3.DatabaseError:
        return  # the file itself
    if parts and not _is_damaged(local):
        raise DerivedDamaged(parts, f"{type(error).__name__}: {error}") from error


def _is_damaged(local: threading.local) -> bool:
    """Whether SQLite finds an error in the file: seconds for a large one, and only for a bug."""
    connection: sqlite3.Connection | None = getattr(local, "connection", None)
    if connection is None:
        return False
    try:
        return bool(problem_in(connection))
    except sqlite3.DatabaseError as error:
        return getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGE
