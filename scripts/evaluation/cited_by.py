"""Would pages that are cited often be worth raising: a prior by the number of citing sections.

The judged set is made of an archive by a rule. A page has the sentences that cite it as its text.
Of each page that several sentences cite, one sentence is held back: without its links it is the
question, and the pages that it cites are the answers (local citation recommendation: He et al.,
"Context-aware citation recommendation", WWW 2010). A section that cites a page only in a sentence
that was held back does not count. Such a set favours the prior, because what is cited often is the
answer more often. So the answered questions of check.toml are asked as well: their answers are
reports, which nothing here cites.

Reports with an even number are the half to choose a weight on; the others are held out.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import random
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import bootstrap
import check
from data_folder import add_data
from implicit import DATA, plain
from indexed import indexed
from metrics import judge

from mem_search.model import Filters, Location, SearchRequest
from mem_search.model.records import HOLDINGS
from mem_search.settings import Settings
from mem_search.text import cites
from mem_search.text.page_names import page_name
from mem_search.wiring import open_runtime

WEIGHTS = (0.1, 0.3, 1.0)
"""Added to a fused score for each doubling of 1 + the sections that cite a page."""
SHOWN = ("ndcg@10", "recall@10")
MIN_WORDS = 8
RANKED = 100
_SEED = 16


class Sentence(NamedTuple):
    """A sentence of a report, without its links, and the names of the pages that it cites."""

    text: str
    section: int
    pages: frozenset[str]


@dataclass(frozen=True)
class Question:
    report: str
    text: str
    relevant: frozenset[str]
    is_claim: bool = True


@dataclass(frozen=True)
class JudgedSet:
    """``pages``: name → its record; ``cited``: name → how many sections cite it."""

    pages: Mapping[str, dict[str, str]]
    cited: Mapping[str, int]
    questions: Sequence[Question]


def sentences(text: str) -> tuple[list[Sentence], dict[str, str]]:
    """The sentences of a report that cite, and the entry of each page in its list of references."""
    pages: dict[tuple[int, int], set[str]] = defaultdict(set)
    entries: dict[str, str] = {}
    for place in cites.find(text):
        span = place.context_start, place.context_end
        if not (name := page_name(place.target)):
            continue
        if place.form == "entry":
            entries.setdefault(name, _title(plain(text[slice(*span)])))
        else:
            pages[span].add(name)
    found = []
    for (start, end), named in sorted(pages.items()):
        said = " ".join(plain(text[start:end]).split())
        if len(said.split()) >= MIN_WORDS:
            section = text.count("\n#", 0, start)
            found.append(Sentence(said, section, frozenset(named)))
    return found, entries


def _title(entry: str) -> str:
    return " ".join(entry.lstrip(" -*[]().0123456789").split()).rstrip(" -.*[]")


def judged(reports: Mapping[str, str]) -> JudgedSet:
    """The set of all ``reports``, name → text. The same for the same reports."""
    dice = random.Random(_SEED)
    pages: dict[str, dict[str, str]] = {}
    cited: dict[str, int] = {}
    questions: list[Question] = []
    for report, text in sorted(reports.items()):
        said, entries = sentences(text)
        left: dict[str, set[Sentence]] = defaultdict(set)
        for sentence in said:
            for name in sentence.pages:
                left[name].add(sentence)
        held: list[Sentence] = []
        for name in sorted(left):
            free = sorted(
                each for each in left[name] if all(len(left[page]) > 1 for page in each.pages)
            )
            if free and not any(name in each.pages for each in held):
                held.append(dice.choice(free))
                for page in held[-1].pages:
                    left[page].discard(held[-1])
        questions += [Question(report, each.text, each.pages) for each in held]
        for name, kept in left.items():
            url = f"https://{name}"
            words = "\n\n".join(each.text for each in said if each in kept)
            title = entries.get(name, "")
            pages[name] = {"kind": "website", "source_id": name, "url": url, "title": title,
                           "text": words}  # fmt: skip
            cited[name] = cited.get(name, 0) + len({each.section for each in kept})
    return JudgedSet(pages, cited, questions)


def answered() -> list[Question]:
    """The questions of check.toml that a report answers."""
    asked = check.read(check.QUESTIONS)
    return [
        Question(each.report, each.text, frozenset([each.report]), is_claim=False)
        for each in asked
        if each.report
    ]


async def ask(
    home: Path, reports: Mapping[str, str], made: JudgedSet, embedder: str
) -> list[tuple[Question, dict[float, dict[str, float]]]]:
    """Each question with its measures by weight; 0 is the ranking of the product."""
    lines = home / "records.jsonl"
    records = [
        {"kind": "report", "source_id": name, "text": text} for name, text in reports.items()
    ]
    lines.write_text("".join(json.dumps(each) + "\n" for each in [*records, *made.pages.values()]))
    results = []
    async with open_runtime(Settings(home=home, embedder=embedder, follow=0)) as runtime:
        await runtime.ingest.reader.read(Location("jsonl", str(lines)))
        await indexed(runtime)
        for question in [*made.questions, *answered()]:
            kinds = ("website",) if question.is_claim else tuple(HOLDINGS)
            request = SearchRequest(question.text, Filters(kinds=kinds), limit=RANKED)
            page = await runtime.search.pipeline.search(request)
            scored = [(each.record.source_id, each.score) for each in page.results]
            relevant = dict.fromkeys(question.relevant, 1.0)
            measured = {}
            for weight in (0.0, *WEIGHTS):
                prior = {
                    name: weight * math.log2(1 + made.cited.get(name, 0)) for name, _ in scored
                }
                ranked = sorted(scored, key=lambda each: -each[1] - prior[each[0]])
                measured[weight] = judge([name for name, _ in ranked], relevant)
            results.append((question, measured))
    return results


def report(name: str, results: Sequence[tuple[Question, dict[float, dict[str, float]]]]) -> None:
    """Print the measures of some questions by weight, and the interval of the change."""
    print(f"{name}: {len(results)} questions")
    for weight in (0.0, *WEIGHTS):
        shown = []
        for measure in SHOWN:
            values = [measured[weight][measure] for _, measured in results]
            change = [measured[weight][measure] - measured[0.0][measure] for _, measured in results]
            found = bootstrap.intervals({"change": change})["change"]
            span = f"{found.mean:+.3f}, {found.low:+.3f} to {found.high:+.3f}"
            shown.append(f"{measure} {sum(values) / len(values):.3f} ({span})")
        print(f"  weight {weight:<4g}" + "  ".join(shown))


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/evaluate cited-by", description=__doc__)
    add_data(parser, DATA, "with a folder research-archive")
    parser.add_argument("--home", type=Path, help="keep the store here and reuse it")
    parser.add_argument("--embedder", default="bundled")
    args = parser.parse_args()
    files = sorted((args.data / "research-archive").glob("*.md"))
    reports = {file.stem: file.read_text("utf-8") for file in files}
    made = judged(reports)
    most = sum(count > 1 for count in made.cited.values())
    print(f"{len(made.pages)} pages, {most} of them cited by more than one section")
    with tempfile.TemporaryDirectory(prefix="mem-search-evaluate-") as temporary:
        home = args.home or Path(temporary)
        home.mkdir(parents=True, exist_ok=True)
        results = asyncio.run(ask(home, reports, made, args.embedder))
    numbers = {name: int("".join(filter(str.isdigit, name)) or 0) for name in reports}
    for is_claim, what in ((True, "sentences that cite"), (False, "questions for reports")):
        for half, which in ((0, "to choose on"), (1, "held out")):
            some = [
                (question, measured)
                for question, measured in results
                if question.is_claim == is_claim and numbers[question.report] % 2 == half
            ]
            report(f"{what}, {which}", some)
    return 0


if __name__ == "__main__":
    sys.exit(main())
