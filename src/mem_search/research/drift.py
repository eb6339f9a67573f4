"""What differs between two answers to the same question. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mem_search.storage.sqlite.operations import Seen


@dataclass(frozen=True, slots=True)
class Change:
    """One result that is not as it was; a place counts from 1, None where it is not there."""

    ref: str
    before: int | None
    after: int | None


@dataclass(frozen=True, slots=True)
class Drift:
    """``changed`` have other content, ``moved`` another place, ``rescored`` another relevance."""

    appeared: tuple[Change, ...] = ()
    gone: tuple[Change, ...] = ()
    changed: tuple[Change, ...] = ()
    moved: tuple[Change, ...] = ()
    rescored: tuple[Change, ...] = ()
    total_before: int = 0
    total_after: int = 0

    def __bool__(self) -> bool:
        return self != Drift(total_before=self.total_after, total_after=self.total_after)


def drift(
    before: Sequence[Seen], after: Sequence[Seen], total_before: int, total_after: int
) -> Drift:
    """What became of ``before``; false when nothing did."""
    old = {seen.ref: (place, seen) for place, seen in enumerate(before, start=1)}
    new = {seen.ref: (place, seen) for place, seen in enumerate(after, start=1)}
    both = [(ref, *old[ref], *new[ref]) for ref in new if ref in old]
    return Drift(
        appeared=tuple(
            Change(ref, None, place) for ref, (place, _) in new.items() if ref not in old
        ),
        gone=tuple(Change(ref, place, None) for ref, (place, _) in old.items() if ref not in new),
        changed=tuple(
            Change(ref, b, a) for ref, b, was, a, now in both if was.digest != now.digest
        ),
        moved=tuple(Change(ref, b, a) for ref, b, _, a, _ in both if b != a),
        rescored=tuple(
            Change(ref, b, a) for ref, b, was, a, now in both if was.relevance != now.relevance
        ),
        total_before=total_before,
        total_after=total_after,
    )
