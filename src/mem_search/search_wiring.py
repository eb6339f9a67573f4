"""The first half of the composition root: Settings → a Runtime that searches.

``wiring`` has the other half, and imports what a worker needs not before its first answers.

Opening is quick: the store is opened and migrated; the model and the vector index get ready in the
background. Meanwhile searches use what is ready, and their replies say so. Each part registers its
closing when it is opened; an ``AsyncExitStack`` closes in reverse order.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path

from mem_search.contracts import Embedder, Retriever
from mem_search.embedders import MissingEmbedder, Opener, open_embedder
from mem_search.errors import MemSearchError, ModelUnavailable
from mem_search.platform import lower_thread
from mem_search.records.registry import installed_kinds
from mem_search.rerankers import open_reranking
from mem_search.retrievers.keyword import KeywordRetriever
from mem_search.retrievers.vector import VectorRetriever
from mem_search.runtime import EmbeddingModel, Runtime, SearchRuntime, Space
from mem_search.search.pipeline import SearchPipeline
from mem_search.search.service import SearchLog, SearchService
from mem_search.search.stages import inserted, installed_stages
from mem_search.search.stages.learned import read_file, stage_of
from mem_search.search.state import Stage
from mem_search.search.suggestions import Suggestions
from mem_search.search.translation import Translation
from mem_search.settings import Settings
from mem_search.storage.opening import open_store
from mem_search.storage.redacted import SecretBox, redacted
from mem_search.storage.store import SearchStore, Store
from mem_search.storage.vector_index import VectorIndex
from mem_search.text.dates import now_ms
from mem_search.text.redaction import Redaction
from mem_search.text.sparse import SparseModel

log = logging.getLogger(__name__)
MAX_SCANNED_PASSAGES = 25_000
"""Passages of a user's store up to which it is opened without an index and scanned (ADR 0009)."""


@asynccontextmanager
async def open_search(
    settings: Settings,
    *,
    background: bool = True,
    shared: EmbeddingModel | None = None,
    opener: Opener = open_embedder,
    stages: Sequence[Stage] | None = None,
) -> AsyncIterator[Runtime]:
    """The runtime of one home without its features, open until the block ends.

    The parameters are those of ``wiring.open_runtime``. Raises StorageError, or InputError naming
    the setting at fault.
    """
    async with AsyncExitStack() as stack:
        opened = await open_store(settings)
        stack.push_async_callback(opened.store.close)
        store = redacted(opened.store, opened.key)
        _check_features(settings, store)
        setting = await store.indexing.chosen_embedder(settings.embedder)
        model = await stack.enter_async_context(_open_model(settings, setting, shared, opener))
        embedder = model.embedder
        number = await store.indexing.model_number(
            embedder.fingerprint, embedder.name, embedder.dimensions
        )
        reset = asyncio.Event()
        few = shared is not None and (await store.statistics.corpus()).size <= MAX_SCANNED_PASSAGES
        open_index = partial(opened.open_index, on_reset=reset.set, few=few)
        index = open_index(embedder)

        chats = installed_kinds().ranking.chat
        open_space = partial(store.open_search, settings.home, chats=chats)
        searched = open_space(number, embedder.dimensions)
        pipeline = partial(_pipeline, settings.home, model, stages or installed_stages().stages)
        service = SearchService(
            pipeline(searched, embedder, index),
            Suggestions(searched),
            SearchLog(store.search_log, on=settings.search_log, clicks=settings.clicks),
            Translation.of(settings),
        )
        stack.push_async_callback(service.log.flush)
        space = Space(number, index, opened.has_index, reset, open_space, open_index, pipeline)
        runtime = Runtime(
            settings, store, Redaction(opened.key), SecretBox(opened.key), model,
            SearchRuntime(searched, service, space), is_owner=shared is None, started_at=now_ms(),
        )  # fmt: skip
        stack.push_async_callback(lambda: runtime.index.close())
        tasks = await stack.enter_async_context(background_tasks())
        index.start()
        if background:
            tasks.start("search log", service.log.run)
            if runtime.is_owner:
                tasks.start("warm up", partial(_warm_up, model, store))
        yield runtime


def _check_features(settings: Settings, store: Store) -> None:
    """Raises InputError for settings of features, which open only once somebody wants them."""
    if settings.smtp:
        from mem_search.features.webhooks.mail import Mail  # most workers send none

        Mail.of(settings)
    if settings.web_search:
        from mem_search.features.web_search.service import WebSearch

        WebSearch.of(settings, store.limits)


def _pipeline(
    home: Path,
    model: EmbeddingModel,
    stages: Sequence[Stage],
    searched: SearchStore,
    embedder: Embedder,
    index: VectorIndex,
    extra: Stage | None = None,
) -> SearchPipeline:
    vector = VectorRetriever(
        searched, index, embedder, model.query_thread, scans=index.state == "off"
    )
    legs: tuple[Retriever, ...] = (KeywordRetriever(searched), vector)
    if kept := read_file(home):
        stages = inserted(stages, stage_of(kept["weights"]))
    if extra is not None:
        stages = inserted(stages, extra)
    return SearchPipeline(
        searched, legs, installed_kinds(), stages, reranking=model.reranking, sparse=model.sparse,
        expect=vector.expect,
    )  # fmt: skip


@asynccontextmanager
async def _open_model(
    settings: Settings, setting: str, shared: EmbeddingModel | None, opener: Opener
) -> AsyncIterator[EmbeddingModel]:
    if shared is not None:  # its owner closes it
        yield shared
        return
    model = EmbeddingModel(
        embedder=await asyncio.to_thread(_embedder, opener, setting, settings.models_dir),
        passage_thread=ThreadPoolExecutor(1, "embed-passages", initializer=lower_thread),
        query_thread=ThreadPoolExecutor(1, "embed-question"),
        reranking=await asyncio.to_thread(open_reranking, settings),
        sparse=_sparse() if settings.sparse else None,
    )
    try:
        yield model
    finally:
        if model.reranking is not None:
            await model.reranking.close()
        for executor in (model.passage_thread, model.query_thread):
            await asyncio.to_thread(executor.shutdown, wait=True, cancel_futures=True)


def _sparse() -> SparseModel:
    from mem_search.embedders.bundled import BundledSparse  # a worker without it loads less

    return BundledSparse()


def _embedder(opener: Opener, setting: str, models_dir: Path) -> Embedder:
    try:
        return opener(setting, models_dir)
    except ModelUnavailable as error:
        log.warning("only words are searched until the next start: %s", error)
        return MissingEmbedder(setting, error.message)


FIRST_PAUSE, MAX_PAUSE = 1.0, 300.0
"""Seconds until background work that a bug has ended is begun again: twice as many each time."""

GOOD_SECONDS = 600.0
"""Work that has run so long before it fails is begun again after the first pause."""


class Tasks:
    """Background work, until it returns. A bug in it is logged, and it is begun again."""

    def __init__(self) -> None:
        self.running: list[asyncio.Task[None]] = []

    def start(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        self.running.append(asyncio.create_task(self._run(name, work), name=name))

    @staticmethod
    async def _run(name: str, work: Callable[[], Awaitable[None]]) -> None:
        pause = FIRST_PAUSE
        while True:
            began = time.monotonic()
            try:
                return await work()
            except Exception:
                if (task := asyncio.current_task()) and task.cancelling():
                    log.exception("%s failed when it was ended", name)
                    return None  # who closes waits for it: it is not begun again
                if time.monotonic() - began > GOOD_SECONDS:
                    pause = FIRST_PAUSE
                log.exception("%s failed, and is begun again in %g s", name, pause)
            await asyncio.sleep(pause)
            pause = min(2 * pause, MAX_PAUSE)


@asynccontextmanager
async def background_tasks() -> AsyncIterator[Tasks]:
    """Tasks that are cancelled when the block ends."""
    tasks = Tasks()
    try:
        yield tasks
    finally:
        for task in tasks.running:
            task.cancel()
        await asyncio.gather(*tasks.running, return_exceptions=True)


async def _warm_up(model: EmbeddingModel, store: Store) -> None:
    """Load the models that the store needs before the first search, side by side; a failure is
    reported by the search that needs it.
    """
    loop = asyncio.get_running_loop()

    async def encode(sparse: SparseModel) -> None:
        if await store.indexing.has_sparse():
            await asyncio.to_thread(sparse.of_question, "warm up")

    embed = model.embedder.embed
    loading: list[Awaitable[object]] = [
        loop.run_in_executor(model.query_thread, embed, ["warm up"])
    ]
    if model.sparse is not None:
        loading.append(encode(model.sparse))
    for failure in await asyncio.gather(*loading, return_exceptions=True):
        if isinstance(failure, MemSearchError):
            log.warning("a model is not ready: %s", failure)
        elif isinstance(failure, BaseException):
            raise failure
