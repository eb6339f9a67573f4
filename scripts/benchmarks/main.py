"""Measure what the product costs against its own parts: print a table, write JSON."""

from __future__ import annotations

import argparse
import json
import platform
import signal
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import corpus
import filters
import graph
import growing
import hooks
import indexing
import mails
import mcp_calls
import memory
import start
import store
import under_indexing
import universal
import versus
from figures import Bar, show, show_bars

import cli
import search
import viewer

VERSUS = "versus"
STAGES = (
    "search", "filters", "under-indexing", "universal", "mcp", "indexing", "mails", "growing",
    "start", "cli", "hooks", "viewer", "memory", "graph", "store",
)  # fmt: skip
SMALL = 10_000
_INDEXED = 2_000


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    parser.add_argument("stages", nargs="*", metavar="STAGE", help=f"{', '.join(STAGES)} or all")
    parser.add_argument(
        "--records", default="10000,100000", help="sizes of the searched stores (10000,100000)"
    )
    parser.add_argument(
        "--corpus",
        type=Path,
        metavar="FILE",
        help="commits to fill the store with first, .jsonl or .jsonl.gz",
    )
    parser.add_argument("--home", type=Path, help="keep the stores here and reuse them")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument(
        "--embedder",
        help="fills the searched stores: bundled (default up to 10000 records), standin, hashing",
    )
    parser.add_argument(
        "--store",
        metavar="postgresql://…",
        help="of the stage store: an empty database on a server of this machine",
    )
    parser.add_argument(
        "--texts",
        type=Path,
        metavar="PATH",
        help="of the stage store: a file, or a folder with .jsonl, .md, .rst, .txt and .py files;"
        " the store on PostgreSQL gets vectors of their sentences and lines",
    )
    parser.add_argument(
        "--questions",
        type=Path,
        metavar="FILE",
        help="of the stage store: queries.jsonl whose questions recall is measured with",
    )
    given = parser.parse_args()
    given.commit = ""
    if given.stages[:1] == [VERSUS]:
        if len(given.stages) != 2:
            parser.error("versus needs a commit: scripts/bench versus COMMIT")
        given.stages, given.commit = [VERSUS], given.stages[1]
    unknown = set(given.stages) - {*STAGES, "all", VERSUS}
    if unknown:
        parser.error(f"unknown stage {min(unknown)}; choose one of {', '.join(STAGES)}, all")
    try:
        given.records = [int(size) for size in given.records.split(",")]
    except ValueError:
        parser.error("--records takes numbers with commas between them")
    if "store" in given.stages and not given.store:
        parser.error("the stage store needs a server: --store postgresql://USER@HOST/DATABASE")
    if given.corpus and not given.corpus.is_file():
        parser.error(f"--corpus: {given.corpus} does not exist")
    for option in ("texts", "questions"):
        path = getattr(given, option)
        if path and not path.exists():
            parser.error(f"--{option}: {path} does not exist")
    return given


def main() -> int:
    given = arguments()
    # A bench that is ended must still end its worker and remove its stores.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    every = not given.stages or "all" in given.stages
    chosen = [s for s in STAGES if s in given.stages or (every and (s != "store" or given.store))]
    if given.commit:
        chosen = [VERSUS]
    report: dict[str, Any] = {"machine": platform.platform(), "stages": {}}
    bars: list[Bar] = []
    with tempfile.TemporaryDirectory(prefix="mem-search-bench-") as temporary:
        bench = Bench(given, Path(temporary))
        for stage in chosen:
            for name, (figures, held) in bench.run(stage):
                report["stages"][name] = figures
                bars += [Bar(f"{bar.name} ({name})", *_rest(bar)) for bar in held]
                show(name, figures)
    show_bars(bars)
    report["bars"] = [asdict(bar) | {"holds": bar.holds} for bar in bars]
    if given.json:
        given.json.write_text(json.dumps(report, indent=1) + "\n", "utf-8")
    return 0 if all(bar.holds for bar in bars) else 1


class Bench:
    """Runs benchmarks over stores that are built once."""

    def __init__(self, given: argparse.Namespace, temporary: Path) -> None:
        self._given = given
        self._temporary = temporary

    def run(self, stage: str) -> Any:
        """(name, (figures, bars)) for each size of the benchmark."""
        given = self._given
        searched = {"search": search, "mcp": mcp_calls, "universal": universal}
        on_one_store = {"start": start, "cli": cli, "hooks": hooks, "viewer": viewer}
        if stage in searched:
            for count in given.records:
                yield f"{stage} {count}", searched[stage].measure(*self._store(count))
        elif stage in ("filters", "under-indexing"):
            measured = filters.measure if stage == "filters" else under_indexing.measure
            for count in given.records:
                home, embedder = self._store(count)
                with store.copied(home, self._temporary) as copy:
                    yield f"{stage} {count}", measured(copy, embedder)
        elif stage in on_one_store:
            count = min(given.records[0], SMALL)
            yield f"{stage} {count}", on_one_store[stage].measure(*self._store(count))
        elif stage == VERSUS:
            file = self._temporary / "corpus.jsonl"
            count = given.records[0]
            corpus.write(file, corpus.records(count, given.corpus))
            yield (
                f"{stage} {count}",
                versus.measure(given.commit, file, count, self._temporary, given.home),
            )
        elif stage == "indexing":
            home = self._temporary / "indexing"
            yield stage, indexing.measure(home, _INDEXED, given.corpus, "bundled")
        elif stage == "store":
            import two_stores  # the others do not need psycopg

            count = given.records[0]
            home, embedder = self._store(count)
            where = home.parent
            measured = two_stores.measure(
                home, embedder, given.store, where, given.texts, given.questions
            )
            yield f"{stage} {count}", measured
        elif stage == "graph":
            yield stage, graph.measure((given.home or self._temporary) / "graph")
        elif stage == "mails":
            yield stage, mails.measure(self._temporary / "mails", _INDEXED, "bundled")
        elif stage == "growing":
            yield stage, growing.measure(self._temporary / "growing")
        else:
            count = given.records[-1]
            home = self._temporary / "memory"
            # What is held while indexing is asked, not how fast: a stand-in cannot be a worker's.
            chosen = given.embedder or ("bundled" if count <= SMALL else "hashing")
            embedder = "hashing" if chosen == store.STANDIN else chosen
            yield f"{stage} {count}", memory.measure(home, count, given.corpus, embedder)

    def _store(self, count: int) -> tuple[Path, str]:
        given = self._given
        filled = given.embedder or ("bundled" if count <= SMALL else store.STANDIN)
        home = (given.home or self._temporary) / f"store-{count}"
        store.ensure(home, count, given.corpus, filled)
        return home, store.settings(home, filled).embedder


def _rest(bar: Bar) -> tuple[float, float, bool]:
    return bar.value, bar.limit, bar.at_least


if __name__ == "__main__":
    sys.exit(main())
