"""The parts of a store that each engine makes in its own way.

Times are milliseconds since 1970.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from mem_search.model import Filters, Record
from mem_search.model.access import Allowance, Policy
from mem_search.model.forgetting import (
    Copies,
    ForgetStep,
    Identity,
    Receipt,
    Tombstone,
    Traces,
)
from mem_search.model.graph import ExportedGraph, GraphPart
from mem_search.model.ingest import PreparedDraft
from mem_search.model.jobs import JobState, JobStatus

T = TypeVar("T")


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


class RedactingStore(Protocol):
    """Redacting again what other rules redacted."""

    async def rules(self) -> str:
        """By which rules the texts were redacted; empty for those of an older version."""
        ...

    async def note_rules(self, rules: str) -> None:
        """All texts are redacted by these rules."""
        ...

    async def replace(self, items: Sequence[tuple[Record, PreparedDraft]]) -> int:
        """Give records, as they were read, another content and identity; returns how many.

        Each keeps its number. One that changed since it was read stays as it is.
        """
        ...

    async def relate(self, items: Sequence[tuple[Record, PreparedDraft]]) -> int:
        """Give records, as they were read, the edges, names and phrases of today; returns how many.

        Their content stays, so nothing is embedded again. One that changed since stays as it is.
        """
        ...

    async def redact_texts(self, clean: Callable[[str], str], seal: Callable[[str], str]) -> int:
        """Apply ``clean`` to every text beside the records, ``seal`` to the URLs of webhooks.

        Returns how many rows changed.
        """
        ...


class JobStore(Protocol):
    """The state of jobs, written at every step, so that a restart knows where each one was.

    A store may have several workers. A job that one claimed is its own until it ends, or until that
    worker is dead.
    """

    async def create(
        self, job: str, name: str, params: Mapping[str, Any], *, anywhere: bool = False
    ) -> None:
        """Add a job in the state "queued": for a worker of this home, or for one ``anywhere``."""
        ...

    async def claim(
        self, names: Collection[str], left: Collection[str] = (), lanes: Collection[str] = ()
    ) -> JobState | None:
        """The oldest job of these names that waits, or that a dead worker was running.

        It is running now. Jobs with an id in ``left`` are passed over, and those whose name and
        parameter ``source`` are one of the ``lanes``, as ``import:files``. None when there is none.
        """
        ...

    async def claim_aside(self, names: Collection[str]) -> JobState | None:
        """The oldest job of these names and this home that was set aside; each only once.

        It is running now. None when there is none, or each one was claimed so before.
        """
        ...

    async def report_progress(self, job: str, done: int, total: int, message: str) -> bool:
        """False, without any change, when the job has ended or is another worker's by now."""
        ...

    async def note_result(self, job: str, result: Mapping[str, Any]) -> None:
        """The work of the running job is done, with this result; it has not ended yet."""
        ...

    async def finish(
        self, job: str, state: JobStatus, message: str, result: Mapping[str, Any]
    ) -> None:
        """End the job, unless it has ended or, except for "cancelled", is another worker's."""
        ...

    async def get(self, job: str) -> JobState | None: ...

    async def newest(self, limit: int, state: JobStatus | None = None) -> list[JobState]:
        """The newest jobs, of all states or of one."""
        ...

    async def queue_again(self, job: str, params: Mapping[str, Any]) -> None:
        """The ended job is in the state "queued" again, with other parameters."""
        ...

    async def unfinished(self, *, here: bool = False) -> list[JobState]:
        """Jobs that have not ended, also those that a former worker was running; oldest first.

        ``here``: only those of this home that no living worker is running.
        """
        ...

    async def expire(self, before: int) -> int:
        """Delete jobs that ended before, except those set aside; returns how many."""
        ...


class GraphStore(Protocol):
    """The edges between records, and the pages that they cite."""

    async def export(self, part: GraphPart, write: Callable[[ExportedGraph], T]) -> T:
        """Call ``write`` in a thread with that part of the graph, as of one moment.

        Memory does not grow with the part. Nobody who searches or stores waits for it.
        """
        ...


class LimitStore(Protocol):
    """The requests that were granted within the last hour, by whose limit and by policy.

    The count is exact over any hour, whichever workers grant, and is kept over restarts.
    """

    async def take(
        self, budget: str, policy: Policy, count: int = 1, *, now: int | None = None
    ) -> Allowance:
        """Grant ``count`` more requests of ``budget`` if the policy has room for all of them.

        ``now`` is milliseconds since 1970; the store's own clock when it is left out. A clock that
        was set back makes no request count for longer than from now on.
        """
        ...

    async def expire(self, before: int) -> None:
        """Drop what was granted before."""
        ...
