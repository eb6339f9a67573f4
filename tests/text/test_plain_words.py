"""Kinds and people in a question: what is read, how surely, and what is left alone."""

from __future__ import annotations

import pytest

from mem_search.records.registry import installed_kinds
from mem_search.text.plain_words import MAX_QUESTION_CHARS, find

KNOWN = installed_kinds().vocabulary


def read(text: str) -> list[tuple[str, str, bool]]:
    """(phrase, field, whether it is sure) for all that is named."""
    return [(each.phrase, each.field, each.sure) for each in find(text, KNOWN)]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("emails about the garden", [("emails", "kind:email", True)]),
        ("show me all mails about the garden", [("mails", "kind:email", True)]),
        (
            "email receipt from pharmacy",
            [("email", "kind:email", True), ("pharmacy", "from", True)],
        ),
        (
            "the PDF that the landlord sent about the lease",
            [("PDF", "filetype:pdf", True), ("landlord", "from", False)],
        ),
        ("electricity bill PDF", [("PDF", "filetype:pdf", False)]),
        ("the signed lease as a PDF", [("PDF", "filetype:pdf", True)]),
        ("scanned poem about a tiger", [("scanned", "filetype:scan", False)]),
        ("das gescannte Zeugnis der Tante", [("gescannte", "filetype:scan", True)]),
        ("vaccination card of the cat, scanned", [("scanned", "filetype:scan", True)]),
        (
            "a Word document with my questions",
            [("Word document", "filetype:document", True)],
        ),
        ("bookmark for the Lisbon guide", [("bookmark", "source:bookmarks", True)]),
        ("note about the boiler", [("note", "kind:note", False)]),
        ("my gift ideas note", [("note", "kind:note", False)]),
        ("email from Anna Berg", [("email", "kind:email", True), ("Anna Berg", "from", True)]),
        ("the email I sent to Marcus", [("email", "kind:email", True), ("Marcus", "to", False)]),
        ("what did Priya write about her job", [("Priya", "from", False)]),
        ("recipe that Priya emailed me", [("Priya", "from", False)]),
        (
            "E-Mail von Tante Greta über den Besuch",
            [("E-Mail", "kind:email", True), ("Tante Greta", "from", True)],
        ),
        (
            "email with an attachment from Tomás",
            [
                ("email", "kind:email", True),
                ("with an attachment", "has:attachment", True),
                ("Tomás", "from", True),
            ],
        ),
    ],
)
def test_what_a_question_names_is_read_as_a_field(
    text: str, named: list[tuple[str, str, bool]]
) -> None:
    assert read(text) == named


@pytest.mark.parametrize(
    "text",
    [
        "how to send email from python",
        "why does the email from the server fail",
        "email validation bug",
        "read pdf in python",
        "PDF parser crashes",
        "note that the cache is cleared",
        "release notes of version 2",
        "page to the top",
        '"email" from Anna',
        "`pdf` from the build",
        "what did we say about the mail server",
        "login page",
        "token refresh",
        "article",
        "extract text from PDF",
        "send email to all users",
        "parse email headers",
        "",
        "email from Anna\nabout the garden",
        "email from Anna about " + "the garden " * MAX_QUESTION_CHARS,
    ],
)
def test_words_of_an_ordinary_question_stay_words(text: str) -> None:
    assert read(text) == []


def test_a_person_is_looked_for_by_the_whole_phrase_and_then_by_each_word() -> None:
    (*_, person) = find("emails from my accountant Ruth about taxes", KNOWN)
    assert person.names == ("accountant Ruth", "Ruth", "accountant")


def test_most_questions_are_passed_over_by_one_expression() -> None:
    assert KNOWN.asks.search("token refresh fails after an hour") is None
    assert KNOWN.asks.search("the PDF about tokens") is not None
