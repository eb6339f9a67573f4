"""Words of intent and of failure: what they mean, and where they are the topic."""

from __future__ import annotations

import pytest

from mem_search.text import intents

DECISION = intents.DECIDED


@pytest.mark.parametrize(
    ("text", "fields", "light"),
    [
        ("what did we decide about redis", [DECISION], {"decide", "about"}),
        ("which queue did we choose", [DECISION], {"choose"}),
        ("was haben wir über Redis entschieden", [DECISION], {"entschieden", "über"}),
        ("qu'avons-nous décidé pour les retries", [DECISION], {"décidé", "nous"}),
        ("qué decidimos sobre postgres", [DECISION], {"decidimos", "sobre"}),
        ("the decision on licences", [DECISION], {"decision"}),
        ("what did we fix in the upload", ["type:bugfix"], {"fix"}),
        ("please tell me what you know about flags", [], {"please", "tell", "know", "about"}),
    ],
)
def test_words_of_intent_point_to_a_type_and_are_no_topic(
    text: str, fields: list[str], light: set[str]
) -> None:
    intent = intents.find(text, has_time=False)
    assert [each.field for each in intent.named] == fields
    assert light <= intent.light
    assert not {"redis", "queue", "licences", "upload", "flags"} & intent.light


@pytest.mark.parametrize(
    "text",
    [
        "a talent show in spring",
        "fix crash on empty files",
        "decision trees in Python",
        "What does Melanie think about the plan",
        "Show better error messages for a missing command",
        "remember",
    ],
)
def test_words_that_are_the_topic_stay(text: str) -> None:
    assert intents.find(text, has_time=False) == intents.NO_INTENT


@pytest.mark.parametrize(
    ("text", "has_time", "sure"),
    [
        ("the error I saw", True, True),
        ("what failed", True, True),
        ("last error", False, True),
        ("the test that broke", False, True),
        ("which push was rejected", False, True),
        ("failing type check", True, True),
        ("der Fehler von", True, True),
        ("was ist fehlgeschlagen", True, True),
        ("l'erreur", True, True),
        ("why did the upload of pictures to the bucket fail", False, False),
    ],
)
def test_words_of_failure_ask_for_steps_that_failed(text: str, has_time: bool, sure: bool) -> None:
    intent = intents.find(text, has_time=has_time)
    assert [(each.field, each.sure) for each in intent.named] == [(intents.FAILED, sure)]


@pytest.mark.parametrize(
    "text",
    ["layout of the error pages", "counter of failed logins", "error message for invalid toml"],
)
def test_a_failure_may_be_the_topic(text: str) -> None:
    assert not intents.find(text, has_time=False).fails
