"""Which version a store's schema has: the baseline of its engine, and the migrations since.

A store lists the names of what made its schema. A new one gets the baseline and all migrations, an
older one those that it lacks. All of them run in one transaction: an upgrade that was killed, or
whose last migration fails, leaves nothing behind.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from mem_search.errors import StorageError
from mem_search.storage.sql.connection import Connection

C = TypeVar("C", bound=Connection)

BASELINE: Final = "baseline"
"""The name of the first schema that was released; stores of development versions lack it."""


@dataclass(frozen=True, slots=True)
class Schema(Generic[C]):
    """The schema of an engine.

    ``table`` lists what was applied. ``migrations`` are functions, each applied once under its own
    name and in this order. ``elsewhere`` says how to get another store.
    """

    table: str
    baseline: Callable[[C], None]
    migrations: Sequence[Callable[[C], None]]
    elsewhere: str

    def missing(self, applied: Collection[str], place: str) -> list[str]:
        """The names of what a store lacks that has ``applied``, in order; all for a new store.

        Raises StorageError for a store of a development version, which is left as it is, and for
        one of a newer mem-search.
        """
        names = [BASELINE, *(each.__name__ for each in self.migrations)]
        if applied and BASELINE not in applied:
            raise StorageError(
                f"{place} holds the store of a development version from before 0.1.0, which this"
                " version cannot read and leaves as it is; mem-search export > records.jsonl (with"
                f" that version), then {self.elsewhere} and mem-search import jsonl records.jsonl"
            )
        if unknown := set(applied) - set(names):
            raise StorageError(
                f"the store was written by a newer mem-search ({max(unknown)}); update mem-search"
            )
        return [name for name in names if name not in applied]

    def complete(self, connection: C, place: str) -> None:
        """Apply what is missing, in the transaction of ``connection``. Raises as ``missing``."""
        applied = connection.column(f"select name from {self.table}")
        steps = {BASELINE: self.baseline, **{each.__name__: each for each in self.migrations}}
        for name in self.missing(applied, place):
            steps[name](connection)
            connection.execute(f"insert into {self.table}(name) values(%s)", (name,))
