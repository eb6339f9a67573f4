"""What quotes or names a forgotten record in other texts of the store.

A word counts as a quote when the forgotten records had it and no record has it now.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from mem_search.model.forgetting import SHORTEST_PART, Traces, words_of

FORGOTTEN: Final = "[forgotten]"
"""Stands where a stored question quoted a forgotten record."""

SHORTEST: Final = 3
"""Letters of a word that gives a record away; shorter ones are in everything."""

_LONGEST_CUT: Final = 40
"""Letters of a word of a saved search up to which a forgotten word is looked for inside it."""


class Quoting(NamedTuple):
    """Texts that are looked through; a row goes when one of its ``columns`` quotes a record."""

    place: str
    table: str
    key: tuple[str, ...]
    columns: tuple[str, ...]


QUOTING: Final = (
    Quoting("searches in the log", "search_log", ("id",), ("query",)),
    Quoting("background searches", "search_jobs", ("seq",), ("request", "result", "error")),
    Quoting("saved searches", "saved_searches", ("id",), ("name", "request", "error")),
    Quoting("webhook messages", "webhook_deliveries", ("id",), ("body", "error")),
    Quoting("finished jobs", "jobs", ("id",), ("params", "message", "result")),
    Quoting(
        "ledger entries", "ledger", ("source", "location", "item"), ("item", "location", "reason")
    ),
)
"""Beside these, research steps and cursors are cleaned. Jobs that have not ended stay."""


class Step(NamedTuple):
    """What of a stored research step can quote a record. ``results`` are [ref, hash, relevance]."""

    query: str
    request: Mapping[str, Any]
    redacted: bool
    results: list[list[Any]]
    report: Mapping[str, Any]


def cleaned(step: Step, traces: Traces) -> Step:
    """``step`` without forgotten questions and the hashes of forgotten results."""
    asked = traces.found_in(leaves([step.query, step.request, step.report]))
    kept = [
        [ref, "" if ref in traces.refs else seen, relevance]
        for ref, seen, relevance in step.results
    ]
    if asked and not traces.has_ref(step.query):
        # As for a secret: the step stays in its chain and cannot be replayed.
        search = {**step.request.get("search", {}), "text": FORGOTTEN}
        return Step(FORGOTTEN, {**step.request, "search": search}, True, kept, {})
    return step._replace(results=kept)


def blanked(value: Any, traces: Traces) -> Any:
    """``value`` with empty texts in place of those that give a record away."""
    match value:
        case str():
            return "" if traces.has_word(value) else value
        case list():
            return [blanked(item, traces) for item in value]
        case dict():
            return {key: blanked(item, traces) for key, item in value.items()}
        case _:
            return value


def words_and_parts(text: str) -> Iterator[str]:
    """Each word, and what is inside it, as ``Traces`` compares them."""
    for word in words_of(text):
        yield word
        if len(word) <= _LONGEST_CUT:
            for length in range(SHORTEST_PART, len(word)):
                for start in range(len(word) - length + 1):
                    yield word[start : start + length]


def refs_in(value: Any) -> set[str]:
    """The refs among the texts of a stored reply."""
    return {text.removeprefix("local:") for text in strings([value]) if _is_ref(text)}


def _is_ref(text: str) -> bool:
    kind, _, number = text.removeprefix("local:").partition(":")
    return kind.isidentifier() and number.isdecimal()


def strings(values: Iterable[Any]) -> Iterator[str]:
    """The texts in ``values``; of JSON its strings, because its keys are ours."""
    for value in values:
        if isinstance(value, str) and value[:1] in ("{", "["):
            try:
                yield from leaves(json.loads(value))
                continue
            except ValueError:
                pass
        yield from leaves(value)


def leaves(value: Any) -> Iterator[str]:
    """Every text in a value of JSON."""
    match value:
        case str():
            yield value
        case list():
            for item in value:
                yield from leaves(item)
        case dict():
            for item in value.values():
                yield from leaves(item)
