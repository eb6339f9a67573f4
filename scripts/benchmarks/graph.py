"""The graph: a walk as a client asks for it, an export, and an archive of which nothing changed."""

from __future__ import annotations

import asyncio
import json
import random
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from figures import Bar, median, spread, timed
from process import worker

from mem_search.features.archives.model import Archive
from mem_search.features.archives.service import ArchiveJob
from mem_search.features.archives.sql import ArchiveStore
from mem_search.features.graph.formats import FORMATS, write
from mem_search.ingest.crash_mark import CrashMark
from mem_search.ingest.prepare_process import PrepareProcess
from mem_search.ingest.writer import IngestWriter
from mem_search.jobs.reader import LocationReader
from mem_search.model import Location
from mem_search.model.graph import ExportedGraph, GraphPart
from mem_search.storage.sqlite.store import SqliteStore

RECORDS = 10_000
LINKS = 10
"""Edges of each record. One of them is of another relation, which so is a tenth of the graph."""
FILES = 10_000
WALKS = 200
WARM = 20
"""Requests of each route before the measured ones."""
ROUTES = (
    "/api/graph/{}?depth=3&limit=100",
    "/api/archive/related?ref={}&depth=3&limit=100",
)
_SEED = 16


def measure(home: Path) -> tuple[dict[str, Any], list[Bar]]:
    """A store of ``RECORDS * LINKS`` edges, and an archive of ``FILES`` reports, made once."""
    made = home / "made"
    if not made.exists():
        shutil.rmtree(home, ignore_errors=True)
        (home / "archive").mkdir(parents=True)
        asyncio.run(_linked(home))
        asyncio.run(_read_archive(home / "archive"))
        made.touch()
    walks = _walks(home)
    grown = {name: _peak(home, name, "") - _peak(home, name, "follows")
             for name, form in FORMATS.items() if not form.is_picture}  # fmt: skip
    seconds = asyncio.run(_unchanged(home / "archive"))
    figures = {
        "edges": RECORDS * LINKS,
        **{path.format("REF"): spread(took) for path, took in walks.items()},
        "MB more for all edges than for a tenth of them": grown,
        f"CPU seconds to read {FILES} unchanged files": seconds,
    }
    return figures, [
        Bar("graph: walk of depth 3, p50 ms", max(map(median, walks.values())), 50),
        Bar("graph: MB more for ten times the edges", max(grown.values()), 8),
        Bar("graph: CPU seconds for unchanged files", seconds, 5),
    ]


async def _linked(home: Path) -> None:
    chance = random.Random(_SEED)
    file = home / "linked.jsonl"
    with file.open("w", encoding="utf-8") as lines:
        for number in range(RECORDS):
            links = [{"to": f"n{chance.randrange(RECORDS)}", "relation": "cites"}
                     for _ in range(LINKS)]  # fmt: skip
            links[0]["relation"] = "follows"
            record = {"kind": "report", "source_id": f"n{number}", "title": f"Note {number}",
                      "text": "Some words.", "links": links}  # fmt: skip
            lines.write(json.dumps(record) + "\n")
    store, reader, preparing = await _opened(home)
    await reader.read(Location("jsonl", str(file)))
    await preparing.close()
    await store.close()


def _walks(home: Path) -> dict[str, list[float]]:
    """Route → ms of each request to a worker; the same records in turns, after some unmeasured."""
    chance = random.Random(_SEED)
    took: dict[str, list[float]] = {path: [] for path in ROUTES}
    with worker(home, "hashing") as running:
        for turn in range(WARM + WALKS):
            number = chance.randrange(1, RECORDS)
            for path in ROUTES:
                asked = path.format(f"report:{number}")
                found, ms = timed(lambda asked=asked: running.json("GET", asked))
                if turn >= WARM:
                    took[path].append(ms)
                assert len(found.get("nodes", found.get("results"))) >= 100
    return took


async def _opened(home: Path) -> tuple[SqliteStore, LocationReader, PrepareProcess]:
    store, preparing = await SqliteStore.open(home / "mem-search.db"), PrepareProcess()
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


def _own_peak() -> float:
    """MB that this process had at most. Linux counts the process that started it in ``maxrss``."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(status.read_text("ascii").partition("VmHWM:")[2].split()[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


async def _read_archive(home: Path) -> int:
    """Read an archive, which is written first if it is new; how many files changed."""
    folder = home / "research"
    if not folder.exists():
        folder.mkdir()
        for number in range(FILES):
            text = f"# Report {number}\n\nSee https://example.org/{number % 97} for more.\n"
            (folder / f"{number}.md").write_text(text, "utf-8")
    store, reader, preparing = await _opened(home)
    await store.part(ArchiveStore).put(Archive("papers", str(folder)))
    job = ArchiveJob(store, reader)
    run = await job.run({"name": "papers"}, _silent)
    await preparing.close()
    await store.close()
    assert run["files"] == FILES
    return int(run["new"] + run["changed"])


async def _unchanged(home: Path) -> float:
    started = time.process_time()
    assert await _read_archive(home) == 0
    return time.process_time() - started


async def _silent(done: int, total: int, message: str, *, begins: bool = False) -> None:
    """Reports no progress."""


if __name__ == "__main__":
    asyncio.run(_export(Path(sys.argv[1]), *sys.argv[2:]))
    print(_own_peak())
