"""Which relation a question in two steps asks for, and from what."""

from __future__ import annotations

import pytest

from mem_search.text import related_questions


@pytest.mark.parametrize(
    ("text", "step", "anchor"),
    [
        ("the fix after the redirect loop", "fix", "redirect loop"),
        ("what fixed the slow start?", "fix", "slow start"),
        ("what broke the sign-in form", "cause", "sign-in form"),
        ("the mail that answered Mira's question about prices", "answer", "prices"),
        ("die Antwort auf die Mail über die Preise", "answer", "Preise"),
        ("what replaced the plan for nightly builds", "successor", "nightly builds"),
        ("what happened right after the move to the new host", "next", "move to the new host"),
        ("tasks of the epic waiting overlays", "part", "waiting overlays"),
        ("what blocks TICK-12", "blocker", "TICK-12"),
        ("what does the report on start times cite", "cited", "start times"),
    ],
)
def test_a_question_names_a_relation_and_where_it_leads_from(
    text: str, step: str, anchor: str
) -> None:
    found = related_questions.find(text)
    assert found is not None
    assert (found.step, found.anchor) == (step, anchor)


@pytest.mark.parametrize(
    "text", ["fix the crash after upgrading", "reply handler", "blocked threads", "a parent node"]
)
def test_other_questions_name_none(text: str) -> None:
    assert related_questions.find(text) is None


@pytest.mark.parametrize(
    ("text", "bound", "said"),
    [
        ("brew changes before the 0.20 release", "before", "0.20"),
        ("search changes since v12.0.0", "after", "v12.0.0"),
        ("incidents since we moved to Postgres", "after", "Postgres"),
        ("ci after the switch to GitHub Actions", "after", "GitHub Actions"),
    ],
)
def test_a_release_or_a_move_is_a_moment(text: str, bound: str, said: str) -> None:
    found = related_questions.find_moment(text)
    assert found is not None
    assert (found.bound, found.version or found.what) == (bound, said)


def test_a_number_after_before_is_no_release() -> None:
    assert related_questions.find_moment("two lines before 20 others") is None
