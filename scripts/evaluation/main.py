"""Evaluate the search on one judged set: import, index, search, print a table, write JSON."""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import comparison
import dataset as datasets
import names
import report
import runs
from ablation import PARTS, leave_out, without_each
from comparison import OURS, Comparison, compare, show
from runs import Asked, ask_all
from stores import folder, indexed, options, write_json
from systems import NAMES, OPTIONS, opened

from mem_search.embedders import open_embedder
from mem_search.errors import InputError
from mem_search.model import Location
from mem_search.records.registry import installed_kinds
from mem_search.settings import Settings
from mem_search.wiring import Runtime, open_runtime


def arguments() -> argparse.Namespace:
    parser = options("", __doc__, "home", "embedder", "json")
    parser.add_argument(
        "dataset",
        type=Path,
        metavar="DATASET_DIR",
        help="a judged set, or DIR/names: 500 names of the data in DIR (names.py)",
    )
    parser.add_argument(
        "--qrels", default="", metavar="FILE", help="all: those of every file, in one list"
    )
    parser.add_argument(
        "--modes",
        default="",
        metavar="NAME,…",
        help=f"any of {', '.join(NAMES)}; default keyword,vector,hybrid, with --compare all",
    )
    parser.add_argument(
        "--compare",
        action="store_true",
        help=f"run the same queries on grep, FTS5, raw Chroma and ours; show 95 %% intervals"
        f" of each and of {OURS} minus each",
    )
    parser.add_argument(
        "--per-query",
        type=Path,
        metavar="DIR",
        help="write a JSONL file here for each scope and system",
    )
    parser.add_argument(
        "--report",
        type=Path,
        metavar="FILE.html",
        help="write a page: what each leg and stage of hybrid did with judged and shown records",
    )
    parser.add_argument(
        "--against",
        type=Path,
        metavar="RUN.json",
        help="a run stored with --json and --per-query: what became worse comes first",
    )
    parser.add_argument("--project-field", default="", metavar="meta.sample")
    parser.add_argument("--session-field", default="", metavar="meta.session")
    parser.add_argument(
        "--queries", type=int, default=0, metavar="N", help="only the first N queries"
    )
    parser.add_argument("--reranker", default="", help="as MEM_SEARCH_RERANKER; its key, too")
    parser.add_argument(
        "--without", default="", metavar="PART,…", help=f"leave out: {', '.join(PARTS)}"
    )
    parser.add_argument(
        "--with", default="", metavar="PART,…", dest="extra", help=f"add: {', '.join(OPTIONS)}"
    )
    parser.add_argument(
        "--ablate",
        action="store_true",
        help="ask hybrid again without each part in turn; show what each is worth",
    )
    given = parser.parse_args()
    given.compare |= given.ablate
    if given.ablate and given.modes:
        parser.error("--ablate asks hybrid alone: leave --modes out")
    default = (
        ["hybrid"] if given.ablate else NAMES if given.compare else ("keyword", "vector", "hybrid")
    )
    given.modes = [name for name in given.modes.split(",") if name] or list(default)
    if unknown := set(given.modes) - set(NAMES):
        parser.error(f"unknown mode {min(unknown)!r}; choose one of {', '.join(NAMES)}")
    if given.compare and OURS not in given.modes:
        parser.error(f"--compare compares with {OURS}: name it in --modes as well")
    if missing := missing_files(given):
        parser.error(missing)
    if given.against and not given.report:
        parser.error("--against belongs to --report: name a file for the page")
    if given.report and "hybrid" not in given.modes:
        parser.error("--report shows hybrid: name it in --modes as well")
    if given.queries < 0:
        parser.error("--queries has to be 0 (all of them) or more")
    given.extra = [name for name in given.extra.split(",") if name]
    return given


def missing_files(given: argparse.Namespace) -> str:
    """The files that are missing, reported before minutes of work are lost; empty when none is."""
    folder = given.dataset
    if folder.name == "names":
        return ""
    for name in ("corpus.jsonl", "queries.jsonl"):
        if not (folder / name).is_file():
            return f"DATASET_DIR: {folder / name} does not exist"
    there = datasets.qrels_files(folder)
    if given.qrels == datasets.ALL:
        return "" if there else f"DATASET_DIR: {folder} has no qrels*.tsv"
    if given.qrels and not ((folder / given.qrels).is_file() or Path(given.qrels).is_file()):
        return f"--qrels: {given.qrels} does not exist, neither here nor in {folder}"
    if not given.qrels and not there:
        return f"DATASET_DIR: {folder} has no qrels*.tsv; name one with --qrels"
    if not given.qrels and len(there) > 1:
        return f"--qrels: {folder} has several files; name one of {', '.join(there)}"
    for option, file in (("--json", given.json), ("--report", given.report)):
        if file and not file.absolute().parent.is_dir():
            return f"{option}: {file.absolute().parent} is no directory"
    return ""


async def main() -> int:
    args = arguments()
    by_names = args.dataset.name == "names"
    try:
        left_out = [name for name in args.without.split(",") if name]
        stages = [*leave_out([*left_out, "folding"] if by_names else left_out)]
    except InputError as error:
        print(f"--without: {error.message}", file=sys.stderr)
        return 2
    data = (
        names.read(args.dataset.parent)
        if by_names
        else datasets.read(
            args.dataset,
            args.qrels,
            args.project_field,
            args.session_field,
            args.queries,
            set(installed_kinds().names),
        )
    )
    if not data.queries:
        print(f"no judged query in {args.dataset}", file=sys.stderr)
        return 2
    own = all(query.project for query in data.queries)
    try:
        before = (
            report.stored_run(args.against, "own" if own else "pooled") if args.against else None
        )
    except (OSError, ValueError) as error:
        print(f"--against: {error}", file=sys.stderr)
        return 2
    observed = report.Observed()
    if args.report:
        stages = observed.stages(stages)
    with folder(args.home) as home:
        settings = Settings.read(
            {**os.environ, "MEM_SEARCH_HOME": str(home)},
            embedder=args.embedder,
            follow=0,
            reranker=args.reranker,
            reranker_seconds=60,  # quality is measured, not patience
        )
        async with open_runtime(settings, stages=stages) as runtime:
            await load(runtime, data, home)
            embedder = open_embedder(args.embedder, settings.models_dir)
            pipeline = runtime.search.pipeline
            with opened(args.modes, data, pipeline, embedder, args.extra) as systems:
                if args.ablate:
                    systems = {**systems, **without_each(systems["hybrid"], stages)}
                if by_names:
                    figures = await names.measure(systems, data)
                    names.show(figures, data)
                    write_json(args.json, figures)
                    return 0
                scopes = await ask_all(systems, data)
                if args.report:
                    scope = next(iter(scopes))
                    traced = await report.ask(runtime, data, systems["hybrid"], observed, scope)
    compared = {scope: compare(asked) for scope, asked in scopes.items()} if args.compare else {}
    settings_of = {"reranker": args.reranker, "embedder": args.embedder, "qrels": args.qrels}
    settings_of |= {"without": args.without, "with": ",".join(args.extra)}
    figures = as_report(data, scopes, compared) | settings_of
    if args.per_query:
        figures["per_query"] = str(args.per_query.absolute())
    show(figures, compared)
    write_json(args.json, figures)
    if args.report:
        title = f"{data.name}: how each question was ranked"
        report.write(args.report, title, traced, before, settings_of)
    if args.per_query:
        args.per_query.mkdir(parents=True, exist_ok=True)
        for scope, asked in scopes.items():
            for name, each in asked.items():
                runs.write(args.per_query / f"{scope}-{name}.jsonl", each)
    return 0


async def load(runtime: Runtime, data: datasets.Dataset, home: Path) -> None:
    """Import the corpus through the product's own import, and wait for the index."""
    exchange = home / "corpus.jsonl"
    with exchange.open("w", encoding="utf-8") as file:
        for document in data.documents:
            line = {key: value for key, value in document.items() if value not in ("", None)}
            file.write(json.dumps(line | {"text": document["text"]}, ensure_ascii=False) + "\n")
    started = time.perf_counter()
    print(f"importing {len(data.documents)} documents", file=sys.stderr, flush=True)
    taken = await runtime.ingest.reader.read(Location("jsonl", str(exchange)))
    if taken.failed:
        print(f"{taken.failed} documents could not be imported", file=sys.stderr)
    next_line, tenth = math.inf, 1
    while depth := sum((await runtime.store.indexing.outbox_counts()).values()):
        if sys.stderr.isatty():
            print(f"\rindexing: {depth} passages to go   ", end="", file=sys.stderr)
        elif depth <= next_line:  # a log gets whole lines, and about ten of them
            tenth = tenth if math.isfinite(next_line) else max(1, depth // 10)
            next_line = depth - tenth
            print(f"indexing: {depth} passages to go", file=sys.stderr, flush=True)
        await asyncio.sleep(0.5)
    await indexed(runtime)
    seconds = time.perf_counter() - started
    start = "\r" if sys.stderr.isatty() else ""
    print(f"{start}indexed {len(data.documents)} documents in {seconds:.0f} s   ", file=sys.stderr)


def as_report(
    data: datasets.Dataset, scopes: Mapping[str, Asked], compared: Mapping[str, Comparison]
) -> dict[str, Any]:
    results = {
        scope: {name: runs.summarise(each) for name, each in asked.items()}
        for scope, asked in scopes.items()
    }
    first, *others = results
    report: dict[str, Any] = {
        "dataset": data.name,
        "documents": len(data.documents),
        "scope": first,
        "modes": results[first],
        **{scope: results[scope] for scope in others},
    }
    if compared:
        report["compared"] = {
            "level": comparison.LEVEL,
            "resamples": comparison.RESAMPLES,
            "seed": comparison.SEED,
            **{scope: each.as_json() for scope, each in compared.items()},
        }
    return report


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
