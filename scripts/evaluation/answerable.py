"""Ask questions that four stores have no answer to, and questions that they answer.

The stores are the coding sessions of a person, an invented household, conversations, and commits.
Questions without an answer are those of unanswerable.toml; those with one are the judged questions
of each store. Every second question of a list is held out. Also shown: how far the relevance of
results is from the share of those that are judged relevant (expected calibration error, in ten
bins: M. P. Naeini et al., AAAI 2015).
"""

from __future__ import annotations

import asyncio
import random
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

import dataset
import documents
import fit
import numpy as np
from main import load
from report import Observed
from stores import folder, opened, options, write_json

import questions
from mem_search.model import Location, Mode, SearchRequest
from mem_search.records.registry import installed_kinds
from mem_search.search.stages import STAGES
from mem_search.search.stages.relevance import CERTAINTY
from mem_search.wiring import Runtime

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


async def all_asked(data: Path, homes: Path, mode: Mode, embedder: str) -> list[Asked]:
    """The questions of all four stores."""
    asked_of = tomllib.loads(UNANSWERABLE.read_text("utf-8"))
    without = {store: each["questions"] for store, each in asked_of.items()}
    found: list[Asked] = []

    async def one(store: str, fill: Any, answered: Sequence[tuple[str, Any]]) -> None:
        observed = Observed()
        stages = observed.stages(STAGES)
        async with opened(homes / store, embedder, fill=fill, stages=stages) as runtime:
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
    parser = options(
        "answerable", __doc__, "homes", "embedder", "json",
        data="with claude-mem, transcripts and retrieval",
    )  # fmt: skip
    parser.add_argument("--mode", default="hybrid", choices=("hybrid", "keyword", "vector"))
    parser.add_argument(
        "--fit", action="store_true", help="show the constants that a fit on these questions gives"
    )
    args = parser.parse_args()
    with folder(args.homes) as homes:
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
    every = [asdict(replace(each, features=None)) for each in asked]
    write_json(args.json, {"figures": table, "asked": every})
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
