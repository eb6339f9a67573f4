"""Names in a question: identifiers, paths, flags, versions, hashes, tickets, addresses. Pure.

A full-text index cuts ``MEM_SEARCH_WORKER_PORT`` into four common words. Whoever writes a name
means all of it, so a name is looked up as a phrase (``Name.query``) and then compared as it is
written (``Name.held``), because the index does not tell ``foo_bar`` from ``foo bar``.

The time is linear: a text is cut at spaces first, and every expression reads one short token.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

from mem_search.patterns import pattern
from mem_search.text.word_forms import plain
from mem_search.text.words import AnyWords, WordPhrase, WordQuery, extra_terms, is_hash, runs_of

MAX_NAMES: Final = 8
"""Names of one question that are looked up; a pasted text has many more."""

MAX_QUESTION_CHARS: Final = 300
"""Characters in which a number with a word before it is looked for; a pasted text has many."""

MAX_NAME_CHARS: Final = 300
"""Characters of a name; longer tokens are data."""

Held = Literal[0, 1, 2]
"""How a text has a name: not, inside a longer name, or whole. A version without its ``v``, or with
one, counts as inside."""

NAME_LIKE: Final = pattern(r"[\d_./:@#$\\-]|[a-z][A-Z]|[A-Z]{2}[a-z]")
"""Without any of these a text has no names. Most questions have none."""

_TOKEN: Final = pattern(r"[^\s\"'`<>()\[\]{}|,;…“”„‘’«»]+")
_EDGES: Final = ".:!?*=&"
_NUMBER: Final = pattern(
    r"[+-]?[\d.,:/%-]+(?:st|nd|rd|th|s|x|k|m|ms|kb|mb|gb|am|pm)?", re.IGNORECASE
)
_VERSION: Final = pattern(r"[vV]\d+(?:\.\d+)*|\d+(?:\.\d+){1,3}(?:-?(?:a|b|rc|alpha|beta)\.?\d+)?")
_ABBREVIATION: Final = pattern(r"(?:[^\W\d_]\.)+[^\W\d_]")
_MARK: Final = pattern(
    r"""
    ://                                       # a URL
    | \w_ | _\w                               # snake_case, __dunder__, CONSTANT_CASE
    | [a-z][A-Z] | [A-Z]{2}[a-z]{2}           # camelCase, HTTPServer
    | \w\.[^\W\d]                             # dotted names, files
    | \w@\w | \w::\w | \w:[^\W\d] | \w\\\w    # addresses, paths of modules and of Windows
    | \A[.~]{0,2}/\w | [^\W\d][^/]*/[^/]*/    # paths
    | \A@[\w.-]+/[\w.-]                       # scoped packages
    | \A--?[^\W\d] | \A\$[^\W\d] | \A\.[^\W\d]{2}  # flags, variables, hidden files
    | \A\#\d | \A[A-Za-z]{1,10}-?\d{2} | \A0x[0-9a-fA-F]  # tickets, error codes
    | [^\W\d_]\d+[^\W_]*-\w | -[^\W\d_]+\d    # python3-slim
    """,
    re.VERBOSE,
)
_COMPOUND: Final = pattern(r"[^\W_]+(?:[-/][^\W_]+)+")


_LABELS: Final = (
    ("pr", "prs", "pull request", "merge request", "mr", "!", "#", "gh"),
    ("issue", "issues", "bug", "ticket", "#", "gh"),
    ("exit code", "exit status", "error code", "status code", "code", "error", "errno", "fehler"),
    ("invoice", "rechnung", "facture", "factura", "invoice no", "rechnung nr", "rechnungsnummer"),
    ("order", "bestellung", "commande", "pedido"),
    ("step", "schritt", "étape", "paso"),
    ("line", "zeile", "ligne", "línea"),
    ("section", "chapter", "kapitel", "abschnitt"),
    ("version", "release", "v"),
    *((each,) for each in (
        "adr case clap cve din flight gate iso java level migration milestone node page pep"
        " phase port"
        " python rfc room round rule rust seite sphinx sprint stage task tier train wave zimmer zug"
    ).split()),
)  # fmt: skip
"""Words before a number that make it a name; those of one row may stand for each other."""

_PROGRAMS: Final = frozenset("clap java node python rust sphinx".split())
_LABEL_OF: Final = {label: labels for labels in reversed(_LABELS) for label in labels}
_LABEL: Final = "|".join(
    re.escape(each) for each in sorted(_LABEL_OF, key=len, reverse=True) if each[0].isalpha()
)
_NUMBERED: Final = pattern(
    rf"(?<![\w.@/-])(?P<label>{_LABEL})(?P<between>\s*-?(?:no\.?|nr\.?|number)?\s*[#№]?\s*)"
    r"(?P<number>\d{1,12})(?![\w/%-]|\.\d)",
    re.IGNORECASE,
)
_MIN_LONE_DIGITS: Final = 3
"""Digits of a number that is looked for without its word as well: ``#899``."""


@dataclass(frozen=True, slots=True)
class Name:
    """A name as it is written; ``words`` are those of the index, in lower case.

    A ``plain`` one may be ordinary language: ``chroma-mcp`` and ``real-time`` look alike. With
    ``labels`` it is a number behind one of these words: ``PR 899`` is ``#899`` as well.
    """

    text: str
    words: tuple[str, ...]
    plain: bool = False
    labels: tuple[str, ...] = ()

    @property
    def version(self) -> str:
        """``8.2.0`` of ``8.2.0`` and ``v8.2.0``, which name the same version; else empty."""
        return self.text.lstrip("vV") if _VERSION.fullmatch(self.text) and "." in self.text else ""

    @property
    def query(self) -> WordQuery:
        """A passage that may have the name: its words stand together, and the last may go on.

        camelCase may also stand inside a longer word, of which the index has the parts.
        """
        if self.labels:
            number = runs_of(self.text)
            spelt = [runs_of(label) for label in self.labels if label[0].isalpha()]
            rows = [_row(*label, each) for label in spelt for each in (*number, f"0{number[0]}")]
            rows += [_row(f"{label[-1]}{number[0]}") for label in spelt]  # "v2", "tier1"
            if "#" in self.labels or len(self.text) >= _MIN_LONE_DIGITS:
                rows.append(_row(*number))
            return AnyWords(tuple(rows))
        if self.version:
            first, *others = runs_of(self.version)
            return AnyWords((_row(first, *others), _row(f"v{first}", *others)))
        if len(self.words) == 1 and (pieces := extra_terms(self.text).split()):
            return AnyWords((_row(*self.words), _row(*pieces)))
        return _row(*self.words)

    def held(self, text: str) -> Held:
        """How ``text`` has the name, in either case."""
        text = plain(text)
        if self.labels:
            labels = "|".join(map(re.escape, self.labels))
            number = re.escape(self.text)
            beside = (
                rf"(?<![^\W_])(?:{labels})\W{{0,3}}(?:(?:no|nr|number)\W{{1,2}})?"
                rf"[#v]?0{{0,2}}{number}(?![.]?\d)"
            )
            return 2 if re.search(beside, text, re.IGNORECASE) else 0
        well = _held(self.text.casefold(), text)
        if self.version and not well:
            other = f"v{self.version}" if self.version == self.text else self.version
            return min(1, _held(other.casefold(), text))
        return well


def find(text: str) -> tuple[Name, ...]:
    """The first names of a question, each once. Never raises, linear in time."""
    names: dict[str, Name] = {}
    text = plain(text)
    for numbered in _NUMBERED.finditer(text[:MAX_QUESTION_CHARS]):
        label, number = numbered["label"].lower(), numbered["number"]
        if not numbered["between"]:
            continue  # "tier1", "v2"
        if label in _PROGRAMS and len(numbered[0]) < len(text.strip(" ?.")):
            continue  # "python 3 slice": where it is asked for, not what
        said = (*runs_of(label), *runs_of(number))
        names[number.casefold()] = Name(number, said, labels=_LABEL_OF[label])
    for match in _TOKEN.finditer(text):
        written = match[0].rstrip(_EDGES).lstrip("*:!?=&")
        if not written or len(written) > MAX_NAME_CHARS or written.casefold() in names:
            continue
        if written.lstrip("#vV!").casefold() in names:
            continue
        sure = _is_name(written)
        if (sure or _may_be_name(written)) and (words := runs_of(written)):
            names[written.casefold()] = Name(written, words, plain=not sure)
            if len(names) == MAX_NAMES:
                break
    return tuple(names.values())


def _is_name(token: str) -> bool:
    if _VERSION.fullmatch(token):
        return True
    if _NUMBER.fullmatch(token) or _ABBREVIATION.fullmatch(token):
        return False
    return bool(_MARK.search(token)) or is_hash(token.lower())


def _may_be_name(token: str) -> bool:
    return bool(_COMPOUND.fullmatch(token)) and not _NUMBER.fullmatch(token)


def _row(*words: str) -> WordPhrase:
    return WordPhrase(words, prefix=len(words) > 1 and words[-1].isalpha())


def _held(name: str, written: str) -> Held:
    """``Name.held`` of a name in one case. A hash may go on: people write its beginning."""
    best: Held = 0
    text = written.casefold()
    if len(text) != len(written):  # a letter such as ß became two
        written = text
    at = text.find(name)
    while at >= 0:
        end = at + len(name)
        if _ends_before(text, at, name[0]) and (is_hash(name) or _ends_after(text, end)):
            return 2
        before, after = text[at - 1 : at], text[end : end + 1]
        if not (after.isdigit() and name[-1].isdigit()) and (
            not (before.isalnum() and name[0].isalnum()) or _is_hump(written, at)
        ):
            best = 1
        at = text.find(name, at + 1)
    return best


def _is_hump(text: str, at: int) -> bool:
    """Whether a part of a camelCase word begins at ``text[at]``."""
    return text[at].isupper() and (text[at - 1].islower() or text[at + 1 : at + 2].islower())


def _ends_before(text: str, at: int, first: str) -> bool:
    """Whether no longer name goes on to the left of ``text[at]``."""
    before = text[at - 1 : at]
    if _in_word(before):
        return not _in_word(first)
    return before not in ("-", ".") or not _in_word(text[at - 2 : at - 1])


def _ends_after(text: str, end: int) -> bool:
    """Whether no longer name goes on at ``text[end]``."""
    after = text[end : end + 1]
    if after in ("-", "."):
        return not _in_word(text[end + 1 : end + 2])
    return not _in_word(after)


def _in_word(char: str) -> bool:
    return char.isalnum() or char == "_"
