"""What the ledger says of one transcript: the sum of all looks at it, not the last alone.

The account is a JSON value that is stored with the state of the fold: whoever goes on reading
there goes on counting there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from mem_search.model import Draft, LedgerEntry
from mem_search.sources.claude_code.following import Place

_NAMED: Final = 20
"""Broken lines that the ledger names one by one; further ones are counted."""
_BROKEN: Final = "line that cannot be decoded"


class Account:
    """How many records a transcript gave, and what in it was left for which reason."""

    def __init__(self, stored: Mapping[str, Any] | None = None) -> None:
        stored = stored or {}
        self._records: int = stored.get("records", 0)
        self._left = Counter[str](stored.get("left", {}))
        self._open: set[str] = set(stored.get("open", ()))
        self._seen: set[str] = set()

    @property
    def value(self) -> dict[str, Any]:
        """What the next look needs to go on counting."""
        return {
            "records": self._records,
            "left": dict(self._left),
            "open": sorted(self._open),
        }

    def gives(self, drafts: Iterable[Draft]) -> None:
        """Drafts that are complete. One that was open at the end of a look counted then."""
        for draft in drafts:
            if draft.source_id not in self._open and draft.source_id not in self._seen:
                self._records += 1
            self._seen.add(draft.source_id)

    def ends_with(self, drafts: list[Draft]) -> None:
        """Drafts that are open at the end of this look: later ones have the same ids."""
        self.gives(drafts)
        if drafts:
            self._open = {draft.source_id for draft in drafts}

    def leaves(self, reason: str) -> None:
        """A line that could have mattered was left."""
        self._left[reason] += 1

    def fails(self, name: str, number: int, reason: str) -> Iterator[LedgerEntry]:
        """Line ``number`` cannot be read; an entry of its own, if there are not too many."""
        self._left[_BROKEN] += 1
        if self._left[_BROKEN] <= _NAMED:
            yield LedgerEntry(f"{name}:{number}", "failed", f"line {number} {reason}")

    def entry(self, name: str, place: Place, *, waiting: bool) -> LedgerEntry:
        """The word on the file ``name``, read up to ``place``; a line may be ``waiting`` there."""
        left = ", ".join(f"{reason} ×{count}" for reason, count in sorted(self._left.items()))
        said = []
        if not self._records:
            said.append("no prompts or work in it" + (f" ({left})" if left else ""))
        elif left:
            said.append(f"left out: {left}")
        if place.line < place.known:
            said.append(f"cut short from {place.known} lines to {place.line}; its records stay")
        if waiting:
            said.append(f"line {place.line + 1} is incomplete and waits for the rest")
        return LedgerEntry(
            name, "taken" if self._records else "left", "; ".join(said), self._records
        )
