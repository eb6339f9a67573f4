"""The composition root: Settings → Runtime. The only place that knows every part by name.

Opening is quick: the store is opened and migrated, everything heavy (the model, the vector
index) gets ready in the background, and a search meanwhile answers with what there is and says
so. ``Runtime.close`` stops in the reverse order and leaves nothing running.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

from mem_search.contracts import Embedder, Retriever
from mem_search.embedders import open_embedder
from mem_search.embedders.missing import MissingEmbedder
from mem_search.errors import IndexUnavailable, MemSearchError, ModelUnavailable, StorageError
from mem_search.ingest.indexer import RETRY_SECONDS, Indexer
from mem_search.ingest.writer import IngestWriter
from mem_search.jobs.queue import JobQueue
from mem_search.jobs.reader import LocationReader, follow
from mem_search.jobs.tasks import AuditJob, ImportJob, RebuildJob, SyncJob
from mem_search.records import by_name, kind_called
from mem_search.research.operations import Research
from mem_search.research.replay import Replays
from mem_search.research.saved_searches import SavedSearches
from mem_search.research.search_jobs import SearchJobs
from mem_search.retrievers.graph import GraphExpansion
from mem_search.retrievers.keyword import KeywordRetriever
from mem_search.retrievers.vector import VectorRetriever
from mem_search.search.pipeline import SearchPipeline
from mem_search.search.priority import SearchPriority
from mem_search.search.search_log import SearchLog
from mem_search.search.service import SearchService
from mem_search.search.suggestions import Suggestions
from mem_search.search.universal_search import UniversalSearch
from mem_search.search.weighted import WeightedSearch
from mem_search.settings import Settings
from mem_search.storage.chroma import ChromaIndex, OffIndex, open_index
from mem_search.storage.sqlite import stats, vectors
from mem_search.storage.sqlite.database import Database
from mem_search.storage.sqlite.passage_map import PassageMapCache
from mem_search.storage.sqlite.record_columns import RecordColumns
from mem_search.storage.sqlite.stats import CorpusNumbers
from mem_search.storage.sqlite.vector_rows import VectorRows
from mem_search.webhooks.deliveries import Deliveries
from mem_search.webhooks.sending import Sender
from mem_search.webhooks.signing import webhook_secret

log = logging.getLogger(__name__)
Index = ChromaIndex | OffIndex

FEW = 25_000
"""Passages of a user's store up to which it is opened without an index and scanned (ADR 0011)."""


@dataclass(frozen=True, slots=True)
class Model:
    """The embedding model with the threads it runs in; all stores of a worker share one."""

    embedder: Embedder
    embedding: ThreadPoolExecutor
    asking: ThreadPoolExecutor

    async def close(self) -> None:
        for executor in (self.embedding, self.asking):
            await asyncio.to_thread(executor.shutdown, wait=True, cancel_futures=True)


@dataclass(frozen=True, slots=True)
class Runtime:
    """Everything a surface needs, ready to use."""

    settings: Settings
    database: Database
    corpus: CorpusNumbers
    pipeline: SearchPipeline
    search_service: SearchService
    weighted: WeightedSearch
    universal: UniversalSearch
    research: Research
    replays: Replays
    search_jobs: SearchJobs
    saved: SavedSearches
    deliveries: Deliveries
    intake: IngestWriter
    reader: LocationReader
    indexer: Indexer
    index: Index
    embedder: Embedder
    jobs: JobQueue
    started_at: int
    model: Model


@asynccontextmanager
async def open_runtime(
    settings: Settings, *, background: bool = True, shared: Model | None = None
) -> AsyncIterator[Runtime]:
    """The parts of one home, open until the block ends.

    ``background=False`` opens the store and the search without indexing, jobs or following.
    ``shared`` is the model of another runtime, which has to stay open longer: for the home of
    a user, whose vectors are scanned as long as there are few (ADR 0011).
    Raises StorageError, or InputError naming the setting at fault.
    """
    database = await Database.open(settings.database)
    space: Model | None = None
    tasks: list[asyncio.Task[None]] = []
    index: Index | None = None
    jobs: JobQueue | None = None
    searches: SearchLog | None = None
    rows: VectorRows | None = None
    deliveries: Deliveries | None = None
    reset = asyncio.Event()
    try:
        space = shared or await _open_model(settings)
        embedder, embedding, asking = space.embedder, space.embedding, space.asking
        model = await database.write(
            vectors.model_id, embedder.fingerprint, embedder.name, embedder.dimensions
        )
        few = shared is not None and (await database.read(stats.corpus)).size <= FEW
        index = open_index(
            "off" if few else settings.chroma_url,
            chroma_dir=settings.chroma_dir,
            logs_dir=settings.logs_dir,
            fingerprint=embedder.fingerprint,
            dimensions=embedder.dimensions,
            token=settings.chroma_token,
            on_reset=reset.set,
        )
        corpus = CorpusNumbers(database)
        owners, columns = PassageMapCache(database), RecordColumns(database)
        rows = VectorRows(settings.home, model, embedder.dimensions)
        indexer = Indexer(database, index, embedder, model, embedding, corpus.changed)

        def stored() -> None:
            corpus.changed()
            indexer.wake()

        priority = SearchPriority()
        intake = IngestWriter(database, stored, priority.give)
        reader = LocationReader(database, intake)
        jobs = JobQueue(
            database,
            (
                SyncJob(reader),
                ImportJob(reader, settings.spool_dir),
                AuditJob(indexer),
                RebuildJob(indexer),
            ),
        )
        legs: tuple[Retriever, ...] = (
            KeywordRetriever(database, corpus, owners, columns),
            VectorRetriever(
                database,
                index,
                embedder,
                rows,
                asking,
                corpus,
                owners,
                columns,
                scans=index.state == "off",
            ),
        )
        pipeline = SearchPipeline(database, legs, corpus, columns, kind_called, priority)
        searches = SearchLog(database, on=settings.search_log)
        search_service = SearchService(pipeline, Suggestions(database), searches)
        universal = UniversalSearch(search_service, database, by_name, columns)
        research = Research(database, universal, corpus, embedder.fingerprint)
        sender = Sender(lambda: webhook_secret(settings), settings.webhook_allow)
        deliveries = Deliveries(database, sender)
        runtime = Runtime(
            settings=settings,
            database=database,
            corpus=corpus,
            pipeline=pipeline,
            search_service=search_service,
            weighted=WeightedSearch(
                database, legs, GraphExpansion(database), corpus, kind_called, priority
            ),
            universal=universal,
            research=research,
            replays=Replays(database, research),
            search_jobs=SearchJobs(database, research, deliveries, most=settings.limit_jobs),
            saved=SavedSearches(database, universal, deliveries),
            deliveries=deliveries,
            intake=intake,
            reader=reader,
            indexer=indexer,
            index=index,
            embedder=embedder,
            jobs=jobs,
            started_at=int(time.time() * 1000),
            model=space,
        )
        index.start()
        if background:
            await jobs.start()
            background_work = (
                _run("index", indexer.run()),
                _run("vectors", rows.fill(database)),
                _run("audit", _audit_after(reset, indexer)),
                _run("follow", follow(database, reader, settings.follow)),
                _run("search log", searches.run()),
                _run("search jobs", runtime.search_jobs.run()),
                _run("saved searches", runtime.saved.run()),
                _run("webhooks", deliveries.run()),
                *(() if shared else (_run("warm up", _warm_up(embedder, asking)),)),
            )
            tasks += [asyncio.create_task(work) for work in background_work]
        yield runtime
    finally:
        if jobs is not None:
            await jobs.close()
        for task in tasks:
            task.cancel()
        for task in tasks:
            with suppress(asyncio.CancelledError):
                await task
        if deliveries is not None:
            await deliveries.close()
        if searches is not None:
            await searches.flush()
        if space is not None and shared is None:
            await space.close()
        if index is not None:
            await index.close()
        await database.close()
        if rows is not None:
            rows.close()


async def _open_model(settings: Settings) -> Model:
    return Model(
        embedder=await asyncio.to_thread(_embedder, settings),
        embedding=ThreadPoolExecutor(1, thread_name_prefix="embed-passages"),
        asking=ThreadPoolExecutor(1, thread_name_prefix="embed-question"),
    )


def _embedder(settings: Settings) -> Embedder:
    try:
        return open_embedder(settings.embedder, settings.models_dir)
    except ModelUnavailable as error:
        log.warning("only words are searched until the next start: %s", error)
        return MissingEmbedder(settings.embedder, error.message)


async def _run(name: str, work: Coroutine[Any, Any, None]) -> None:
    """Background work that must not end the worker: its failure is logged and told by stats."""
    try:
        await work
    except Exception:
        log.exception("%s stopped; restart the worker with `mem-search worker restart`", name)


async def _audit_after(reset: asyncio.Event, indexer: Indexer) -> None:
    """Whenever the index may have lost something, compare it with the store and mend it."""
    while True:
        await reset.wait()
        reset.clear()
        indexer.wake()  # it may have been waiting for the index to come back
        try:
            found = await indexer.audit()
        except IndexUnavailable as error:
            log.warning("the index could not be compared yet: %s", error)  # its next start resets
            continue
        except StorageError as error:
            log.warning("the index could not be compared yet: %s", error)
            await asyncio.sleep(RETRY_SECONDS)
            reset.set()
            continue
        if found.missing or found.extra:
            log.info("index audit: %d passages missing, %d extra", found.missing, found.extra)


async def _warm_up(embedder: Embedder, executor: ThreadPoolExecutor) -> None:
    """Load the model before the first question; a model that cannot load says so when asked."""
    try:
        await asyncio.get_running_loop().run_in_executor(executor, embedder.embed, ["warm up"])
    except MemSearchError as error:
        log.warning("the embedding model is not ready: %s", error)
