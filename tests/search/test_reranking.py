"""The optional reranker in a whole search: the order of its scores, and of ours when it is late."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mem_search.errors import InputError
from mem_search.model import Draft, SearchPage, SearchRequest
from mem_search.settings import Settings
from mem_search.wiring import open_runtime
from rerankers_for_tests import Endpoint, endpoint, tiny_model
from runtimes import fill, pages, small

QUERY = SearchRequest(text="token", mode="keyword", limit=10)
MANY = 60


def drafts() -> list[Draft]:
    """Notes about the token; the later, the more often they say "good"."""
    return [
        Draft(
            kind="note",
            source="test",
            source_id=f"n{at}",
            title=f"Token {at}",
            text=" ".join(("token", *(f"w{at}x{word}" for word in range(20)), *["good"] * at)),
            created_at=1_700_000_000_000 + at,
        )
        for at in range(MANY)
    ]


@pytest.fixture
def server() -> Iterator[Endpoint]:
    with endpoint("tei") as server:
        yield server


async def searched(home: Path, *requests: SearchRequest, **settings: Any) -> list[SearchPage]:
    async with open_runtime(small(home, **settings)) as runtime:
        await fill(runtime, *drafts())
        return [await runtime.search.pipeline.search(request) for request in requests]


def titles(page: SearchPage) -> list[str]:
    return [result.record.title for result in page.results]


async def test_the_best_fifty_get_the_order_of_the_reranker(tmp_path: Path) -> None:
    model = tiny_model(tmp_path / "tiny")
    [plain] = await searched(tmp_path / "a", replace(QUERY, limit=MANY))
    [page] = await searched(tmp_path / "b", replace(QUERY, limit=MANY), reranker=f"onnx:{model}")
    assert titles(page) != titles(plain)
    best = sorted(titles(plain)[:50], key=lambda title: -int(title.split()[1]))
    assert titles(page) == [*best, *titles(plain)[50:]]
    assert page.total == plain.total == MANY
    scores = [result.score for result in page.results]
    assert scores == [result.score for result in plain.results]
    assert page.results[0].scores["reranker"] == int(best[0].split()[1])
    assert page.report.notices == plain.report.notices


async def test_pages_go_on_where_the_last_one_ended(tmp_path: Path) -> None:
    model = tiny_model(tmp_path / "tiny")
    async with open_runtime(small(tmp_path, reranker=f"onnx:{model}")) as runtime:
        await fill(runtime, *drafts())
        whole = await runtime.search.pipeline.search(replace(QUERY, limit=MANY))
        for limit in (10, 17):
            found = await pages(runtime.search.pipeline, replace(QUERY, limit=limit))
            assert [title for page in found for title in titles(page)] == titles(whole)


async def test_an_order_by_date_is_not_reranked(tmp_path: Path, server: Endpoint) -> None:
    dated = replace(QUERY, order="date_desc")
    [page] = await searched(tmp_path, dated, reranker=f"tei@{server.url}")
    assert titles(page)[0] == f"Token {MANY - 1}"
    assert not server.requests


async def test_it_reads_titles_and_passages_of_fifty(tmp_path: Path, server: Endpoint) -> None:
    await searched(tmp_path, QUERY, reranker=f"tei@{server.url}", reranker_seconds=30.0)
    [(_, body)] = server.requests
    assert body["query"] == "token"
    assert len(body["texts"]) == 50
    assert all(text.startswith("Token ") and "\ntoken" in text for text in body["texts"])


@pytest.mark.parametrize(
    ("broken", "said"),
    [({"wait": 1.0}, "no answer within 0.05 s"), ({"status": 503}, "status 503")],
)
async def test_a_reranker_that_is_late_or_fails_is_left_out_and_named(
    tmp_path: Path, server: Endpoint, broken: dict[str, Any], said: str
) -> None:
    for name, value in broken.items():
        setattr(server, name, value)
    [plain] = await searched(tmp_path / "a", QUERY)
    seconds = 0.05 if "wait" in broken else 30.0
    [page] = await searched(
        tmp_path / "b", QUERY, reranker=f"tei@{server.url}", reranker_seconds=seconds
    )
    assert titles(page) == titles(plain)
    [notice] = [text for text in page.report.notices if "reranker" in text]
    assert said in notice


async def test_a_model_that_is_missing_is_named_by_every_search(tmp_path: Path) -> None:
    [page] = await searched(tmp_path, QUERY, reranker=f"onnx:{tmp_path / 'nowhere'}")
    assert any("no cross-encoder" in notice for notice in page.report.notices)
    assert page.results


async def test_a_setting_that_is_none_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        await searched(tmp_path, reranker="nothing:x")
    assert error.value.field == "reranker"


def test_the_key_is_not_shown_and_the_time_is_a_positive_number(tmp_path: Path) -> None:
    environ = {"MEM_SEARCH_HOME": str(tmp_path), "MEM_SEARCH_RERANKER_KEY": "s3cret"}
    assert "s3cret" not in repr(Settings.read(environ))
    for value in ("0", "-1", "inf", "soon"):
        with pytest.raises(InputError, match="more than 0"):
            Settings.read({**environ, "MEM_SEARCH_RERANKER_SECONDS": value})
