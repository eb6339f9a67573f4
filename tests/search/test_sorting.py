"""``sort``: all that is found in the order of fields."""

from __future__ import annotations

import random
from typing import Any

import pytest

import drafts
from mem_search.model import Filters, Record, SearchPage, SearchRequest
from mem_search.text.dates import from_iso
from mem_search.wiring import Runtime
from runtimes import fill

CHANCE = random.Random(7)
STORED = [
    drafts.draft(
        f"m{n}",
        f"apples and pears, case {n}" + " apples" * (n % 7),
        kind=("note", "observation", "email")[n % 3],
        title=("", "beta", "Alpha", f"gamma {n % 5}")[n % 4],
        project=("Web", "api", "")[CHANCE.randrange(3)],
        importance=(None, 0.2, 0.9)[CHANCE.randrange(3)],
        created_at=from_iso(f"2025-{CHANCE.randrange(12) + 1:02}-15T10:00:00Z"),
    )
    for n in range(450)
]


async def ask(runtime: Runtime, text: str, *sort: str, **options: Any) -> SearchPage:
    request = SearchRequest(text, order="fields", sort=sort, fold=False, **options)
    return await runtime.search.pipeline.search(request)


def key(record: Record, name: str) -> Any:
    value = getattr(record, name)
    if name == "title":
        value = value or record.text[:100]
    return value.lower() if isinstance(value, str) else value


def expected(records: list[Record], *sort: str) -> list[list[Any]]:
    """The values by which ``records`` are sorted, in order; what has none comes last."""
    for each in reversed(sort):
        name = each.removeprefix("-")
        known = [record for record in records if key(record, name) not in ("", None)]
        known.sort(key=lambda record: key(record, name), reverse=each != name)
        records = known + [record for record in records if key(record, name) in ("", None)]
    return [[key(record, each.removeprefix("-")) for each in sort] for record in records]


SORTS = (
    ("kind", "-created_at"),
    ("-importance", "project"),
    ("-project", "-number"),
    ("title", "number"),
    ("source", "session", "-updated_at"),
)


@pytest.mark.parametrize("sort", SORTS)
@pytest.mark.parametrize("text", ["apples", "", "kind:note", "apples OR kind:note"])
async def test_all_that_is_found_is_in_the_order_of_the_fields(
    filled: Runtime, text: str, sort: tuple[str, ...]
) -> None:
    filters = Filters(source="test")
    seen: list[Record] = []
    for offset in range(0, 450, 150):  # pages follow each other
        page = await ask(filled, text, *sort, limit=150, offset=offset, filters=filters)
        seen += [result.record for result in page.results]
    assert len({record.number for record in seen}) == page.total == len(seen) > 100
    shuffled = sorted(seen, key=lambda record: record.source_id)
    found = [[key(record, each.removeprefix("-")) for each in sort] for record in seen]
    assert found == expected(shuffled, *sort)


async def test_relevance_decides_between_equals_and_is_a_field_too(runtime: Runtime) -> None:
    await fill(runtime, *STORED[:60])
    ranked = await runtime.search.pipeline.search(SearchRequest("apples", fold=False, limit=60))
    by_kind = await ask(runtime, "apples", "kind", limit=60)
    best = {result.record.number: place for place, result in enumerate(ranked.results)}
    for kind in ("note", "observation", "email"):
        places = [best[r.record.number] for r in by_kind.results if r.record.kind == kind]
        assert places == sorted(places)
    worst = await ask(runtime, "apples", "score", "number", limit=60)
    scores = [result.score for result in worst.results]
    assert scores == sorted(scores)
    assert scores[0] < scores[-1]
    for text in ("apples", "kind:note"):
        best_first = await ask(runtime, text, "-score", limit=60)
        plain = await runtime.search.pipeline.search(SearchRequest(text, fold=False, limit=60))
        assert [r.score for r in best_first.results] == [r.score for r in plain.results]
    assert (await ask(runtime, "zebras", "-score", "kind", mode="keyword")).results == ()


@pytest.mark.parametrize("text", ["apples", "kind:note OR kind:email"])
async def test_the_first_of_each_kind_are_kept_in_the_order_of_the_fields(
    runtime: Runtime, text: str
) -> None:
    await fill(runtime, *STORED[:90])
    page = await ask(runtime, text, "-created_at", "number", limit_per_kind=2, limit=50)
    whole = await ask(runtime, text, "-created_at", "number", limit=100)
    wanted = []
    for result in whole.results:
        if [each.record.kind for each in wanted].count(result.record.kind) < 2:
            wanted.append(result)
    assert [r.record.number for r in page.results] == [r.record.number for r in wanted]


async def test_the_first_of_each_kind_of_nothing_is_nothing(runtime: Runtime) -> None:
    page = await ask(runtime, "tag:absent", "-created_at", limit_per_kind=2)
    assert (page.total, page.results) == (0, ())
