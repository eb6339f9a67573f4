"""Parsing a query: text → words that rank, a demand, and how both were understood.

A text without operators is kept as it is. In other texts the words that rank are those outside
operators, fields and negations. Every result meets the demand.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from itertools import chain
from typing import cast

from mem_search.model import AllOf, Analyzed, AnyOf, Condition, Demand, Filters, Term
from mem_search.patterns import pattern
from mem_search.text import words
from mem_search.text.query import demands, grammar
from mem_search.text.query.demands import NearWords
from mem_search.text.query.field_values import written
from mem_search.text.query.fields import Fields, KnownKinds
from mem_search.text.query.grammar import Chain, Group, Leaf, Must, Never, Node, Parser
from mem_search.text.query.lexer import Lexer, Token
from mem_search.text.query.wild import FORMS
from mem_search.text.question_times import Times, find_times
from mem_search.text.words import Words


@dataclass(frozen=True, slots=True)
class Reading:
    """A parsed query.

    ``text`` is embedded and ``words`` are looked up; both are empty when the query only filters.
    ``quoted`` is the part of ``demand`` that comes from quotes: when no record has such a phrase,
    its words may be searched instead. ``wild`` are prefixes, fuzzy words and wildcards; the store
    finds the words they match, and the query is read again with those as ``near``.
    """

    text: str
    words: Words
    demand: Demand | None
    analyzed: Analyzed
    wild: tuple[str, ...] = ()
    quoted: tuple[Term, ...] = ()


MAX_MEANT = 64
"""Most words that a wildcard or a prefix stands for one by one, the frequent ones first."""

MEANT = 3
"""So many of them are embedded."""

MAX_EXPRESSION_WORDS = 48
"""Words; a longer text is prose, in which a dash or a colon is no operator."""

_OPERATOR_LIKE = pattern(r'["()+\-:*~<>=]|\b(?:AND|OR|NOT)\b')
"""Without any of these a text has only words, so it needs no parser. Most queries have none."""


@dataclass(frozen=True, slots=True)
class _Expression:
    """The tokens and the tree of a text."""

    tokens: Sequence[Token]
    items: Sequence[Node]
    dangling: Sequence[Token]
    warnings: tuple[str, ...]


def is_plain(text: str) -> bool:
    """Whether ``text`` is words alone, as nearly all are: it needs no parser."""
    return not _OPERATOR_LIKE.search(text)


def read(
    text: str,
    *,
    now: datetime,
    kinds: KnownKinds,
    near: NearWords | None = None,
    demand_quotes: bool = True,
    scopes: Mapping[str, Demand] | None = None,
    times: bool = False,
    signs: bool = False,
) -> Reading:
    """Read any text; never raises. ``now`` is aware, in the time zone of the caller.

    ``scopes`` is lower-case name → demand, for ``scope:name``. With ``times`` a time in plain
    words is no word that ranks (``question_times``). A text that selects records, such as a scope,
    is read without: there no word may be lost. With ``signs`` the words of ``auth*`` are demanded.
    """
    tz = cast(tzinfo, now.tzinfo)
    # Lone surrogates can be neither stored nor looked up.
    clean = text.encode("utf-8", "ignore").decode("utf-8")
    if is_plain(clean):
        asked = find_times(text, now, tz) if times and not is_pasted(text) else None
        if asked is not None:
            text = "" if asked.alone else asked.rest
        query_words = words.read(text)
        analyzed = Analyzed(text, (*query_words.words, *query_words.cjk))
        if asked is None:
            return Reading(text, query_words, None, analyzed)
        demand = _within(asked) if asked.alone or asked.binds else None
        return Reading(text, query_words, demand, _with_times(analyzed, asked, demand))
    parsed = _parse(clean, Fields(kinds, now, tz, scopes or {}))
    explicit = [item for item in parsed.items if demands.is_explicit(item, signs=signs)]
    wanted = _wanted(parsed.items)
    wild = _wild(wanted)
    plain = not explicit and not wild
    if not plain and is_pasted(clean):
        return _as_plain(text, "a pasted text is not parsed; it is read as words")
    outside = [*wanted, *parsed.dangling, *_noise(parsed.tokens)]
    kept = text if plain else _kept(clean, outside, near or {})
    # In an expression each word is there for a reason; beside fields alone it may name a time.
    parts = [demands.of_node(item, near or {}) for item in explicit]
    asked = None
    if times and not wild and not is_pasted(clean) and not any(_terms(parts, negative=True)):
        asked = find_times(kept, now, tz)
    if asked is not None:
        kept = "" if asked.alone else asked.rest
    # What a wildcard stands for is looked up, but was not typed.
    typed = [token for token in outside if token.sort != "wildcard"]
    query_words = words.read(kept if len(typed) == len(outside) else _kept(clean, typed, {}))
    quoted = _quoted(query_words, parsed.items, plain) if demand_quotes else ()
    within = [_within(asked)] if asked is not None and (asked.alone or asked.binds) else []
    required = [*quoted, *parts, *within]
    demand = demands.all_of(required) if required else None
    if demand is not None and demands.is_too_large(demand):
        return _as_plain(
            text,
            f"more than {demands.MAX_LEAVES} demands, or too many within each other: read as text",
        )
    if not demand_quotes:
        query_words = words.unquoted(query_words)
    elif any(leaf.form == "exact" for leaf in _terms(parts)):
        # The demand contains the terms already; for the other words it would be wrong.
        query_words = replace(query_words, demanded=False)
    looked_up = tuple(dict.fromkeys(word for token in wild for word in _near(token, near or {})))
    query_words = replace(query_words, near=looked_up)
    warnings = parsed.warnings
    if near is not None:
        warnings += tuple(
            of_wildcards(
                (_name(token), near.get(_name(token), ()))
                for token in wild
                if token.sort == "wildcard"
            )
        )
    if not plain and not query_words:
        kept = ""
    return Reading(
        text=kept,
        words=query_words,
        demand=demand,
        analyzed=Analyzed(
            text=kept,
            words=(*query_words.words, *query_words.cjk),
            phrases=tuple(" ".join(phrase) for phrase in query_words.phrases),
            demanded=demands.canonical(demand),
            filters=_conditions(demand),
            excluded=_excluded(demand),
            near=tuple((name, near[name]) for name in _names(wild) if near and name in near),
            dates=asked.dates if asked is not None else (),
            operators=_operators(parsed),
            alone=_alone(query_words, demand),
            question=_question(clean, parsed.tokens) if explicit else None,
            warnings=warnings,
        ),
        wild=_names(_wild(parsed.tokens)),
        quoted=quoted,
    )


def _parse(text: str, fields: Fields) -> _Expression:
    lexer = Lexer(text, fields.read)
    tokens, as_words = grammar.resolve_operators(lexer.tokens, text)
    parser = Parser(tokens, text)
    warnings = (*lexer.warnings, *as_words, *parser.warnings)
    return _Expression(tokens, parser.items, parser.dangling, warnings)


def _operators(parsed: _Expression) -> tuple[str, ...]:
    """The words of the text that were read as operators."""
    read_as_text = {token.start for token in parsed.dangling}
    return tuple(
        dict.fromkeys(
            token.sort.upper()
            for token in parsed.tokens
            if token.sort in grammar.OPERATORS and token.start not in read_as_text
        )
    )


def _alone(query_words: Words, demand: Demand | None) -> str:
    """The query for the words without what requires them; empty where nothing does.

    Fields that hold for the whole query stay.
    """
    if demand is None or not any(isinstance(leaf, Term) for leaf, _ in demands.leaves(demand)):
        return ""
    looked_for = dict.fromkeys((*query_words.words, *chain(*query_words.phrases), *query_words.cjk))
    if not looked_for:
        return ""
    parts = demand.of if isinstance(demand, AllOf) else (demand,)
    fields = [
        demands.canonical(part)
        for part in parts
        if not any(isinstance(leaf, Term) for leaf, _ in demands.leaves(part))
    ]
    return " ".join([*looked_for, *(f"({each})" if " " in each else each for each in fields)])


def is_pasted(text: str) -> bool:
    """Whether the text is prose rather than a query: several lines, or very many words."""
    return "\n" in text.strip() or len(text.split()) > MAX_EXPRESSION_WORDS


def _as_plain(text: str, warning: str) -> Reading:
    """The text as words alone, without operators."""
    query_words = replace(words.read(text), demanded=False)
    analyzed = Analyzed(text, (*query_words.words, *query_words.cjk), warnings=(warning,))
    return Reading(text, query_words, None, analyzed)


def _wanted(nodes: Iterable[Node], positive: bool = True) -> list[Token]:
    """The words and phrases that are not negated, in the order of the text."""
    tokens: list[Token] = []
    for node in nodes:
        match node:
            case Leaf():
                if positive and node.token.condition is None:
                    tokens.append(node.token)
            case Never():
                tokens += _wanted((node.of,), not positive)
            case Must():
                tokens += _wanted((node.of,), positive)
            case Chain() | Group():
                tokens += _wanted(node.of, positive)
    return tokens


def _kept(text: str, tokens: Iterable[Token], near: NearWords) -> str:
    """The text of ``tokens`` without the signs of prefixes and fuzzy words, and the first words
    that wildcards stand for.
    """
    kept = []
    for token in sorted(tokens, key=lambda token: token.start):
        if token.sort == "wildcard":
            kept.append(" ".join(_near(token, near)[:MEANT]))
        else:
            kept.append(text[token.start : token.end - (token.sort in ("prefix", "fuzzy"))])
    return " ".join(kept)


def of_wildcards(near: Iterable[tuple[str, Sequence[str]]]) -> Iterator[str]:
    """What is to be said of wildcards, each with its words: there are none, or too many."""
    for wildcard, meant in near:
        if not meant:
            yield f"no record has a word that “{wildcard}” stands for"
        elif len(meant) >= MAX_MEANT:
            yield f"“{wildcard}” stands for the {len(meant)} most frequent words of that form"


def _question(text: str, tokens: Sequence[Token]) -> str | None:
    """The text without the fields that hold for all of it; None where there are none."""
    kept, after, depth = [], 0, 0
    sorts = ["", *(token.sort for token in tokens), ""]
    for last in range(1, len(sorts) - 1):
        depth += (sorts[last] == "open") - (sorts[last] == "close")
        first, end = last, last
        while sorts[first - 1] in ("minus", "plus", "not"):
            first -= 1
        if sorts[last] != "field" or depth or "or" in (sorts[first - 1], sorts[last + 1]):
            continue
        if sorts[first - 1] == "and":
            first -= 1
        elif sorts[last + 1] == "and":
            end += 1
        kept.append(text[after : tokens[first - 1].start])
        after = tokens[end - 1].end
    return " ".join("".join((*kept, text[after:])).split()) if kept else None


def _noise(tokens: Iterable[Token]) -> Iterator[Token]:
    """Punctuation that is no word, such as ``->``; without parentheses."""
    return (token for token in tokens if token.sort == "noise" and token.end - token.start > 1)


def _quoted(query_words: Words, items: Iterable[Node], plain: bool) -> tuple[Term, ...]:
    """The phrases that are demanded because they are quoted."""
    if not query_words.demanded:
        return ()
    if plain:
        phrases = (tuple(map(words.unmarked, phrase)) for phrase in query_words.phrases)
        return tuple(map(Term, dict.fromkeys(phrases)))
    bare = (token for token in _wanted(item for item in items if not demands.is_explicit(item)))
    return tuple(
        dict.fromkeys(
            Term(token.words)
            for token in bare
            if token.sort == "phrase" and words.is_phrase(token.words)
        )
    )


def _terms(parts: Iterable[Demand], *, negative: bool = False) -> Iterator[Term]:
    for part in parts:
        for leaf, positive in demands.leaves(part):
            if isinstance(leaf, Term) and (positive or negative):
                yield leaf


def _within(asked: Times) -> Demand:
    """What a record is that is from one of the times."""
    ranges = [
        Condition(f"in:{written(_POSSESSIVE.sub('', date.phrase))}", (Filters(created=date.range),))
        for date in asked.dates
    ]
    return ranges[0] if len(ranges) == 1 else AnyOf(tuple(ranges))


_POSSESSIVE = pattern("['’]s$")


def _with_times(analyzed: Analyzed, asked: Times, demand: Demand | None) -> Analyzed:
    return replace(
        analyzed,
        demanded=demands.canonical(demand),
        filters=_conditions(demand),
        dates=asked.dates,
    )


def _wild(tokens: Iterable[Token]) -> list[Token]:
    return [token for token in tokens if token.sort in FORMS]


def _name(token: Token) -> str:
    return demands.written_term(demands.wild_term(token))


def _names(tokens: Iterable[Token]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(_name, tokens)))


def _near(token: Token, near: NearWords) -> tuple[str, ...]:
    """The words that a prefix, fuzzy word or wildcard is looked up as, beside itself."""
    name = _name(token)
    known = near.get(name, (name,) if token.sort == "prefix" else ())
    if token.sort == "wildcard" and not known:  # ``width*height`` may be a product
        return words.runs_of(name)
    return known


def _conditions(demand: Demand | None) -> tuple[str, ...]:
    leaves = demands.leaves(demand) if demand is not None else ()
    return tuple(
        dict.fromkeys(
            leaf.text for leaf, positive in leaves if positive and isinstance(leaf, Condition)
        )
    )


def _excluded(demand: Demand | None) -> tuple[str, ...]:
    leaves = demands.leaves(demand) if demand is not None else ()
    return tuple(
        dict.fromkeys(
            leaf.text if isinstance(leaf, Condition) else demands.written_term(leaf)
            for leaf, positive in leaves
            if not positive
        )
    )
