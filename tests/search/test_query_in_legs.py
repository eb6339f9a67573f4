"""Demands of a query hold in every leg before its best are chosen, and after fusion."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from filtering_afterwards import Restricted, passing

from drafts import draft
from mem_search.model import Draft, Filters, Mode, SearchPage, SearchRequest
from mem_search.records.registry import installed_kinds
from mem_search.search.pipeline import SearchPipeline
from mem_search.text.query.parse import read
from mem_search.wiring import Runtime
from runtimes import fill

NOW = datetime(2025, 11, 20, 12, tzinfo=UTC)
WORDS = "alpha beta gamma delta epsilon zeta eta theta iota kappa".split()
QUERIES = (
    "alpha -beta",
    "alpha AND (gamma OR delta)",
    "+alpha beta",
    "alpha beta project:shop",
    "alpha NOT (type:bugfix OR kind:emails)",
    '"alpha beta" -gamma',
    "(alpha -zeta) OR (beta AND tag:x)",
    "alph* -zeta",
    "alhpa~ is:note",
    "登录 -缓存 alpha",
    "alpha since:2025-11-18",
)


def mixed(count: int) -> list[Draft]:
    """Records of all lengths in which words stand more and less often."""
    return [
        draft(
            f"r{n}",
            " ".join(WORDS[(n * 7 + i * i) % 10] for i in range(2 + n % 9))
            + (" 我们修复了登录问题" if n % 4 == 0 else "")
            + (" 添加了缓存" if n % 6 == 0 else ""),
            title=WORDS[n % 10] if n % 3 else "",
            kind=("note", "email", "observation")[n % 3],
            project=("shop", "blog", "")[n % 4 % 3],
            tags=("x",) if n % 5 == 0 else (),
            created_at=int(NOW.timestamp() * 1000) - (n % 9) * 86_400_000,
            metadata={"type": ("bugfix", "feature")[n % 2]} if n % 3 == 2 else {},
        )
        for n in range(count)
    ]


def ranked(page: SearchPage) -> dict[int, float]:
    """Number → score; the last digits of a sum depend on its order."""
    return {result.record.number: result.score for result in page.results}


@pytest.mark.parametrize("mode", ["keyword", "vector", "hybrid"])
async def test_a_filtered_search_is_the_search_restricted_afterwards(
    runtime: Runtime, mode: Mode
) -> None:
    await fill(runtime, *mixed(120))
    legs = tuple(Restricted(leg, runtime.store.database) for leg in runtime.search.pipeline._legs)
    restricted = SearchPipeline(runtime.search.store, legs, installed_kinds())
    for text in QUERIES:
        query = SearchRequest(text, mode=mode, limit=100, asked_at=NOW)
        page = await runtime.search.pipeline.search(query)
        after = await restricted.search(query)
        assert ranked(page) == pytest.approx(ranked(after)), text
        assert page.total == after.total
        assert page.counts == after.counts
        # The hashing embedder finds a prefix near to nothing.
        assert page.results or mode == "vector", text


@pytest.mark.parametrize("mode", ["keyword", "vector", "hybrid"])
async def test_every_result_is_what_the_query_demands(runtime: Runtime, mode: Mode) -> None:
    await fill(runtime, *mixed(60))
    page = await runtime.search.pipeline.search(
        SearchRequest("gamma AND NOT beta", mode=mode, limit=100)
    )
    assert page.results
    for result in page.results:
        words = f"{result.record.title} {result.record.text}".split()
        assert "gamma" in words
        assert "beta" not in words


@pytest.mark.parametrize("mode", ["keyword", "vector", "hybrid"])
@pytest.mark.parametrize(
    "text",
    [
        "tag:sea OR canary",
        "canary OR NOT kind:memory",
        "(kestrel AND tag:red) OR tag:sea",
        'tag:sea OR "blue green"',
        "kind:memory AND (tag:sea OR canary)",
    ],
)
async def test_what_passes_by_the_other_side_of_an_or_is_found_without_the_words(
    runtime: Runtime, mode: Mode, text: str
) -> None:
    await fill(
        runtime,
        *mixed(6),
        draft("a", "canary blue green", kind="memory"),
        *(draft(f"s{n}", f"anything {n}", kind="memory", tags=("sea",)) for n in range(5)),
        draft("r", "kestrel", kind="memory", tags=("red",)),
    )
    expected = await passing(
        runtime.store.database, read(text, now=NOW, kinds=installed_kinds()).demand
    )
    assert len(expected) > 4
    pages = [
        await runtime.search.pipeline.search(
            SearchRequest(text, mode=mode, limit=3, offset=offset, fold=False)
        )
        for offset in range(0, len(expected) + 1, 3)
    ]
    found = [result.record.number for page in pages for result in page.results]
    assert sorted(found) == sorted(expected)
    assert {page.total for page in pages} == {len(expected)}


async def test_a_word_beside_an_or_still_has_its_say(runtime: Runtime) -> None:
    await fill(runtime, draft("a", "login", tags=("sea",)), draft("b", "else", tags=("sea",)))
    page = await runtime.search.pipeline.search(
        SearchRequest("login (tag:sea OR canary)", mode="keyword")
    )
    assert [result.record.source_id for result in page.results] == ["a"]


async def test_fields_and_exclusions_alone_browse(runtime: Runtime) -> None:
    await fill(runtime, *mixed(60))
    page = await runtime.search.pipeline.search(SearchRequest("kind:note -alpha", limit=100))
    expected = await passing(
        runtime.store.database, read("kind:note -alpha", now=NOW, kinds=installed_kinds()).demand
    )
    assert {result.record.number for result in page.results} == expected
    assert page.total == len(expected)
    assert page.report.realised == "filter"
    assert page.report.analyzed.demanded == "kind:note AND NOT alpha"


async def test_a_misspelling_says_what_it_was_taken_for(runtime: Runtime) -> None:
    await fill(runtime, draft("a", "the authentication of users"), draft("b", "nothing"))
    page = await runtime.search.pipeline.search(SearchRequest("+authentcation~"))
    assert [result.record.source_id for result in page.results] == ["a"]
    assert page.report.analyzed.near == (("authentcation~", ("authentication",)),)


async def test_what_is_spelt_nearly_so_answers_who_asks_for_that(runtime: Runtime) -> None:
    others = [draft(f"n{each}", f"nothing of number {each} at all") for each in range(30)]
    await fill(runtime, draft("a", "the authentication of users"), *others)
    page = await runtime.search.pipeline.search(SearchRequest("authentcation~", mode="keyword"))
    assert [result.record.source_id for result in page.results] == ["a"]
    assert (page.total, page.report.answerable, page.report.notices) == (1, True, ())


async def test_a_quoted_phrase_without_matches_becomes_its_words_with_a_notice(
    runtime: Runtime,
) -> None:
    await fill(runtime, draft("a", "a book about the possible", project="web"))
    await fill(runtime, draft("b", "nothing is impossible", project="api"))
    query = SearchRequest('book "nothing is impossible"', Filters(project="web"), mode="keyword")
    page = await runtime.search.pipeline.search(query)
    assert [result.record.source_id for result in page.results] == ["a"]
    assert "nothing is impossible" in page.report.analyzed.warnings[0]
    assert "within the filters" in page.report.analyzed.warnings[0]
    # A hidden note is no filter of the request.
    await fill(runtime, draft("s", "scratch", kind="note", metadata={"folder": "scratchpad"}))
    alone = await runtime.search.pipeline.search(SearchRequest('"book impossible"', mode="keyword"))
    assert {result.record.source_id for result in alone.results} == {"a", "b"}
    assert alone.report.analyzed.warnings[0].startswith("no record has the phrase")
    strict = await runtime.search.pipeline.search(
        replace(query, text='book AND "nothing is impossible"')
    )
    assert not strict.results


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("words kind:session", {}),
        ("words (kind:session OR is:session) project:web", {}),
        ("words", {"kind": ("session",)}),
        ("words -alpha kind:session,email kind:session", {}),
    ],
)
async def test_kinds_in_the_question_score_as_kinds_beside_it(
    runtime: Runtime, text: str, where: dict[str, tuple[str, ...]]
) -> None:
    long = "words of a summary that says much about many things " * 20
    await fill(
        runtime,
        *(
            draft(f"s{n}", f"{long} words {n}", kind="session_summary", project="web")
            for n in range(3)
        ),
        *(draft(f"n{n}", "a note with words" if n % 2 else "a note") for n in range(40)),
    )
    pipeline = runtime.search.pipeline
    kinds = Filters(kinds=("session_summary",))
    beside = await pipeline.search(SearchRequest("words", kinds, mode="keyword"))
    inside = await pipeline.search(SearchRequest(text, where=where, mode="keyword"))
    assert len(beside.results) == 3
    for one, other in zip(beside.results, inside.results, strict=True):
        assert one.record.number == other.record.number
        assert one.scores["keyword"] == other.scores["keyword"]


@pytest.mark.parametrize(
    "text", ['say "alpha', "(alpha", "alpha AND", "NOT", "type:", ")", '"', "-"]
)
async def test_bad_syntax_answers(runtime: Runtime, text: str) -> None:
    await fill(runtime, draft("a", "say alpha"))
    page = await runtime.search.pipeline.search(SearchRequest(text))
    assert len(page.results) == ("alpha" in text)


async def test_what_is_selected_for_forgetting_has_every_word_a_time_too(runtime: Runtime) -> None:
    pipeline = runtime.search.pipeline
    for text in ("what did we do yesterday", "login last week"):
        assert "in:" not in repr((await pipeline.selection(SearchRequest(text))).demand)
    selected = await pipeline.selection(SearchRequest("login last week"))
    assert "'week'" in repr(selected.demand)
