"""Suggestions and the search log over a whole runtime."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from drafts import draft
from mem_search.model import Filters, SearchRequest
from mem_search.search import service
from mem_search.search.service import digest
from mem_search.wiring import Runtime, open_runtime
from patience import PATIENCE
from runtimes import fill, small

DRAFTS = (
    draft("a", "The authentication of users", title="Authentication by token", tags=("auth",)),
    draft("b", "Tokens expire", title="Token refresh", tags=("auth", "jwt"), project="web"),
    draft("c", "authentication migration", title="Token store", tags=("jwt",), project="webhooks"),
    draft("d", "harbour lights", title="Lamps"),
    draft("e", "harbour migration", title="Ships"),
)


async def asked(runtime: Runtime, text: str, **values: object) -> tuple[str, ...]:
    page = await runtime.search.service.search(SearchRequest(text, **values), "test")  # type: ignore[arg-type]
    return page.report.suggestions


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("authentcation", "authentication"),
        ("Authentcation", "authentication"),
        ("uathentication", "authentication"),
        ("authentcation mirgation", "authentication migration"),
        ("the harbor's authentcation", "the harbour's authentication"),
    ],
)
async def test_an_unknown_word_near_a_known_one_is_suggested(
    runtime: Runtime, text: str, meant: str
) -> None:
    await fill(runtime, *DRAFTS)
    assert (await asked(runtime, text))[0] == meant


@pytest.mark.parametrize(
    "text", ["authentication", "authenticated", "zzqqxxyy", "漢字", "a1b2c3d4"]
)
async def test_known_words_and_strange_ones_get_no_suggestion(runtime: Runtime, text: str) -> None:
    await fill(runtime, *DRAFTS)
    assert await asked(runtime, text) == ()


async def test_a_short_word_is_no_slip_where_others_find_something(runtime: Runtime) -> None:
    await fill(runtime, draft("a", "the rent is paid"), draft("b", "the rent is due in march"))
    assert await asked(runtime, "who sent march") == ()


async def test_a_misspelling_in_quotes_is_found_out_too(runtime: Runtime) -> None:
    await fill(runtime, draft("a", "the kestrel module"), draft("b", "a kestrel"))
    page = await runtime.search.service.search(SearchRequest('"kestrl module" xyzzy'), "")
    assert page.report.suggestions[0].startswith('"kestrel module"')


@pytest.mark.parametrize("text", ["kest* AND mod*", "kestrl~ AND mod*"])
async def test_prefixes_and_fuzzy_words_are_not_corrected(runtime: Runtime, text: str) -> None:
    await fill(runtime, draft("a", "the kestrel module"), draft("b", "best test mood"))
    page = await runtime.search.service.search(SearchRequest(text), "")
    assert page.total == 1
    assert page.report.suggestions == ()


async def test_a_path_is_completed_from_paths_of_the_store(runtime: Runtime) -> None:
    touched = {"files_modified": ["src/auth/login.py", "src/app.py"]}
    await fill(runtime, draft("a", "author", kind="observation", metadata=touched))

    async def completed(prefix: str) -> list[str]:
        return [each.text for each in await runtime.search.service.suggestions.complete(prefix, 10)]

    assert await completed("src/a") == ["src/app.py", "src/auth/login.py"]
    assert await completed("src/auth") == ["src/auth/login.py"]
    assert await completed("log") == ["src/auth/login.py"]


async def test_a_word_of_a_single_record_is_never_suggested(runtime: Runtime) -> None:
    await fill(runtime, draft("a", "swordfish secretum"), draft("b", "the tide"))
    assert await asked(runtime, "swordfsh") == ()
    assert await runtime.search.service.suggestions.complete("sword", 10) == []
    await fill(runtime, draft("b", "the swordfish"))
    assert await asked(runtime, "swordfsh") == ("swordfish",)
    (completed,) = await runtime.search.service.suggestions.complete("sword", 10)
    assert (completed.text, completed.records) == ("swordfish", 2)


async def test_the_sample_is_searched_and_never_suggested(runtime: Runtime) -> None:
    drafts = [
        draft(name, "harbour pilots", title=f"Quayside {name}", source="sample") for name in "ab"
    ]
    await fill(runtime, *drafts)
    page = await runtime.search.service.search(SearchRequest("harbour"), "")
    assert page.total == 2
    assert await runtime.search.service.suggestions.related(page, 5) == []
    assert await asked(runtime, "harbuor") == ()
    for prefix in ("harb", "Quay"):
        assert await runtime.search.service.suggestions.complete(prefix, 10) == []


async def test_an_empty_store_suggests_nothing(runtime: Runtime) -> None:
    assert await asked(runtime, "authentcation") == ()
    assert await runtime.search.service.suggestions.complete("au", 5) == []


async def test_later_pages_are_not_spelled_again(runtime: Runtime) -> None:
    await fill(runtime, *DRAFTS)
    assert await asked(runtime, "authentcation", offset=10) == ()


async def test_what_is_typed_is_completed_from_every_sort_of_name(runtime: Runtime) -> None:
    await fill(runtime, *DRAFTS)
    found = await runtime.search.service.suggestions.complete("au", 10)
    assert {(each.what, each.text) for each in found} == {
        ("word", "authentication"),
        ("tag", "auth"),
        ("title", "Authentication by token"),
    }
    found = await runtime.search.service.suggestions.complete("we", 10)
    assert {(each.what, each.text) for each in found} == {
        ("project", "web"),
        ("project", "webhooks"),
    }


async def test_the_last_word_is_completed_and_the_others_stay(runtime: Runtime) -> None:
    await fill(runtime, *DRAFTS)
    (first, *_) = await runtime.search.service.suggestions.complete("jwt Auth", 10)
    assert (first.text, first.records) == ("jwt authentication", 2)


@pytest.mark.parametrize(
    "text", ["\ud800", "a\x00b", '"', "%", "_", "*", "a" * 4000, " ", "'; drop", "漢", "é", "🦊"]
)
async def test_any_text_can_be_completed_and_spelled(runtime: Runtime, text: str) -> None:
    await fill(runtime, *DRAFTS)
    assert len(await runtime.search.service.suggestions.complete(text, 5)) <= 5
    assert len(await asked(runtime, f"{text} harbor")) <= 3


async def test_related_searches_come_from_shared_values_and_the_log(
    runtime: Runtime,
) -> None:
    await fill(runtime, *DRAFTS)
    await runtime.search.service.search(SearchRequest("token refresh"), "test")
    await runtime.search.service.log.flush()
    page = await runtime.search.pipeline.search(SearchRequest("token", mode="keyword"))
    related = await runtime.search.service.suggestions.related(page, 10)
    assert ("token refresh", "asked before") in {(each.text, each.what) for each in related}
    assert ("token auth", "tag") in {(each.text, each.what) for each in related}
    assert "token" not in {each.text for each in related}
    assert len(await runtime.search.service.suggestions.related(page, 1)) == 1


async def test_a_search_is_logged_with_its_secrets_masked(runtime: Runtime) -> None:
    secret = "ghp_" + "a1B2c3D4e5" * 4
    await runtime.search.service.search(SearchRequest(f"why is {secret}\n refused"), "cli")
    await runtime.search.service.log.flush()
    (noted,) = await runtime.store.search_log.slow(5)
    assert secret not in noted.query
    assert noted.query.startswith("why is ")
    assert "\n" not in noted.query
    assert (noted.surface, noted.mode, noted.total, noted.filters) == ("cli", "hybrid", 0, "")


async def test_filters_without_a_question_and_later_pages_are_not_noted(
    runtime: Runtime,
) -> None:
    await runtime.search.service.search(SearchRequest(filters=Filters(project="web")), "test")
    await runtime.search.service.search(SearchRequest("auth", offset=20), "test")
    await runtime.search.service.log.flush()
    assert await runtime.store.search_log.slow(5) == []


async def test_no_search_waits_for_the_log(runtime: Runtime) -> None:
    release = threading.Event()

    def hold(_connection: sqlite3.Connection) -> None:
        release.wait(PATIENCE)

    holding = asyncio.create_task(runtime.store.database.write(hold))
    try:
        page = await runtime.search.pipeline.search(SearchRequest("auth"))
        for _ in range(service.MAX_WAITING + 5):
            runtime.search.service.log.note(page, "test")
        async with asyncio.timeout(PATIENCE):
            await runtime.search.service.search(SearchRequest("auth"), "test")
    finally:
        release.set()
        await holding
    await runtime.search.service.log.flush()
    popular = await runtime.store.search_log.popular(1)
    assert popular[0].times <= service.MAX_WAITING + 1


async def test_a_log_that_is_off_notes_nothing(tmp_path: Path) -> None:
    async with open_runtime(small(tmp_path / "home", search_log=False)) as runtime:
        await runtime.search.service.search(SearchRequest("auth"), "test")
        await runtime.search.service.log.flush()
        assert await runtime.store.search_log.slow(5) == []


async def test_what_was_noted_last_is_stored_when_the_worker_ends(tmp_path: Path) -> None:
    async with open_runtime(small(tmp_path / "home"), background=False) as runtime:
        await runtime.search.service.search(SearchRequest("auth"), "test")
    async with open_runtime(small(tmp_path / "home"), background=False) as runtime:
        assert [each.query for each in await runtime.store.search_log.slow(5)] == ["auth"]
        assert await runtime.search.service.log.forget() == 1


async def test_equal_filters_have_equal_digests(runtime: Runtime) -> None:
    async def digested(request: SearchRequest) -> str:
        return digest(await runtime.search.service.search(request, "test"))

    by_a, by_b = (SearchRequest("auth", Filters(project=name)) for name in "ab")
    a, b = await digested(by_a), await digested(by_b)
    assert await digested(SearchRequest("auth")) == ""
    assert a == await digested(replace(by_a, text="login", limit=5)) != ""
    in_text = await digested(SearchRequest("auth kind:note"))
    assert in_text == await digested(SearchRequest("kind:note login"))
    assert len({"", a, b, in_text, await digested(replace(by_a, folder="x"))}) == 5


async def test_an_expression_that_finds_nothing_offers_what_its_words_find(
    runtime: Runtime,
) -> None:
    await fill(runtime, *DRAFTS)
    page = await runtime.search.service.search(SearchRequest("harbour AND token tag:jwt"), "test")
    assert page.total == 0
    assert page.report.suggestions == ("harbour token tag:jwt",)
    assert page.report.notices == (
        "no record matches harbour AND token AND tag:jwt; harbour token tag:jwt finds 2",
    )


async def test_a_question_counts_once_whatever_its_filters(runtime: Runtime) -> None:
    service = runtime.search.service
    await fill(runtime, draft("a", "apples", project="web"))
    for text, project in (
        ("pears", ""), ("Pears", "web"), ("pears", "api"), ("apples", "web"), ("apples", "api"),
    ):  # fmt: skip
        await service.search(SearchRequest(text, Filters(project=project)), "test")
    await service.log.flush()
    popular = await runtime.store.search_log.popular(10)
    assert [(each.query.lower(), each.times) for each in popular] == [("pears", 3), ("apples", 2)]
    # Apples are found with one of their filters, so nobody asks for them in vain.
    in_vain = await runtime.store.search_log.without_results(10)
    assert [(each.query, each.times) for each in in_vain] == [("pears", 3)]


async def test_a_question_counts_once_whatever_fields_are_written_in_it(runtime: Runtime) -> None:
    service = runtime.search.service
    await fill(runtime, draft("a", "apples", project="web"))
    for text in (
        "pears", "pears kind:note", "tag:x AND Pears?", "-kind:email pears", "kind:note",
        "apples kind:note", "apples kind:email", "apples OR tag:x",
    ):  # fmt: skip
        await service.search(SearchRequest(text), "test")
    await service.log.flush()
    popular = await runtime.store.search_log.popular(10)
    assert [(each.query, each.times) for each in popular] == [
        ("pears", 4), ("apples", 2), ("apples OR tag:x", 1),
    ]  # fmt: skip
    in_vain = await runtime.store.search_log.without_results(10)
    assert [(each.query, each.times) for each in in_vain] == [("pears", 4)]


@pytest.mark.parametrize(
    ("one", "other"),
    [("ÄRGER", "ärger"), ("cafe\u0301", "café"), ("auth  now", "auth now?"), ("?", "?")],
)
async def test_questions_that_look_the_same_are_one(runtime: Runtime, one: str, other: str) -> None:
    for text in (one, other):
        await runtime.search.service.search(SearchRequest(text), "test")
    await runtime.search.service.log.flush()
    (asked,) = await runtime.store.search_log.without_results(10)
    assert (asked.query, asked.times) == (" ".join(other.split()), 2)
