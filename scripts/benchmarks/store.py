"""Build a store of N records through the product's own import and indexer."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path

import corpus
from standin import SAMPLE, StandIn

from mem_search.contracts import Embedder
from mem_search.embedders import open_embedder
from mem_search.embedders.bundled import BundledEmbedder
from mem_search.ingest.crash_mark import CrashMark
from mem_search.ingest.indexer import Indexer
from mem_search.ingest.prepare_process import Outcome, PrepareProcess
from mem_search.ingest.writer import IngestWriter
from mem_search.jobs.reader import LocationReader
from mem_search.model import Draft, Location
from mem_search.settings import Settings
from mem_search.storage.opening import open_index
from mem_search.storage.sqlite.store import SqliteStore

STANDIN = "standin"
_BEGUN, _MADE = "bench-begun.json", "bench.json"


def settings(home: Path, embedder: str) -> Settings:
    """The settings of a worker on such a store; the stand-in only fills it."""
    return Settings(
        home=home, port=0, follow=0, embedder="bundled" if embedder == STANDIN else embedder
    )


def ensure(home: Path, count: int, source: Path | None, embedder: str) -> None:
    """A complete store in ``home``: the existing one if it has the same content, else a new one.

    One that was being filled when a run ended is filled further.
    """
    wanted = {"records": count, "corpus": source.name if source else "", "embedder": embedder}
    made = home / _MADE
    if made.is_file() and json.loads(made.read_text("utf-8")) == wanted:
        return
    begun = home / _BEGUN
    is_ours = begun.is_file() and json.loads(begun.read_text("utf-8")) == wanted
    if (home / "mem-search.db").exists() and not is_ours:
        sys.exit(f"{home} holds another store; give an empty folder with --home")
    started = time.perf_counter()
    file = home / "corpus.jsonl"
    if not is_ours:
        home.mkdir(parents=True, exist_ok=True)
        corpus.write(file, corpus.records(count, source))
        begun.write_text(json.dumps(wanted) + "\n", "utf-8")
    asyncio.run(_fill(settings(home, embedder), file, embedder))
    made.write_text(json.dumps(wanted) + "\n", "utf-8")
    say(f"{count} records made in {time.perf_counter() - started:.0f} s\n")


@contextmanager
def copied(home: Path, where: Path) -> Iterator[Path]:
    """A temporary copy of the store in ``home`` below ``where``, for benchmarks that change it."""
    with tempfile.TemporaryDirectory(prefix="copy-", dir=where) as temporary:
        copy = Path(temporary) / home.name
        shutil.copytree(
            home, copy, ignore=shutil.ignore_patterns("corpus.jsonl", "logs", "worker*")
        )
        yield copy


async def _fill(chosen: Settings, file: Path, name: str) -> None:
    store = await SqliteStore.open(chosen.database)
    embedder = await asyncio.to_thread(_embedder, name, chosen, file)
    number = await store.indexing.model_number(
        embedder.fingerprint, embedder.name, embedder.dimensions
    )
    index = open_index(
        "",
        chroma_dir=chosen.chroma_dir,
        logs_dir=chosen.logs_dir,
        fingerprint=embedder.fingerprint,
        dimensions=embedder.dimensions,
    )
    index.start()
    executor = ThreadPoolExecutor(1)
    indexer = Indexer(store.indexing, index, embedder, number, executor, lambda: None)
    work = asyncio.create_task(indexer.run())
    preparing = _TwoProcesses()
    try:
        # After the import: two that write at once only wait for each other.
        writer = IngestWriter(store.ingest, lambda: None, preparing)
        mark = CrashMark(chosen.home / "reading.json")
        await LocationReader(store.ingest, writer, mark).read(
            Location("jsonl", str(file)), _progress
        )
        await index.ready()
        indexer.wake()
        while depth := sum((await store.indexing.outbox_counts()).values()):
            say(f"\rindexing: {depth} passages to go {indexer.error}   ")
            await asyncio.sleep(1)
    finally:
        work.cancel()
        with suppress(asyncio.CancelledError):
            await work
        await preparing.close()
        await index.close()
        await store.close()
        executor.shutdown()
    say("\r" + " " * 60 + "\r")


class _TwoProcesses(PrepareProcess):
    """Prepares both halves of a batch at once: nobody searches while a store is filled."""

    def __init__(self) -> None:
        super().__init__()
        self._other = PrepareProcess()

    async def prepare(
        self, drafts: Sequence[Draft], at: Callable[[int], None] = lambda _: None
    ) -> list[Outcome]:
        half = len(drafts) // 2
        first, second = await asyncio.gather(
            super().prepare(drafts[:half], at), self._other.prepare(drafts[half:], at)
        )
        return [*first, *second]

    async def close(self) -> None:
        await super().close()
        await self._other.close()


def _embedder(name: str, chosen: Settings, file: Path) -> Embedder:
    if name != STANDIN:
        return open_embedder(name, chosen.models_dir)
    with file.open(encoding="utf-8") as lines:
        # Every 97th, so that both the commits and the made-up ones are in it.
        some = (json.loads(line) for line in islice(lines, 0, None, 97))
        sample = [f"{item['title']}\n{item['text']}"[:1500] for item in islice(some, SAMPLE)]
    embedder = StandIn(BundledEmbedder(chosen.models_dir), sample)
    say(f"stand-in vectors: mean cosine to the model's {embedder.likeness:.2f}\n")
    return embedder


async def _progress(done: int, total: int, _message: str, *, begins: bool = False) -> None:
    say("\nimporting" if begins else f"\rimporting: {done / max(1, total):.0%}   ")


def say(text: str) -> None:
    """Print progress on a terminal; a log gets only whole lines."""
    if sys.stderr.isatty() or text.endswith("\n"):
        print(text, end="", file=sys.stderr, flush=True)
