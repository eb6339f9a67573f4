"""The invented household of ``scripts/evaluate documents``, and the figures of its questions."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import documents
import household
import pytest
from documents import Asked, Question, by_half, figures

from mem_search.model import SearchRequest
from mem_search.text import words
from mem_search.wiring import Runtime


def shared_words(text: str) -> set[str]:
    """The words of ``text`` without stop words and the endings of English."""
    found = set(words.read(text).words)
    return {re.sub(r"(?<=\w{3})(ing|ed|es|s)$", "", each) for each in found}


def test_the_household_is_written_the_same_each_time(tmp_path: Path) -> None:
    written = []
    for name in ("one", "two"):
        household.write(tmp_path / name)
        paths = sorted(path for path in (tmp_path / name).rglob("*") if path.is_file())
        written.append({path.relative_to(tmp_path / name): path.read_bytes() for path in paths})
    # The boundary of a message in parts is drawn anew, and a zip has the time of writing.
    one, two = (
        {path: data for path, data in each.items() if path.suffix not in (".eml", ".docx")}
        for each in written
    )
    assert one == two
    assert written[0].keys() == written[1].keys()


async def test_every_document_is_read_and_every_answer_is_one_of_them(
    runtime: Runtime, tmp_path: Path
) -> None:
    root = tmp_path / "household"
    assert await documents.load(runtime, root) >= 400
    everything = SearchRequest("until:now", order="date_desc", limit=1000)
    page = await runtime.search.pipeline.search(everything)
    names = Counter(household.name_of(result.record, root) for result in page.results)
    assert set(names.values()) == {1}
    reworded = documents.read(documents.PARAPHRASES)
    assert [each.half for each in reworded] == ["dev", "held"] * 20
    texts = {household.name_of(each.record, root): each.record for each in page.results}
    for question in reworded:
        said = shared_words(question.text)
        for name in question.right:
            record = texts[name]
            assert not said & shared_words(f"{record.title} {record.text}"), (question.text, name)
    questions = [*documents.read(), *reworded]
    assert len(questions) >= 120
    assert len({question.text for question in questions}) == len(questions)
    for question in questions:
        assert question.right, question.text
        assert question.right <= names.keys(), question.text


def test_figures_count_the_first_result_and_the_share_of_the_answers() -> None:
    two = Question("two", frozenset({"a", "b"}), "dev")
    one = Question("one", frozenset({"a"}), "held")
    asked = [Asked(two, ["a", "x"]), Asked(one, ["x", "a"]), Asked(one, [])]
    assert figures(asked) == {
        "questions": 3,
        "precision@1": pytest.approx(1 / 3, abs=0.001),
        "recall@10": 0.5,
    }
    assert by_half(asked)["held"] == {"questions": 2, "precision@1": 0.0, "recall@10": 0.5}
