"""The graph: a walk, an export, and an archive of which nothing changed."""

from __future__ import annotations

import asyncio
import json
import random
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from figures import Bar, median, percentile

from mem_search.ingest.crash_mark import CrashMark
from mem_search.ingest.preparing import Preparing
from mem_search.ingest.writer import IngestWriter
from mem_search.jobs.archives import ArchiveJob
from mem_search.jobs.reader import LocationReader
from mem_search.model import Location
from mem_search.model.archives import Archive
from mem_search.model.graph import ExportedGraph, GraphPart
from mem_search.renderers.graph import FORMATS, write
from mem_search.retrievers import graph
from mem_search.storage.sqlite.store import SqliteStore

RECORDS = 10_000
LINKS = 10
"""Edges of each record: as many relations, so that one of them is a tenth of the graph."""
FILES = 10_000
WALKS = 200
_SEED = 16


def measure(home: Path) -> tuple[dict[str, Any], list[Bar]]:
    """A store of ``RECORDS * LINKS`` edges, and an archive of ``FILES`` reports."""
    home.mkdir(parents=True, exist_ok=True)
    walks = asyncio.run(_linked(home))
    grown = {name: _peak(home, name, "") - _peak(home, name, "r0")
             for name, form in FORMATS.items() if not form.is_picture}  # fmt: skip
    seconds = asyncio.run(_unchanged(home / "archive"))
    figures = {
        "edges": RECORDS * LINKS,
        "walk of depth 3, p50 ms": median(walks),
        "walk of depth 3, p95 ms": percentile(walks, 0.95),
        "MB more for all edges than for a tenth of them": grown,
        f"CPU seconds to read {FILES} unchanged files": seconds,
    }
    return figures, [
        Bar("graph: walk of depth 3, p50 ms", median(walks), 50),
        Bar("graph: MB more for ten times the edges", max(grown.values()), 8),
        Bar("graph: CPU seconds for unchanged files", seconds, 5),
    ]


async def _linked(home: Path) -> list[float]:
    chance = random.Random(_SEED)
    file = home / "linked.jsonl"
    with file.open("w", encoding="utf-8") as lines:
        for number in range(RECORDS):
            links = [{"to": f"n{chance.randrange(RECORDS)}", "relation": f"r{each}"}
                     for each in range(LINKS)]  # fmt: skip
            record = {"kind": "note", "source_id": f"n{number}", "title": f"Note {number}",
                      "text": "Some words.", "links": links}  # fmt: skip
            lines.write(json.dumps(record) + "\n")
    store, reader, preparing = await _opened(home)
    await reader.read(Location("jsonl", str(file)))
    search = store.open_search(home, 1, 8, ())
    took = []
    for _ in range(WALKS):
        number = chance.randrange(1, RECORDS)
        started = time.perf_counter()
        cloud = await search.read(graph.related, number, depth=3, limit=100)
        took.append((time.perf_counter() - started) * 1000)
        assert len(cloud.nodes) == 101
    await preparing.close()
    await store.close()
    return took


async def _opened(home: Path) -> tuple[SqliteStore, LocationReader, Preparing]:
    store, preparing = await SqliteStore.open(home / "mem-search.db"), Preparing()
    writer = IngestWriter(store.ingest, lambda: None, preparing)
    return store, LocationReader(store.ingest, writer, CrashMark(home / "reading.json")), preparing


def _peak(home: Path, form: str, relation: str) -> float:
    """The most MB that a process had which exports the edges of ``relation``, or all."""
    command = [sys.executable, __file__, str(home), form, relation]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


async def _export(home: Path, form: str, relation: str) -> None:
    store = await SqliteStore.open(home / "mem-search.db")

    def written(exported: ExportedGraph) -> None:
        with (home / f"graph.{form}").open("wb") as file:
            write(exported, form, file)

    await store.graph.export(GraphPart(relations=(relation,) if relation else ()), written)
    await store.close()


async def _unchanged(home: Path) -> float:
    folder = home / "research"
    folder.mkdir(parents=True)
    for number in range(FILES):
        text = f"# Report {number}\n\nSee https://example.org/{number % 97} for more.\n"
        (folder / f"{number}.md").write_text(text, "utf-8")
    store, reader, preparing = await _opened(home)
    await store.archives.put(Archive("papers", str(folder)))
    job = ArchiveJob(store.archives, store.ingest, reader)
    first = await job.run({"name": "papers"}, _silent)
    assert first["new"] == FILES
    started = time.process_time()
    again = await job.run({"name": "papers"}, _silent)
    seconds = time.process_time() - started
    assert again["new"] == again["changed"] == 0
    await preparing.close()
    await store.close()
    return seconds


async def _silent(done: int, total: int, message: str) -> None:
    """Reports no progress."""


if __name__ == "__main__":
    asyncio.run(_export(Path(sys.argv[1]), *sys.argv[2:]))
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
