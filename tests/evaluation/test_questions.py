"""Sixty questions that a person would ask of a coding agent's memory, and their answers."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import questions
from mem_search.model import Draft, SearchRequest
from mem_search.wiring import Runtime, open_runtime
from questions import Question, figures
from runtimes import fill, small

FILE = Path(__file__).parents[1] / "questions" / "memory.toml"
KINDS = {"records": "observation", "summaries": "session_summary", "prompts": "user_prompt"}


def drafts(tables: dict[str, dict[str, str]]) -> list[Draft]:
    """The records of the file, an hour apart, in its order."""
    found = []
    for table, kind in KINDS.items():
        for name, words in tables[table].items():
            title, _, text = words.rpartition(" :: ")
            at = 1_780_000_000_000 + len(found) * 3_600_000
            found.append(Draft(kind, "test", name, text, title=title, created_at=at))
    return found


async def places(runtime: Runtime, asked: dict[str, list[str]], order: str) -> dict[str, int]:
    """Question → the place of its first answer; 99 where it has none."""
    found = {}
    for text, answers in asked.items():
        request = SearchRequest(text, limit=100, order=order)  # type: ignore[arg-type]
        page = await runtime.search.pipeline.search(request)
        ids = [result.record.source_id for result in page.results]
        found[text] = min((ids.index(each) + 1 for each in answers if each in ids), default=99)
    return found


async def test_the_answer_to_what_a_person_asks_is_on_the_screen_and_mostly_first(
    tmp_path: Path,
) -> None:
    tables = tomllib.loads(FILE.read_text("utf-8"))
    asked: dict[str, list[str]] = tables["questions"]
    assert len(asked) >= 60
    async with open_runtime(small(tmp_path, embedder="bundled")) as runtime:
        await fill(runtime, *drafts(tables))
        found = await places(runtime, asked, "relevance")
        listed = await places(runtime, asked, "date_desc")
    not_first = {text: place for text, place in found.items() if place > 1}
    late = {text: place for text, place in found.items() if place > 5}
    assert len(late) <= 0.05 * len(asked), late
    assert len(not_first) <= 0.25 * len(asked), not_first
    # By date anything newer may stand above it, but it has to be there.
    missing = [text for text, place in listed.items() if place == 99]
    assert len(missing) <= 0.05 * len(asked), missing


async def test_an_answer_is_what_holds_the_phrase_and_its_place_is_told_for_both_orders(
    runtime: Runtime,
) -> None:
    notes = {
        "old": "The tide gauge was\nrepaired; the seal had cracked.",
        "new": "The tide gauge is read every minute.",
    }
    at = 1_780_000_000_000
    given = [
        Draft("note", "test", name, text, created_at=at + len(name + text))
        for name, text in notes.items()
    ]
    await fill(runtime, *given)
    seal = Question("tide gauge repaired", ("Was repaired; the SEAL",))
    nowhere = Question("tide gauge", ("sold to a museum",))
    right, wrong = await questions.ask(runtime, [seal, nowhere])
    assert (right.place, right.by_date) == (1, 1)
    assert (wrong.place, wrong.by_date, wrong.size) == (None, None, 2)
    report = figures([right, replace(right, place=6, by_date=6), wrong])
    assert report["questions"] == 3
    assert report["first"] == report["first_few"] == 1 / 3
    assert report["in_relevant_set"] == 2 / 3
    assert report["first_few_by_date"] == 1 / 3
