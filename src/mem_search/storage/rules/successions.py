"""Which record supersedes which, from the claims that edges make.

An edge ``supersedes`` or ``superseded_by`` is a claim. A given link always counts; a statement in a
text counts only within its project. Of several claims on a record, given ones come first, then the
newest successor. In a circle of claims the newest record is current.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final, NamedTuple

FARTHEST: Final = 32
"""Steps that a search follows from a record to its successors."""

FORWARD: Final = ("supersedes", "replaces")
BACKWARD: Final = ("superseded_by", "replaced_by")


class Claim(NamedTuple):
    """``new`` supersedes ``old``; the best claim on a record is the greatest."""

    old: int
    given: bool
    created_at: int
    new: int


def ends(claims: Iterable[Claim]) -> set[int]:
    """The records of claims."""
    return {end for claim in claims for end in (claim.old, claim.new)}


def successors(
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
        waiting = ends(found) - known
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


def up_to(old: int, later: Iterable[int], within: set[int]) -> tuple[int, ...]:
    """``later`` up to the first that is not ``within``, or to a repetition."""
    found: list[int] = []
    for number in later:
        if number == old or number in found or number not in within:
            break
        found.append(number)
    return tuple(found)
