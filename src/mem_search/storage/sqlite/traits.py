"""What stages after fusion want to know of the candidates, read only where there is anything.

Most pages have nothing to fold and nothing that is superseded: columns in memory tell that.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from mem_search.model import Filters
from mem_search.storage.sqlite import sketches, successions
from mem_search.storage.sqlite.record_columns import Columns, Numbers
from mem_search.text import sketch
from mem_search.text.sketch import Sketches


@dataclass(frozen=True, slots=True)
class Traits:
    """``successors`` of the superseded records, the nearest first; a row of ``sketches`` for
    each of ``sketched``, which are those that may have a near-duplicate.
    """

    successors: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    sketched: Sequence[int] = ()
    sketches: Sketches = field(default_factory=lambda: sketch.read(b""))


def of_records(
    connection: sqlite3.Connection,
    columns: Columns,
    numbers: Numbers,
    filters: Filters,
    *,
    fold: bool,
) -> Traits:
    """Successions within ``filters``, and sketches if there is something to ``fold``."""
    superseded = numbers[columns.successors[numbers] > 0]
    suspects = numbers[sketch.repeated(columns.heads[numbers])] if fold else numbers[:0]
    if not len(superseded) and not len(suspects):
        return Traits()
    sketched, rows = sketches.of_records(connection, suspects.tolist())
    chains = successions.chains(connection, superseded.tolist(), filters)
    return Traits(chains, sketched, rows)
