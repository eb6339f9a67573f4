"""Port for forgetting: what goes, what is left to do, and the receipts and tombstones it leaves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from mem_search.model import Filters
from mem_search.model.forgetting import (
    Copies,
    ForgetStep,
    Identity,
    Receipt,
    Tombstone,
    Traces,
)


class ForgetStore(Protocol):
    """Records that are to be forgotten, and everything in the store that quotes them.

    A forgetting begins with ``begin`` and survives the end of the process: its records and its
    pending steps are stored.
    """

    async def matching(self, filters: Filters, limit: int) -> list[int]:
        """The numbers of records that pass ``filters``, the newest first."""
        ...

    async def saved_searches_naming(self, numbers: Sequence[int]) -> list[str]:
        """The names of the saved searches that go when these records are forgotten."""
        ...

    async def sessions(self, numbers: Sequence[int]) -> list[str]:
        """The sessions that these records are of."""
        ...

    async def begin(self, numbers: Sequence[int]) -> str:
        """Remember that these records are to be forgotten; returns the id of the receipt."""
        ...

    async def begin_purge(self) -> str:
        """Remember to clean up after all earlier deletions; returns the id of the receipt."""
        ...

    async def remove_some(self, receipt: str = "") -> int:
        """Remove some records that are to be forgotten, of one receipt or of any.

        One transaction, with everything derived from them; each leaves a tombstone. Returns how
        many records were taken; 0 when none is left.
        """
        ...

    async def remove_quotes(self, *, last: bool = False, uploads: int = 0) -> int:
        """Remove what quotes or names records forgotten so far; returns how many there were.

        ``uploads`` are counted with them: files that the caller removed.

        ``last`` also forgets what was looked for, unless a receipt has still to look for it. For a
        purge, whatever names a record that does not exist goes, too.
        """
        ...

    async def read_uploads(self) -> list[str]:
        """The names of uploads in the spool whose job has ended."""
        ...

    async def traces(self) -> Traces:
        """What gives the records away that were forgotten, until ``remove_quotes(last=True)``."""
        ...

    async def note_copies(self, receipts: Sequence[str], copies: Copies) -> None:
        """Store in these receipts what was found in other files."""
        ...

    async def merge_words(self) -> None:
        """Merge the index of words, so that terms of removed records are in it no more."""
        ...

    async def rewrite_file(self) -> None:
        """Write the stored data anew, without free space, and empty the log of writes."""
        ...

    async def finish_step(
        self, step: ForgetStep, receipts: Sequence[str], removed: Mapping[str, int]
    ) -> None:
        """``step`` of these receipts is done, and ``removed`` counts what it removed."""
        ...

    async def note_waiting(self, reason: str) -> None:
        """Why the pending steps do not go on."""
        ...

    async def receipt(self, receipt: str) -> Receipt | None: ...

    async def receipts(self, *, unfinished: bool = False) -> list[Receipt]:
        """Receipts, the newest first; finished ones are kept for a while."""
        ...

    async def forgotten(self, identities: Sequence[Identity]) -> set[Identity]:
        """Those of these records that were forgotten, whether by this store or another."""
        ...

    async def refuse(self, tombstones: Sequence[Tombstone]) -> None:
        """Refuse from now on what another store has forgotten. What is stored stays."""
        ...

    async def refused(self, tombstones: Sequence[Tombstone]) -> list[int]:
        """The numbers of the stored records that these tombstones are of."""
        ...

    async def tombstones(self, after: Tombstone | None, size: int) -> list[Tombstone]:
        """The next tombstones after one, in a fixed order."""
        ...
