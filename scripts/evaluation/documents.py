"""Ask for documents in plain words: read whole, with their times alone, and not read at all.

The documents are those of an invented household (household.py): mail, PDFs, scans, notes, pages and
bookmarks. Each question of household/questions.toml names the documents that answer it. The half
``held`` shows whether what was built for the half ``dev`` holds for other questions as well.
household/paraphrase.toml has questions that share no word with their answers.
"""

from __future__ import annotations

import asyncio
import sys
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import household
from stores import folder, indexed, opened, options, write_json

from mem_search.model import SearchRequest
from mem_search.model.requests import ReadPart
from mem_search.wiring import Runtime

ASKED: Final = datetime(2025, 11, 20, 12, tzinfo=UTC)
"""When the questions are asked."""

PARAPHRASES: Final = household.TEXTS / "paraphrase.toml"
MANY: Final = 10


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    right: frozenset[str]
    half: str


@dataclass(frozen=True, slots=True)
class Asked:
    """A question and the names of its first ten results."""

    question: Question
    found: Sequence[str]
    is_answered: bool = True
    """Whether the search was said to have an answer."""

    @property
    def first_is_right(self) -> bool:
        return bool(self.found) and self.found[0] in self.question.right

    @property
    def five_have_one(self) -> bool:
        return not self.question.right.isdisjoint(self.found[:5])

    @property
    def recall(self) -> float:
        return len(self.question.right.intersection(self.found)) / len(self.question.right)


def read(path: Path = household.TEXTS / "questions.toml") -> list[Question]:
    """The questions of a file."""
    entries = tomllib.loads(path.read_text("utf-8"))["question"]
    return [Question(each["text"], frozenset(each["right"]), each["half"]) for each in entries]


async def ask(
    runtime: Runtime, questions: Iterable[Question], root: Path, as_words: tuple[ReadPart, ...] = ()
) -> list[Asked]:
    """Ask each question; the parts ``as_words`` are not read."""
    found = []
    for question in questions:
        request = SearchRequest(question.text, limit=MANY, asked_at=ASKED, as_words=as_words)
        page = await runtime.search.pipeline.search(request)
        names = [household.name_of(result.record, root) for result in page.results]
        found.append(Asked(question, names, page.report.answerable))
    return found


def figures(asked: Sequence[Asked]) -> dict[str, float]:
    """Precision of the first result and recall of the first ten."""
    return {
        "questions": len(asked),
        "precision@1": round(sum(each.first_is_right for each in asked) / len(asked), 3),
        "recall@10": round(sum(each.recall for each in asked) / len(asked), 3),
    }


def by_half(asked: Sequence[Asked]) -> Mapping[str, dict[str, float]]:
    """The figures of each half, and of all."""
    halves = {half: [each for each in asked if each.question.half == half]
              for half in ("dev", "held")}  # fmt: skip
    return {name: figures(each) for name, each in {**halves, "all": [*asked]}.items()}


def paraphrase_figures(asked: Sequence[Asked]) -> dict[str, float]:
    """Shares: of questions whose first is right, that have one among five, that have an answer."""
    count = len(asked)
    return {
        "questions": count,
        "first": round(sum(each.first_is_right for each in asked) / count, 3),
        "five best": round(sum(each.five_have_one for each in asked) / count, 3),
        "answered": round(sum(each.is_answered for each in asked) / count, 3),
    }


async def load(runtime: Runtime, root: Path) -> int:
    """Read the household's documents and wait for the index; how many there are."""
    taken = 0
    for location in household.write(root):
        done = await runtime.ingest.reader.read(location, follow=False)
        taken += done.new
        if done.failed:
            raise ValueError(f"{done.failed} documents of {location.path} could not be read")
    await indexed(runtime)
    return taken


async def main() -> int:
    parser = options("documents", __doc__, "embedder", "json")
    parser.add_argument("--held", action="store_true", help="show the failures of both halves")
    args = parser.parse_args()
    with folder() as temporary:
        root = temporary / "household"
        async with opened(temporary / "home", args.embedder) as runtime:
            documents = await load(runtime, root)
            asked = await ask(runtime, read(), root)
            times = await ask(runtime, read(), root, ("kind", "person"))
            without = await ask(runtime, read(), root, ("all",))
            reworded = await ask(runtime, read(PARAPHRASES), root)
    for each in asked:
        if not each.first_is_right and (args.held or each.question.half == "dev"):
            first = each.found[0] if each.found else "nothing"
            print(f"  {each.question.text}   first: {first}")
    read_as = {"read whole": asked, "times alone": times, "not read": without}
    report: dict[str, Mapping[str, object]] = {
        name: by_half(each) for name, each in read_as.items()
    }
    print(f"{documents} documents")
    for name, halves in report.items():
        for half, shown in halves.items():
            line = "  ".join(f"{what} {value}" for what, value in shown.items())
            print(f"{name:12} {half:5} {line}")
    for half in ("dev", "held"):
        of_half = [each for each in reworded if each.question.half == half]
        report[f"paraphrases, {half}"] = shown = paraphrase_figures(of_half)
        line = "  ".join(f"{what} {value}" for what, value in shown.items())
        print(f"{'paraphrases':12} {half:5} {line}")
    write_json(args.json, {"documents": documents, **report})
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
