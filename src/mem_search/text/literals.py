"""Rules that are tried only where a text holds the literals that they need.

A rule of hundreds of alternatives takes microseconds at each character when ``re`` tries them all.
Nearly every alternative begins with one of some literals and needs others behind them, and an
Aho-Corasick automaton finds all literals of all rules in one pass. So an alternative is tried where
it may begin, in texts that hold what it needs. RE2 (``FilteredRE2``) and Hyperscan do likewise.

The literals are read from the tree of ``re``'s parser, which has no public name: a test holds what
is read from it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, Final, NamedTuple

from ahocorasick_rs import AhoCorasick

from mem_search.patterns import pattern

_MAX_LITERALS: Final = 100
"""Of one place of a pattern: literals are not made longer where that made more of them."""

_ZERO_WIDTH: Final = (codes.AT, codes.ASSERT, codes.ASSERT_NOT)
_REPEATS: Final = (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT)


class Literals(NamedTuple):
    """``needed``: of each set a match holds one. ``starts``: each match begins with one of them;
    empty where that is not known."""

    needed: tuple[frozenset[str], ...]
    starts: frozenset[str]


class _Run(NamedTuple):
    """What may stand at one place: literals that go on, and those behind which anything stands."""

    going: frozenset[str]
    ended: frozenset[str]

    def end(self) -> _Run:
        return _Run(_NONE, self.going | self.ended)

    def literals(self) -> frozenset[str]:
        """Those without the ones that begin with another; none of them where one is in nearly
        every text: a single letter or sign of ASCII."""
        kept: list[str] = []
        for literal in sorted(self.going | self.ended):
            if not kept or not literal.startswith(kept[-1]):
                kept.append(literal)
        is_rare = all(len(each) > 1 or not each.isascii() for each in kept)
        return frozenset(kept if is_rare else ())


_NONE: Final[frozenset[str]] = frozenset()
_NOTHING: Final = _Run(frozenset({""}), _NONE)
_ANYTHING: Final = _NOTHING.end()


class _Alternative(NamedTuple):
    name: str
    pattern: re.Pattern[str]
    needed: tuple[frozenset[int], ...]
    starts: frozenset[int]


class Rules:
    """``forms`` are names and patterns, the alternatives of one rule under one name.

    Patterns have no flags. Nothing is read from them before the first text.
    """

    def __init__(self, forms: Iterable[tuple[str, str]]) -> None:
        self.forms = tuple(forms)

    def met(self, text: str) -> set[str]:
        """The names of those that ``text`` matches."""
        places = self._places(text)
        met: set[str] = set()
        for name, form, _, starts in self._tried(places):
            if name not in met and (
                any(form.match(text, at) for start in starts for at in places.get(start, ()))
                if starts
                else form.search(text)
            ):
                met.add(name)
        return met

    def matches(self, text: str) -> Iterator[tuple[str, re.Match[str]]]:
        """What ``finditer`` gives for all patterns as one, in their order, with their names."""
        places = self._places(text)
        tried = [*self._tried(places)]
        if not all(each.starts for each in tried):
            for match in self._joined.finditer(text):
                yield self.forms[(match.lastindex or 1) - 1][0], match
            return
        at_place: dict[int, list[_Alternative]] = {}
        for each in tried:
            for at in {at for start in each.starts for at in places.get(start, ())}:
                at_place.setdefault(at, []).append(each)
        end = 0
        for at in sorted(at_place):
            for each in at_place[at] if at >= end else ():
                if here := each.pattern.match(text, at):
                    yield each.name, here
                    end = here.end()
                    break

    def _tried(self, places: dict[int, list[int]]) -> Iterator[_Alternative]:
        """What ``places`` have all literals for, in its order."""
        held = places.keys()
        asked = {each for literal in held for each in self._asked.get(literal, ())}
        for number in sorted(asked.union(self._asked[None])):
            each = self._alternatives[number]
            if not any(map(held.isdisjoint, each.needed)):
                yield each

    def _places(self, text: str) -> dict[int, list[int]]:
        """The number of each literal that ``text`` holds, and where it stands."""
        places: dict[int, list[int]] = {}
        try:
            literals = self._automaton.find_matches_as_indexes(text, overlapping=True)
        except UnicodeEncodeError:  # half of a surrogate pair, which no literal has
            text = text.encode(errors="replace").decode()
            literals = self._automaton.find_matches_as_indexes(text, overlapping=True)
        for literal, start, _ in literals:
            places.setdefault(literal, []).append(start)
        return places

    @cached_property
    def _literals(self) -> list[Literals]:
        return [literals_of(form) for _, form in self.forms]

    @cached_property
    def _numbers(self) -> dict[str, int]:
        sets = (literals for each in self._literals for literals in (each.starts, *each.needed))
        return {literal: number for number, literal in enumerate(sorted(frozenset().union(*sets)))}

    @cached_property
    def _automaton(self) -> AhoCorasick:
        return AhoCorasick(self._numbers)

    @cached_property
    def _alternatives(self) -> list[_Alternative]:
        def numbers(literals: Iterable[str]) -> frozenset[int]:
            return frozenset(map(self._numbers.__getitem__, literals))

        return [
            _Alternative(name, pattern(form), tuple(map(numbers, needed)), numbers(starts))
            for (name, form), (needed, starts) in zip(self.forms, self._literals, strict=True)
        ]

    @cached_property
    def _asked(self) -> dict[int | None, list[int]]:
        """Alternatives by each literal of the set that they need and few texts hold; under None
        those that need nothing."""
        asked: dict[int | None, list[int]] = {None: []}
        for at, literals in enumerate(self._literals):
            rarest = max(literals.needed, key=_selectivity, default=())
            for number in map(self._numbers.__getitem__, rarest) if rarest else (None,):
                asked.setdefault(number, []).append(at)
        return asked

    @cached_property
    def _joined(self) -> re.Pattern[str]:
        return re.compile("|".join(f"({form})" for _, form in self.forms))


def literals_of(form: str) -> Literals:
    """Those of the pattern ``form``; none where it does not tell lower case from upper."""
    tree = parser.parse(form)
    if tree.state.flags & re.IGNORECASE:
        return Literals((), _NONE)
    sets = [run.literals() for run in _runs(tree)]
    return Literals(tuple(filter(None, sets)), sets[0])


def _runs(parts: Iterable[tuple[Any, Any]]) -> list[_Run]:
    """What stands at the places of ``parts``, in their order; only the last may go on."""
    runs = [_NOTHING]
    for code, value in _joined(parts):
        if not runs[-1].going:
            runs.append(_NOTHING)
        before = runs.pop()
        first, *others = _runs_of(code, value)
        behind = first.end().ended
        if len(before.going) * len(behind) > _MAX_LITERALS:
            runs += [_Run(_NONE, before.ended | _begun(before.going, behind)), first]
        else:
            going, ended = (
                frozenset([one + each for one in before.going for each in literals])
                for literals in first
            )
            runs.append(_Run(going, before.ended | ended))
        runs += others
    return runs


def _joined(parts: Iterable[tuple[Any, Any]]) -> Iterator[tuple[Any, Any]]:
    """``parts`` with the letters that follow each other as one literal."""
    for code, group in groupby(parts, itemgetter(0)):
        values = [value for _, value in group]
        for value in ["".join(map(chr, values))] if code is codes.LITERAL else values:
            yield code, value


def _begun(before: frozenset[str], behind: frozenset[str]) -> frozenset[str]:
    """``before`` with as many letters of what stands ``behind`` as gives few literals."""
    for length in (4, 3, 2, 1):
        begun = {each[:length] for each in behind}
        if len(before) * len(begun) <= _MAX_LITERALS:
            return frozenset(one + each for one in before for each in begun)
    return before


def _runs_of(code: Any, value: Any) -> list[_Run]:
    """The same of one part."""
    if code in _ZERO_WIDTH:
        return [_NOTHING]
    if code is codes.LITERAL:
        return [_Run(frozenset({value}), _NONE)]
    if code is codes.IN and all(each is codes.LITERAL for each, _ in value):
        return [_Run(frozenset(chr(each) for _, each in value), _NONE)]
    if code is codes.SUBPATTERN and not value[1]:  # without flags of its own
        return _runs(value[3])
    if code is codes.ATOMIC_GROUP:
        return _runs(value)
    if code is codes.BRANCH:
        return _either([_runs(each) for each in value[1]])
    if code in _REPEATS:
        least, most, part = value
        *runs, last = _runs(part)
        if least:
            return [*runs, last if most == 1 else last.end()]
        if most == 1:
            first = (*runs, last)[0]
            return [_Run(first.going | {""}, first.ended)]
    return [_ANYTHING]


def _either(branches: list[list[_Run]]) -> list[_Run]:
    """What stands where one of ``branches`` does: how they begin, else the best of each."""
    firsts = zip(*(branch[0] for branch in branches), strict=True)
    first = _Run(*(_NONE.union(*sets) for sets in firsts))
    if "" not in first.ended:
        return [first]
    best = [max((run.literals() for run in branch), key=_selectivity) for branch in branches]
    return [first.end(), _Run(_NONE, _NONE.union(*best))] if all(best) else [first]


def _selectivity(literals: frozenset[str]) -> tuple[int, int]:
    """Long literals are rare, and few are better than many."""
    return min(map(len, literals), default=0), -len(literals)
