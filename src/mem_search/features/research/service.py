"""Deep research: searches that are stored as steps, with the index state that they depended on.
Other searches pass through. The request and the results of a step suffice to replay it and to cite
it (``export``); texts are not stored again. A replay searches as of the time of its step and
compares the results; with the same index they are the same. Replays are not stored.
"""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from mem_search import __version__
from mem_search.errors import Conflict, InputError, NotFound
from mem_search.features.research.sql import ResearchStore
from mem_search.model import Record, Ref, SearchPage, SearchRequest
from mem_search.model.requests import MAX_OPERATIONS
from mem_search.model.results import IndexState, Operation, StoredResult
from mem_search.model.statistics import Corpus
from mem_search.renderers.schema import HowSearched, to_values
from mem_search.search.citations import relevance
from mem_search.search.ranking import ms
from mem_search.search.service import UNLOGGED, SearchService
from mem_search.search.stored_requests import dump, load
from mem_search.storage.store import Store
from mem_search.text import secret_rules
from mem_search.text.dates import now_ms
from mem_search.text.redaction import redact

Place = tuple[str, str | None]
"""The session of an operation, and the one that it follows; without one it begins a chain."""


async def place(store: ResearchStore, session_id: str, parent_id: str, most: int) -> Place:
    """The place of the next operation; a new session gets an id.

    Without ``session_id`` it is in the session of the parent. Raises NotFound for an unknown
    parent, InputError for a parent in another session, Conflict when the chain has ``most``
    operations; each error names its field.
    """
    if not parent_id:
        return session_id or str(uuid.uuid4()), None
    parent = await store.get(parent_id)
    if parent is None:
        raise NotFound(
            f"no operation {parent_id[:60]!r}; GET /api/v1/search/operations lists them",
            field="parent_operation_id",
        )
    if session_id and parent.session_id != session_id:
        raise InputError(
            f"operation {parent_id} belongs to session {parent.session_id};"
            " use that session, or omit session_id",
            field="parent_operation_id",
        )
    length = await store.chain_length(parent_id)
    if length >= most:
        raise Conflict(
            f"the chain has {length} operations and max_operations is {most};"
            " begin a new chain, or allow more",
            field="max_operations",
        )
    return parent.session_id, parent_id


class Research:
    """Searches one store, and stores the steps of research."""

    def __init__(
        self,
        store: Store,
        service: SearchService,
        corpus: Callable[[], Awaitable[Corpus]],
        embedder: Callable[[], str],
    ) -> None:
        self._store = store.part(ResearchStore)
        self._records = store.records
        self.service = service
        self._corpus = corpus
        self._embedder = embedder

    async def check(self, request: SearchRequest) -> None:
        """Check a request without searching. Raises what ``search`` raises."""
        await self.service.check(request)
        if request.is_research:
            await self._place(request)

    async def search(
        self, request: SearchRequest, surface: str, *, operation: str = ""
    ) -> tuple[SearchPage, Operation | None]:
        """As ``SearchService.search``, and the stored operation; None outside research.

        ``request`` has ``asked_at``. ``operation`` is the id of a step that may have been started
        before. Raises NotFound, InputError or Conflict when the chain does not allow the step.
        """
        if not request.is_research:
            return await self.service.search(request, surface), None
        session, parent = await self._place(request)
        state = await self.state()
        page = await self.service.search(request, surface, current=True)
        placed = replace(request, research=replace(request.research, session_id=session))
        step = await self._kept(
            Operation(
                id=operation or str(uuid.uuid4()),
                session_id=session,
                parent_id=parent,
                type="refine" if parent else "search",
                query=request.text,
                content_types=tuple(request.filters.kinds),
                request=dump(placed),
                results=await self.results_of(page),
                total_count=page.total,
                took_ms=page.report.took_ms,
                report=to_values(HowSearched.of(page.report)),
                index_state=state,
            )
        )
        return page, step

    async def fetched(
        self,
        record: Record,
        *,
        session_id: str,
        parent_id: str = "",
        most: int = MAX_OPERATIONS,
        started: float | None = None,
    ) -> Operation:
        """Store that ``record`` was opened as a step of a session; raises as ``search`` does.

        ``started`` is its start by ``time.perf_counter``.
        """
        session, parent = await place(self._store, session_id, parent_id, most)
        return await self._kept(
            Operation(
                id=str(uuid.uuid4()),
                session_id=session,
                parent_id=parent,
                type="fetch",
                query=str(record.ref),
                content_types=(record.kind,),
                request={"ref": str(record.ref)},
                results=await self.seen([(record, 1.0)]),
                total_count=1,
                took_ms=0.0 if started is None else ms(started),
                index_state=await self.state(),
            )
        )

    async def state(self) -> IndexState:
        """The current state of everything that results depend on."""
        corpus = await self._corpus()
        return IndexState(
            revision=await self._records.revision(),
            passages=corpus.size,
            waiting=corpus.waiting,
            embedder=self._embedder(),
            version=__version__,
        )

    async def results_of(self, page: SearchPage) -> tuple[StoredResult, ...]:
        """The results of ``page`` as they are stored."""
        return await self.seen([(each.record, relevance(page, each)) for each in page.results])

    async def seen(self, results: Sequence[tuple[Record, float]]) -> tuple[StoredResult, ...]:
        """(record, relevance) as results are stored."""
        numbers = [record.number for record, _ in results]
        digests = await self._records.content_hashes(numbers)
        return tuple(
            StoredResult(str(record.ref), digests.get(record.number, ""), relevance)
            for record, relevance in results
        )

    async def _place(self, request: SearchRequest) -> Place:
        placement = request.research
        return await place(
            self._store,
            placement.session_id,
            placement.parent_operation_id,
            placement.max_operations,
        )

    async def _kept(self, step: Operation) -> Operation:
        """The stored ``step``, without a secret in its question."""
        await secret_rules.ready()
        clean, secrets = redact(step.query)
        if secrets:
            # It cannot be replayed; ``redacted`` marks that.
            step = replace(
                step,
                query=clean,
                redacted=True,
                request={**step.request, "search": {**step.request["search"], "text": clean}},
                report={name: said for name, said in step.report.items() if name != "analyzed"},
            )
        step = replace(step, created_at=now_ms())
        await self._store.add(step)
        return step


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

    def __init__(self, store: Store, research: Research) -> None:
        self._store = store.part(ResearchStore)
        self._records = store.records
        self._research = research

    async def get(self, operation: str) -> Operation:
        """One operation. Raises NotFound."""
        stored = await self._store.get(operation)
        if stored is None:
            raise NotFound(
                f"no operation {operation[:60]!r};"
                " `mem-search research show SESSION` and GET /api/v1/search/operations list them"
            )
        return stored

    async def session(self, session: str) -> list[Operation]:
        """All operations of a session in their order. Raises NotFound."""
        steps = await self._store.of_session(session)
        if not steps:
            raise NotFound(
                f"no session {session[:60]!r};"
                " `mem-search research list` and GET /api/v1/search/sessions list them"
            )
        return steps

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
        delta = drift(operation.results, after, operation.total_count, page.total)
        return Replay(operation, state, delta, page, deleted=await self._deleted(delta))

    async def _fetch(self, operation: Operation, state: IndexState) -> Replay:
        ref = Ref.parse(operation.results[0].ref)
        record = (await self._records.fetch([ref.number])).get(ref.number)
        after = await self._research.seen([(record, 1.0)] if record is not None else [])
        delta = drift(operation.results, after, 1, len(after))
        return Replay(operation, state, delta, record=record, deleted=await self._deleted(delta))

    async def _deleted(self, delta: Drift) -> frozenset[str]:
        numbers = {change.ref: Ref.parse(change.ref).number for change in delta.gone}
        there = await self._records.content_hashes(list(numbers.values()))
        return frozenset(ref for ref, number in numbers.items() if number not in there)
