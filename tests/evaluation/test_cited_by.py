"""The judged set for a prior of citations: one citing sentence of a page is held back."""

from __future__ import annotations

import cited_by

REPORT = """# Rents

Rents of all the flats in the old town rose by four per cent [1].

## Causes

Nobody built a flat for eleven years, as the office of statistics says [1]. The wages of
people who live there did not follow the rents at all [2].

## Places

In the harbour quarter the same office counted the fewest empty flats [1].

## References

[1] https://www.a.org/rents - Rents of 2024
[2] https://b.org/wages - Wages
"""


def test_a_sentence_is_held_back_and_its_section_does_not_count() -> None:
    made = cited_by.judged({"rep2": REPORT})
    (question,) = made.questions  # the other page is cited once, so it is only among the wrong ones
    assert question.relevant == {"a.org/rents"}
    assert "[1]" not in question.text
    page = made.pages["a.org/rents"]
    assert page["title"] == "Rents of 2024"
    assert question.text not in page["text"]
    assert made.cited == {"a.org/rents": 2, "b.org/wages": 1}
    assert cited_by.judged({"rep2": REPORT}) == made


def test_the_answers_to_other_questions_are_reports() -> None:
    questions = cited_by.answered()
    assert len(questions) >= 100
    assert all(not each.is_claim and each.relevant == {each.report} for each in questions)
