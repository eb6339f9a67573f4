"""The universal search over a real store: filters by kind, totals, notices."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any, get_args

import pytest

import drafts
from mem_search.contracts import Question, Ranking
from mem_search.errors import MissingField, ModelUnavailable, Unavailable
from mem_search.model import DateRange, Draft, Mode, SearchPage
from mem_search.records.registry import installed_kinds
from mem_search.search.citations import CitedResult, cite
from mem_search.search.pipeline import SearchPipeline
from mem_search.search.service import SearchService
from mem_search.wiring import Runtime
from runtimes import fill
from search_requests import universal

DAY = 86_400_000


def one(source_id: str, kind: str, **fields: Any) -> Draft:
    return drafts.draft(source_id, f"lantern {source_id}", kind=kind, **fields)


STORED = [
    one("plain", "note", created_at=DAY),
    one("inbox", "note", metadata={"folder": "Inbox"}, created_at=2 * DAY),
    one("scratch", "note", metadata={"folder": "Scratchpad"}, created_at=3 * DAY),
    one("page", "website", url="https://www.example.org/a", created_at=4 * DAY),
    one("other page", "website", url="https://docs.example.org/b", created_at=5 * DAY),
    one("file", "file", metadata={"archived": True}, created_at=6 * DAY),
    one("fact", "memory", created_at=7 * DAY, updated_at=9 * DAY),
    one("talk", "conversation", title="A lantern", created_at=8 * DAY),
]


async def ask(runtime: Runtime, text: str = "lantern", **fields: Any) -> SearchPage:
    return await runtime.search.service.search(universal(text, **fields), "test")


async def cited(runtime: Runtime, text: str = "lantern", **fields: Any) -> tuple[CitedResult, ...]:
    return cite(await ask(runtime, text, **fields))


def found(page: SearchPage) -> set[str]:
    return {result.record.source_id for result in page.results}


ALL = {"plain", "inbox", "page", "other page", "file", "fact", "talk"}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, ALL),
        ({"kinds": installed_kinds().names}, ALL),
        ({"kinds": ("note",)}, {"plain", "inbox"}),
        ({"folder": "inbox"}, ALL - {"plain"}),
        ({"folder": "inbox", "kinds": ("note",)}, {"inbox"}),
        ({"folder": "nowhere"}, ALL - {"plain", "inbox"}),
        ({"folder": "scratchpad"}, ALL - {"plain", "inbox"} | {"scratch"}),
        ({"folder": "Scratchpad", "kinds": ("note", "memory")}, {"scratch", "fact"}),
        ({"folder": "inbox", "kinds": ("memory",)}, {"fact"}),
        ({"domain": "example.org"}, ALL - {"other page"}),
        ({"domain": "WWW.Example.org"}, ALL - {"other page"}),
        ({"domain": "docs.example.org", "kinds": ("website",)}, {"other page"}),
        ({"domain": "example.org", "folder": "Inbox"}, ALL - {"other page", "plain"}),
        ({"archived": True}, {"file"}),
        ({"archived": False}, ALL - {"file"}),
        ({"created": DateRange(4 * DAY, 5 * DAY)}, {"page", "other page"}),
        ({"created": DateRange(end=DAY)}, {"plain"}),
        ({"updated": DateRange(start=9 * DAY)}, {"fact"}),
    ],
)
@pytest.mark.parametrize("mode", get_args(Mode))
async def test_a_filter_narrows_the_kinds_that_it_is_about(
    filled: Runtime, fields: dict[str, Any], expected: set[str], mode: Mode
) -> None:
    page = await ask(filled, search=mode, **fields)
    assert found(page) == expected
    assert page.total == len(expected) == sum(page.counts.values())
    kinds = [result.record.kind for result in page.results]
    assert page.counts == {kind: kinds.count(kind) for kind in sorted(set(kinds))}


async def test_the_scratchpad_is_hidden_from_its_first_note_on(runtime: Runtime) -> None:
    plain, _, scratch, *_ = STORED
    await fill(runtime, plain)
    assert found(await ask(runtime)) == {"plain"}
    await fill(runtime, scratch)
    assert found(await ask(runtime)) == {"plain"}
    await fill(runtime, replace(scratch, metadata={"folder": "kept"}))
    assert found(await ask(runtime)) == {"plain", "scratch"}


async def test_totals_count_all_matches_and_pages_fit_together(runtime: Runtime) -> None:
    many = [
        drafts.draft(
            f"r{n}",
            f"lantern number{n} " + "light " * (n % 7),
            kind=installed_kinds().names[n % 10],
        )
        for n in range(230)
    ]
    await fill(runtime, *many)
    together: list[str] = []
    for offset in range(0, 250, 25):
        page = await ask(runtime, "lantern light", limit=25, offset=offset, include_weaker=True)
        assert (page.total, sum(page.counts.values()), len(page.counts)) == (230, 230, 10)
        shares = [item.relevance for item in cite(page)]
        assert shares == sorted(shares, reverse=True)
        assert all(0 <= share <= 1 for share in shares)
        together += [result.record.source_id for result in page.results]
    assert len(together) == len(set(together)) == 230


async def test_match_fields_say_where_the_words_stand(runtime: Runtime) -> None:
    await fill(
        runtime,
        drafts.draft("title", "Nothing of it here.", title="Lanterns at sea"),
        drafts.draft("text", "A lantern.", title="Something else"),
        drafts.draft("both", "The lantern.", title="Lantern"),
        drafts.draft("part", "def lightLantern(): pass", title="Code"),
    )
    fields = {item.record.source_id: item.match_fields for item in await cited(runtime)}
    assert fields == {
        "title": ("title",),
        "text": ("content",),
        "both": ("title", "content"),
        "part": ("content",),
    }


async def test_snippets_keep_to_their_length_and_prove_themselves(runtime: Runtime) -> None:
    await fill(runtime, drafts.draft("long", "before it. " * 90 + "A lantern shone. " + "x " * 400))
    for length in (40, 100, 2000):
        (item,) = await cited(runtime, snippet_length=length)
        assert item.snippet is not None
        span = item.snippet
        assert "lantern" in span.text
        assert len(span.text) <= length
        assert span.text == item.record.text[span.start : span.end]
        assert span.sha256 == sha256(span.text.encode()).hexdigest()
    (item,) = await cited(runtime, snippets=False)
    assert item.snippet is None


async def test_deep_research_annotates_every_passage_that_matches(runtime: Runtime) -> None:
    stories = [
        f"The lantern keeper number{n} wrote a diary. " + "calm sea " * 350 for n in range(4)
    ]
    await fill(
        runtime,
        drafts.draft("long", "".join(stories), title="Diary"),
        drafts.draft("short", "One lantern, café."),
    )
    items = await cited(runtime, "lantern keeper", mode="deep_research", full_content=True)
    long, short = items
    assert long.full_content == long.record.text
    assert long.annotations is not None
    assert short.annotations is not None
    assert len(long.annotations) == 4
    assert len(short.annotations) == 1
    taken = sorted((noted.span.start, noted.span.end) for noted in long.annotations)
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(taken))
    for item in items:
        for noted in item.annotations or ():
            span = noted.span
            assert span.text == item.record.text[span.start : span.end]
            assert span.sha256 == sha256(span.text.encode()).hexdigest()
            assert "lantern" in span.text
            assert "**lantern**" in noted.highlight
            assert noted.source_id == str(item.record.ref)
    basic = await cited(runtime, "lantern keeper")
    assert {item.annotations for item in basic} == {None}
    assert {item.full_content for item in basic} == {None}


class Away:
    """A leg by meaning whose model is gone."""

    name = "vector"
    scores_early = False
    space = ""

    async def reading(self, question: Question, depth: int) -> None:
        """Not by one read."""

    async def rank(self, question: Question, depth: int) -> Ranking:
        raise ModelUnavailable("the model is gone")

    async def score(
        self, question: Question, ranking: Ranking, records: Sequence[int]
    ) -> Mapping[int, float]:
        return {}


async def test_a_leg_that_fails_is_named_and_the_others_answer(filled: Runtime) -> None:
    legs = (filled.search.pipeline._legs[0], Away())
    pipeline = SearchPipeline(filled.search.store, legs, installed_kinds())
    whole = filled.search.service
    service = SearchService(pipeline, whole.suggestions, whole.log)
    page = await service.search(universal("lantern", search="hybrid"), "test")
    assert found(page) == ALL
    assert {leg.name: leg.state for leg in page.report.legs} == {
        "keyword": "ok",
        "vector": "failed",
    }
    assert page.report.realised == "keyword"
    assert any("the model is gone" in notice for notice in page.report.notices)
    with pytest.raises(Unavailable, match="the model is gone"):
        await service.search(universal("lantern", search="vector"), "test")


async def test_an_import_gives_way_while_somebody_searches(filled: Runtime) -> None:
    whole = filled.search.service
    service = SearchService(whole.pipeline, whole.suggestions, whole.log)
    before = asyncio.create_task(service.give_way())
    await asyncio.sleep(0)
    assert before.done()
    await service.search(universal("lantern"), "test")
    after = asyncio.create_task(service.give_way())
    await asyncio.sleep(0)
    assert not after.done()
    await after


async def test_a_question_that_only_filters_is_answered_without_relevance(filled: Runtime) -> None:
    page = await ask(filled, "kind:website")
    assert found(page) == {"page", "other page"}
    assert {(item.relevance, item.match_fields) for item in cite(page)} == {(0.0, ())}
    with pytest.raises(MissingField):
        await ask(filled, " ")


async def test_that_the_scratchpad_is_hidden_is_no_filter_of_the_question(filled: Runtime) -> None:
    await ask(filled, "lantern")
    await filled.search.service.log.flush()
    rows = await filled.store.database.read(
        lambda connection: connection.execute("select query, filters from search_log").fetchall()
    )
    assert rows == [("lantern", "")]
