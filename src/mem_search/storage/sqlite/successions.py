"""Which record supersedes which: ``records.superseded_by``, updated with every change of edges.

``storage.rules.successions`` decides; here the claims are read and the outcome is written.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable
from typing import Final

from mem_search.model import Filters
from mem_search.storage.rules.successions import (
    BACKWARD,
    FARTHEST,
    FORWARD,
    Claim,
    ends,
    successors,
    up_to,
)
from mem_search.storage.sqlite.filters import passing

_RELATION: Final = "lower(replace(replace(e.relation, '-', '_'), ' ', '_'))"


def around(connection: sqlite3.Connection, numbers: Iterable[int]) -> set[int]:
    """Records that claim one of ``numbers``; their successions change with those records."""
    return ends(_claims(connection, numbers))


def settle(connection: sqlite3.Connection, numbers: Iterable[int]) -> None:
    """Recompute who supersedes ``numbers`` and every record that claims connect to them."""
    found = successors(numbers, lambda each: _claims(connection, each))
    connection.executemany(
        "update records set superseded_by = ?1 where id = ?2 and superseded_by is not ?1",
        [(successor, number) for number, successor in found.items()],
    )


def chains(
    connection: sqlite3.Connection, numbers: Collection[int], filters: Filters
) -> dict[int, tuple[int, ...]]:
    """The superseded ones of ``numbers``, each with its successors, the nearest first.

    Only through records within ``filters``: a filtered search ignores all others.
    """
    if not numbers:
        return {}
    found: dict[int, list[int]] = {}
    for old, new in connection.execute(
        "with recursive later(old, new, step) as ("
        " select id, superseded_by, 1 from records"
        "  where superseded_by is not null and id in (select value from json_each(?1))"
        " union all select l.old, r.superseded_by, l.step + 1 from later l"
        "  join records r on r.id = l.new where r.superseded_by is not null and l.step < ?2)"
        " select old, new from later where step <= ?2 order by old, step",
        (json.dumps(list(numbers)), FARTHEST),
    ):
        found.setdefault(old, []).append(new)
    if not found:
        return {}
    within = passing(connection, {new for later in found.values() for new in later}, filters)
    return {old: later for old, each in found.items() if (later := up_to(old, each, within))}


def _claims(connection: sqlite3.Connection, numbers: Iterable[int]) -> set[Claim]:
    """Every valid claim with one of ``numbers`` at either end."""
    wanted = json.dumps(list(numbers))
    said = (
        f"select e.from_id, e.to_id, {_RELATION} in {FORWARD}, e.origin = 'given',"
        " f.created_at, t.created_at from edges e"
        " join records f on f.id = e.from_id join records t on t.id = e.to_id"
        f" where {_RELATION} in {FORWARD + BACKWARD}"
        " and (e.origin = 'given' or (f.project != '' and f.project = t.project))"
    )
    rows = connection.execute(
        f"{said} and e.from_id in (select value from json_each(?1))"
        f" union {said} and e.to_id in (select value from json_each(?1))",
        (wanted,),
    )
    return {
        Claim(end, bool(given), start_at, start)
        if forward
        else Claim(start, bool(given), end_at, end)
        for start, end, forward, given, start_at, end_at in rows
    }
