"""Is what an archive answers told from what it does not: precision and recall of ``archive check``.

The questions are those of check.toml. The constants of ``features/archives/search.py`` were fitted
on the questions with an even number; the others are held out. A document that answers has to be the
one that the question was written for.
"""

from __future__ import annotations

import asyncio
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from stores import SHARED, folder, indexed, opened, options, write_json

from mem_search.features.archives.model import ANSWERED
from mem_search.features.archives.search import check_request
from mem_search.model import Location

QUESTIONS = Path(__file__).parent / "check.toml"
MIN_PRECISION, MIN_RECALL = 0.9, 0.7


class Asked(NamedTuple):
    """A question with the report that answers it (""), how sure the product is, and of which."""

    text: str
    report: str
    sure: float = 0.0
    found: str = ""


def read(path: Path) -> list[Asked]:
    """The questions of a file, in its order."""
    parts = tomllib.loads(path.read_text("utf-8"))
    answered = [
        Asked(text, report)
        for part in ("answered", "reworded")
        for report, texts in parts[part].items()
        for text in texts
    ]
    return answered + [Asked(text, "") for texts in parts["unanswered"].values() for text in texts]


async def ask(home: Path, archive: Path, embedder: str, questions: Sequence[Asked]) -> list[Asked]:
    asked = []
    async with opened(home, embedder) as runtime:
        location = Location("research-archive", str(archive), "check")
        taken = await runtime.ingest.reader.read(location)
        print(f"{taken.new} new reports, {taken.failed} failed", file=sys.stderr)
        await indexed(runtime)
        for question in questions:
            page = await runtime.search.pipeline.search(check_request(question.text, "", 5))
            found = max(page.results, key=lambda each: each.confidence or 0.0, default=None)
            name = Path(found.record.source_id).stem if found else ""
            asked.append(question._replace(sure=(found and found.confidence) or 0.0, found=name))
    return asked


def report(name: str, asked: Sequence[Asked], *, show: bool) -> bool:
    """Print the figures of one half; whether they are good enough."""
    said = [each for each in asked if each.sure >= ANSWERED]
    wanted = [each for each in asked if each.report]
    right = [each for each in said if each.found == each.report]
    precision, recall = len(right) / max(1, len(said)), len(right) / max(1, len(wanted))
    print(f"{name}: precision {precision:.3f}, recall {recall:.3f} of {len(wanted)} answered"
          f" and {len(asked) - len(wanted)} other questions")  # fmt: skip
    for each in asked if show else ():
        if (each.sure >= ANSWERED) != bool(each.report) or (each in said and each not in right):
            print(f"  {each.sure:.2f} {each.text} (in {each.report or 'none'}; best {each.found})")
    return precision >= MIN_PRECISION and recall >= MIN_RECALL


def main() -> int:
    args = options(
        "check", __doc__, "home", "embedder", "show", "json",
        data="with a folder research-archive", default=SHARED / "archive",
    ).parse_args()  # fmt: skip
    with folder(args.home) as home:
        archive = args.data / "research-archive"
        asked = asyncio.run(ask(home, archive, args.embedder, read(QUESTIONS)))
    write_json(args.json, [each._asdict() for each in asked])
    halves = {"fitted on": asked[::2], "held out": asked[1::2]}
    return 0 if min([report(*half, show=args.show) for half in halves.items()]) else 1


if __name__ == "__main__":
    sys.exit(main())
