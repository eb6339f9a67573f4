"""The contract of every store: a search finds words however text and question are written."""

from __future__ import annotations

import unicodedata
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from written_forms import WRITTEN

from contracts.test_stores_search import STORES
from drafts import draft
from mem_search.model import Batch, SearchRequest
from mem_search.wiring import Runtime, open_runtime
from runtimes import THERE, fill

TEXTS = [text for text, _ in WRITTEN]


@pytest.fixture(params=STORES)
async def runtime(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Runtime]:
    async with open_runtime(STORES[request.param](tmp_path / "home")) as opened:
        await fill(opened, *(draft(text, text) for text in dict.fromkeys(TEXTS)))
        yield opened


async def test_a_word_of_another_form_is_found_and_marked_where_it_stands(
    runtime: Runtime,
) -> None:
    for text, question in WRITTEN:
        request = SearchRequest(text=question, limit=40, fold=False)
        page = await runtime.search.pipeline.search(request)
        found = {each.record.source_id: each for each in page.results}
        assert text in found, question
        record, snippet = found[text].record, found[text].snippet
        assert record.text[snippet.start : snippet.end] == snippet.text
        near = dict(page.report.analyzed.near).get(question, ())
        assert all(question in each.replace(" ", "") for each in near), question  # no other word


async def test_names_of_people_and_of_attached_files_are_found_as_people_type_them(
    runtime: Runtime,
) -> None:
    metadata = {
        "from": ["Strößner <a@b.example>"],
        "attachments": [unicodedata.normalize("NFD", "Учёт йода.pdf")],
    }
    await fill(runtime, draft("mail", "see there", kind="email", metadata=metadata))
    for question in ("Strossner", "Strössner", "учет", "йода"):
        page = await runtime.search.pipeline.search(SearchRequest(text=question))
        assert "mail" in {each.record.source_id for each in page.results}, question


async def test_phrases_and_beginnings_of_words_of_another_form_are_found(runtime: Runtime) -> None:
    for question in ('"final office floor"', "hafengeb*", "title:x OR receipt"):
        request = SearchRequest(text=question)
        assert (await runtime.search.pipeline.search(request)).results, question


@pytest.mark.parametrize("signs", ["💩", "→ ☃", "%%%"])
async def test_a_question_without_a_word_is_answered(runtime: Runtime, signs: str) -> None:
    page = await runtime.search.pipeline.search(SearchRequest(text=signs))
    assert [leg.state for leg in page.report.legs if leg.name == "keyword"] == ["ok"]


async def test_a_sign_that_is_a_word_is_found(runtime: Runtime) -> None:
    await fill(runtime, draft("party", "we meet 🎉 at noon"), draft("other", "we meet at noon"))
    page = await runtime.search.pipeline.search(SearchRequest(text="🎉"))
    assert [each.record.source_id for each in page.results] == ["party"]


async def test_a_name_that_only_metadata_has_is_spelt_right_and_completed(runtime: Runtime) -> None:
    mail = [
        draft(f"m{place}", "the lease", kind="email", metadata={"from": sender})
        for place, sender in enumerate(("Ana Schmidt", "Ana Schmidt", "Bo Larsen"))
    ]
    await fill(runtime, *mail)
    for question in ("schmitd", "schm*", "*midt"):
        page = await runtime.search.pipeline.search(SearchRequest(text=question, fold=False))
        assert {each.record.source_id for each in page.results} == {"m0", "m1"}, question
    changed = Batch(drafts=(replace(mail[0], metadata={}),), deletions=("m1",))
    await runtime.ingest.writer.take(THERE, changed)
    page = await runtime.search.pipeline.search(SearchRequest(text="schmitd", mode="keyword"))
    assert not page.results
    assert not any("schmidt" in said for said in page.report.notices)
