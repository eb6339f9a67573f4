"""Words of a question, as the full-text index will see them.

FTS5's ``unicode61`` takes letters and digits as words and everything else as space, so a
question is cut the same way: ``a::b``, ``x/y.py`` and ``snake_case`` become their parts, and
no character of a question can be query syntax. Question words that carry no meaning are left
out unless nothing else remains. Chinese, Japanese and Korean runs are cut into the same
character pairs that ``parts`` puts into the index beside the text. There the last character of a
run stands alone as well: every other one heads a pair, so that each is found by itself.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace

STOP_WORDS = frozenset(
    "a an and are as at be by did do does for from had has have he her his how i in is it its me"
    " my of on or our she that the their them they this to was we were what when where which who"
    " whom why will with would you your".split()
)
"""54 words; a larger list or frequency trimming ranks worse (docs/retrieval.md)."""

MAX_WORDS = 64
"""More distinct words than this add cost, not meaning: a pasted page is not a question."""

CJK = (
    "\u1100-\u11ff\u2e80-\u2fdf\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uff9f"
    "\U00020000-\U0003134f"
)
"""Chinese, Japanese and Korean, as ranges inside the brackets of a regular expression."""

RUN = re.compile(f"[{CJK}]+|(?:(?![{CJK}])[^\\W_])+")
"""A word: letters and digits, all of them CJK or none."""

_IS_CJK = re.compile(f"[{CJK}]")
_PHRASE = re.compile(r'"([^"]+)"')
_CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_IDENTIFIER = re.compile(r"[A-Za-z0-9]+")
_HASH = re.compile(r"(?=[a-f]*[0-9])(?=[0-9]*[a-f])[0-9a-f]{7,64}")
"""A commit's hash or the beginning of it; of digits or letters alone it might be anything."""


@dataclass(frozen=True, slots=True)
class Words:
    """A question cut up: single words, quoted phrases, CJK runs.

    Phrases must match when ``demanded``, else they only add to the score. ``near`` are words of
    the store that a prefix or a misspelling stands for; ``auth*`` there is all that begin so.
    """

    words: tuple[str, ...] = ()
    phrases: tuple[tuple[str, ...], ...] = ()
    cjk: tuple[str, ...] = ()
    demanded: bool = True
    near: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.words or self.phrases or self.cjk or self.near)

    @property
    def all(self) -> tuple[str, ...]:
        """Every word that may be lit up in a text that matched."""
        inside = (word for phrase in self.phrases for word in phrase)
        near = (word.rstrip("*") for word in self.near)
        return tuple(dict.fromkeys((*self.words, *inside, *self.cjk, *near)))


def read(text: str) -> Words:
    """Cut a question into words. Any text is fine; nothing raises.

    Quotes around several words are a demand when they are at least half of what is asked;
    inside a longer sentence they quote, and their words count like the others.
    """
    text = unicodedata.normalize("NFC", text)
    quoted = [tuple(_runs(inside)) for inside in _PHRASE.findall(text)]
    phrases = tuple(runs for runs in quoted if is_phrase(runs))
    outside = _meaningful(_runs(_PHRASE.sub(" ", text)))
    demanded = sum(map(len, phrases)) >= len(outside)
    if demanded and phrases:
        one_word = [run for runs in quoted if not is_phrase(runs) for run in runs]
        kept = list(dict.fromkeys(outside + one_word))
    else:
        runs = list(dict.fromkeys(_runs(text)))
        kept = _meaningful(runs) or runs
    return Words(
        words=tuple(run for run in kept if not _IS_CJK.match(run))[:MAX_WORDS],
        phrases=phrases[:MAX_WORDS],
        cjk=tuple(run for run in kept if _IS_CJK.match(run))[:MAX_WORDS],
        demanded=demanded,
    )


def unquoted(found: Words) -> Words:
    """The same with phrases that only add to the score, and whose words count like the others."""
    inside = [word for phrase in found.phrases for word in phrase]
    kept = dict.fromkeys((*found.words, *found.cjk, *(_meaningful(inside) or inside)))
    return replace(
        found,
        words=tuple(run for run in kept if not _IS_CJK.match(run))[:MAX_WORDS],
        cjk=tuple(run for run in kept if _IS_CJK.match(run))[:MAX_WORDS],
        demanded=False,
    )


def mostly_foreign(text: str) -> bool:
    """Whether most letters are outside Latin script: the bundled model knows English only."""
    letters = [char for char in text if char.isalpha()]
    foreign = sum(not unicodedata.name(char, "").startswith("LATIN") for char in letters)
    return foreign * 2 > len(letters)


def match_expression(words: Words) -> str:
    """The question as an FTS5 query: any word may match, every demanded phrase must.

    Returns "" when there is nothing to look for.
    """
    phrases = [phrase_expression(phrase) for phrase in words.phrases]
    optional = _alternatives(words)
    if not phrases or not words.demanded:
        return " OR ".join(optional + phrases)
    # A required phrase is named again among the alternatives, so that a record with the
    # phrase alone still matches while other words add to its score.
    required = " AND ".join(phrases)
    return f"({required}) AND ({' OR '.join(phrases + optional)})" if optional else required


def every_expression(words: Words) -> str:
    """The question as an FTS5 query that only a passage with all of it matches; "" for nothing."""
    phrases = [phrase_expression(phrase) for phrase in words.phrases]
    return " AND ".join(phrases + _alternatives(words))


def hash_expression(words: Words) -> str:
    """What has one of the hashes of the question, as an FTS5 query; "" where it has none."""
    return " OR ".join(phrase_expression((word,)) for word in words.words if is_hash(word))


def _alternatives(words: Words) -> list[str]:
    """An expression for each word by itself."""
    alone = [phrase_expression((word,)) for word in words.words]
    alone += [near_expression(word) for word in words.near]
    for run in words.cjk:
        # One character stands in the index as the head of a pair, or alone at the end of a run.
        alone += [_parts(pair, prefix=len(run) == 1) for pair in pairs(run)]
    return alone


def parts(text: str) -> str:
    """Terms to index beside ``text``: CJK character pairs and the parts of camelCase words.

    A word of another script that touches CJK (``使用Redis缓存``) stands here as well: in the text
    the index takes it all for one word.
    """
    found: list[str] = []
    text = unicodedata.normalize("NFC", text)
    for match in RUN.finditer(text):
        run = match[0]
        if _IS_CJK.match(run):
            found += pairs(run)
            found += run[-1:] if len(run) > 1 else ()
            continue
        if _IS_CJK.match(text, match.end()) or _IS_CJK.match(text, max(0, match.start() - 1)):
            found.append(run.lower())
        if _IDENTIFIER.fullmatch(run) and not run.islower() and not run.isupper():
            pieces = _CAMEL.findall(run)
            if len(pieces) > 1 and sum(map(len, pieces)) == len(run):
                found += [piece.lower() for piece in pieces]
    return " ".join(found)


def pairs(run: str) -> list[str]:
    """Overlapping character pairs; a single character stands for itself."""
    if len(run) == 1:
        return [run]
    return [run[i : i + 2] for i in range(len(run) - 1)]


def is_hash(word: str) -> bool:
    """Whether ``word``, in lower case, is a hash in hexadecimal or the beginning of one."""
    return bool(_HASH.fullmatch(word))


def hashes_alone(text: str) -> bool:
    """Whether the text is nothing but hashes: a model can only take it for noise."""
    runs = _runs(text)
    return bool(runs) and all(map(is_hash, runs))


def is_cjk(word: str) -> bool:
    """Whether ``word`` is a run of Chinese, Japanese or Korean."""
    return bool(_IS_CJK.match(word))


def is_phrase(runs: tuple[str, ...]) -> bool:
    """Several words, or a CJK run that the index holds as several pairs."""
    return len(runs) > 1 or any(_IS_CJK.match(run) and len(run) > 2 for run in runs)


def _meaningful(runs: Sequence[str]) -> list[str]:
    return [run for run in runs if run not in STOP_WORDS]


def _runs(text: str) -> list[str]:
    return [run.lower() for run in RUN.findall(text)]


def runs_of(text: str) -> tuple[str, ...]:
    """The words of a piece of text in lower case, such that reading them again changes nothing."""
    return tuple(map(unmarked, _runs(unicodedata.normalize("NFC", text))))


def unmarked(run: str) -> str:
    """A word without the mark that "İ" gets in lower case; the index drops it, too."""
    return "".join(char for char in run if not unicodedata.combining(char))


def near_expression(word: str) -> str:
    """A word of the store, or with ``*`` all that begin so, as an FTS5 expression.

    ``_`` joins words that stand together. Chinese, Japanese and Korean are found inside a run
    anyway.
    """
    runs = tuple(word.rstrip("*").split("_"))
    whole = phrase_expression(runs)
    return f"{whole} *" if word.endswith("*") and whole.startswith('"') else whole


def phrase_expression(runs: tuple[str, ...]) -> str:
    """Words next to each other, as an FTS5 expression.

    Runs of one script stand together; where the script changes, both sides must match. The
    beginning of a hash alone stands for all that begin so.
    """
    if len(runs) == 1 and is_hash(runs[0]):
        return f"{_quoted(runs[0])} *"
    terms: list[str] = []
    latin: list[str] = []
    for run in runs:
        if _IS_CJK.match(run):
            if latin:
                terms.append(_quoted(" ".join(latin)))
                latin = []
            terms.append(_parts(" ".join(pairs(run)), prefix=len(run) == 1))
        else:
            latin.append(run)
    if latin:
        terms.append(_quoted(" ".join(latin)))
    return terms[0] if len(terms) == 1 else f"({' AND '.join(terms)})"


def _parts(text: str, *, prefix: bool) -> str:
    return f"parts : {_quoted(text)}{' *' if prefix else ''}"


def _quoted(text: str) -> str:
    return f'"{text}"'
