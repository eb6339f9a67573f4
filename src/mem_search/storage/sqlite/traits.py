"""What stages after fusion want to know of the candidates, in one read: only what is asked for."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np

from mem_search.model import Filters
from mem_search.storage.sqlite import sketches, successions
from mem_search.text.sketch import SIZE, Sketches


@dataclass(frozen=True, slots=True)
class Traits:
    """``successors`` of the superseded records, the nearest first; a row of ``sketches`` for
    each of ``sketched``; ``dates`` in milliseconds; ``importance`` and ``sessions``, each as
    (project, session), where there is any.
    """

    successors: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    sketched: Collection[int] = ()
    sketches: Sketches = field(default_factory=lambda: np.zeros((0, SIZE), np.uint8))
    dates: Mapping[int, int] = field(default_factory=dict)
    importance: Mapping[int, float] = field(default_factory=dict)
    sessions: Mapping[int, tuple[str, str]] = field(default_factory=dict)


def of_records(
    connection: sqlite3.Connection,
    numbers: Collection[int],
    filters: Filters,
    *,
    fold: bool,
    standing: bool,
) -> Traits:
    """Successions within ``filters``; sketches to ``fold``; the rest where ``standing`` counts."""
    sketched, rows = sketches.of_records(connection, numbers if fold else ())
    stands = (
        connection.execute(
            "select id, created_at, importance, project, session from records"
            " where id in (select value from json_each(?))",
            (json.dumps(list(numbers)),),
        ).fetchall()
        if standing
        else []
    )
    return Traits(
        successors=successions.chains(connection, numbers, filters),
        sketched=sketched,
        sketches=rows,
        dates={number: created_at for number, created_at, *_ in stands},
        importance={number: value for number, _, value, *_ in stands if value is not None},
        sessions={number: (project, name) for number, _, _, project, name in stands if name},
    )
