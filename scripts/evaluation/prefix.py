"""``scripts/evaluate prefix``: is a record found while its word is still being typed.

Each document of the invented household (household.py) gives words that few documents have. Each is
typed letter by letter, alone and behind another word of the document; after ``FIRST`` letters the
document has to be among the first ``SHOWN`` results. Whole words are asked, too: what is typed in
full must not suffer. The words are drawn by a fixed rule, so nobody chose the easy ones.
"""

from __future__ import annotations

import asyncio
import random
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from documents import load
from stores import folder, opened, options, write_json

from mem_search.model import SearchRequest
from mem_search.patterns import pattern
from mem_search.text.words import STOP_WORDS
from mem_search.wiring import Runtime

FIRST: Final = 4
"""Letters from which on a record has to be found."""

SHOWN: Final = 3
MAX_HOLDERS: Final = 2
"""Documents that may have a word that is typed: it is typed to find one of them."""

MIN_LETTERS: Final = 7
WORDS_OF_EACH: Final = 2
"""Words that are drawn of each document."""

MIN_FOUND: Final = 0.9
_SEED: Final = 42
_WORD: Final = pattern(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class Typed:
    """``before`` and the first letters of ``word``, which the records ``right`` have."""

    before: str
    word: str
    right: frozenset[int]


def drawn(texts: dict[int, str]) -> Iterator[Typed]:
    """Words of the records ``texts``, each alone and behind another word of its record."""
    chance = random.Random(_SEED)
    holders: dict[str, set[int]] = defaultdict(set)
    words = {
        number: sorted({*map(str.lower, _WORD.findall(text))}) for number, text in texts.items()
    }
    for number, of_record in words.items():
        for word in of_record:
            holders[word].add(number)
    for of_record in words.values():
        rare = [each for each in of_record
                if len(each) >= MIN_LETTERS and len(holders[each]) <= MAX_HOLDERS]  # fmt: skip
        others = [each for each in of_record if len(each) > FIRST and each not in STOP_WORDS]
        for word in chance.sample(rare, min(WORDS_OF_EACH, len(rare))):
            yield Typed("", word, frozenset(holders[word]))
            before = chance.choice([each for each in others if each != word] or [word])
            both = holders[word] & holders[before]
            yield Typed(f"{before} ", word, frozenset(both))


async def ask(runtime: Runtime, each: Typed, letters: int) -> bool:
    """Whether a right record is among the first when so many letters are typed."""
    request = SearchRequest(each.before + each.word[:letters], limit=SHOWN)
    page = await runtime.search.pipeline.search(request)
    return not each.right.isdisjoint(result.record.number for result in page.results)


async def texts_of(runtime: Runtime) -> dict[int, str]:
    """The title and text of every record."""
    request = SearchRequest("*", limit=100)
    found: dict[int, str] = {}
    while page := (await runtime.search.pipeline.search(request)).results:
        found |= {each.record.number: f"{each.record.title} {each.record.text}" for each in page}
        request = SearchRequest("*", limit=100, offset=len(found))
    return found


def show(name: str, found: Sequence[tuple[int, int, bool]]) -> float:
    """Print the share that is found, in all and by letters; returns the share in all."""
    share = sum(each for _, _, each in found) / max(1, len(found))
    line = []
    for letters in range(FIRST, MIN_LETTERS):
        of = [each for typed, length, each in found if typed == letters and length > letters]
        line.append(f"{letters} {sum(of) / max(1, len(of)):.3f}")
    whole = [each for typed, length, each in found if typed == length]
    line.append(f"whole {sum(whole) / max(1, len(whole)):.3f}")
    print(f"{name:12} {share:.3f} of {len(found)}   after letters: {'  '.join(line)}")
    return share


async def main() -> int:
    args = options("prefix", __doc__, "home", "embedder", "show", "json").parse_args()
    with folder(args.home) as home, folder() as temporary:
        async with opened(home, args.embedder) as runtime:
            documents = await load(runtime, temporary / "household")
            asked = {"alone": [], "behind": []}  # type: dict[str, list[tuple[int, int, bool]]]
            for each in drawn(await texts_of(runtime)):
                for letters in range(FIRST, len(each.word) + 1):
                    is_found = await ask(runtime, each, letters)
                    part = "behind" if each.before else "alone"
                    asked[part].append((letters, len(each.word), is_found))
                    if args.show and not is_found:
                        print(
                            f"  not found: {each.before}{each.word[:letters]}|{each.word[letters:]}"
                        )
    print(f"{documents} documents")
    shares = {name: show(name, found) for name, found in asked.items()}
    shares["all"] = show("all", [one for found in asked.values() for one in found])
    write_json(args.json, shares)
    return 0 if shares["all"] >= MIN_FOUND else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
