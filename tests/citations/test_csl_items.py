"""Records as items of CSL-JSON: only what is known."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import pytest
from cited_records import BARE, KNOWN, item, record

from mem_search.features.citations.reference_files import day_of
from mem_search.records.registry import installed_kinds

BERLIN, NEW_YORK = ZoneInfo("Europe/Berlin"), ZoneInfo("America/New_York")
NEARLY_MIDNIGHT = 1_763_510_399_500  # 2025-11-18T23:59:59.5Z
MIDNIGHT = 1_763_510_400_000


def test_a_website_is_a_page_with_its_address_site_and_days() -> None:
    assert item(KNOWN[4]) == {
        "id": "website:5",
        "type": "webpage",
        "title": "JWT handbook",
        "author": [
            {"family": "Lovelace", "given": "Ada"},
            {"family": "Turing", "given": "Alan"},
        ],
        "issued": {"date-parts": [[2024, 2, 1]]},
        "accessed": {"date-parts": [[2025, 11, 17]]},
        "container-title": "example.org",
        "URL": "https://example.org/jwt?a=1&b=2",
        "call-number": "website:5",
    }


def test_an_email_is_a_letter_to_those_in_its_header() -> None:
    assert item(KNOWN[8]) == {
        "id": "email:9",
        "type": "personal_communication",
        "title": "Re: budget",
        "author": [{"family": "Lovelace", "given": "Ada"}],
        "recipient": [{"family": "Turing", "given": "Alan"}, {"literal": "grace@example.org"}],
        "issued": {"date-parts": [[2025, 11, 16]]},
        "genre": "Email",
        "call-number": "email:9",
        "archive": "mem-search",
        "archive_location": "email:9",
    }


def test_every_kind_has_a_type_of_its_own_sense() -> None:
    assert {cited.kind: item(cited)["type"] for cited in BARE} == {
        "observation": "document",
        "session_summary": "document",
        "user_prompt": "personal_communication",
        "note": "document",
        "website": "webpage",
        "file": "document",
        "conversation": "personal_communication",
        "memory": "document",
        "email": "personal_communication",
        "report": "report",
    }
    kinds = {kind.name for kind in installed_kinds()}
    assert {cited.kind for cited in BARE} == kinds, "add one to BARE of cited_records.py"


def test_unknown_variables_are_omitted() -> None:
    assert item(BARE[4]) == {
        "id": "website:15",
        "type": "webpage",
        "title": "JWT handbook",
        "accessed": {"date-parts": [[2025, 11, 17]]},
        "container-title": "example.org",
        "URL": "https://example.org/jwt",
        "call-number": "website:15",
    }


def test_a_page_was_not_published_when_it_was_kept() -> None:
    assert "issued" not in item(BARE[4])
    assert day_of(item(BARE[3])["issued"]) == (2025, 11, 17)


def test_an_address_without_a_web_scheme_is_left_out() -> None:
    local = item(record("file", 1, "notes.txt", url="file:///home/me/notes.txt"))
    assert "URL" not in local
    assert local["archive_location"] == "file:1"


@pytest.mark.parametrize(
    ("zone", "at", "day"),
    [
        (BERLIN, NEARLY_MIDNIGHT, (2025, 11, 19)),
        (NEW_YORK, NEARLY_MIDNIGHT, (2025, 11, 18)),
        # A day without a time is that day everywhere.
        (NEW_YORK, MIDNIGHT, (2025, 11, 19)),
        (BERLIN, MIDNIGHT, (2025, 11, 19)),
        (BERLIN, -62_135_596_799_000, (1, 1, 1)),
        (BERLIN, 253_402_300_799_000, (9999, 12, 31)),
    ],
)
def test_days_are_those_of_the_reader(zone: ZoneInfo, at: int, day: tuple[int, ...]) -> None:
    assert day_of(item(record("note", 1, "A", created_at=at), zone)["issued"]) == day


def test_a_prompt_is_cited_without_the_quotes_of_listings() -> None:
    assert item(BARE[2])["title"] == "How do we handle auth?"
    assert item(record("note", 1, '"Quoted"'))["title"] == '"Quoted"'


def test_lines_are_one_line_and_harmless() -> None:
    hostile = item(
        record("note", 1, "a\r\nTY  - BOOK\x1b[2J\u202e", metadata={"author": "A\tB\x00C; D\x1bE"})
    )
    assert hostile["title"] == "a TY - BOOK"
    assert hostile["author"] == [{"family": "BC", "given": "A"}, {"literal": "DE"}]


def test_tags_are_keywords() -> None:
    assert item(record("note", 1, "A", tags=("auth", "to read")))["keyword"] == "auth, to read"


@pytest.mark.parametrize("to", [7, {"a": 1}, [None, 3], "", []])
def test_recipients_that_cannot_be_read_are_none(to: object) -> None:
    assert "recipient" not in item(record("email", 1, "A", metadata={"to": to}))
