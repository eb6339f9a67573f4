"""Ask questions as people put them, in seven classes, and report how many find their answer.

asked.toml has the classes: negation, names, times, people, two steps, words of intent, words of
failure. ``first``: the first result answers; ``five``: one of the first five does, and none of them
has what the question excludes. Every second question of a class is held out.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

import documents
import household
from stores import folder, import_lines, opened, options, write_json
from times import days_of

import questions
from mem_search.model import DateRange, Location, Record, Result, SearchRequest
from mem_search.sources.git import type_of
from mem_search.wiring import Runtime

QUESTIONS: Final = Path(__file__).parent / "asked.toml"
FIRST_RESULTS: Final = 5
_HOW: Final = re.IGNORECASE | re.MULTILINE


@dataclass(frozen=True, slots=True)
class Question:
    """A question, what its answers are like, and whether it is held out."""

    sort: str
    over: str
    text: str
    asked: datetime
    right: Mapping[str, Any]
    days: DateRange | None
    held_out: bool

    def is_answered_by(self, record: Record, name: str) -> bool:
        """Whether all that asked.toml says of an answer holds for ``record``."""
        right, metadata = self.right, record.metadata
        said, ids = _said(record), right.get("ids")
        author = str(metadata.get("author", ""))
        return (
            (ids is None or any(name.startswith(each) for each in ids))
            and all(re.search(each, said, _HOW) for each in right.get("has", ()))
            and not self.is_broken_by(record)
            and (self.days is None or _is_within(record.created_at, self.days))
            and ("author" not in right or author == right["author"])
            and ("type" not in right or metadata.get("type") == right["type"])
            and ("failed" not in right or bool(metadata.get("failed")))
        )

    def is_broken_by(self, record: Record) -> bool:
        """Whether ``record`` has what the question excludes."""
        lacks = self.right.get("lacks")
        return bool(lacks and re.search(lacks, _said(record), re.IGNORECASE))


@dataclass(frozen=True, slots=True)
class Answered:
    """``place`` of the first answer, from 1; None when it is not among the first five."""

    question: Question
    place: int | None
    broken: int
    found: Sequence[str]

    @property
    def in_five(self) -> bool:
        return self.place is not None and not self.broken


def read(path: Path = QUESTIONS) -> tuple[list[Question], list[dict[str, Any]]]:
    """The questions of a file, and the records of its workshop."""
    whole = tomllib.loads(path.read_text("utf-8"))
    asked, records = whole.pop("asked"), whole.pop("record")
    found = []
    for sort, each in whole.items():
        for place, right in enumerate(each["questions"]):
            when = datetime.fromisoformat(right.get("asked", asked[right["over"]]))
            days = days_of(right["days"], UTC) if "days" in right else None
            found.append(
                Question(sort, right["over"], right["text"], when.replace(tzinfo=UTC), right, days,
                         place % 2 == 1)
            )  # fmt: skip
    return found, records


def _said(record: Record) -> str:
    metadata = record.metadata
    more = [str(metadata.get(name, "")) for name in ("author", "from", "failed", "path", "facts")]
    return "\n".join([record.title, record.text, *more])


def _is_within(at: int, days: DateRange) -> bool:
    return (days.start is None or at >= days.start) and (days.end is None or at <= days.end)


async def unanswered(runtime: Runtime, asked: Iterable[Question], root: Path) -> list[str]:
    """The questions that no record of the store answers: they would be lost whatever is found."""
    left, place = list(asked), 0
    while left:
        request = SearchRequest("until:now", order="date_desc", limit=1000, offset=place)
        page = await runtime.search.pipeline.search(request)
        if not page.results:
            break
        place += len(page.results)
        records = [(each.record, _name(each.record, root)) for each in page.results]
        left = [one for one in left if not any(one.is_answered_by(*each) for each in records)]
    return [one.text for one in left]


async def ask(runtime: Runtime, asked: Iterable[Question], root: Path) -> list[Answered]:
    """The answers to questions over one store; ``root`` has the files of the household."""
    found = []
    for question in asked:
        request = SearchRequest(question.text, limit=FIRST_RESULTS, asked_at=question.asked)
        page = await runtime.search.pipeline.search(request)
        results: Sequence[Result] = page.results[:FIRST_RESULTS]
        places = [
            place
            for place, each in enumerate(results, 1)
            if question.is_answered_by(each.record, _name(each.record, root))
        ]
        broken = sum(question.is_broken_by(each.record) for each in results)
        titles = [f"{_name(each.record, root)[:12]} {each.record.title[:50]}" for each in results]
        found.append(Answered(question, min(places, default=None), broken, titles))
    return found


def _name(record: Record, root: Path) -> str:
    if record.source in ("mail", "files"):
        name = household.name_of(record, root)
        return f"<{name}" if record.source == "mail" else name
    return record.source_id


def commits(data: Path) -> Iterator[dict[str, Any]]:
    """The commits of ripgrep and of black, as the source ``git`` stores them."""
    for project in ("ripgrep", "black"):
        file = data / "retrieval" / f"commits-{project}" / "corpus.jsonl"
        for line in file.read_text("utf-8").splitlines():
            item = json.loads(line)
            yield {
                "kind": "observation",
                "source_id": item["id"],
                "title": item["title"],
                "text": item["text"],
                "created_at": item["date"],
                "project": project,
                "metadata": {
                    "type": type_of(item["title"]),
                    "author": item["meta"]["author"],
                    "files_modified": item["meta"]["files"],
                },
            }


def tracker(folder: Path) -> Iterator[dict[str, Any]]:
    """The issues and commits of a coding agent's tracker, with its edges as their links."""
    found = {
        line["id"]: line
        for name in ("issues.jsonl", "corpus.jsonl")
        for line in map(json.loads, (folder / name).read_text("utf-8").splitlines())
    }
    links: dict[str, list[dict[str, str]]] = defaultdict(list)
    for row in (folder / "edges.tsv").read_text("utf-8").splitlines()[1:]:
        start, end, relation = row.split("\t")
        if end in found:
            links[start].append({"to": end, "relation": relation})
    for name, line in found.items():
        yield {
            "kind": "observation",
            "source_id": name,
            "title": line.get("title") or "",
            "text": line["text"],
            "created_at": line.get("date"),
            "project": "tracker",
            "links": links[name],
            "metadata": {"files_modified": (line.get("meta") or {}).get("files") or []},
        }


def workshop(records: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """The records of asked.toml as lines of JSONL."""
    for each in records:
        kind = each.get("kind", "observation")
        metadata = {name: each[name] for name in ("author", "from", "to", "failed") if name in each}
        if kind == "observation":
            metadata["type"] = each.get("type", "change")
            metadata["files_modified"] = each.get("files", [])
        yield {
            "kind": kind,
            "source_id": each["id"],
            "title": each["title"],
            "text": "\n\n".join([each["text"], *each.get("failed", [])]),
            "created_at": each["at"],
            "project": "workshop",
            "session": each.get("session", ""),
            "links": each.get("links", []),
            "metadata": metadata,
        }


async def all_asked(data: Path, homes: Path, only: Sequence[str] = ()) -> list[Answered]:
    """The questions over all five stores, or over those of ``only``."""
    every, records = read()
    root = homes / "household-files"

    async def fill(runtime: Runtime, store: str) -> None:
        match store:
            case "commits":
                await import_lines(runtime, commits(data), homes / "commits.jsonl")
            case "workshop":
                await import_lines(runtime, workshop(records), homes / "workshop.jsonl")
            case "household":
                await documents.load(runtime, root)
            case "tracker":
                lines = tracker(data / "retrieval" / "spotter-issues")
                await import_lines(runtime, lines, homes / "tracker.jsonl")
            case _:
                for source, place in questions.SOURCES:
                    await runtime.ingest.reader.read(Location(source, str(data / place)))

    found: list[Answered] = []
    for store in only or dict.fromkeys(each.over for each in every):
        filled = partial(fill, store=store)
        async with opened(homes / store, fill=filled) as each:
            asked = [one for one in every if one.over == store]
            if lost := await unanswered(each, asked, root):
                print(f"no record of {store} answers: {'; '.join(lost)}")
            found += await ask(each, asked, root)
        print(f"{store} asked", file=sys.stderr)
    return found


def figures(answered: Iterable[Answered]) -> dict[str, dict[str, float]]:
    """Class and half → how many questions, and the shares of ``first`` and ``five``."""
    halves: dict[str, list[Answered]] = defaultdict(list)
    for each in answered:
        halves[f"{each.question.sort}, {'held out' if each.question.held_out else 'dev'}"].append(
            each
        )
    return {
        name: {
            "questions": len(each),
            "first": round(sum(one.place == 1 for one in each) / len(each), 3),
            "five": round(sum(one.in_five for one in each) / len(each), 3),
        }
        for name, each in sorted(halves.items())
    }


async def main() -> int:
    told = "with claude-mem, transcripts and retrieval"
    parser = options("asked", __doc__, "homes", "json", data=told)
    parser.add_argument("--over", default="", metavar="STORE,…", help="ask only over these")
    args = parser.parse_args()
    with folder(args.homes) as homes:
        answered = await all_asked(args.data, homes, [s for s in args.over.split(",") if s])
    for each in answered:
        if not each.question.held_out and not (each.place == 1 and each.in_five):
            broken = f", {each.broken} broken" if each.broken else ""
            print(f"  {each.question.sort}: {each.question.text}   {each.place}{broken}")
            print("".join(f"      {title}\n" for title in each.found[:3]), end="")
    table = figures(answered)
    for name, row in table.items():
        print(f"{name:20}", "  ".join(f"{what} {value}" for what, value in row.items()))
    every = [[each.question.sort, each.question.text, each.place, each.broken, *each.found]
             for each in answered]  # fmt: skip
    write_json(args.json, {"figures": table, "asked": every})
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
