"""What stages after fusion want to know of the candidates beside their columns, in one read."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from mem_search.model import Filters
from mem_search.storage.sqlite import sketches, successions
from mem_search.storage.sqlite.columns import Columns, Numbers
from mem_search.text.sketch import Sketches


@dataclass(frozen=True, slots=True)
class Traits:
    """``successors`` of the superseded records, the nearest first; a row of ``sketches`` for
    each of ``sketched``.
    """

    successors: Mapping[int, tuple[int, ...]]
    sketched: Collection[int]
    sketches: Sketches


def of_records(
    connection: sqlite3.Connection,
    columns: Columns,
    numbers: Numbers,
    filters: Filters,
    *,
    fold: bool,
) -> Traits:
    """Successions within ``filters``, and sketches where there is something to ``fold``."""
    superseded = numbers[columns.successors[numbers] > 0].tolist()
    sketched, rows = sketches.of_records(connection, numbers.tolist() if fold else [])
    return Traits(successions.chains(connection, superseded, filters), sketched, rows)
