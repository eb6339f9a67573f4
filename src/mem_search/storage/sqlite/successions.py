"""Which record supersedes which: ``records.superseded_by``, updated with every change of edges.

An edge ``supersedes`` or ``superseded_by`` is a claim. A given link always counts; a statement in a
text counts only within its project. Of several claims on a record, given ones come first, then the
newest successor. In a circle of claims the newest record is current.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Mapping
from typing import Final, NamedTuple

from mem_search.model import Filters
from mem_search.storage.sqlite.filters import passing

FARTHEST: Final = 32
"""Steps that a search follows from a record to its successors."""

_FORWARD: Final = ("supersedes", "replaces")
_BACKWARD: Final = ("superseded_by", "replaced_by")
_RELATION: Final = "lower(replace(replace(e.relation, '-', '_'), ' ', '_'))"


class _Claim(NamedTuple):
    """``new`` supersedes ``old``; the best claim on a record is the greatest."""

    old: int
    given: bool
    created_at: int
    new: int


def around(connection: sqlite3.Connection, numbers: Iterable[int]) -> set[int]:
    """Records that claim one of ``numbers``; their successions change with those records."""
    return {end for claim in _claims(connection, numbers) for end in (claim.old, claim.new)}


def settle(connection: sqlite3.Connection, numbers: Iterable[int]) -> None:
    """Recompute who supersedes ``numbers`` and every record that claims connect to them."""
    waiting = set(numbers)
    known = set(waiting)
    claims: set[_Claim] = set()
    while waiting:
        found = _claims(connection, waiting)
        claims |= found
        waiting = {end for claim in found for end in (claim.old, claim.new)} - known
        known |= waiting
    best: dict[int, _Claim] = {}
    for claim in sorted(claims):
        best[claim.old] = claim
    successor = {old: claim.new for old, claim in best.items()}
    dates = {claim.new: claim.created_at for claim in claims}
    for newest in _newest_of_circles(successor, dates):
        del successor[newest]
    connection.executemany(
        "update records set superseded_by = ?1 where id = ?2 and superseded_by is not ?1",
        [(successor.get(number), number) for number in known],
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
    return {old: later for old, each in found.items() if (later := _up_to(old, each, within))}


def _claims(connection: sqlite3.Connection, numbers: Iterable[int]) -> set[_Claim]:
    """Every valid claim with one of ``numbers`` at either end."""
    wanted = json.dumps(list(numbers))
    said = (
        f"select e.from_id, e.to_id, {_RELATION} in {_FORWARD}, e.origin = 'given',"
        " f.created_at, t.created_at from edges e"
        " join records f on f.id = e.from_id join records t on t.id = e.to_id"
        f" where {_RELATION} in {_FORWARD + _BACKWARD}"
        " and (e.origin = 'given' or (f.project != '' and f.project = t.project))"
    )
    rows = connection.execute(
        f"{said} and e.from_id in (select value from json_each(?1))"
        f" union {said} and e.to_id in (select value from json_each(?1))",
        (wanted,),
    )
    return {
        _Claim(end, bool(given), start_at, start)
        if forward
        else _Claim(start, bool(given), end_at, end)
        for start, end, forward, given, start_at, end_at in rows
    }


def _newest_of_circles(successor: Mapping[int, int], dates: Mapping[int, int]) -> list[int]:
    newest: list[int] = []
    seen: set[int] = set()
    for start in successor:
        path: list[int] = []
        at: int | None = start
        while at is not None and at not in seen:
            seen.add(at)
            path.append(at)
            at = successor.get(at)
        if at in path:
            circle = path[path.index(at) :]
            newest.append(max(circle, key=lambda number: (dates[number], number)))
    return newest


def _up_to(old: int, later: Iterable[int], within: set[int]) -> tuple[int, ...]:
    """``later`` up to the first that is not ``within``, or to a repetition."""
    found: list[int] = []
    for number in later:
        if number == old or number in found or number not in within:
            break
        found.append(number)
    return tuple(found)
