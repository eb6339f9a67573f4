"""Ask questions that four stores have no answer to, and questions that they answer.

The stores are the coding sessions of a person, an invented household, conversations, and commits.
Questions without an answer are those of unanswerable.toml; those with one are the judged questions
of each store. Every second question of a list is held out. Also shown: how far the relevance of
results is from the share of those that are judged relevant (expected calibration error, in ten
bins: M. P. Naeini et al., AAAI 2015).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import tempfile
import tomllib
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

import dataset
import documents
import fit
import numpy as np
from data_folder import SHARED, add_data
from indexed import indexed
from main import load
from report import Observed

import questions
from mem_search.model import Location, Mode, SearchRequest
from mem_search.records.registry import installed_kinds
from mem_search.search.stages import STAGES
from mem_search.search.stages.relevance import CERTAINTY
from mem_search.settings import Settings
from mem_search.wiring import Runtime, open_runtime

UNANSWERABLE: Final = Path(__file__).parent / "unanswerable.toml"
_SEED: Final = 5
ANSWERED_OF_A_SET: Final = 120
BINS: Final = 10


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, and whether the store was said to answer it. ``judged``: relevance → truth."""

    store: str
    text: str
    has_answer: bool
    held_out: bool
    said_answered: bool
    judged: Sequence[tuple[str, float, bool]] = ()
    """Kind, probability and truth of each judged result."""
    features: fit.Features | None = None
    """What the constants are fitted on; None where something else decides."""


async def ask(
    runtime: Runtime,
    observed: Observed,
    store: str,
    asked: Sequence[tuple[str, Any]],
    has_answer: bool,
    mode: Mode,
) -> list[Asked]:
    """``asked``: questions, each with a function from record to whether it is relevant, or None."""
    found = []
    when = documents.ASKED if store == "household" else None
    for place, (text, is_relevant) in enumerate(asked):
        request = SearchRequest(text, limit=10, mode=mode, asked_at=when)
        observed.states = {}
        page = await runtime.search.pipeline.search(request)
        state = observed.states.get(CERTAINTY)
        judged = [
            (each.record.kind, each.relevance, bool(is_relevant and is_relevant(each.record)))
            for each in page.results
            if each.relevance is not None and (is_relevant or not has_answer)
        ]
        said = page.report.answerable and bool(page.results)
        true = [(each.record.number, bool(is_relevant and is_relevant(each.record)))
                for each in page.results if is_relevant or not has_answer]  # fmt: skip
        features = None if state is None else fit.features(state, true)
        found.append(Asked(store, text, has_answer, place % 2 == 1, said, judged, features))
    return found


@asynccontextmanager
async def opened(
    home: Path, fill: Any, embedder: str = "bundled", observed: Observed | None = None
) -> AsyncIterator[Runtime]:
    """The store in ``home``, filled by ``fill`` unless it is there."""
    is_new = not home.exists()  # noqa: ASYNC240 - nothing else runs
    settings = Settings(home=home, embedder=embedder, follow=0)
    stages = observed.stages(STAGES) if observed else STAGES
    async with open_runtime(settings, stages=stages) as runtime:
        if is_new:
            await fill(runtime)
        await indexed(runtime)
        yield runtime


async def all_asked(data: Path, homes: Path, mode: Mode, embedder: str) -> list[Asked]:
    """The questions of all four stores."""
    with UNANSWERABLE.open("rb") as file:
        without = {store: each["questions"] for store, each in tomllib.load(file).items()}
    found: list[Asked] = []

    async def one(store: str, fill: Any, answered: Sequence[tuple[str, Any]]) -> None:
        observed = Observed()
        async with opened(homes / store, fill, embedder, observed) as runtime:
            none = [(text, None) for text in without[store]]
            found.extend(await ask(runtime, observed, store, none, False, mode))
            found.extend(await ask(runtime, observed, store, answered, True, mode))
        print(f"{store} asked", file=sys.stderr)

    async def fill_agents(runtime: Runtime) -> None:
        for source, place in questions.SOURCES:
            await runtime.ingest.reader.read(Location(source, str(data / place)))

    own = questions.read(questions.QUESTIONS)
    await one("agents", fill_agents, [(each.text, each.is_answered_by) for each in own])

    async def fill_household(runtime: Runtime) -> None:
        await documents.load(runtime, homes / "household-files")

    await one("household", fill_household, [(each.text, None) for each in documents.read()])
    for store, name, qrels, fields in (
        ("chats", "locomo-dev", "qrels_turn.tsv", ("meta.sample", "meta.session")),
        ("commits", "commits-ripgrep", "", ("", "")),
    ):
        kinds = set(installed_kinds().names)
        folder = data / "retrieval" / name
        judged = dataset.read(folder, qrels, *fields, 0, kinds)

        async def fill(runtime: Runtime, judged: dataset.Dataset = judged) -> None:
            await load(runtime, judged, homes)

        queries = [query for query in judged.queries if query.relevant]
        random.Random(_SEED).shuffle(queries)
        asked = [
            (query.text, lambda record, query=query: record.source_id in query.relevant)
            for query in queries[:ANSWERED_OF_A_SET]
        ]
        await one(store, fill, asked)
    return found


def figures(asked: Sequence[Asked]) -> dict[str, float]:
    """Shares: questions without an answer of which it is said, and those with one wrongly so."""
    without = [each for each in asked if not each.has_answer]
    answered = [each for each in asked if each.has_answer]
    judged = [each for one in asked for each in one.judged]
    return {
        "without an answer": len(without),
        "said so": round(sum(not each.said_answered for each in without) / len(without), 3),
        "with an answer": len(answered),
        "wrongly said": round(sum(not each.said_answered for each in answered) / len(answered), 3),
        "calibration error": round(calibration_error([each[1:] for each in judged]), 3),
    }


def calibration_error(judged: Sequence[tuple[float, bool]]) -> float:
    """The mean distance between a bin's mean probability and its share of true ones."""
    if not judged:
        return 0.0
    sure, true = (np.array(column, float) for column in zip(*judged, strict=True))
    bins = np.minimum((sure * BINS).astype(int), BINS - 1)
    return float(
        sum(
            abs(sure[bins == each].mean() - true[bins == each].mean()) * (bins == each).mean()
            for each in np.unique(bins)
        )
    )


def report(asked: Sequence[Asked]) -> Mapping[str, dict[str, float]]:
    """The figures of both halves, and of what is held out of each store and of each kind."""
    held = [each for each in asked if each.held_out]
    stores = {store: [each for each in held if each.store == store] for store in
              dict.fromkeys(each.store for each in asked)}  # fmt: skip
    halves = {"chosen on": [each for each in asked if not each.held_out], "held out": held}
    kinds: dict[str, list[tuple[float, bool]]] = {}
    for kind, sure, true in (judged for each in held for judged in each.judged):
        kinds.setdefault(kind, []).append((sure, true))
    return {name: figures(each) for name, each in {**halves, **stores}.items()} | {
        kind: {"results": len(of), "calibration error": round(calibration_error(of), 3)}
        for kind, of in sorted(kinds.items())
    }


async def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/evaluate answerable", description=__doc__)
    add_data(parser, SHARED, "with claude-mem, transcripts and retrieval")
    parser.add_argument("--homes", type=Path, help="keep the stores here and reuse them")
    parser.add_argument("--mode", default="hybrid", choices=("hybrid", "keyword", "vector"))
    parser.add_argument("--embedder", default="bundled")
    parser.add_argument(
        "--fit", action="store_true", help="show the constants that a fit on these questions gives"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="with every question")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mem-search-evaluate-") as temporary:
        homes = args.homes or Path(temporary)
        asked = await all_asked(args.data, homes, args.mode, args.embedder)
    for each in asked:
        if each.said_answered != each.has_answer and not each.held_out:
            print(f"  {each.store}: {each.text}   has an answer: {each.has_answer}")
    table = report(asked)
    for name, row in table.items():
        print(f"{name:15}", "  ".join(f"{what} {value}" for what, value in row.items()))
    if args.fit:
        fit.show(
            [(each.features, each.has_answer, each.held_out) for each in asked if each.features]
        )
    if args.json:
        every = [asdict(replace(each, features=None)) for each in asked]
        whole = {"figures": table, "asked": every}
        args.json.write_text(json.dumps(whole, indent=1) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
