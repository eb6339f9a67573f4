"""What quotes or names a forgotten record in other texts of the store.

A word counts as a quote when the forgotten records had it and no record has it now.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from mem_search.errors import Conflict
from mem_search.model.forgetting import MIN_PART_LETTERS, Traces, words_of
from mem_search.text.json_reading import with_texts
from mem_search.text.search_fields import FIELDS, PARAMETERS

FORGOTTEN: Final = "[forgotten]"
"""Stands where a stored question quoted a forgotten record."""

MIN_TELLING_LETTERS: Final = 3
"""Letters of a word that gives a record away; shorter ones are in everything."""

_MAX_CUT_LETTERS: Final = 40
"""Letters of a word of a saved search up to which a forgotten word is looked for inside it."""


_OURS: Final = frozenset({
    "asked_at", "base", "boosts", "budget", "column", "content_type", "content_types", "detail",
    "embedder", "flags", "form", "format", "fusion", "kind", "kinds", "legs", "mode", "names",
    "operators", "order", "realised", "requested", "search_type", "sort", "state", "status",
    "surface", "test", "unit", "version", "zone",
})  # fmt: skip
"""Fields of stored requests, answers and messages with words that are ours: modes, orders, kinds,
and the time at which somebody asked. What the caller wrote stands in all others."""

_OF_CALLER: Final = frozenset({"where", "metadata"})
"""Objects in them whose fields are the caller's or a record's, whatever they are called."""


FIELD_WORDS: Final = frozenset(word for name in (*FIELDS, *PARAMETERS) for word in name.split("_"))
"""Words of the fields of the query language: they are in searches for anything."""


class Quoting(NamedTuple):
    """Texts that are looked through; a row goes when one of its ``columns`` quotes a record."""

    place: str
    table: str
    key: tuple[str, ...]
    columns: tuple[str, ...]


QUOTING: Final = (
    Quoting("searches in the log", "search_log", ("id",), ("query", "filters")),
    Quoting("openings after searches", "clicks", ("id",), ("query",)),
    Quoting("background searches", "search_jobs", ("seq",), ("request", "result", "error")),
    Quoting("saved searches", "saved_searches", ("id",), ("name", "request", "error")),
    Quoting("scopes", "scopes", ("name",), ("name", "filter")),
    Quoting("webhook messages", "webhook_deliveries", ("id",), ("body", "error")),
    Quoting("finished jobs", "jobs", ("id",), ("params", "message", "result")),
    Quoting(
        "ledger entries", "ledger", ("source", "location", "item"), ("item", "location", "reason")
    ),
)
"""Beside these, research steps and cursors are cleaned. Jobs that have not ended stay."""


def noted(texts: Iterable[str | None], data: str = "{}") -> set[str]:
    """The words to look for once the record with these texts, names and metadata is gone.

    Of the metadata the values: its fields are those of the source or the kind. So are those of the
    query language, which nobody has to have taken from a record.
    """
    values = leaves(json.loads(data))
    words = words_of(" ".join((*filter(None, texts), *values)))
    return {word for word in words if len(word) >= MIN_TELLING_LETTERS} - FIELD_WORDS


def traces_of(
    words: Collection[str],
    refs: Iterable[str],
    names: Iterable[str],
    held: Collection[str],
    shared: Iterable[str],
) -> Traces:
    """What of the noted gives records away, now that no text of a record has these ``words``.

    ``held`` are projects and sessions of the records that there are, ``shared`` whatever else says
    nothing of the forgotten ones: facets, kinds and sources of those that there are, and locations
    that are read again and again, which stay as long as they are followed.
    """
    ours = words_of(" ".join((*held, *shared)))
    whole = {name for name in names if len(name) >= MIN_TELLING_LETTERS}
    return Traces(frozenset(words) - ours, frozenset(refs), frozenset(whole).difference(held))


def without_gone(location: str, cursor: Any, traces: Traces) -> Any:
    """``cursor`` without the files of its location that quote a record and are gone. Blocks.

    Of those that are there the name stays, because reading goes on where it ended.
    """
    files = cursor.get("files") if isinstance(cursor, dict) else None
    if not isinstance(files, dict):
        return cursor
    kept = {
        name: value
        for name, value in files.items()
        if not traces.found_in([name])
        or Path(location).name == name
        or Path(location, name).exists()
    }
    return cursor if len(kept) == len(files) else {**cursor, "files": kept}


def as_read_once(location: str, cursor: Any, error: str, traces: Traces) -> bool:
    """Whether what is kept of a location that nobody follows names or quotes a record."""
    keys = cursor.get("files", {}) if isinstance(cursor, dict) else {}
    return traces.found_in([location, error, *(keys if isinstance(keys, dict) else ())])


class Step(NamedTuple):
    """What of a stored research step can quote a record. ``results`` are [ref, hash, relevance]."""

    query: str
    request: Mapping[str, Any]
    redacted: bool
    results: list[list[Any]]
    report: Mapping[str, Any]


def cleaned(step: Step, traces: Traces) -> Step:
    """``step`` without forgotten questions and the hashes of forgotten results.

    Its report goes where it quotes: words of the store that were looked for beside the question's.
    """
    asked = traces.found_in(strings([step.query, step.request]))
    report = {} if traces.found_in(strings([step.report])) else step.report
    kept = [
        [ref, "" if ref in traces.refs else seen, relevance]
        for ref, seen, relevance in step.results
    ]
    if asked and not traces.has_ref(step.query):
        # As for a secret: the step stays in its chain and cannot be replayed.
        search = {**step.request.get("search", {}), "text": FORGOTTEN}
        return Step(FORGOTTEN, {**step.request, "search": search}, True, kept, {})
    return step._replace(results=kept, report=report)


def blanked(value: Any, traces: Traces) -> Any:
    """``value`` with empty texts in place of those that give a record away."""
    return with_texts(value, lambda text: "" if traces.found_in([text]) else text)


def words_and_parts(text: str) -> Iterator[str]:
    """Each word, and what is inside it, as ``Traces`` compares them."""
    for word in words_of(text):
        yield word
        if len(word) <= _MAX_CUT_LETTERS:
            for length in range(MIN_PART_LETTERS, len(word)):
                for start in range(len(word) - length + 1):
                    yield word[start : start + length]


def check_held(existing: int, records: Collection[int]) -> None:
    """Raises Conflict for a result with ``records`` of which only ``existing`` are left."""
    if existing < len(set(records)):
        raise Conflict("a record of its result was forgotten while it ran; search again")


def refs_in(value: Any) -> set[str]:
    """The refs among the texts of a stored reply."""
    return {text.removeprefix("local:") for text in strings([value]) if _is_ref(text)}


def _is_ref(text: str) -> bool:
    kind, _, number = text.removeprefix("local:").partition(":")
    return kind.isidentifier() and number.isdecimal()


def strings(values: Iterable[Any]) -> Iterator[str]:
    """The texts in ``values``; of JSON those that are not ours, as its keys are (``_OURS``)."""
    for value in values:
        if isinstance(value, str) and value[:1] in ("{", "["):
            try:
                yield from leaves(json.loads(value), _OURS)
                continue
            except ValueError:
                pass
        yield from leaves(value, _OURS)


def leaves(value: Any, without: frozenset[str] = frozenset()) -> Iterator[str]:
    """Every text in a value of JSON, but those in the fields ``without`` of its own form."""
    match value:
        case str():
            yield value
        case list():
            for item in value:
                yield from leaves(item, without)
        case dict():
            for name, item in value.items():
                if name not in without:
                    free = name in _OF_CALLER and isinstance(item, dict)
                    yield from leaves(item, frozenset() if free else without)
