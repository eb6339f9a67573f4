"""What ``wiring`` opens for one home: the model, the searches, and the features.

The modules of the features are imported for their types alone, so that a worker can answer its
first searches before it loads them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

from mem_search.access.callers import Caller, check_may_change
from mem_search.contracts import Embedder
from mem_search.errors import Forbidden, InputError, NotFound, Unavailable
from mem_search.model import Condition, Demand, Filters, SearchPage, SearchRequest
from mem_search.model.access import SAVED
from mem_search.records.registry import installed_kinds
from mem_search.rerankers import Reranking
from mem_search.search.pipeline import SearchPipeline
from mem_search.search.query_understanding import demand_of
from mem_search.search.scoped import Scope, ScopedSearchStore, ScopedService, ScopedStore
from mem_search.search.service import SearchLog, SearchService
from mem_search.search.stored_requests import load
from mem_search.search.suggestions import Suggestions
from mem_search.settings import Settings
from mem_search.storage.redacted import SecretBox
from mem_search.storage.store import SearchStore, Store
from mem_search.storage.vector_index import VectorIndex
from mem_search.text.redaction import Redaction
from mem_search.text.sparse import SparseModel

if TYPE_CHECKING:
    from mem_search.features.archives.service import Archives
    from mem_search.features.capture.service import HookEvents
    from mem_search.features.forgetting.service import Forgetting
    from mem_search.features.mirror.service import Mirrors
    from mem_search.features.research.service import Replays, Research
    from mem_search.features.saved_searches.service import SavedSearches
    from mem_search.features.search_jobs.service import SearchJobs
    from mem_search.features.web_search.service import WebSearch
    from mem_search.features.webhooks.service import Deliveries
    from mem_search.ingest.embedding import SparseFilling
    from mem_search.ingest.indexer import Indexer
    from mem_search.ingest.writer import IngestWriter
    from mem_search.jobs.enriching import EnrichJob
    from mem_search.jobs.queue import JobQueue
    from mem_search.jobs.reader import LocationReader
    from mem_search.jobs.reembedding import ActiveIndex


class Starting(Unavailable):
    """The store, or what is beside its searches, is still being opened."""

    code = "starting"


@dataclass(slots=True)
class EmbeddingModel:
    """The embedding model with the threads it runs in; all stores of a worker share one.

    ``reembed`` replaces the embedder; the store of a user follows when it is opened again.
    """

    embedder: Embedder
    passage_thread: ThreadPoolExecutor
    query_thread: ThreadPoolExecutor
    reranking: Reranking | None = None
    sparse: SparseModel | None = None


@dataclass(frozen=True, slots=True)
class Space:
    """The vectors that the searches began with, and what opens another space in their place.

    ``in_store``: the vectors are searched where they are stored. ``reset`` is set when the index
    lost its vectors. ``ActiveIndex`` says what the functions do.
    """

    number: int
    index: VectorIndex
    in_store: bool
    reset: asyncio.Event
    open_search: Callable[[int, int], SearchStore]
    open_index: Callable[[Embedder], VectorIndex]
    pipeline: Callable[..., SearchPipeline]


@dataclass(slots=True)
class SearchRuntime:
    """Everything that answers a search."""

    store: SearchStore
    service: SearchService
    space: Space

    @property
    def pipeline(self) -> SearchPipeline:
        return self.service.pipeline


@dataclass(frozen=True, slots=True)
class IngestRuntime:
    """Everything that writes records to the store and the index, and forgets them."""

    writer: IngestWriter
    reader: LocationReader
    indexer: Indexer
    filling: SparseFilling
    jobs: JobQueue
    forgetting: Forgetting
    hooks: HookEvents
    enriching: tuple[EnrichJob, ...]
    archives: Archives
    mirrors: Mirrors


@dataclass(frozen=True, slots=True)
class ResearchRuntime:
    """Stored searches and their repetition: operations, jobs, saved searches, webhooks."""

    operations: Research
    replays: Replays
    search_jobs: SearchJobs
    saved_searches: SavedSearches
    deliveries: Deliveries
    web: WebSearch | None


@dataclass(frozen=True, slots=True)
class Features:
    """Everything beside the searches."""

    active_index: ActiveIndex
    ingest: IngestRuntime
    research: ResearchRuntime


@dataclass(slots=True)
class Runtime:
    """Everything a surface needs for one home. ``started_at`` is in ms.

    It searches from the beginning. What else it has raises Starting until ``features`` are open.
    """

    settings: Settings
    store: Store
    redaction: Redaction
    secret_box: SecretBox
    model: EmbeddingModel
    search: SearchRuntime
    is_owner: bool
    started_at: int
    features: Features | None = None

    @property
    def index(self) -> VectorIndex:
        """The vector index of the space that is served."""
        if self.features is None:
            return self.search.space.index
        return self.features.active_index.index

    @property
    def active_index(self) -> ActiveIndex:
        return self._opened.active_index

    @property
    def ingest(self) -> IngestRuntime:
        return self._opened.ingest

    @property
    def research(self) -> ResearchRuntime:
        return self._opened.research

    def web_search(self, sources: Collection[str], caller: Caller) -> WebSearch | None:
        """The web search that ``sources`` ask for; None where they ask for none.

        Raises InputError where no setting names one, Unauthorized or Forbidden for a caller who may
        only read: the question leaves.
        """
        if "web" not in sources:
            return None
        check_may_change(caller, "a web search", "sends the question to others")
        if self.research.web is None:
            raise InputError(
                "no web search is set up; whoever runs mem-search names one in"
                " MEM_SEARCH_WEB_SEARCH, such as searxng@https://searx.example.org",
                field="sources",
            )
        return self.research.web

    @property
    def _opened(self) -> Features:
        if self.features is None:
            raise Starting("the worker answers searches and is opening the rest; try again soon")
        return self.features


@dataclass(frozen=True, slots=True)
class ScopedOperations:
    """Searches outside of research chains, which a scoped token, which only reads, has none of."""

    service: SearchService

    async def search(self, request: SearchRequest, surface: str) -> tuple[SearchPage, None]:
        return await self.service.search(request, surface), None


class ScopedRuntime(Runtime):
    """What a token that is limited to a scope has of a runtime; the rest is refused."""

    __slots__ = ("scope",)
    scope: Scope

    @property
    def research(self) -> Any:
        return _Only(self.scope, operations=ScopedOperations(self.search.service))

    @property
    def _opened(self) -> Features:
        raise self.scope.refused("this")


class _Only:
    """An object with these attributes; any other is refused."""

    def __init__(self, scope: Scope, **values: object) -> None:
        self._scope = scope
        self.__dict__.update(values)

    def __getattr__(self, name: str) -> Any:
        raise self._scope.refused(name)


async def _demand_of(runtime: Runtime, name: str, now: datetime) -> Demand:
    """What a record in the scope or of the saved search has to be. Raises InputError, NotFound."""
    if name.startswith(SAVED):
        saved = await runtime.research.saved_searches.get(name.removeprefix(SAVED))
        request = replace(load(saved.request), asked_at=now)
        return Condition(name, (await runtime.search.pipeline.selection(request),))
    scope = await runtime.store.scopes.get(name)
    if scope is None:
        raise NotFound(name)
    return demand_of(scope.filter, now, installed_kinds())


async def within_scope(runtime: Runtime, name: str, now: datetime) -> Runtime:
    """``runtime`` as a token sees it that is limited to the scope ``name``: the one place where
    that is decided for every surface. Raises Forbidden for a scope that is gone.
    """
    try:
        demand = await _demand_of(runtime, name, now)
    except (InputError, NotFound):  # it is gone, or of a kind that is not installed any more
        raise Forbidden(
            f"what you may see is limited to {name}, which is gone or cannot be read;"
            " ask whoever gave you this token or share"
        ) from None
    inside = await runtime.search.store.matching(Filters(demand=demand))
    scope = Scope(name, demand, inside)
    store = cast(SearchStore, ScopedSearchStore(runtime.search.store, scope))
    space, model = runtime.search.space, runtime.model
    service = ScopedService(
        space.pipeline(store, model.embedder, runtime.index),
        Suggestions(store),
        SearchLog(runtime.store.search_log, on=False),
        runtime.search.service.translation,
    )
    service.scope = scope
    scoped = ScopedRuntime(
        runtime.settings, cast(Store, ScopedStore(runtime.store, scope)), runtime.redaction,
        runtime.secret_box, model, SearchRuntime(store, service, space), runtime.is_owner,
        runtime.started_at,
    )  # fmt: skip
    scoped.scope = scope
    return scoped
