"""Replaying an operation as of its own time, and comparing the results.

With the same index the results are the same. Replays are not stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mem_search.errors import Conflict, NotFound
from mem_search.model import Record, Ref, SearchPage
from mem_search.model.research import IndexState, Operation, StoredResult
from mem_search.research.operations import Research
from mem_search.research.requests import load
from mem_search.search.service import UNLOGGED
from mem_search.storage.ports import RecordStore, ResearchStore


@dataclass(frozen=True, slots=True)
class Change:
    """A result that differs; ranks count from 1, None means that it is absent."""

    ref: str
    before: int | None
    after: int | None


@dataclass(frozen=True, slots=True)
class Drift:
    """``changed`` have other content, ``moved`` another rank, ``rescored`` another relevance."""

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
    before: Sequence[StoredResult],
    after: Sequence[StoredResult],
    total_before: int,
    total_after: int,
) -> Drift:
    """The differences between ``before`` and ``after``; false if there are none."""
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


@dataclass(frozen=True, slots=True)
class Replay:
    """``page`` of a search, or ``record`` of a fetch; ``deleted`` are refs of deleted records."""

    operation: Operation
    index_state: IndexState
    drift: Drift
    page: SearchPage | None = None
    record: Record | None = None
    deleted: frozenset[str] = frozenset()

    @property
    def is_identical(self) -> bool:
        return not self.drift

    @property
    def is_same_index(self) -> bool:
        return self.index_state == self.operation.index_state


class Replays:
    """Replays the operations of one store."""

    def __init__(self, store: ResearchStore, records: RecordStore, research: Research) -> None:
        self._store = store
        self._records = records
        self._research = research

    async def get(self, operation: str) -> Operation:
        """One operation. Raises NotFound."""
        found = await self._store.get(operation)
        if found is None:
            raise NotFound(
                f"no operation {operation[:60]!r};"
                " `mem-search research show SESSION` and GET /api/v1/search/operations list them"
            )
        return found

    async def session(self, session: str) -> list[Operation]:
        """All operations of a session in their order. Raises NotFound."""
        found = await self._store.of_session(session)
        if not found:
            raise NotFound(
                f"no session {session[:60]!r};"
                " `mem-search research list` and GET /api/v1/search/sessions list them"
            )
        return found

    async def replay(self, operation: Operation) -> Replay:
        """Replay one operation. Raises Conflict when a secret of its query was not stored."""
        if operation.redacted:
            raise Conflict(
                f"operation {operation.id} cannot be replayed: its query held a secret, which"
                " was not kept"
            )
        state = await self._research.state()
        if operation.type == "fetch":
            return await self._fetch(operation, state)
        page = await self._research.service.search(load(operation.request), UNLOGGED, current=True)
        after = await self._research.results_of(page)
        found = drift(operation.results, after, operation.total_count, page.total)
        return Replay(operation, state, found, page, deleted=await self._deleted(found))

    async def _fetch(self, operation: Operation, state: IndexState) -> Replay:
        ref = Ref.parse(operation.results[0].ref)
        record = (await self._records.fetch([ref.number])).get(ref.number)
        after = await self._research.seen([(record, 1.0)] if record is not None else [])
        found = drift(operation.results, after, 1, len(after))
        return Replay(operation, state, found, record=record, deleted=await self._deleted(found))

    async def _deleted(self, found: Drift) -> frozenset[str]:
        numbers = {change.ref: Ref.parse(change.ref).number for change in found.gone}
        there = await self._records.content_hashes(list(numbers.values()))
        return frozenset(ref for ref, number in numbers.items() if number not in there)
