"""The fixed questions about times, over a store with two notes a day."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import times

from mem_search.model import Draft
from mem_search.text.date_words import to_ms
from mem_search.wiring import open_runtime
from runtimes import fill, small

QUESTIONS = Path(__file__).parents[1] / "questions" / "time.toml"
FIRST, DAYS = datetime(2025, 10, 20, tzinfo=UTC), 80
TOPICS = (
    "login form, a bug that broke it", "invoice export", "backup of the store",
    "search index problem", "calendar", "profile page",
)  # fmt: skip
ON = {
    ("2025-12-30", 0): "login form, a bug that broke it",
    ("2026-01-03", 0): "invoice export",
    ("2026-01-03", 1): "profile page",
    ("2026-01-05", 1): "login form, a bug that broke it",
}
"""What the questions with other words ask for, on the days that they name."""


def notes() -> list[Draft]:
    """Two notes a day, in the morning and in the evening, on topics that return."""
    drafts = []
    for at in range(2 * DAYS):
        hours = timedelta(hours=9.5 + 10.75 * (at % 2))
        moment = FIRST + timedelta(days=at // 2) + hours
        topic = ON.get((f"{moment:%Y-%m-%d}", at % 2), TOPICS[at * 5 % 7 % len(TOPICS)])
        drafts.append(
            Draft("note", "test", str(at), f"Work on {topic}, part {at}.", created_at=to_ms(moment))
        )
    return drafts


async def test_every_question_about_a_time_finds_its_days(tmp_path: Path) -> None:
    questions = times.read(QUESTIONS)
    assert len(questions) >= 80
    async with open_runtime(small(tmp_path)) as runtime:
        await fill(runtime, *notes())
        failed = await times.wrong(runtime, questions)
    assert [(question.text, why) for question, why in failed] == []


async def test_a_wrong_day_is_told(tmp_path: Path) -> None:
    entry = {"asked": "2026-01-06T09:00", "text": "what did we do yesterday"}
    wrong_day = times.TimeQuestion.of({**entry, "days": "2026-01-04"})
    no_time = times.TimeQuestion.of(entry)
    words = times.TimeQuestion.of({**entry, "days": "2026-01-05", "words": "day"})
    async with open_runtime(small(tmp_path)) as runtime:
        await fill(runtime, *notes())
        failed = await times.wrong(runtime, [wrong_day, no_time, words])
    assert [why.split()[0] for _, why in failed] == ["read", "read", "ranks"]
