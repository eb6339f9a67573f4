"""What ``wiring`` opens for one home: the model, the searches, and the features.

The modules of the features are imported for their types alone, so that a worker can answer its
first searches before it loads them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from mem_search.contracts import Embedder
from mem_search.errors import Unavailable
from mem_search.search.pipeline import SearchPipeline
from mem_search.search.reranking import Reranking
from mem_search.search.service import SearchService
from mem_search.settings import Settings
from mem_search.storage.opening import Index
from mem_search.storage.ports.search import SearchStore
from mem_search.storage.ports.vector_index import VectorIndex
from mem_search.storage.redacted import SecretBox
from mem_search.storage.store import Store
from mem_search.text.redaction import Redaction
from mem_search.text.sparse import SparseModel

if TYPE_CHECKING:
    from mem_search.features.archives.service import Archives
    from mem_search.features.capture.service import HookEvents
    from mem_search.features.forgetting.service import Forgetting
    from mem_search.features.research.service import Replays, Research
    from mem_search.features.saved_searches.service import SavedSearches
    from mem_search.features.search_jobs.service import SearchJobs
    from mem_search.features.webhooks.service import Deliveries
    from mem_search.ingest.indexer import Indexer
    from mem_search.ingest.sparse import SparseFilling
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
    index: Index
    in_store: bool
    reset: asyncio.Event
    open_search: Callable[[int, int], SearchStore]
    open_index: Callable[[Embedder], VectorIndex]
    pipeline: Callable[[SearchStore, Embedder, VectorIndex], SearchPipeline]


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


@dataclass(frozen=True, slots=True)
class ResearchRuntime:
    """Stored searches and their repetition: operations, jobs, saved searches, webhooks."""

    operations: Research
    replays: Replays
    search_jobs: SearchJobs
    saved_searches: SavedSearches
    deliveries: Deliveries


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
    def index(self) -> Index:
        """The vector index of the space that is served."""
        if self.features is None:
            return self.search.space.index
        return cast(Index, self.features.active_index.index)

    @property
    def active_index(self) -> ActiveIndex:
        return self._opened.active_index

    @property
    def ingest(self) -> IngestRuntime:
        return self._opened.ingest

    @property
    def research(self) -> ResearchRuntime:
        return self._opened.research

    @property
    def _opened(self) -> Features:
        if self.features is None:
            raise Starting("the worker answers searches and is opening the rest; try again soon")
        return self.features
