"""``scripts/evaluate translations FROM TO``: a judged set in nine languages, of a translated book.

``FROM`` has a folder for each language, named by its code, with the AsciiDoc files of a translation
of Pro Git (github.com/progit/progit2, progit2-de, …); ``TO`` becomes a judged set. A document is
what stands below a heading. There are two sorts of questions; their ids begin with the language:

- ``h``: the heading, as the translator put it; the text below it is the answer.
- ``i``: two rare words of a document, each in another form than the document has. The forms are
  those of simplemma's dictionaries, which know no stemmer, and stand elsewhere in the book; every
  document with both words in any form is an answer.

Sections that are still in English are left out of the other languages. Needs simplemma.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Final

LANGUAGES: Final = ("en", "de", "es", "fr", "it", "nl", "pt", "ru", "sv")
MIN_CHARS: Final = 200
MIN_LETTERS: Final = 5
"""Letters of a word that is asked for."""

MAX_SHARE: Final = 0.05
"""Of the documents of its language that may have a word that is asked for."""

MOST: Final = 80
"""Questions of each sort in each language."""

ENGLISH: Final = frozenset("the and you that this with your".split())
MAX_ENGLISH: Final = 0.02
"""Of the words of a section that are among ``ENGLISH``; about a tenth in English."""

_SEED: Final = 42
_HEADING: Final = re.compile(r"^={2,5} +(.+?)\s*$", re.MULTILINE)
_MARKUP: Final = re.compile(
    r"\(\(\(.*?\)\)\)|^\[.*?\]$|^image::.*$|^//.*$|^include::.*$|<<[^>]*?(?:,([^>]*))?>>",
    re.MULTILINE | re.DOTALL,
)
_WORD: Final = re.compile(r"[^\W\d_]+")


@dataclass(slots=True)
class Section:
    id: str
    title: str
    text: str
    words: set[str] = field(default_factory=set)
    """In lower case."""


def sections(folder: Path, language: str) -> Iterator[Section]:
    for path in sorted(folder.rglob("*.asc")):
        pieces = _HEADING.split(path.read_text(encoding="utf-8"))
        for at in range(1, len(pieces), 2):
            text = re.sub(r"\n{3,}", "\n\n", _MARKUP.sub(r"\1", pieces[at + 1])).strip()
            if len(text) >= MIN_CHARS:
                name = f"{language}-{path.relative_to(folder)}-{at // 2}"
                title = re.sub(r"[`_*+]|\(\(\(.*?\)\)\)", "", pieces[at]).strip()
                yield Section(name, title, text, set(_WORD.findall(text.lower())))


def translated(found: list[Section]) -> list[Section]:
    """Those of ``found`` that are not in English still."""

    def share(each: Section) -> float:
        words = _WORD.findall(each.text.lower())
        return sum(word in ENGLISH for word in words) / max(1, len(words))

    return [each for each in found if share(each) < MAX_ENGLISH]


def forms_of(language: str, words: set[str]) -> dict[str, str]:
    """Word → its lemma, of those that the dictionary has."""
    from simplemma.strategies.dictionaries.dictionary_factory import DefaultDictionaryFactory

    known = DefaultDictionaryFactory().get_dictionary(language)
    found: dict[str, str] = {}
    for word in words:
        for spelt in (word, word.capitalize()):
            if spelt in known:
                lemma = known[spelt]
                found[word] = (lemma.decode() if isinstance(lemma, bytes) else lemma).lower()
                break
    return found


def inflected(found: list[Section], language: str) -> Iterator[tuple[str, list[str]]]:
    """(question, ids of its answers)"""
    chance = random.Random(_SEED)
    lemmas = forms_of(language, set().union(*(each.words for each in found)))
    forms: dict[str, set[str]] = defaultdict(set)
    having: dict[str, set[str]] = defaultdict(set)
    for word, lemma in lemmas.items():
        forms[lemma].add(word)
    for each in found:
        for word in each.words & lemmas.keys():
            having[lemmas[word]].add(each.id)
    most = MAX_SHARE * len(found)
    asked: list[tuple[str, list[str]]] = []
    for each in found:
        others = {
            lemma: sorted(w for w in forms[lemma] - each.words if len(w) >= MIN_LETTERS)
            for lemma in sorted({lemmas[word] for word in each.words & lemmas.keys()})
            if len(having[lemma]) <= most
        }
        pairs = list(combinations([lemma for lemma, words in others.items() if words], 2))
        if pairs:
            one, other = chance.choice(pairs)
            text = f"{chance.choice(others[one])} {chance.choice(others[other])}"
            asked.append((text, sorted(having[one] & having[other])))
    yield from chance.sample(asked, min(MOST, len(asked)))


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/evaluate translations", description=__doc__)
    parser.add_argument("folder", type=Path, metavar="FROM")
    parser.add_argument("to", type=Path, metavar="TO")
    given = parser.parse_args()
    given.to.mkdir(parents=True, exist_ok=True)
    english = {each.title for each in sections(given.folder / "en", "en")}
    corpus, queries, qrels = [], [], ["query-id\tcorpus-id\tscore"]

    def ask(name: str, text: str, answers: list[str]) -> None:
        queries.append({"id": name, "text": text})
        qrels.extend(f"{name}\t{answer}\t1" for answer in answers)

    for language in LANGUAGES:
        found = list(sections(given.folder / language, language))
        found = found if language == "en" else translated(found)
        corpus += [{"id": each.id, "type": "note", "text": each.text} for each in found]
        titles = [each.title for each in found]
        original = english if language != "en" else set()
        asked = [e for e in found if titles.count(e.title) == 1 and e.title not in original]
        asked = random.Random(_SEED).sample(asked, min(MOST, len(asked)))
        for at, each in enumerate(asked):
            ask(f"{language}-h{at}", each.title, [each.id])
        number = 0
        for number, (text, answers) in enumerate(inflected(found, language), 1):
            ask(f"{language}-i{number}", text, answers)
        print(language, len(found), "documents,", len(asked), "headings,", number, "inflected")
    for name, rows in (("corpus", corpus), ("queries", queries)):
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (given.to / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    (given.to / "qrels.tsv").write_text("\n".join(qrels) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
