"""Which record supersedes which, from the claims that edges make.

An edge ``supersedes`` or ``superseded_by`` is a claim. A given link always counts; a statement in a
text counts only within its project. Of several claims on a record, given ones come first, then the
newest successor. In a circle of claims the newest record is current.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final, NamedTuple

from mem_search.storage.sql.connection import Connection

_MAX_STEPS: Final = 32
"""Steps that a search follows from a record to its successors."""

_FORWARD: Final = ("supersedes", "replaces")
_BACKWARD: Final = ("superseded_by", "replaced_by")

_RELATION: Final = "lower(replace(replace(e.relation, '-', '_'), ' ', '_'))"
_CLAIM: Final = f"""
    select e.from_id, e.to_id, {_RELATION} in {_FORWARD}, e.origin = 'given',
        f.created_at, t.created_at
    from edges e join records f on f.id = e.from_id join records t on t.id = e.to_id
    where {_RELATION} in {_FORWARD + _BACKWARD}
    and (e.origin = 'given' or (f.project != '' and f.project = t.project))
"""


class Claim(NamedTuple):
    """``new`` supersedes ``old``; the best claim on a record is the greatest."""

    old: int
    given: bool
    created_at: int
    new: int


def claimed_with(connection: Connection, numbers: Collection[int]) -> set[int]:
    """Records that claim one of ``numbers``; their successions change with those records."""
    return _ends(_claims(connection, numbers))


def settle(connection: Connection, numbers: Collection[int]) -> None:
    """Recompute who supersedes ``numbers`` and every record that claims connect to them."""
    found = _successors(numbers, lambda each: _claims(connection, each))
    connection.assign("records", "superseded_by", found)


def chains(
    connection: Connection,
    numbers: Collection[int],
    passing: Callable[[Collection[int]], set[int]],
) -> dict[int, tuple[int, ...]]:
    """The superseded ones of ``numbers``, each with its successors, the nearest first.

    Only through records that are ``passing``: a filtered search ignores all others.
    """
    if not numbers:
        return {}
    found: dict[int, list[int]] = {}
    for old, new in connection.execute(
        "with recursive later(old, new, step) as ("
        " select id, superseded_by, 1 from records"
        "  where superseded_by is not null and id = any(%(numbers)s)"
        " union all select l.old, r.superseded_by, l.step + 1 from later l"
        "  join records r on r.id = l.new"
        "  where r.superseded_by is not null and l.step < %(farthest)s)"
        " select old, new from later order by old, step",
        {"numbers": list(numbers), "farthest": _MAX_STEPS},
    ):
        found.setdefault(old, []).append(new)
    if not found:
        return {}
    within = passing({new for later in found.values() for new in later})
    return {old: later for old, each in found.items() if (later := _up_to(old, each, within))}


def _claims(connection: Connection, numbers: Collection[int]) -> set[Claim]:
    """Every valid claim with one of ``numbers`` at either end."""
    rows = connection.execute(
        f"{_CLAIM} and e.from_id = any(%(numbers)s) union {_CLAIM} and e.to_id = any(%(numbers)s)",
        {"numbers": list(numbers)},
    )
    return {
        Claim(end, bool(given), start_at, start)
        if forward
        else Claim(start, bool(given), end_at, end)
        for start, end, forward, given, start_at, end_at in rows
    }


def _ends(claims: Iterable[Claim]) -> set[int]:
    """The records of claims."""
    return {end for claim in claims for end in (claim.old, claim.new)}


def _successors(
    numbers: Iterable[int], claims_of: Callable[[Collection[int]], set[Claim]]
) -> dict[int, int | None]:
    """Each of ``numbers``, and every record that claims connect to them, with its successor.

    ``claims_of`` reads the valid claims with one of some records at either end.
    """
    waiting = set(numbers)
    known = set(waiting)
    claims: set[Claim] = set()
    while waiting:
        found = claims_of(waiting)
        claims |= found
        waiting = _ends(found) - known
        known |= waiting
    best: dict[int, Claim] = {}
    for claim in sorted(claims):
        best[claim.old] = claim
    successor = {old: claim.new for old, claim in best.items()}
    dates = {claim.new: claim.created_at for claim in claims}
    for newest in _newest_of_circles(successor, dates):
        del successor[newest]
    return {number: successor.get(number) for number in known}


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
