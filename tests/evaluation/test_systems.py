"""The systems that are asked, and the data that they read."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import dataset
import judged_sets
import pytest
from stores import options
from systems import NAMES, Grep, System, opened, ranked, words

import ingest
from mem_search.embedders.hashing import HashingEmbedder
from mem_search.model import Batch, Draft
from mem_search.records.registry import installed_kinds
from mem_search.wiring import Runtime, open_runtime
from runtimes import THERE, settled, small

# Every compared system over one small judged set.


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


# The folder of data that an evaluation reads.


@pytest.mark.parametrize("arguments", [[], ["--data", "elsewhere"]])
def test_data_that_is_not_there_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    parser = options("check", None, data="with reports", default=tmp_path / "default")
    with pytest.raises(SystemExit) as ended:
        parser.parse_args(arguments)
    assert ended.value.code == 2
    missing = arguments[1] if arguments else tmp_path / "default"
    assert f"argument --data: {missing} is no folder" in capsys.readouterr().err


def test_a_folder_that_is_there_is_taken(tmp_path: Path) -> None:
    parser = options("check", None, data="with reports", default=tmp_path)
    assert parser.parse_args([]).data == tmp_path


# scripts/evaluate ingest over a small folder: found, named in the ledger, or lost.


async def test_each_file_is_found_by_its_words_named_or_lost(tmp_path: Path) -> None:
    root = tmp_path / "data"
    (root / "mail").mkdir(parents=True)
    (root / "lamp.txt").write_text("The lamp burns at the end of the pier.")
    (root / "twin.txt").write_text("The lamp burns at the end of the pier.")
    (root / "pier.md").write_text("# Pier\n\nForty metres of oak.")
    (root / "mail" / "lease.eml").write_text(
        "From: Ada <ada@example.org>\nSubject: Lease\nMessage-ID: <1@x>\n\nSign the parchment.\n"
    )
    (root / "broken.docx").write_bytes(b"PK\x03\x04broken")
    files, log = [path for path in sorted(root.rglob("*")) if path.is_file()], tmp_path / "log"
    words = {"pier.md": "planks of beech"}
    async with open_runtime(small(tmp_path / "home")) as runtime:
        part = await ingest.read_files(runtime, root, files[::2], log)
        assert len(part) == 3
        read = await ingest.read_files(runtime, root, files, log)
        found = await ingest.outcomes(runtime, [*read.values()], words, root)
    assert {each.file: each.status for each in found} == {
        "broken.docx": "named",
        "lamp.txt": "found",
        "mail/lease.eml": "found",
        "pier.md": "lost",  # asked for words that it does not have
        "twin.txt": "found",
    }
    assert "damaged" in next(each.detail for each in found if each.status == "named")
    assert len(log.read_text().splitlines()) == 5  # a file of the first part is not read again
    if sys.platform == "linux":
        assert read["twin.txt"].megabytes > 0  # of the process that read it
