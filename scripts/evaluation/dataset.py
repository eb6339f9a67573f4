"""A judged set on disk: corpus.jsonl, queries.jsonl, qrels*.tsv; recall, nDCG and MRR of a list."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

ALL = "all"
"""Instead of a file of judgements: all of them in one list, as a search of every kind is judged."""

KINDS = {"prompt": "user_prompt", "session": "session_summary", "document": "note", "": "note"}
"""A set's types that are not named like our kinds; an unknown one is a note."""

METRICS = ("recall@5", "recall@10", "ndcg@10", "mrr@10")


@dataclass(frozen=True)
class Query:
    id: str
    text: str
    project: str
    relevant: dict[str, float]
    asked: datetime | None = None
    """When it is asked; a time such as "last week" is read from then."""


@dataclass(frozen=True)
class Dataset:
    name: str
    documents: list[dict[str, Any]]
    queries: list[Query]
    judged_kinds: tuple[str, ...]
    """The kinds that judged documents have, when they are not all kinds of the corpus."""

    @property
    def judged(self) -> list[dict[str, Any]]:
        """The documents of those kinds: what every system searches."""
        kinds = self.judged_kinds
        return [each for each in self.documents if not kinds or each["kind"] in kinds]

    @cached_property
    def _first_twins(self) -> Mapping[str, str]:
        """Document → the first document of its kind with the same title and text."""
        seen: dict[tuple[str, str, str], str] = {}
        return {
            each["source_id"]: seen.setdefault(
                (each["kind"], each["title"], each["text"]), each["source_id"]
            )
            for each in self.documents
        }

    def judge(self, ranked: Sequence[str], query: Query) -> dict[str, float]:
        """The metrics of one ranked list.

        Documents with the same text are one: our page lists the second under the first, and what
        a person reads is the same.
        """
        first = self._first_twins
        relevant: dict[str, float] = {}
        for document, gain in query.relevant.items():
            twin = first.get(document, document)
            relevant[twin] = max(gain, relevant.get(twin, 0.0))
        return judge(list(dict.fromkeys(first.get(each, each) for each in ranked)), relevant)


def recall(ranked: Sequence[str], relevant: Mapping[str, float], k: int) -> float:
    return sum(1 for item in ranked[:k] if item in relevant) / len(relevant)


def ndcg(ranked: Sequence[str], relevant: Mapping[str, float], k: int) -> float:
    gain = sum(relevant.get(item, 0.0) / math.log2(i + 2) for i, item in enumerate(ranked[:k]))
    ideal = sum(g / math.log2(i + 2) for i, g in enumerate(sorted(relevant.values())[::-1][:k]))
    return gain / ideal


def mrr(ranked: Sequence[str], relevant: Mapping[str, float], k: int) -> float:
    return next((1 / (i + 1) for i, item in enumerate(ranked[:k]) if item in relevant), 0.0)


def judge(ranked: Sequence[str], relevant: Mapping[str, float]) -> dict[str, float]:
    """Every one of ``METRICS`` for one query."""
    return {
        "recall@5": recall(ranked, relevant, 5),
        "recall@10": recall(ranked, relevant, 10),
        "ndcg@10": ndcg(ranked, relevant, 10),
        "mrr@10": mrr(ranked, relevant, 10),
    }


def read(
    folder: Path, qrels: str, project_field: str, session_field: str, limit: int, kinds: set[str]
) -> Dataset:
    documents = []
    for item in _lines(folder / "corpus.jsonl"):
        kind = str(item.get("type") or "")
        documents.append(
            {
                "kind": KINDS.get(kind, kind if kind in kinds else "note"),
                "source_id": item["id"],
                "title": item.get("title") or "",
                "text": item["text"],
                "created_at": item.get("date"),
                "project": str(_field(item, project_field)),
                "session": str(_field(item, session_field)),
            }
        )
    judged = _qrels(folder, qrels)
    queries = [
        Query(
            q["id"],
            q["text"],
            str(_field(q, project_field)),
            judged[q["id"]],
            _moment(str(q.get("date") or "")),
        )
        for q in _lines(folder / "queries.jsonl")
        if q["id"] in judged
    ]
    kind_of = {document["source_id"]: document["kind"] for document in documents}
    present = set(kind_of.values())
    wanted = {kind_of[d] for relevant in judged.values() for d in relevant if d in kind_of}
    return Dataset(
        name=folder.name,
        documents=documents,
        queries=queries[:limit] if limit else queries,
        judged_kinds=tuple(sorted(wanted)) if wanted != present else (),
    )


def qrels_files(folder: Path) -> list[str]:
    """The names of the files with judgements in ``folder``."""
    return sorted(path.name for path in folder.glob("qrels*.tsv"))


def _qrels(folder: Path, name: str) -> dict[str, dict[str, float]]:
    if name == ALL:
        paths = [folder / each for each in qrels_files(folder)]
    else:
        path = folder / (name or qrels_files(folder)[0])
        paths = [path if path.exists() else Path(name)]
    judged: dict[str, dict[str, float]] = defaultdict(dict)
    for path in paths:
        for line in path.read_text("utf-8").splitlines()[1:]:
            query, document, score = line.split("\t")
            if float(score) > 0:
                judged[query][document] = float(score)
    return judged


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            if line.strip():
                yield json.loads(line)


def _moment(text: str) -> datetime | None:
    """A date of the set, in UTC where it has no zone; None for none."""
    found = datetime.fromisoformat(text) if text else None
    return found.replace(tzinfo=UTC) if found and found.tzinfo is None else found


def _field(item: dict[str, Any], dotted: str) -> Any:
    value: Any = item
    for part in dotted.split(".") if dotted else ():
        value = value.get(part, "") if isinstance(value, dict) else ""
    return value if dotted and value is not None else ""
