"""Import → embedded → in the index, against the bare embedder over the same texts, in turns."""

from __future__ import annotations

import time
from itertools import islice
from pathlib import Path
from typing import Any

import corpus
from figures import Bar, median
from process import Worker, one, worker

from mem_search.embedders import open_embedder
from mem_search.records.registry import installed_kinds
from mem_search.text import passages

TURNS = 5
_WARM = 100


def measure(
    home: Path, count: int, source: Path | None, embedder: str
) -> tuple[dict[str, Any], list[Bar]]:
    """``count`` records in ``TURNS`` files, each processed by the worker and by the bare model."""
    home.mkdir(parents=True, exist_ok=True)
    items = corpus.records(_WARM + count, source)
    bare = open_embedder(embedder, home / "models")
    size = count // TURNS
    product_rates: list[float] = []
    bare_rates: list[float] = []
    with worker(home, embedder, is_filled=False) as running:
        # Returns when all is indexed, so Chroma and the model are up from here on.
        take(running, _file(home, "warm", list(islice(items, _WARM))))
        bare.embed(["warm up"])
        for turn in range(TURNS):
            some = list(islice(items, size))
            texts = _embedded(some)
            file = _file(home, f"turn-{turn}", some)
            steps = [
                lambda file=file, texts=texts: product_rates.append(
                    len(texts) / take(running, file)[0]
                ),
                lambda texts=texts: bare_rates.append(len(texts) / seconds_of(bare, texts)),
            ]
            for step in steps if turn % 2 else reversed(steps):
                step()
        before = one(home, "select count(*) from vectors")
        again_seconds, again = take(running, file)
        more = one(home, "select count(*) from vectors") - before
        embedded_again = again["new"] + again["changed"] + abs(more)
    ratios = [a / b for a, b in zip(product_rates, bare_rates, strict=True)]
    figures = {
        "records": size * TURNS,
        "product texts/s": median(product_rates),
        "bare embedder texts/s": median(bare_rates),
        "ratio, median of turns": median(ratios),
        "second import, embedded": embedded_again,
        "second import, records/s": size / again_seconds,
    }
    return figures, [
        Bar("indexing: product / bare embedder", median(ratios), 0.85, at_least=True),
        Bar("indexing: embedded again when unchanged", float(embedded_again), 0),
    ]


def take(running: Worker, file: Path, source: str = "jsonl") -> tuple[float, dict[str, int]]:
    """Import a file or folder: seconds until it is all in the index, and how many records."""
    running.reconnect()
    started = time.perf_counter()
    (place,) = running.imported(file, source)["locations"]
    while one(running.home, "select exists (select 1 from outbox)"):
        time.sleep(0.05)
    return time.perf_counter() - started, place


def seconds_of(embedder: Any, texts: list[str]) -> float:
    started = time.perf_counter()
    embedder.embed(texts)
    return time.perf_counter() - started


def _embedded(items: list[dict[str, Any]]) -> list[str]:
    """The texts that the model reads for these records."""
    texts: list[str] = []
    for item in items:
        draft = installed_kinds().get(item["kind"]).compose(corpus.draft(item))
        for each in passages.cut(draft.text):
            text = draft.text[each.start : each.end]
            texts += passages.embedded_texts(draft.title, text, each.above)
    return texts


def _file(home: Path, name: str, items: list[dict[str, Any]]) -> Path:
    file = home / f"{name}.jsonl"
    corpus.write(file, iter(items))
    return file
