"""Link prediction: hide a fifth of a tracker's edges in turn and rank the other end.

For both ends of each hidden edge the record itself is the query. Text alone is the hybrid ranking
of its title and text. Text and graph adds to each fused score the logarithm of the record's share
of a walk that starts at the queried record, over the remaining four fifths.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import random
import re
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from indexed import indexed
from metrics import ndcg, recall

from mem_search.model import Location, SearchRequest
from mem_search.retrievers.graph import expand
from mem_search.settings import Settings
from mem_search.wiring import Runtime, open_runtime

FOLDS = 5
TEXT_DEPTH = 100
QUESTION = 500
"""Characters of the record that are asked: its title and how it begins."""

FLOOR = 1e-4
"""Share of the walk that counts as none: the logarithm needs a least value."""

Edges = list[tuple[str, str, str]]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/evaluation/graph.py", description=__doc__)
    parser.add_argument("dataset", type=Path, metavar="DATASET_DIR")
    parser.add_argument("--weights", default="0.6,1.5,3", metavar="W,…")
    parser.add_argument("--depth", type=int, default=3)
    parser.add_argument("--embedder", default="bundled")
    parser.add_argument("--json", type=Path, metavar="FILE")
    return parser.parse_args()


async def main() -> int:
    args = arguments()
    documents = [*_lines(args.dataset / "issues.jsonl"), *_lines(args.dataset / "corpus.jsonl")]
    known = {document["id"] for document in documents}
    edges = [edge for edge in _edges(args.dataset / "edges.tsv") if {edge[0], edge[1]} <= known]
    random.Random(0).shuffle(edges)
    weights = [float(weight) for weight in args.weights.split(",")]
    totals: dict[str, list[tuple[float, float]]] = {}
    with tempfile.TemporaryDirectory(prefix="mem-search-graph-") as home:
        settings = Settings(
            home=Path(home), embedder=args.embedder, chroma_url="off", follow=0, port=0
        )
        async with open_runtime(settings) as runtime:
            text: dict[str, dict[str, float]] = {}
            for fold in range(FOLDS):
                hidden = edges[fold::FOLDS]
                left = [edge for edge in edges if edge not in hidden]
                await load(runtime, documents, left, Path(home) / "corpus.jsonl")
                ids = await numbers(runtime)
                await judge(
                    runtime, documents, hidden, left, ids, text, weights, args.depth, totals
                )
                print(f"\rfold {fold + 1} of {FOLDS}   ", end="", file=sys.stderr)
    print(f"\n{args.dataset.name}: {len(documents)} records, {len(edges)} edges")
    report = {}
    for name, figures in totals.items():
        count = len(figures)
        r10, n10 = (round(sum(column) / count, 4) for column in zip(*figures, strict=True))
        report[name] = {"recall@10": r10, "ndcg@10": n10, "queries": count}
        print(f"  {name:22} recall@10 {r10:.4f}  ndcg@10 {n10:.4f}  queries {count}")
    if args.json:
        args.json.write_text(json.dumps(report, indent=1) + "\n", "utf-8")
    return 0


async def load(runtime: Runtime, documents: list[dict[str, Any]], edges: Edges, file: Path) -> None:
    """Import all records with ``edges`` as their links, and wait for the index."""
    links: dict[str, list[dict[str, str]]] = {}
    for start, end, relation in edges:
        links.setdefault(start, []).append({"to": end, "relation": relation})
    with file.open("w", encoding="utf-8") as lines:
        for document in documents:
            line = {
                "kind": "observation",
                "source_id": document["id"],
                "title": document.get("title") or "",
                "text": document["text"],
                "created_at": document.get("date"),
                "project": "tracker",
                "links": links.get(document["id"], []),
                "metadata": {"files_modified": (document.get("meta") or {}).get("files") or []},
            }
            lines.write(json.dumps(line, ensure_ascii=False) + "\n")
    await runtime.ingest.reader.read(Location("jsonl", str(file)))
    (stored,) = await runtime.store.database.read(
        lambda connection: connection.execute(
            "select count(*) from edges where origin = 'given'"
        ).fetchone()
    )
    assert stored == len(set(edges)), "the store has other links than this fold's"
    await indexed(runtime)


async def numbers(runtime: Runtime) -> dict[str, int]:
    return dict(
        await runtime.store.database.read(
            lambda connection: connection.execute("select source_id, id from records").fetchall()
        )
    )


async def judge(
    runtime: Runtime,
    documents: list[dict[str, Any]],
    hidden: Edges,
    left: Edges,
    ids: Mapping[str, int],
    text: dict[str, dict[str, float]],
    weights: list[float],
    depth: int,
    totals: dict[str, list[tuple[float, float]]],
) -> None:
    """Add (recall, nDCG) of every query of this fold to ``totals``."""
    by_id = {document["id"]: document for document in documents}
    names = {number: name for name, number in ids.items()}
    known: dict[str, set[str]] = {}
    for start, end, _ in left:
        known.setdefault(start, set()).add(end)
        known.setdefault(end, set()).add(start)
    wanted: dict[str, dict[str, float]] = {}
    for start, end, _ in hidden:
        wanted.setdefault(start, {})[end] = 1.0
        wanted.setdefault(end, {})[start] = 1.0
    store = runtime.search.store
    for name, relevant in wanted.items():
        # A neighbour by another edge that is known is no answer to find.
        relevant = {end: 1.0 for end in relevant if end not in known.get(name, set())}
        if not relevant:
            continue
        if name not in text:
            text[name] = await by_text(runtime, by_id[name], name)
        excluded = known.get(name, set()) | {name}
        rankings = {"text": text[name]}
        for label, relations in (("all edges", ()), ("links", sorted({e[2] for e in left}))):
            seeds = {ids[name]: 1.0}
            found = await store.read(expand, seeds, depth=depth, relations=relations)
            shares = {names[number]: share for number, share in found.scores.items()}
            rankings[label] = shares
            for weight in weights:
                rankings[f"text + {weight:g} {label}"] = {
                    end: text[name].get(end, min(text[name].values(), default=0.0))
                    + weight * math.log10(max(shares.get(end, 0.0), FLOOR) / FLOOR)
                    for end in {*text[name], *shares}
                }
        for ranking, scores in rankings.items():
            ranked = [end for end in scores if end not in excluded]
            ranked.sort(key=lambda end: (-scores[end], end))
            figures = recall(ranked, relevant, 10), ndcg(ranked, relevant, 10)
            totals.setdefault(ranking, []).append(figures)


async def by_text(runtime: Runtime, document: dict[str, Any], name: str) -> dict[str, float]:
    """source id → the fused score with the record as the query."""
    # Words only, in lower case: nothing in a record is meant as query syntax.
    words = re.findall(r"\w+", f"{document.get('title') or ''} {document['text']}".lower())
    question = " ".join(words)[:QUESTION]
    page = await runtime.search.pipeline.search(SearchRequest(text=question, limit=TEXT_DEPTH))
    return {r.record.source_id: r.score for r in page.results if r.record.source_id != name}


def _edges(path: Path) -> Edges:
    rows = (line.split("\t") for line in path.read_text("utf-8").splitlines()[1:])
    return [(start, end, relation) for start, end, relation in rows]


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
