"""``scripts/evaluate names``: do records that hold a name lead, when somebody asks for the name?

500 names are drawn by a fixed seed from commits, the transcripts' turns and claude-mem's
observations. Each is held by at most five records. The expressions here are written apart from
the product's own, so that it is not judged by its own idea of a name. ``first``: the share of
names whose first result holds it; ``all``: the share where no other record stands above a holder.

A name may stand inside a longer word, but a number inside a longer number is another one:
``14.0.0`` does not hold ``4.0.0``. What ``<private>`` covers is never stored, so it holds nothing.
The record whose own number is asked for (``#1950``) is neither right nor wrong: it leads by being
that record. The product is measured without folding, because a near-duplicate under another holder
is found.
"""

from __future__ import annotations

import json
import random
import re
import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from dataset import Dataset, Query
from systems import System

SEED = 13
COUNT = 500
MAX_RESULTS = 5

_NAME = re.compile(
    r"https?://[^\s)>\]\"'`]+[\w/]"
    r"|[\w.]+@[\w-]+\.\w+"
    r"|(?<!\S)--?[a-z][\w-]{2,}"
    r"|\b[A-Za-z]\w*_\w*[A-Za-z0-9]\b"
    r"|\b[a-z]+(?:[A-Z][a-z0-9]+)+\b"
    r"|\b[\w-]+(?:/[\w-]+)+\.[a-z]{1,5}\b"
    r"|\b[a-z]\w+(?:-[a-z]\w+)+\b"
    r"|\b\w+\.(?:rs|py|md|toml|json|ts|js|yml|sh)\b"
    r"|\bv?\d+\.\d+\.\d+\b"
    r"|(?<!\w)#\d{2,6}\b"
    r"|\b[A-Z]{2,8}-\d{2,6}\b"
    r"|\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,40}\b"
)
_PRIVATE = re.compile(r"<private>.*?(?:</private>|\Z)", re.DOTALL)


def read(shared: Path) -> Dataset:
    """The records and the names, as a judged set; a record is relevant when it holds the name."""
    documents = [*_commits(shared), *_turns(shared), *_observations(shared)]
    texts = [_PRIVATE.sub(" ", f"{each['title']}\n{each['text']}").casefold() for each in documents]
    names = sorted({m[0] for text in documents for m in _NAME.finditer(text["text"])})
    random.Random(SEED).shuffle(names)
    queries: list[Query] = []
    for name in names:
        held = _held(name.casefold())
        holders = [at for at, text in enumerate(texts) if held.search(text)]
        if 0 < len(holders) <= MAX_RESULTS:
            relevant = {documents[at]["source_id"]: 1.0 for at in holders}
            queries.append(Query(f"n{len(queries)}", name, "", relevant))
        if len(queries) == COUNT:
            break
    return Dataset("names", documents, queries, ())


def _held(name: str) -> re.Pattern[str]:
    """Matches where ``name``, in lower case, stands: not where one of its numbers goes on."""
    before = r"(?<!\d)" if name[0].isdigit() else ""
    after = r"(?!\d)" if name[-1].isdigit() else ""
    return re.compile(before + re.escape(name) + after)


async def measure(systems: Mapping[str, System], data: Dataset) -> dict[str, dict[str, float]]:
    """System → its shares; prints the names for which hybrid's first result is wrong.

    Records have the numbers of their order, as in a store that was empty before.
    """
    own = {f"#{number}": each["source_id"] for number, each in enumerate(data.documents, 1)}
    figures: dict[str, dict[str, float]] = {}
    for label, system in systems.items():
        first = lead = 0
        for query in data.queries:
            named = own.get(query.text)
            found = [
                each
                for each in await system.search(query.text, "")
                if each != named or each in query.relevant
            ]
            ok = bool(found) and found[0] in query.relevant
            first += ok
            lead += set(found[: len(query.relevant)]) == set(query.relevant)
            if not ok and label == "hybrid":
                print(f"  not first: {query.text}  {sorted(query.relevant)} {found[:3]}")
        figures[label] = {"first": first / len(data.queries), "all": lead / len(data.queries)}
    return figures


def show(figures: Mapping[str, Mapping[str, float]], data: Dataset) -> None:
    print(f"{len(data.queries)} names in {len(data.documents)} records")
    for label, each in figures.items():
        print(f"  {label:8} first {each['first']:.3f}   all lead {each['all']:.3f}")


def _document(source_id: str, kind: str, title: str, text: str, at: Any) -> dict[str, Any]:
    return {
        "kind": kind,
        "source_id": source_id,
        "title": title,
        "text": text,
        "created_at": at,
        "project": "",
        "session": "",
    }


def _commits(shared: Path) -> Iterator[dict[str, Any]]:
    file = shared / "retrieval" / "commits-ripgrep" / "corpus.jsonl"
    for line in file.read_text("utf-8").splitlines():
        item = json.loads(line)
        yield _document(
            f"commit-{item['id']}",
            "observation",
            item.get("title") or "",
            item["text"],
            item.get("date"),
        )


def _turns(shared: Path) -> Iterator[dict[str, Any]]:
    found: dict[str, list[str]] = defaultdict(list)
    for file in sorted((shared / "transcripts").rglob("*.jsonl")):
        for line in file.read_text("utf-8", "replace").splitlines():
            try:
                item = json.loads(line)
            except ValueError:  # some of the transcripts are broken on purpose
                continue
            if not isinstance(item, dict):
                continue
            message = item.get("message")
            content = message.get("content") if isinstance(message, dict) else None
            if item.get("type") == "user" and isinstance(content, str) and content.strip():
                found[str(item.get("uuid"))] = [content, str(item.get("timestamp") or "")]
    for uuid, (content, at) in found.items():
        yield _document(f"turn-{uuid}", "user_prompt", "", content[:20_000], at or None)


def _observations(shared: Path) -> Iterator[dict[str, Any]]:
    path = shared / "claude-mem" / "sample.db"
    with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as connection:
        rows: Sequence[Any] = connection.execute(
            "select id, title, narrative, facts, created_at from observations order by id"
        ).fetchall()
    for number, title, narrative, facts, at in rows:
        text = "\n".join(filter(None, [narrative, facts]))
        if text:
            yield _document(f"cm-{number}", "observation", title or "", text, at)
