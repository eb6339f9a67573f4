"""Ask questions that a person would ask, and report how many find their answer.

A record answers a question of questions.toml when it has one of the question's phrases. By
relevance the answer has to be the first result, or among the first five. By date, which is how
``unified`` lists, it has to be in the relevant set: a newer record may well stand above it.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from stores import folder, indexed, opened, options, write_json

from mem_search.model import Location, Record, SearchRequest
from mem_search.wiring import Runtime

QUESTIONS = Path(__file__).parent / "questions.toml"
SOURCES = (("claude-mem", "claude-mem/sample.db"), ("claude-code", "transcripts/claude-code"))
"""Source → its place in the data; all go into one store, as a person has one."""

FIRST_RESULTS = 5
"""Results that a person looks at before asking again."""

MAX_RESULTS = 1_000
"""Results of the relevant set that are looked at."""


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    holds: tuple[str, ...]

    def is_answered_by(self, record: Record) -> bool:
        text = _plain(f"{record.title}\n{record.text}")
        return any(_plain(phrase) in text for phrase in self.holds)


@dataclass(frozen=True, slots=True)
class Asked:
    """``place`` of the best answer by relevance, from 1; None when it is not found.

    ``size`` of the relevant set, and the place of the first answer ``by_date`` in it.
    """

    question: Question
    place: int | None
    by_date: int | None
    size: int
    first: str
    """The title of the first result."""


def read(path: Path) -> list[Question]:
    """The questions of a file."""
    entries = tomllib.loads(path.read_text("utf-8"))["question"]
    return [Question(entry["text"], tuple(entry["holds"])) for entry in entries]


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


async def ask(runtime: Runtime, questions: Iterable[Question]) -> list[Asked]:
    """Ask each question as ``search`` and as ``unified`` do."""
    found = []
    for question in questions:
        request = SearchRequest(question.text, limit=MAX_RESULTS)
        by_relevance = await runtime.search.pipeline.search(request)
        by_date = await runtime.search.pipeline.search(replace(request, order="date_desc"))
        places, dated = (
            [at for at, each in enumerate(page.results, 1) if question.is_answered_by(each.record)]
            for page in (by_relevance, by_date)
        )
        first = by_relevance.results[0].record.title if by_relevance.results else ""
        found.append(
            Asked(
                question, min(places, default=None), min(dated, default=None), by_date.total, first
            )
        )
    return found


def figures(asked: Sequence[Asked]) -> dict[str, float]:
    """Shares of the questions: the answer is ``first``, among the ``first_few``, in the set."""
    places = [each.place for each in asked]
    return {
        "questions": len(asked),
        "first": sum(place == 1 for place in places) / len(asked),
        "first_few": sum(place is not None and place <= FIRST_RESULTS for place in places)
        / len(asked),
        "in_relevant_set": sum(each.by_date is not None for each in asked) / len(asked),
        "first_few_by_date": sum((each.by_date or MAX_RESULTS) <= FIRST_RESULTS for each in asked)
        / len(asked),
        "median_relevant_set": statistics.median(each.size for each in asked),
    }


async def main() -> int:
    told = "with claude-mem and transcripts"
    args = options("questions", __doc__, "home", "embedder", "json", data=told).parse_args()
    with folder(args.home) as home:
        async with opened(home, args.embedder) as runtime:
            for source, place in SOURCES:
                taken = await runtime.ingest.reader.read(Location(source, str(args.data / place)))
                print(f"{source}: {taken.new} records, {taken.failed} failed", file=sys.stderr)
            await indexed(runtime)
            asked = await ask(runtime, read(QUESTIONS))
    for each in asked:
        if each.place != 1:
            print(f"  {each.place or 'not found':>9}  {each.question.text}   first: {each.first}")
    report = figures(asked)
    for name, value in report.items():
        print(f"{name.replace('_', ' '):20} {value:.3f}".removesuffix(".000"))
    write_json(args.json, report)
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
