"""Records to measure with: real commits from a file, filled up with generated ones.

Generated text is the same on every machine: words of the model's own vocabulary, which is in
order of frequency, drawn by Zipf's law, so common words are in most records and most words in
few.
"""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterator
from itertools import accumulate, islice
from pathlib import Path
from typing import Any

from mem_search.model import Draft
from mem_search.text.wordpieces import VOCABULARY

PROJECTS = ("storefront", "ledger", "gateway", "atlas", "harbor", "signal", "quarry", "notebook")
RARE_PROJECT = "quarry"
KINDS = {"observation": 60, "user_prompt": 18, "session_summary": 8, "note": 8, "conversation": 6}
WORDS_A_RECORD = {
    "observation": 70, "user_prompt": 25, "session_summary": 130, "note": 110, "conversation": 40,
}  # fmt: skip
TYPES = ("bugfix", "feature", "refactor", "change", "discovery", "decision")
_FIRST_DAY = 1_700_000_000_000
_EXPONENT = 1.05


def records(count: int, corpus: Path | None = None) -> Iterator[dict[str, Any]]:
    """``count`` records in the exchange format: those of ``corpus`` first, then generated ones."""
    taken = 0
    if corpus is not None:
        for record in islice(commits(corpus), count):
            taken += 1
            yield record
    yield from islice(made_up(seed=1), count - taken)


def commits(file: Path) -> Iterator[dict[str, Any]]:
    """One observation a line of ``{"id", "date", "title", "text", "meta": {"repo", "files"}}``."""
    opener = gzip.open if file.suffix == ".gz" else open
    with opener(file, "rt", encoding="utf-8") as lines:
        for line in lines:
            item = json.loads(line)
            meta = item.get("meta") or {}
            yield {
                "kind": "observation",
                "source_id": str(item["id"]),
                "title": item.get("title") or "",
                "text": item.get("text") or item.get("title") or "",
                "created_at": item["date"],
                "project": str(meta.get("repo") or "commits"),
                "metadata": {"type": "change", "files_modified": list(meta.get("files") or [])},
            }


def made_up(seed: int) -> Iterator[dict[str, Any]]:
    """Endless generated records; the same seed gives the same ones."""
    chance = random.Random(seed)
    words = _vocabulary()
    weights = list(accumulate((rank + 3) ** -_EXPONENT for rank in range(len(words))))
    # Each project has words of its own, as real ones have.
    topics = {project: chance.sample(words[300:], 400) for project in PROJECTS}
    shares = [1 if project == RARE_PROJECT else 20 for project in PROJECTS]

    def text(project: str, count: int) -> str:
        drawn = chance.choices(words, cum_weights=weights, k=count)
        drawn += chance.choices(topics[project], k=max(2, count // 6))
        chance.shuffle(drawn)
        drawn.insert(len(drawn) // 2, f"src/{project}/{drawn[0]}_{drawn[1]}.py")
        return " ".join(drawn)

    number = 0
    while True:
        number += 1
        project = chance.choices(PROJECTS, shares)[0]
        kind = chance.choices(tuple(KINDS), tuple(KINDS.values()))[0]
        length = max(4, int(chance.lognormvariate(0, 0.7) * WORDS_A_RECORD[kind]))
        record: dict[str, Any] = {
            "kind": kind,
            "source_id": f"made-up-{seed}-{number}",
            "title": text(project, chance.randint(3, 7)),
            "text": text(project, length),
            "created_at": _FIRST_DAY + number * 600_000,
            "project": project,
            "session": f"{project}-{number // 40}",
        }
        if kind == "observation":
            record["metadata"] = {"type": chance.choice(TYPES)}
        yield record


def draft(record: dict[str, Any]) -> Draft:
    """The record as a draft, before its kind completes the text."""
    return Draft(
        kind=record["kind"],
        source="jsonl",
        source_id=record["source_id"],
        text=record["text"],
        title=record["title"],
        metadata=record.get("metadata") or {},
    )


def write(file: Path, items: Iterator[dict[str, Any]]) -> None:
    with file.open("w", encoding="utf-8") as lines:
        for item in items:
            lines.write(json.dumps(item, ensure_ascii=False) + "\n")


def _vocabulary() -> list[str]:
    words = VOCABULARY.read_text("utf-8").split()
    return [word for word in words if len(word) > 1 and word.isascii() and word.isalpha()]
