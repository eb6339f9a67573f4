"""The composition root: Settings → Runtime. Only this module knows every part by name.

Opening is quick: the store is opened and migrated; the model and the vector index get ready in the
background. Meanwhile searches use what is ready, and their replies say so. Each part registers its
closing when it is opened; an ``AsyncExitStack`` closes in reverse order.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

from mem_search.contracts import Embedder, Retriever, VectorIndex
from mem_search.embedders import MissingEmbedder, Opener, open_embedder
from mem_search.errors import MemSearchError, ModelUnavailable
from mem_search.idle_memory import give_back_when_idle
from mem_search.ingest import spool
from mem_search.ingest.crash_mark import CrashMark
from mem_search.ingest.forgetting import Forgetting
from mem_search.ingest.indexer import Indexer, audit_after, check_regularly
from mem_search.ingest.preparing import Preparing
from mem_search.ingest.writer import IngestWriter
from mem_search.jobs.archives import ArchiveJob, Archives
from mem_search.jobs.enriching import EnrichJob, enrich_new
from mem_search.jobs.hook_events import HookEvents
from mem_search.jobs.kept_transcripts import KeptTranscripts
from mem_search.jobs.queue import Job, JobQueue
from mem_search.jobs.reader import LocationReader, follow
from mem_search.jobs.redacting import RedactJob, redact_if_older
from mem_search.jobs.reembedding import ReembedJob, Serving
from mem_search.jobs.tasks import AuditJob, FetchJob, ImportJob, RebuildJob, SyncJob, set_aside
from mem_search.jobs.watching import watch
from mem_search.records.registry import installed_kinds
from mem_search.research.operations import Research
from mem_search.research.replay import Replays
from mem_search.research.saved_searches import SavedSearches
from mem_search.research.search_jobs import SearchJobs
from mem_search.retrievers.keyword import KeywordRetriever
from mem_search.retrievers.vector import VectorRetriever
from mem_search.search.pipeline import SearchPipeline
from mem_search.search.reranking import Reranking, open_reranking
from mem_search.search.service import SearchLog, SearchService
from mem_search.search.stages import STAGES
from mem_search.search.state import Stage
from mem_search.search.suggestions import Suggestions
from mem_search.search.translation import Translation
from mem_search.settings import Settings
from mem_search.storage.opening import Index, open_store
from mem_search.storage.ports import SearchStore, Store
from mem_search.storage.redacted import Seal, redacted
from mem_search.text.dates import now_ms
from mem_search.text.redaction import Redaction
from mem_search.webhooks.deliveries import Deliveries
from mem_search.webhooks.sending import Sender
from mem_search.webhooks.signing import webhook_secret

log = logging.getLogger(__name__)
FEW = 25_000
"""Passages of a user's store up to which it is opened without an index and scanned (ADR 0011)."""


@dataclass(slots=True)
class EmbeddingModel:
    """The embedding model with the threads it runs in; all stores of a worker share one.

    ``reembed`` replaces the embedder; the store of a user follows when it is opened again.
    """

    embedder: Embedder
    passage_thread: ThreadPoolExecutor
    query_thread: ThreadPoolExecutor
    reranking: Reranking | None = None


@dataclass(slots=True)
class SearchRuntime:
    """Everything that answers a search."""

    store: SearchStore
    service: SearchService

    @property
    def pipeline(self) -> SearchPipeline:
        return self.service.pipeline


@dataclass(frozen=True, slots=True)
class IngestRuntime:
    """Everything that writes records to the store and the index, and forgets them."""

    writer: IngestWriter
    reader: LocationReader
    indexer: Indexer
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
class Runtime:
    """Everything a surface needs for one home, ready to use. ``started_at`` is in ms."""

    settings: Settings
    store: Store
    model: EmbeddingModel
    serving: Serving
    search: SearchRuntime
    ingest: IngestRuntime
    research: ResearchRuntime
    redaction: Redaction
    started_at: int

    @property
    def index(self) -> Index:
        """The vector index of the space that is served."""
        return cast(Index, self.serving.index)


@asynccontextmanager
async def open_runtime(
    settings: Settings,
    *,
    background: bool = True,
    shared: EmbeddingModel | None = None,
    opener: Opener = open_embedder,
    stages: Sequence[Stage] = STAGES,
) -> AsyncIterator[Runtime]:
    """The parts of one home, open until the block ends.

    ``background=False`` opens everything without indexing, jobs or following. ``shared`` is the
    model of another runtime, which has to stay open longer: for the home of a user, whose
    vectors are scanned as long as there are few (ADR 0011). ``opener`` opens the embedder.
    ``stages`` are those of the ranking; ``scripts/evaluate --without`` leaves some out.
    Raises StorageError, or InputError naming the setting at fault.
    """
    async with AsyncExitStack() as stack:
        opened = await open_store(settings)
        stack.push_async_callback(opened.store.close)
        key, store = opened.key, redacted(opened.store, opened.key)
        setting = await store.indexing.chosen_embedder(settings.embedder)
        model = await stack.enter_async_context(_open_model(settings, setting, shared, opener))
        embedder = model.embedder
        space = await store.indexing.model_number(
            embedder.fingerprint, embedder.name, embedder.dimensions
        )
        reset = asyncio.Event()
        few = shared is not None and (await store.statistics.corpus()).size <= FEW
        open_index = partial(opened.open_index, on_reset=reset.set, few=few)
        index = open_index(embedder)

        chats = installed_kinds().ranking.chat
        open_search = partial(store.open_search, settings.home, chats=chats)
        searched = open_search(space, embedder.dimensions)
        pipeline = partial(_pipeline, model, stages)
        service = SearchService(
            pipeline(searched, embedder, index),
            Suggestions(searched),
            SearchLog(store.search_log, on=settings.search_log),
            Translation.of(settings),
        )
        search = SearchRuntime(searched, service)
        stack.push_async_callback(service.log.flush)
        research = _research_runtime(settings, store, model, search)
        stack.push_async_callback(research.deliveries.close)
        preparing = Preparing(settings.prepare_seconds, settings.prepare_memory)
        stack.push_async_callback(preparing.close)
        indexer = Indexer(
            store.indexing, index, embedder, space, model.passage_thread, searched.changed
        )

        def changed(embedder: Embedder, searched: SearchStore) -> None:
            model.embedder, search.store = embedder, searched
            reset.set()

        serving = Serving(
            space, index, searched, service, indexer, open_search, open_index, pipeline, changed
        )
        stack.push_async_callback(lambda: serving.index.close())
        mark = CrashMark(settings.home / "reading.json")
        redaction = Redaction(key)
        ingest = _ingest_runtime(
            settings, store, serving, search, preparing, mark, redaction, Seal(key)
        )
        tasks = await stack.enter_async_context(_background_tasks())
        stack.push_async_callback(ingest.jobs.close)

        index.start()
        if background:
            await set_aside(mark, ingest.jobs, store.ingest)
            await ingest.jobs.start()
            await redact_if_older(store, ingest.jobs)
            tasks.start("index", indexer.run())
            tasks.start("spool", spool.keep_swept(settings.spool_dir, ingest.jobs.uploads))
            tasks.start("forgetting", ingest.forgetting.run())
            tasks.start("vectors", searched.fill_caches())
            if not opened.has_index:  # nobody else writes to the index of the store itself
                tasks.start("audit", audit_after(reset, indexer))
                tasks.start("check", check_regularly(indexer))
            tasks.start("follow", follow(store.ingest, ingest.reader, settings.follow))
            if not shared:  # only the owner follows places of the machine
                tasks.start("watch", watch(store.ingest, ingest.reader, settings.follow))
                tasks.start("hooks", ingest.hooks.run())
                tasks.start("enrichment", enrich_new(ingest.enriching, ingest.jobs))
                tasks.start("warm up", _warm_up(model))
                tasks.start("memory", give_back_when_idle())
                tasks.start("archives", ingest.archives.run())
            tasks.start("search log", search.service.log.run())
            tasks.start("search jobs", research.search_jobs.run())
            tasks.start("saved searches", research.saved_searches.run())
            tasks.start("webhooks", research.deliveries.run())
            tasks.start("other workers", store.watch(partial(_wake, ingest, research)))
        yield Runtime(
            settings=settings, store=store, model=model, serving=serving, search=search,
            ingest=ingest, research=research, redaction=redaction, started_at=now_ms(),
        )  # fmt: skip


def _wake(ingest: IngestRuntime, research: ResearchRuntime) -> None:
    """Look for work: another worker may have added some, or died over it."""
    for part in (
        ingest.indexer, ingest.jobs, research.search_jobs, research.saved_searches,
        research.deliveries,
    ):  # fmt: skip
        part.wake()


def _pipeline(
    model: EmbeddingModel,
    stages: Sequence[Stage],
    searched: SearchStore,
    embedder: Embedder,
    index: VectorIndex,
) -> SearchPipeline:
    legs: tuple[Retriever, ...] = (
        KeywordRetriever(searched),
        VectorRetriever(searched, index, embedder, model.query_thread, scans=index.state == "off"),
    )
    return SearchPipeline(searched, legs, installed_kinds(), stages, reranking=model.reranking)


def _ingest_runtime(
    settings: Settings,
    store: Store,
    serving: Serving,
    search: SearchRuntime,
    preparing: Preparing,
    mark: CrashMark,
    redaction: Redaction,
    seal: Seal,
) -> IngestRuntime:
    indexer = serving.indexer

    def stored() -> None:
        search.store.changed()
        indexer.wake()

    writer = IngestWriter(store.ingest, stored, preparing, redaction)
    kept = KeptTranscripts(settings.transcripts_dir, redaction, on=settings.keep_transcripts)
    reader = LocationReader(store.ingest, writer, mark, kept)
    hooks = HookEvents(settings.home, store.ingest, store.records, reader, redaction)
    importing = ImportJob(reader, store, settings.spool_dir)
    forgetting = Forgetting(
        store.forgetting, indexer, settings.home, settings.spool_dir, search.service.log.flush,
        stored, hooks.forget,
    )  # fmt: skip
    tasks: tuple[Job, ...] = (
        *(enriching := EnrichJob.of(settings, store, stored)),
        SyncJob(reader),
        importing,
        FetchJob(importing, settings.spool_dir, settings.fetch_allow),
        AuditJob(indexer),
        RebuildJob(indexer),
        ArchiveJob(store.archives, store.ingest, reader),
        RedactJob(store, preparing, forgetting, redaction, seal, stored, kept),
    )
    opened = partial(open_embedder, models_dir=settings.models_dir)
    reembed = ReembedJob(store, opened, serving, settings.embedder)
    jobs = JobQueue(
        store.jobs, tasks, beside=(reembed,), spool_dir=settings.spool_dir,
        anywhere={FetchJob.name, *(each.name for each in enriching)},
        aside_seconds=settings.retry_aside,
    )  # fmt: skip
    archives = Archives(store.archives, jobs, reader)
    return IngestRuntime(writer, reader, indexer, jobs, forgetting, hooks, enriching, archives)


def _research_runtime(
    settings: Settings, store: Store, model: EmbeddingModel, search: SearchRuntime
) -> ResearchRuntime:
    operations = Research(
        store.research, store.records, search.service, search.store.corpus,
        lambda: model.embedder.fingerprint,
    )  # fmt: skip
    sender = Sender(lambda: webhook_secret(settings), settings.webhook_allow)
    deliveries = Deliveries(store.deliveries, sender)
    replays = Replays(store.research, store.records, operations)
    search_jobs = SearchJobs(store.search_jobs, operations, deliveries, most=settings.limit_jobs)
    saved = SavedSearches(store.saved_searches, store.records, search.service, deliveries)
    return ResearchRuntime(operations, replays, search_jobs, saved, deliveries)


@asynccontextmanager
async def _open_model(
    settings: Settings, setting: str, shared: EmbeddingModel | None, opener: Opener
) -> AsyncIterator[EmbeddingModel]:
    if shared is not None:  # its owner closes it
        yield shared
        return
    model = EmbeddingModel(
        embedder=await asyncio.to_thread(_embedder, opener, setting, settings.models_dir),
        passage_thread=ThreadPoolExecutor(1, thread_name_prefix="embed-passages"),
        query_thread=ThreadPoolExecutor(1, thread_name_prefix="embed-question"),
        reranking=await asyncio.to_thread(open_reranking, settings),
    )
    try:
        yield model
    finally:
        if model.reranking is not None:
            await model.reranking.close()
        for executor in (model.passage_thread, model.query_thread):
            await asyncio.to_thread(executor.shutdown, wait=True, cancel_futures=True)


def _embedder(opener: Opener, setting: str, models_dir: Path) -> Embedder:
    try:
        return opener(setting, models_dir)
    except ModelUnavailable as error:
        log.warning("only words are searched until the next start: %s", error)
        return MissingEmbedder(setting, error.message)


class _Tasks:
    """Background work. A failure does not end the worker; it is logged and shown by stats."""

    def __init__(self) -> None:
        self.running: list[asyncio.Task[None]] = []

    def start(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        self.running.append(asyncio.create_task(self._run(name, work), name=name))

    @staticmethod
    async def _run(name: str, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except Exception:
            log.exception("%s stopped; restart the worker with `mem-search worker restart`", name)


@asynccontextmanager
async def _background_tasks() -> AsyncIterator[_Tasks]:
    tasks = _Tasks()
    try:
        yield tasks
    finally:
        for task in tasks.running:
            task.cancel()
        await asyncio.gather(*tasks.running, return_exceptions=True)


async def _warm_up(model: EmbeddingModel) -> None:
    """Load the model before the first search; a failure is reported by the search that needs it."""
    loop = asyncio.get_running_loop()
    try:
        await loop.run_in_executor(model.query_thread, model.embedder.embed, ["warm up"])
    except MemSearchError as error:
        log.warning("the embedding model is not ready: %s", error)
