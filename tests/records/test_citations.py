"""What each kind says about the origin of a record, and nothing more."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mem_search.model import Citation, Kind, Record
from mem_search.records.registry import installed_kinds

KINDS = installed_kinds().names

DAY = 1_714_694_400_000  # 2024-05-03


def record(kind: Kind, **values: Any) -> Record:
    return Record(
        **{
            "number": 7,
            "kind": kind,
            "source": "test",
            "source_id": "1",
            "title": "A title",
            "text": "text",
            "created_at": 5,
            "updated_at": 6,
            **values,
        }
    )


def cited(kind: Kind, **values: Any) -> Citation:
    return installed_kinds().get(kind).citation(record(kind, **values))


@pytest.mark.parametrize("kind", KINDS)
def test_a_record_that_says_nothing_more_is_cited_by_its_title_and_date(kind: Kind) -> None:
    assert cited(kind) == Citation(f"{kind}:7", kind, "A title", created_at=5)
    assert cited(kind, title="", text="Hello there\nyou").source_title


def test_a_website_has_its_domain_its_author_and_the_day_it_came_out() -> None:
    citation = cited(
        "website",
        url="https://www.Example.org/a",
        metadata={"author": "Ann  B.", "published_at": "2024-05-03", "last_accessed": DAY},
    )
    assert citation.domain == "example.org"
    assert citation.url == "https://www.Example.org/a"
    assert (citation.author, citation.published_at, citation.accessed_at) == ("Ann B.", DAY, DAY)
    assert cited("website", metadata={"domain": "Docs.Example.org"}).domain == "docs.example.org"


def test_a_note_has_its_folder_and_only_a_note() -> None:
    assert cited("note", metadata={"folder": "inbox"}).folder == "inbox"
    assert cited("file", metadata={"folder": "inbox"}).folder == ""


def test_a_letter_is_by_its_sender_and_published_when_it_was_sent() -> None:
    mail = cited(
        "email",
        metadata={"from": "Ann <ann@example.org>", "date": "Fri, 03 May 2024 02:00:00 +0200"},
    )
    assert (mail.author, mail.published_at) == ("Ann", DAY)
    assert cited("email", metadata={"from": ["a@example.org", "B <b@example.org>"]}).author == (
        "a@example.org; B"
    )
    assert cited("email", metadata={"date": "3 May 2024 00:00:00 -0000"}).published_at == DAY


@pytest.mark.parametrize(
    "value",
    [
        "2024-05-03", "2024-05-03T00:00:00Z", "2024-05-03t02:00:00+02:00", 1_714_694_400,
        1_714_694_400_000, 1_714_694_400.0, "Fri, 3 May 2024 00:00 +0000", "May 3, 2024",
        "2024/05/03",
    ],
)  # fmt: skip
def test_a_day_is_read_however_it_is_written(value: Any) -> None:
    assert cited("report", metadata={"published": value}).published_at == DAY


@pytest.mark.parametrize(
    "value",
    [
        "2024", "2024-05", 2024, 20240503, "May 2024", "spring", "2024-99-99", "", True, None, [],
        {"year": 2024}, -5, float("1e300"), "32 May 2024 00:00:00 +0000", "3 Foo 2024 00:00:00",
    ],
)  # fmt: skip
def test_what_is_no_day_is_no_date(value: Any) -> None:
    assert cited("report", metadata={"published": value}).published_at is None


def test_several_authors_are_named_and_other_values_are_not() -> None:
    assert cited("report", metadata={"authors": ["Ann", " Bob\n"]}).author == "Ann; Bob"
    assert cited("report", metadata={"author": "", "byline": "Cy"}).author == "Cy"
    assert cited("report", metadata={"author": {"name": "Ann"}}).author == ""


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=4,
)
NAMES = st.sampled_from(
    ["author", "authors", "published_at", "published", "date", "from", "domain", "folder",
     "last_opened_at", "accessed_at"]
)  # fmt: skip


@given(st.sampled_from(KINDS), st.dictionaries(NAMES, JSON), st.text(max_size=40))
def test_whatever_metadata_holds_a_citation_is_made(
    kind: Kind, metadata: dict[str, Any], url: str
) -> None:
    citation = cited(kind, metadata=metadata, url=url)
    assert citation.url == url
    for at in (citation.published_at, citation.accessed_at):
        assert at is None or isinstance(at, int)
