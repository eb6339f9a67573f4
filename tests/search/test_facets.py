"""Facets count everything that a question finds, whatever the page shows."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import Any, get_args
from zoneinfo import ZoneInfo

import pytest

import drafts
from mem_search.cli import search_options
from mem_search.model import FacetName, Filters, SearchPage, SearchRequest
from mem_search.renderers.listing import facet_lines
from mem_search.text.dates import from_iso
from mem_search.wiring import Runtime
from runtimes import fill

FACETS: tuple[FacetName, ...] = get_args(FacetName)
MANY = [
    drafts.draft(
        f"m{n}",
        f"apples and pears, case {n}",
        kind="observation" if n % 3 else "note",
        title=f"Fruit {n}",
        project=("Web", "web", "api", "")[n % 4],
        tags=("Red", "red")[n % 2 : n % 2 + 1] + (("ripe",) if n % 5 == 0 else ()),
        metadata={"type": "bugfix"} if n % 3 else {"folder": "inbox", "author": "Ann"},
        created_at=from_iso(f"2025-{n % 12 + 1:02}-15T10:00:00Z"),
    )
    for n in range(450)
]
MAIL = drafts.draft(
    "mail",
    "Apples were delivered.",
    kind="email",
    title="Delivery",
    metadata={"from": "Ann Lee <ann@example.org>", "to": "bob@example.org"},
    created_at=from_iso("2025-06-30T23:30:00Z"),
)
PAGE = drafts.draft(
    "page", "All about apples.", kind="website", url="https://www.example.org/a", created_at=0
)


async def ask(runtime: Runtime, text: str, **options: Any) -> SearchPage:
    return await runtime.search.pipeline.search(SearchRequest(text, **options))


async def test_the_counts_cover_what_lies_beyond_page_and_candidates(runtime: Runtime) -> None:
    await fill(runtime, *MANY, MAIL, PAGE)
    page = await ask(runtime, "apples", limit=3, facets=FACETS, facet_limit=100)
    assert page.total == 452
    found = {name: dict(facet.values) for name, facet in page.facets.items()}
    assert found["kind"] == page.counts
    assert found["project"] == {"Web": 226, "api": 112}  # one project, however it is spelled
    assert found["type"] == {"bugfix": 300}
    assert found["tag"] == {"Red": 450, "ripe": 90}
    assert found["author"] == {"Ann": 150, "Ann Lee": 1}  # a name and its address are one
    assert found["domain"] == {"example.org": 1}
    assert found["folder"] == {"inbox": 150}
    assert found["source"] == {"test": 452}
    months = Counter(f"2025-{n % 12 + 1:02}" for n in range(450))
    days = Counter(datetime.fromtimestamp(each.created_at / 1000, UTC).date().isoformat()
                   for each in (*MANY, MAIL, PAGE))  # fmt: skip
    assert found["day"] == dict(sorted(days.items(), key=lambda pair: (-pair[1], pair[0]))[:100])
    assert found["month"] == {**months, "2025-06": months["2025-06"] + 1, "1970-01": 1}


@pytest.mark.parametrize("text", ["apples", "", "apples kind:note", "kind:note"])
async def test_a_filter_by_a_value_finds_what_is_counted(runtime: Runtime, text: str) -> None:
    await fill(runtime, *MANY[:60], MAIL)
    names: tuple[FacetName, ...] = ("kind", "tag", "project")
    base: dict[str, Any] = {"fold": False, "filters": Filters(source="test"), "facets": names}
    page = await ask(runtime, text, **base)
    assert sum(dict(page.facets["kind"].values).values()) == page.total
    for tag, count in page.facets["tag"].values:
        assert (await ask(runtime, text, filters=Filters(tags=(tag,)))).total == count
    for project, count in page.facets["project"].values:
        assert (await ask(runtime, text, filters=Filters(project=project))).total == count


async def test_the_largest_come_first_and_the_rest_is_counted(runtime: Runtime) -> None:
    await fill(runtime, *MANY[:61])
    page = await ask(runtime, "apples", facets=("tag", "domain"), facet_limit=1)
    assert page.facets["tag"].values == (("Red", 61),)
    assert page.facets["tag"].distinct == 2
    assert page.facets["domain"].values == ()
    assert facet_lines(page) == ["By tag: Red 61, 1 more", "By domain: none"]


async def test_a_month_begins_at_midnight_of_the_reader(runtime: Runtime) -> None:
    await fill(runtime, MAIL, drafts.draft("first", "apples", created_at=from_iso("0001-01-01")))
    for zone, month in ((UTC, "2025-06"), (ZoneInfo("Europe/Berlin"), "2025-07")):
        asked_at = datetime(2026, 1, 1, tzinfo=zone)
        page = await ask(runtime, "apples", facets=("month",), asked_at=asked_at)
        assert dict(page.facets["month"].values) == {month: 1, "0001-01": 1}


async def test_weaker_matches_do_not_count(runtime: Runtime) -> None:
    words = ("harbour", "lantern", "meadow", "thunder", "pebble", "willow", "copper", "velvet")
    crowd = [
        drafts.draft(f"c{n}", f"{words[n % 8]} {words[n // 8 % 8]} {words[n // 64]} server {n}")
        for n in range(300)
    ]
    text = "The mail server drops the encrypted connection when the certificate expires"
    await fill(runtime, *crowd, drafts.draft("answer", text, tags=("tls",)))
    page = await ask(
        runtime, "why does the mail server drop connections", facets=("source", "kind")
    )
    assert page.weaker
    assert dict(page.facets["source"].values) == {"test": page.total}


async def test_nothing_is_counted_unless_a_facet_is_named(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mem_search.storage.sqlite.snapshot import SqliteSnapshot

    await fill(runtime, MAIL)

    def refuse(*_: object) -> None:
        raise AssertionError("counted without being asked")

    monkeypatch.setattr(SqliteSnapshot, "facet_counts", refuse)
    assert (await ask(runtime, "apples")).facets == {}
    assert (await ask(runtime, "kind:email")).facets == {}


def test_the_command_line_knows_all_facets() -> None:
    assert search_options.FACETS == FACETS
