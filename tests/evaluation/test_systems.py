"""Every compared system over one small judged set."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import dataset
import judged_sets
import pytest
from grep import Grep, ranked, words
from systems import NAMES, System, opened

from mem_search.embedders.hashing import HashingEmbedder
from mem_search.model import Batch, Draft
from mem_search.records.registry import installed_kinds
from mem_search.wiring import Runtime
from runtimes import THERE, settled


@pytest.fixture
def data(tmp_path: Path) -> dataset.Dataset:
    folder = judged_sets.write(tmp_path / "set")
    return dataset.read(folder, "", "meta.place", "", 0, set(installed_kinds().names))


@pytest.fixture
async def systems(runtime: Runtime, data: dataset.Dataset) -> Mapping[str, System]:
    drafts = [
        Draft(
            kind=each["kind"],
            source="jsonl",
            source_id=each["source_id"],
            title=each["title"],
            text=each["text"],
            project=each["project"],
        )
        for each in data.documents
    ]
    await runtime.ingest.writer.take(THERE, Batch(drafts=tuple(drafts)))
    await settled(runtime)
    with opened(NAMES, data, runtime.search.pipeline, HashingEmbedder()) as systems:
        yield systems


@pytest.mark.parametrize("name", NAMES)
async def test_every_system_finds_the_words_of_the_query(
    systems: Mapping[str, System], name: str
) -> None:
    found = await systems[name].search("reef the sails before the storm", "")
    assert found[0] == "sails"


@pytest.mark.parametrize("name", NAMES)
async def test_every_system_searches_only_the_project_and_the_judged_kinds(
    systems: Mapping[str, System], name: str
) -> None:
    at_sea = await systems[name].search("bread oven", "boat")
    assert at_sea[0] == "galley"
    assert set(at_sea) <= {"sails", "anchor", "galley", "tide"}
    anywhere = await systems[name].search("bread oven", "")
    assert {"oven", "galley"} <= set(anywhere)
    assert "said" not in anywhere


@pytest.mark.parametrize("name", NAMES)
async def test_no_question_breaks_a_system(systems: Mapping[str, System], name: str) -> None:
    for text in ('-e "bread', "$(bread) | .* [", "?!", "the", "--", "parents' day", "面包"):
        assert isinstance(await systems[name].search(text, "kitchen"), list)


@pytest.mark.parametrize("name", ["grep", "chroma", "keyword", "fts5"])
async def test_a_project_without_documents_has_no_answers(
    systems: Mapping[str, System], name: str
) -> None:
    assert await systems[name].search("bread oven", "attic") == []


async def test_grep_ranks_by_how_many_words_of_the_question_are_there(
    systems: Mapping[str, System],
) -> None:
    # "dough" and "salt" in any case; "dough" alone stands twice in its note.
    assert await systems["grep"].search("Salt in the dough", "") == ["salt", "dough"]


async def test_grep_finds_a_word_inside_a_longer_one(systems: Mapping[str, System]) -> None:
    assert await systems["grep"].search("knead chai", "") == ["dough", "anchor"]


def test_grep_leaves_stop_words_out_unless_the_query_has_nothing_else() -> None:
    assert words("What is the Oven's temperature, the OVEN?") == ["oven", "s", "temperature"]
    assert words("who is it") == ["who", "is", "it"]
    assert words("?!") == []


def test_files_with_more_words_come_first_then_more_often_then_in_order() -> None:
    output = "".join(
        f"./0/{number}.txt\0{word}\n"
        for number, found in ((7, "a a a"), (3, "a B"), (12, "b A b"), (5, "b b b"))
        for word in found.split()
    )
    assert ranked(output) == [12, 3, 5, 7]
    assert ranked("") == []


def test_grep_leaves_no_files_behind(data: dataset.Dataset) -> None:
    grep = Grep(data)
    folder = grep._root
    assert len(list(folder.rglob("*.txt"))) == len(judged_sets.CORPUS)
    grep.close()
    assert not folder.exists()


def test_a_document_with_the_text_of_a_relevant_one_is_that_one(tmp_path: Path) -> None:
    folder = judged_sets.write(tmp_path / "set")
    with (folder / "corpus.jsonl").open("a", encoding="utf-8") as corpus:
        for number, title in (("oven again", "Oven"), ("other oven", "Stove")):
            twin = {**judged_sets.CORPUS[0], "id": number, "title": title}
            corpus.write(json.dumps(twin) + "\n")
    data = dataset.read(folder, "", "", "", 0, set(installed_kinds().names))
    query = data.queries[0]
    assert set(query.relevant) == {"oven"}
    assert data.judge(["oven again"], query)["mrr@10"] == 1
    assert data.judge(["other oven", "oven"], query)["mrr@10"] == 1 / 2
    # A system that lists both shows one thing twice, which counts once.
    assert data.judge(["oven again", "oven", "salt"], query)["ndcg@10"] == 1
    both = replace(query, relevant={"oven": 1.0, "oven again": 2.0, "salt": 1.0})
    assert data.judge(["oven", "salt"], both)["recall@10"] == 1
