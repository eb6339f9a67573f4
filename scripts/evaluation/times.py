"""Ask questions about times, and report how many find the right days.

Each question of time.toml says which days it means. One that is only a time is right when the
range that was read, and the number of records, are those of these days, and the first page has the
newest of them, newest first. One with other words is right when the range is, its words are those
that remain, and the first result is from these days. One without days is right when no time is
read.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo

from stores import folder, import_lines, indexed, opened, options, write_json

from mem_search.model import DateRange, Location, SearchPage, SearchRequest
from mem_search.text.date_words import to_ms
from mem_search.text.words import runs_of
from mem_search.wiring import Runtime

QUESTIONS = Path(__file__).parent / "time.toml"
WRITTEN = "%b %d, %Y %I:%M %p"
"""How own-activity writes its dates; they are taken as UTC."""


@dataclass(frozen=True, slots=True)
class TimeQuestion:
    """``days`` is the range that is meant; None: the question names no time."""

    text: str
    asked: datetime
    days: DateRange | None
    words: str | None
    over: str

    @classmethod
    def of(cls, entry: dict[str, str]) -> TimeQuestion:
        zone = ZoneInfo(entry.get("zone", "UTC"))
        asked = datetime.fromisoformat(entry["asked"]).replace(tzinfo=zone)
        days = days_of(entry["days"], zone) if "days" in entry else None
        return cls(entry["text"], asked, days, entry.get("words"), entry.get("over", ""))

    @property
    def sort(self) -> str:
        """Of the three sorts of question, the one that it is."""
        if self.days is None:
            return "no time"
        return "time alone" if self.words is None else "time and words"


def read(path: Path) -> list[TimeQuestion]:
    """The questions of a file."""
    return [TimeQuestion.of(each) for each in tomllib.loads(path.read_text("utf-8"))["question"]]


def days_of(text: str, zone: tzinfo) -> DateRange:
    """The days that ``FIRST/LAST`` names, both included."""
    first, _, last = text.partition("/")
    return DateRange(_edge(first, zone), _edge(last or first, zone, last=True))


def _edge(text: str, zone: tzinfo, *, last: bool = False) -> int | None:
    """The first millisecond of a day or time, or the ``last`` one; of ``..`` None."""
    if text == "..":
        return None
    moment = datetime.fromisoformat(text)
    if last and "T" not in text:
        moment += timedelta(days=1)
    return to_ms(moment.replace(tzinfo=zone)) - last


async def wrong(
    runtime: Runtime, questions: Iterable[TimeQuestion]
) -> list[tuple[TimeQuestion, str]]:
    """The questions whose answer is wrong, each with what is wrong about it."""
    created = await _created(runtime)
    found = []
    for question in questions:
        request = SearchRequest(question.text, limit=10, asked_at=question.asked)
        page = await runtime.search.pipeline.search(request)
        if why := _what_is_wrong(question, page, created):
            found.append((question, why))
    return found


def _what_is_wrong(question: TimeQuestion, page: SearchPage, created: Sequence[int]) -> str:
    dates = page.report.analyzed.dates
    if question.days is None:
        return f"read as times: {[each.phrase for each in dates]}" if dates else ""
    if not dates:
        return "no time was read"
    starts, ends = ([getattr(each.range, end) for each in dates] for end in ("start", "end"))
    start = None if None in starts else min(starts)
    end = None if None in ends else max(ends)
    if (start, end) != (question.days.start, question.days.end):
        return f"read as {start} to {end}"
    given = [result.record.created_at for result in page.results]
    if question.words is not None:
        if page.report.analyzed.words != runs_of(question.words):
            return f"ranks by {page.report.analyzed.words}"
        if given and not _inside(given[0], question.days):
            return "the first result is from another time"
        return "" if given else "nothing was found"
    meant = sorted((at for at in created if _inside(at, question.days)), reverse=True)
    if page.total != len(meant):
        return f"found {page.total} of {len(meant)} records"
    return "" if given == meant[: len(given)] else "not the newest first"


def _inside(at: int, days: DateRange) -> bool:
    return (days.start is None or at >= days.start) and (days.end is None or at <= days.end)


async def _created(runtime: Runtime) -> list[int]:
    """When each record was created. Raises ValueError when there is none."""
    everything = SearchRequest("until:now", order="date_desc", limit=1000)
    found: list[int] = []
    while True:
        page = await runtime.search.pipeline.search(replace(everything, offset=len(found)))
        if not page.results:
            break
        found += [result.record.created_at for result in page.results]
    if not found:
        raise ValueError("the store has no records, so every answer would be right")
    return found


async def load(runtime: Runtime, over: str, data: Path, home: Path) -> None:
    """Import what the questions are asked over, and wait until it can be found."""
    if over == "transcripts":
        place = Location("claude-code", str(data / "transcripts" / "claude-code"))
        taken = await runtime.ingest.reader.read(place)
        print(f"{over}: {taken.new} records, {taken.failed} could not be read", file=sys.stderr)
    else:
        lines = (data / "claude-mem" / over / "corpus.jsonl").read_text("utf-8").splitlines()
        await import_lines(runtime, map(_with_iso_date, lines), home / "own-activity.jsonl")
    await indexed(runtime)


def _with_iso_date(line: str) -> dict[str, str]:
    document = json.loads(line)
    moment = datetime.strptime(document["date"], WRITTEN)  # noqa: DTZ007 - taken as UTC
    return {
        "kind": document["type"],
        "source_id": document["id"],
        "text": document["text"],
        "created_at": f"{moment.isoformat()}Z",
    }


async def main() -> int:
    parser = options("time", __doc__, "embedder", "json", data="with the judged sets")
    args = parser.parse_args()
    questions = read(QUESTIONS)
    report: dict[str, dict[str, object]] = {}
    for over in dict.fromkeys(question.over for question in questions):
        asked = [question for question in questions if question.over == over]
        with folder() as home:
            async with opened(home, args.embedder) as runtime:
                await load(runtime, over, args.data, home)
                failed = await wrong(runtime, asked)
        for question, why in failed:
            print(f"  wrong over {over}: {question.text!r}: {why}")
        missed = Counter(question.sort for question, _ in failed)
        for sort, count in Counter(question.sort for question in asked).items():
            share = 1 - missed[sort] / count
            report[f"{over}, {sort}"] = {"questions": count, "right": round(share, 3)}
            print(f"{over:14} {sort:16} {count:4} questions  right {share:.3f}")
    right = sum(int(each["questions"]) * float(each["right"]) for each in report.values())  # type: ignore[call-overload, arg-type]
    print(f"{'all':14} {'':16} {len(questions):4} questions  right {right / len(questions):.3f}")
    write_json(args.json, report)
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
