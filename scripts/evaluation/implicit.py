"""Are citations without a link found: quotations, copies and rare phrases that were planted.

The middle of each report of an archive becomes a saved page, and the rest of the others gets
passages of it. What is planted: sentences, parts of sentences, sentences with some words changed,
paragraphs with words left out, and three short phrases of a page. What must not count: sentences
that many pages share, quotations of a third source, and phrases of everyday writing.

Half of the pages, by their number, are the half on which limits were chosen; the other is held out.
"""

from __future__ import annotations

import asyncio
import random
import re
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import stores

from mem_search.features.archives.sql import ArchiveStore
from mem_search.text.page_names import page_name

MIN_PRECISION, MIN_RECALL = 0.9, 0.8
FORMS = ("quotation", "part", "reworded", "copied", "phrases")
EACH = 4
"""Pages that each report takes something from."""

_SENTENCE = re.compile(r"[A-Z][^.!?\n]{30,400}[.!?](?=\s)")
_LINK = re.compile(
    r"\[([^\[\]\n]{1,300})\]\([^()\s]{1,1000}\)|https?://\S{1,1000}|\[[0-9, ]{1,20}\]"
)

SHARED = (
    "We use cookies to give you the best experience of our website and to measure its use.",
    "This article is for general information only and is no advice of any professional kind.",
    "Subscribe to our newsletter and get the most important stories every week by mail.",
    "The views in this article are those of the author and not those of the publisher.",
    "All rights reserved; no part of this page may be copied without written permission.",
    "Further research is needed before any firm conclusion can be drawn from these findings.",
)
THIRD = (
    "It was the best of times, it was the worst of times, it was the age of wisdom.",
    "If I have seen further, it is by standing on the shoulders of giants.",
    "The only thing we have to fear is fear itself, the president told the crowd in 1933.",
    "All happy families are alike; each unhappy family is unhappy in its own way.",
    "Any sufficiently advanced technology is indistinguishable from magic, Clarke once wrote.",
)
FRAMES = (
    "As observers have put it: {}",
    "One account says that {}",
    "It has been noted before: {}",
    "{} This has been said more than once.",
)
SMALL = "thing part case point kind side".split()


@dataclass(frozen=True)
class Plant:
    report: int
    page: int
    form: str
    text: str


def plain(text: str) -> str:
    """Without links, so that nothing is cited explicitly."""
    return _LINK.sub(lambda found: found[1] or "", text)


def thirds(text: str) -> tuple[str, str]:
    """(the outer thirds of a text, its middle), cut between lines."""
    lines = text.split("\n")
    low, high = len(lines) // 3, 2 * len(lines) // 3
    return "\n".join([*lines[:low], "", *lines[high:]]), "\n".join(lines[low:high])


def sentences(text: str) -> list[str]:
    found = [" ".join(match[0].split()) for match in _SENTENCE.finditer(text)]
    return [each for each in found if 12 <= len(each.split()) <= 45]


def planted(form: str, said: Sequence[str], dice: random.Random) -> str:
    """A passage of a page with the sentences ``said``, as a report may take it over."""
    words = dice.choice([each for each in said if len(each.split()) >= 14] or said).split()
    if form == "quotation":
        return dice.choice(FRAMES).format(f"“{' '.join(words)}”")
    if form == "part":
        start = dice.randrange(0, len(words) - 10)
        return dice.choice(FRAMES).format(" ".join(words[start : start + 10]).rstrip(".") + ".")
    if form == "reworded":
        return " ".join(dice.choice(SMALL) if at % 7 == 5 else w for at, w in enumerate(words))
    at = dice.randrange(0, max(1, len(said) - 4))
    if form == "copied":
        copied = " ".join(said[at : at + 4]).split()
        return " ".join(word for word in copied if dice.random() > 0.1)
    taken = dice.sample(list(said), min(3, len(said)))
    starts = [dice.randrange(0, len(each.split()) - 6) for each in taken]
    parts = [
        " ".join(each.split()[s : s + 6]).strip(".,") for each, s in zip(taken, starts, strict=True)
    ]
    return f"There is talk of {parts[0]}, and elsewhere of {' and then '.join(parts[1:])}."


def planting(texts: Sequence[str], seed: int) -> tuple[list[str], list[str], list[Plant]]:
    """(reports, pages, what was planted); the page ``n`` is from the report ``n``."""
    dice = random.Random(seed)
    outer, middle = zip(*(thirds(plain(text)) for text in texts), strict=True)
    pages, reports, plants = list(middle), list(outer), []
    said = [sentences(page) for page in pages]
    usable = [number for number, each in enumerate(said) if len(each) >= 8]
    for number in range(len(reports)):
        others = [page for page in usable if page != number]
        for page in dice.sample(others, EACH):
            form = FORMS[len(plants) % len(FORMS)]
            text = planted(form, said[page], dice)
            plants.append(Plant(number, page, form, text))
            lines = reports[number].split("\n\n")
            lines.insert(dice.randrange(1, len(lines)), text)
            reports[number] = "\n\n".join(lines)
    for number in range(len(pages)):
        pages[number] += "\n\n" + "\n".join(dice.sample(SHARED, 2))
        if number % 3 == 0:
            pages[number] += "\n\n" + THIRD[number // 3 % len(THIRD)]
            reports[(number + 7) % len(reports)] += "\n\n" + dice.choice(SHARED)
            reports[(number + 11) % len(reports)] += "\n\n" + THIRD[number // 3 % len(THIRD)]
    return reports, pages, plants


def drafts_of(reports: Sequence[str], pages: Sequence[str]) -> list[dict[str, str]]:
    """The records of an archive, in an order that mixes both."""
    drafts = [
        {"kind": "report", "source_id": f"r{number}", "text": text}
        for number, text in enumerate(reports)
    ] + [
        {"kind": "website", "source_id": f"p{number}", "text": text,
         "url": f"https://pages.example/{number}"}
        for number, text in enumerate(pages)
    ]  # fmt: skip
    random.Random(1).shuffle(drafts)
    return drafts


async def found_in(reports: Sequence[str], pages: Sequence[str]) -> dict[tuple[int, int], float]:
    """(report, page) → confidence, of what the product finds."""
    drafts = drafts_of(reports, pages)
    with stores.folder() as home:
        async with stores.opened(home, "hashing", background=False, chroma_url="off") as runtime:
            await stores.import_lines(runtime, drafts, home / "records.jsonl")
            numbers = list(range(1, len(drafts) + 1))
            cited = await runtime.store.part(ArchiveStore).references(numbers, 1000)
        names = {
            page_name(f"https://pages.example/{number}"): number for number in range(len(pages))
        }
        origin = {number: each["source_id"] for number, each in enumerate(drafts, 1)}
        return {
            (int(origin[each.citing.number][1:]), names[page_name(each.target)]): each.confidence
            for each in cited
        }


def report(
    found: dict[tuple[int, int], float], plants: Sequence[Plant], half: int, *, show: bool
) -> bool:
    """Print the figures of one half; whether they are good enough."""
    wanted = {(each.report, each.page): each for each in plants if each.page % 2 == half}
    seen = {pair for pair in found if pair[0] != pair[1] and pair[1] % 2 == half}
    right = seen & wanted.keys()
    missed = Counter(each.form for pair, each in wanted.items() if pair not in seen)
    forms = Counter(each.form for each in wanted.values())
    precision, recall = len(right) / max(1, len(seen)), len(right) / max(1, len(wanted))
    each = ", ".join(f"{form} {forms[form] - missed[form]}/{forms[form]}" for form in FORMS)
    name = ("chosen on", "held out")[half]
    print(f"{name}: precision {precision:.3f}, recall {recall:.3f} of {len(wanted)} ({each})")
    if show:
        for pair in sorted(seen - wanted.keys()):
            print(f"  extra: report {pair[0]}, page {pair[1]}, confidence {found[pair]:.2f}")
        for pair in sorted(wanted.keys() - seen):
            print(f"  missed: {wanted[pair].form}: {wanted[pair].text[:150]}")
    return precision >= MIN_PRECISION and recall >= MIN_RECALL


def main() -> int:
    told = "with a folder research-archive"
    place = stores.SHARED / "archive"
    parser = stores.options("implicit", __doc__, "show", data=told, default=place)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--half", type=int, choices=(0, 1), help="only one: 1 is held out")
    args = parser.parse_args()
    files = sorted((args.data / "research-archive").glob("*.md"))
    texts = [file.read_text("utf-8") for file in files]
    reports, pages, plants = planting(texts, args.seed)
    found = asyncio.run(found_in(reports, pages))
    halves = (0, 1) if args.half is None else (args.half,)
    return 0 if min([report(found, plants, half, show=args.show) for half in halves]) else 1


if __name__ == "__main__":
    sys.exit(main())
