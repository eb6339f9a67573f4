"""The composition root: Settings → Runtime. With ``search_wiring`` it knows every part by name.

``search_wiring`` opens what answers searches. This module opens the features beside it: what reads
records, indexes them, follows places, repeats searches. A worker imports it after its first
answers, or when a request needs it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

from mem_search.background import give_back, give_back_when_idle
from mem_search.contracts import Embedder
from mem_search.embedders import Opener, open_embedder
from mem_search.errors import StorageError, StoreDamaged
from mem_search.features.archives.service import ArchiveJob, Archives
from mem_search.features.capture.service import HookEvents
from mem_search.features.documents.service import FetchJob
from mem_search.features.forgetting.service import Forgetting
from mem_search.features.mirror.service import MirrorJob, Mirrors
from mem_search.features.research.service import Replays, Research
from mem_search.features.saved_searches.service import SavedSearches
from mem_search.features.search_jobs.service import SearchJobs
from mem_search.features.web_search.service import WebSearch
from mem_search.features.webhooks.mail import Mail
from mem_search.features.webhooks.service import Deliveries, Sender, webhook_secret
from mem_search.features.webhooks.sql import DeliveryStore
from mem_search.ingest import spool
from mem_search.ingest.crash_mark import CrashMark
from mem_search.ingest.embedding import SparseFilling
from mem_search.ingest.indexer import Indexer, audit_after, check_regularly
from mem_search.ingest.prepare_process import PrepareProcess
from mem_search.ingest.writer import IngestWriter
from mem_search.jobs.enriching import EnrichJob, enrich_new
from mem_search.jobs.following import follow, watch
from mem_search.jobs.kept_transcripts import KeptTranscripts
from mem_search.jobs.queue import Job, JobQueue
from mem_search.jobs.reader import LocationReader
from mem_search.jobs.redacting import RedactJob, redact_if_older
from mem_search.jobs.reembedding import ActiveIndex, ReembedJob
from mem_search.jobs.sealed_params import RETRY_SECONDS
from mem_search.jobs.tasks import AuditJob, ImportJob, RebuildJob, SyncJob, set_aside
from mem_search.records.registry import installed_kinds
from mem_search.runtime import EmbeddingModel, Features, IngestRuntime, ResearchRuntime, Runtime
from mem_search.search.state import Stage
from mem_search.search_wiring import background_tasks, open_search
from mem_search.settings import Settings
from mem_search.storage.store import SearchStore, Store

log = logging.getLogger(__name__)

CLOCK_SECONDS = 30.0
"""Between two looks at the clock, and how far it has to be set back to be told."""

__all__ = ["Runtime", "open_features", "open_runtime"]


@asynccontextmanager
async def open_runtime(
    settings: Settings,
    *,
    background: bool = True,
    shared: EmbeddingModel | None = None,
    opener: Opener = open_embedder,
    stages: Sequence[Stage] | None = None,
) -> AsyncIterator[Runtime]:
    """The parts of one home, open until the block ends.

    ``background=False`` opens everything without indexing, jobs or following. ``shared`` is the
    model of another runtime, which has to stay open longer: for the home of a user, whose
    vectors are scanned as long as there are few (ADR 0009). ``opener`` opens the embedder.
    ``stages`` are those of the ranking, else the installed ones; ``scripts/evaluate --without``
    leaves some out.
    Raises StorageError, or InputError naming the setting at fault.
    """
    searching = open_search(
        settings, background=background, shared=shared, opener=opener, stages=stages
    )
    async with searching as runtime, open_features(runtime, background=background):
        yield runtime


@asynccontextmanager
async def open_features(runtime: Runtime, *, background: bool = True) -> AsyncIterator[None]:
    """Everything of ``runtime`` beside its searches, open until the block ends.

    Raises StorageError.
    """
    settings, store, search = runtime.settings, runtime.store, runtime.search
    space = search.space
    async with AsyncExitStack() as stack:
        research = _research_runtime(runtime)
        stack.push_async_callback(research.deliveries.close)
        preparing = PrepareProcess(settings.prepare_seconds, settings.prepare_memory)
        stack.push_async_callback(preparing.close)
        indexer = Indexer(
            store.indexing, space.index, runtime.model.embedder, space.number,
            runtime.model.passage_thread, search.store.changed,
        )  # fmt: skip

        def changed(embedder: Embedder, searched: SearchStore) -> None:
            runtime.model.embedder, search.store = embedder, searched
            space.reset.set()

        active_index = ActiveIndex(
            space.number, space.index, search.store, search.service, indexer, space.open_search,
            space.open_index, space.pipeline, changed,
        )  # fmt: skip
        mark = CrashMark(settings.home / "reading.json")
        ingest = _ingest_runtime(runtime, active_index, preparing, mark)
        runtime.features = Features(active_index, ingest, research)
        tasks = await stack.enter_async_context(background_tasks())
        stack.push_async_callback(ingest.jobs.close)
        if background:
            if not await _jobs_begun(store, ingest, mark):
                tasks.start("jobs", partial(_begin_jobs_later, store, ingest, mark))
            tasks.start("index", indexer.run)
            tasks.start("sparse vectors", ingest.filling.run)
            tasks.start("vectors", search.store.fill_caches)
            tasks.start("spool", partial(spool.keep_swept, settings.spool_dir, ingest.jobs.uploads))
            tasks.start("forgetting", ingest.forgetting.run)
            if not space.in_store:  # nobody else writes to the index of the store itself
                tasks.start("audit", partial(audit_after, space.reset, indexer))
                tasks.start("check", partial(check_regularly, indexer))
            tasks.start("follow", partial(follow, store.ingest, ingest.reader, settings.follow))
            if runtime.is_owner:  # only the owner follows places of the machine
                tasks.start("watch", partial(watch, store.ingest, ingest.reader, settings.follow))
                tasks.start("hooks", ingest.hooks.run)
                tasks.start("enrichment", partial(enrich_new, ingest.enriching, ingest.jobs))
                tasks.start("memory", partial(give_back_when_idle, partial(_rest, store)))
                tasks.start("archives", ingest.archives.run)
                tasks.start("mirrors", ingest.mirrors.run)
            tasks.start("search jobs", research.search_jobs.run)
            tasks.start("saved searches", research.saved_searches.run)
            tasks.start("webhooks", research.deliveries.run)
            tasks.start("derived", partial(_mend, store, ingest.filling))
            tasks.start("clock", partial(_watch_clock, store, partial(_wake, ingest, research)))
            tasks.start("other workers", partial(store.watch, partial(_wake, ingest, research)))
        yield


async def _jobs_begun(store: Store, ingest: IngestRuntime, mark: CrashMark) -> bool:
    """Begin with what the last worker left; False where the store cannot take that now."""
    try:
        await set_aside(mark, ingest.jobs, store.ingest)
        await ingest.hooks.recover()
        await ingest.jobs.start()
        await redact_if_older(store, ingest.jobs)
    except StorageError as error:
        if isinstance(error, StoreDamaged):
            raise
        log.warning("jobs wait, searches are answered: %s", error)
        return False
    return True


async def _begin_jobs_later(store: Store, ingest: IngestRuntime, mark: CrashMark) -> None:
    """Try again until there is room; this is also how such a store notices that there is."""
    while True:
        await asyncio.sleep(RETRY_SECONDS)
        if await _jobs_begun(store, ingest, mark):
            return


async def _watch_clock(store: Store, woken: Callable[[], None]) -> None:
    """Put times back when the clock is set back: they would hold what waits for them."""
    ahead = time.time() - time.monotonic()
    while True:
        await asyncio.sleep(CLOCK_SECONDS)
        before, ahead = ahead, time.time() - time.monotonic()
        if before - ahead > CLOCK_SECONDS:
            log.warning("the clock was set back by %.0f s", before - ahead)
            try:
                await store.put_right()
            except StorageError as error:  # the next start does it
                log.warning("times in the future were not put back: %s", error)
            woken()


async def _mend(store: Store, filling: SparseFilling) -> None:
    """Look once whether something derived is damaged that no search would notice."""
    try:
        await store.mend()
        filling.begin_again()
    except StorageError as error:  # a full disk, or damage of the store itself, which is told
        log.warning("what is derived from the records was not looked at: %s", error)


async def _rest(store: Store) -> None:
    await store.rest()
    await give_back()


def _wake(ingest: IngestRuntime, research: ResearchRuntime) -> None:
    """Look for work: another worker may have added some, or died over it."""
    for part in (
        ingest.indexer, ingest.filling, ingest.jobs, research.search_jobs, research.saved_searches,
        research.deliveries,
    ):  # fmt: skip
        part.wake()


def _ingest_runtime(
    runtime: Runtime, active_index: ActiveIndex, preparing: PrepareProcess, mark: CrashMark
) -> IngestRuntime:
    settings, store, search = runtime.settings, runtime.store, runtime.search
    indexer, redaction = active_index.indexer, runtime.redaction

    filling = SparseFilling(
        store.indexing, runtime.model.sparse, runtime.model.passage_thread,
        installed_kinds().ranking,
    )  # fmt: skip

    def stored() -> None:
        search.store.changed()
        indexer.wake()
        filling.wake()

    writer = IngestWriter(store.ingest, stored, preparing, redaction)
    kept = KeptTranscripts(settings.transcripts_dir, redaction, on=settings.keep_transcripts)
    reader = LocationReader(store.ingest, writer, mark, kept, search.service.give_way)
    hooks = HookEvents(
        settings.home, store.ingest, store.records, store.forgetting, reader, redaction
    )
    importing = ImportJob(reader, store, settings.spool_dir)
    forgetting = Forgetting(
        store.forgetting, indexer, settings.home, settings.spool_dir, search.service.log.flush,
        stored, hooks.forget, in_file=not settings.store,
    )  # fmt: skip
    mirrors = Mirrors(store, writer, preparing, forgetting.forget, redaction, settings.home, stored)
    tasks: tuple[Job, ...] = (
        *(enriching := EnrichJob.of(settings, store, stored)),
        SyncJob(reader),
        importing,
        FetchJob(importing, settings.spool_dir, settings.fetch_allow),
        AuditJob(store, indexer),
        RebuildJob(indexer),
        ArchiveJob(store, reader),
        MirrorJob(mirrors),
        RedactJob(store, preparing, forgetting.purge, redaction, runtime.secret_box, stored, kept),
    )
    opened = partial(open_embedder, models_dir=settings.models_dir)
    reembed = ReembedJob(store, opened, active_index, settings.embedder)
    jobs = JobQueue(
        store.jobs, tasks, beside=(reembed,), spool_dir=settings.spool_dir,
        anywhere={FetchJob.name, *(each.name for each in enriching)},
        aside_seconds=settings.retry_aside, secret_box=runtime.secret_box,
        in_lanes=(SyncJob.name, ImportJob.name, FetchJob.name),
    )  # fmt: skip
    archives = Archives(store, jobs, reader)
    return IngestRuntime(
        writer,
        reader,
        indexer,
        filling,
        jobs,
        forgetting,
        hooks,
        enriching,
        archives,
        mirrors,
    )


def _research_runtime(runtime: Runtime) -> ResearchRuntime:
    settings, store, search = runtime.settings, runtime.store, runtime.search
    operations = Research(
        store, search.service, search.store.corpus,
        lambda: runtime.model.embedder.fingerprint,
    )  # fmt: skip
    sender = Sender(
        lambda: webhook_secret(settings), settings.webhook_allow, mail=Mail.of(settings)
    )
    deliveries = Deliveries(store.part(DeliveryStore), sender)
    replays = Replays(store, operations)
    search_jobs = SearchJobs(store, operations, deliveries, most=settings.limit_jobs)
    saved = SavedSearches(store, search.service, deliveries)
    web = WebSearch.of(settings, store.limits)
    return ResearchRuntime(operations, replays, search_jobs, saved, deliveries, web)
