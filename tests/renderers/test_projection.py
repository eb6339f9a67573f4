"""A reply says where its fields come from, and a field that comes from nowhere is found here."""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass, fields, is_dataclass
from typing import Annotated, Any, get_args, get_type_hints

import pytest

import mem_search
from mem_search.renderers.schema import (
    Absent,
    From,
    Projection,
    or_none,
    places,
    projected,
    schema,
    text_or_none,
    to_values,
)

SIGN = "!"


@dataclass(frozen=True)
class Page:
    url: str
    title: str = ""


@dataclass(frozen=True)
class Report:
    number: int
    pages: tuple[Page, ...] = ()
    best: Page | None = None
    by: str = ""
    note: str = "kept"


@schema
class PageReply(Projection[Page]):
    url: str
    title: Annotated[str | None, From(then=or_none)]


@schema
class ReportReply(Projection[Report]):
    id: Annotated[str | None, From("number", text_or_none)]
    pages: list[PageReply]
    best: PageReply | None
    address: Annotated[str, From("best.url")]
    author: Annotated[Absent[str], From("by", or_none)] = None
    note: Absent[str] = None


@schema
class Rated(ReportReply):
    score: float
    whole: Annotated[str, From(".", lambda report: f"{report.number}{report.by}{SIGN}")]


REPORT = Report(7, (Page("a.org", "A"), Page("b.org")), Page("c.org"), by="Ann")
SHOWN = {
    "id": "7",
    "pages": [{"url": "a.org", "title": "A"}, {"url": "b.org", "title": None}],
    "best": {"url": "c.org", "title": None},
    "address": "c.org",
    "author": "Ann",
}


def test_a_field_is_read_where_it_says_and_nouns_inside_become_their_replies() -> None:
    assert to_values(ReportReply.of(REPORT)) == SHOWN


def test_a_field_with_a_default_keeps_it_unless_it_says_where_it_comes_from() -> None:
    assert ReportReply.of(REPORT).note is None
    assert ReportReply.of(REPORT).author == "Ann"


def test_what_is_computed_is_given_and_a_subclass_reads_the_rest() -> None:
    assert to_values(Rated.of(REPORT, score=0.5)) == {**SHOWN, "score": 0.5, "whole": "7Ann!"}
    assert projected(Rated, REPORT, score=0.5) == Rated.of(REPORT, score=0.5)


def test_a_computed_field_that_is_missing_or_unknown_is_an_error() -> None:
    assert Rated.of(REPORT, score=1.0)
    with pytest.raises(TypeError, match="score"):
        Rated.of(REPORT)
    with pytest.raises(TypeError, match="rank"):
        Rated.of(REPORT, score=0.5, rank=1)


def _all() -> list[type]:
    """Every reply of the product that names its noun."""
    for found in pkgutil.walk_packages(mem_search.__path__, "mem_search."):
        parts = set(found.name.split("."))
        if parts & {"renderers", "features", "http", "mcp"} and "__main__" not in parts:
            importlib.import_module(found.name)
    found, left = [], list(Projection.__subclasses__())
    while left:
        kind = left.pop()
        left += kind.__subclasses__()
        if kind.__module__.startswith("mem_search.") and is_dataclass(kind):
            found.append(kind)
    return sorted(set(found), key=lambda kind: f"{kind.__module__}.{kind.__name__}")


def _noun(kind: type) -> Any:
    bases = vars(kind).get("__orig_bases__", ())  # its own: a subclass adds what is computed
    return next((get_args(base)[0] for base in bases if get_args(base)), None)


def _types(hint: Any) -> list[Any]:
    return [one for each in get_args(hint) for one in _types(each)] if get_args(hint) else [hint]


@pytest.mark.parametrize("kind", [kind for kind in _all() if _noun(kind)])
def test_the_noun_has_what_a_reply_reads(kind: type) -> None:
    for name, place in places(kind).items():
        at = [_noun(kind)]
        for part in (place.path or name).split(".") if place.path != "." else ():
            known = [each for each in at if hasattr(each, part) or part in _fields(each)]
            assert known, f"{kind.__name__}.{name}: {_noun(kind)} has no {part} at {place.path!r}"
            at = [one for each in known for one in _types(_fields(each).get(part, Any))]
            if Any in at:
                break


def _fields(kind: Any) -> dict[str, Any]:
    if not is_dataclass(kind):
        return {}
    hints = get_type_hints(kind)
    return {each.name: hints[each.name] for each in fields(kind)}
