"""Which records were written since somebody last asked: for what is kept of them in memory.

A trigger of the writer's connection notes every insert, update and delete, whatever statement
did it; what is noted is told only once it is committed. Nothing of it is in the file.
"""

from __future__ import annotations

import sqlite3
import threading

MOST = 20_000
"""Numbers remembered; beyond, the answer is that anything may have changed."""

_TRIGGERS = """
    create temp trigger note_insert after insert on main.records
        begin select note_record(new.id); end;
    create temp trigger note_update after update on main.records
        begin select note_record(new.id); end;
    create temp trigger note_delete after delete on main.records
        begin select note_record(old.id); end;
"""


class Changes:
    """Filled by one writer; ``take`` is for one reader at a time."""

    def __init__(self) -> None:
        self._open: set[int] = set()
        self._told: set[int] = set()
        self._too_many = False
        self._lock = threading.Lock()

    def watch(self, writer: sqlite3.Connection) -> None:
        """Note what ``writer`` does from now on; its schema must be there already."""
        writer.create_function("note_record", 1, self._open.add)
        writer.executescript(_TRIGGERS)

    def ended(self, *, committed: bool) -> None:
        """The writer's transaction is over."""
        if not self._open:
            return
        if committed:
            with self._lock:
                self._told |= self._open
                if len(self._told) > MOST:
                    self._told = set()
                    self._too_many = True
        self._open.clear()

    @property
    def any(self) -> bool:
        return bool(self._told) or self._too_many

    def take(self) -> set[int] | None:
        """The records written since the last call; None when there were too many to remember.

        A snapshot taken after the call has all of these changes.
        """
        with self._lock:
            told, self._told = self._told, set()
            too_many, self._too_many = self._too_many, False
        return None if too_many else told
