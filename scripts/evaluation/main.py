"""Evaluate the engine on one judged set: import, index, ask, print a table and JSON."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import dataset as datasets
from ablation import OPTIONS, PARTS, leave_out, with_options
from baseline import Fts5
from metrics import summarise

from mem_search.model import KINDS, Filters, Location, SearchQuery
from mem_search.settings import Settings
from mem_search.storage.sqlite import outbox
from mem_search.wiring import Runtime, open_runtime

COLUMNS = ("recall@5", "recall@10", "ndcg@10", "mrr@10", "p50_ms", "p95_ms")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/evaluate", description=__doc__)
    parser.add_argument("dataset", type=Path, metavar="DATASET_DIR")
    parser.add_argument("--qrels", default="", metavar="FILE")
    parser.add_argument(
        "--modes", default="keyword,vector,hybrid", help="also: fts5, the reference"
    )
    parser.add_argument("--project-field", default="", metavar="meta.sample")
    parser.add_argument("--session-field", default="", metavar="meta.session")
    parser.add_argument("--queries", type=int, default=0, metavar="N", help="only the first N")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--home", type=Path, help="keep the store here and use it again")
    parser.add_argument("--embedder", default="bundled")
    parser.add_argument(
        "--without", default="", metavar="PART,…", help=f"ablation: {', '.join(PARTS)}"
    )
    parser.add_argument(
        "--with", default="", metavar="PART,…", dest="extra", help=f"also {', '.join(OPTIONS)}"
    )
    return parser.parse_args()


async def main() -> int:
    args = arguments()
    leave_out([name for name in args.without.split(",") if name])
    data = datasets.read(
        args.dataset, args.qrels, args.project_field, args.session_field, args.queries, set(KINDS)
    )
    if not data.queries:
        print(f"no judged query in {args.dataset}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="mem-search-evaluate-") as temporary:
        home = args.home or Path(temporary)
        home.mkdir(parents=True, exist_ok=True)
        settings = Settings(home=home, embedder=args.embedder, follow=0)
        async with open_runtime(settings) as runtime:
            await load(runtime, data, home)
            extra = [name for name in args.extra.split(",") if name]
            report = await evaluate(runtime, data, args.modes.split(","), extra)
    report |= {"embedder": args.embedder, "qrels": args.qrels}
    report |= {"without": args.without, "with": args.extra}
    show(report)
    if args.json:
        args.json.write_text(json.dumps(report, indent=1) + "\n", "utf-8")
    return 0


async def load(runtime: Runtime, data: datasets.Dataset, home: Path) -> None:
    """Import the corpus as any user would and wait for the index."""
    exchange = home / "corpus.jsonl"
    with exchange.open("w", encoding="utf-8") as file:
        for document in data.documents:
            line = {key: value for key, value in document.items() if value not in ("", None)}
            file.write(json.dumps(line | {"text": document["text"]}, ensure_ascii=False) + "\n")
    started = time.perf_counter()
    taken = await runtime.reader.read(Location("jsonl", str(exchange)))
    if taken.failed:
        print(f"{taken.failed} documents could not be imported", file=sys.stderr)
    while depth := sum((await runtime.database.read(outbox.depth)).values()):
        print(f"\rindexing: {depth} passages to go   ", end="", file=sys.stderr)
        await asyncio.sleep(0.5)
    seconds = time.perf_counter() - started
    print(f"\rindexed {len(data.documents)} documents in {seconds:.0f} s   ", file=sys.stderr)


async def evaluate(
    runtime: Runtime, data: datasets.Dataset, modes: list[str], extra: list[str]
) -> dict[str, Any]:
    scopes = ["own", "pooled"] if all(query.project for query in data.queries) else ["pooled"]
    results: dict[str, dict[str, Any]] = {scope: {} for scope in scopes}
    fts5 = Fts5(data) if "fts5" in modes else None
    for scope in scopes:
        for mode in modes:
            runs = []
            for query in data.queries:
                project = query.project if scope == "own" else ""
                if fts5 is not None and mode == "fts5":
                    ranked, ms = fts5.search(query.text, project)
                else:
                    filters = Filters(kinds=data.judged_kinds, project=project)  # type: ignore[arg-type]
                    asked = SearchQuery(query.text, filters, mode, limit=10)  # type: ignore[arg-type]
                    ranked, ms = await ask(runtime, with_options(asked, extra))
                runs.append((ranked, query.relevant, ms))
            results[scope][mode] = summarise(runs)
    report: dict[str, Any] = {
        "dataset": data.name,
        "documents": len(data.documents),
        "scope": scopes[0],
        "modes": results[scopes[0]],
    }
    if len(scopes) > 1:
        report["pooled"] = results["pooled"]
    return report


async def ask(runtime: Runtime, query: SearchQuery) -> tuple[list[str], float]:
    started = time.perf_counter()
    page = await runtime.engine.search(query)
    ms = (time.perf_counter() - started) * 1000
    return [result.record.source_id for result in page.results], ms


def show(report: dict[str, Any]) -> None:
    print(f"\n{report['dataset']} {report['qrels']} ({report['documents']} documents)")
    for scope, modes in ((report["scope"], report["modes"]), ("pooled", report.get("pooled", {}))):
        for mode, figures in modes.items():
            cells = "  ".join(f"{name} {figures[name]:>7.3f}" for name in COLUMNS)
            print(f"  {scope:7} {mode:8} {cells}")


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
