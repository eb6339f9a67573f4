"""What each kind adds to the common behaviour."""

from dataclasses import replace
from typing import Any

import pytest

from mem_search.errors import InputError
from mem_search.model import Draft, Kind, Record
from mem_search.records.registry import installed_kinds


def draft(kind: Kind, text: str = "Some text.", **values: Any) -> Draft:
    return Draft(kind=kind, source="test", source_id="1", text=text, **values)


def record(item: Draft, number: int = 7) -> Record:
    return Record(
        number=number,
        kind=item.kind,
        source=item.source,
        source_id=item.source_id,
        title=item.title,
        text=item.text,
        created_at=0,
        updated_at=0,
        metadata=item.metadata,
    )


def composed(item: Draft) -> Draft:
    return installed_kinds().get(item.kind).compose(item)


def facets(item: Draft) -> list[tuple[str, str]]:
    return list(installed_kinds().get(item.kind).facets(composed(item)))


def detail(item: Draft) -> list[tuple[str, str]]:
    return list(installed_kinds().get(item.kind).detail(record(composed(item))))


OBSERVATION = draft(
    "observation",
    "",
    title="Token refresh",
    metadata={
        "type": "bugfix",
        "subtitle": "Expired tokens no longer log out",
        "narrative": "The refresh ran too late.",
        "facts": ["Refresh starts at 80 %", "It is silent"],
        "concepts": ["gotcha"],
        "files_read": ["auth/token.py"],
        "files_modified": ["auth/refresh.py", "auth/token.py"],
        "branch": "main",
        "prompt_number": 3,
    },
)


def test_an_observation_is_completed_from_its_metadata() -> None:
    assert composed(OBSERVATION).text == (
        "Expired tokens no longer log out\n\n"
        "The refresh ran too late.\n\n"
        "- Refresh starts at 80 %\n"
        "- It is silent\n\n"
        "Concepts: gotcha\n\n"
        "Files: auth/token.py, auth/refresh.py"
    )


def test_a_narrative_that_is_the_text_is_not_doubled() -> None:
    item = draft("observation", "The same.", metadata={"narrative": "The  same."})
    assert composed(item).text == "The same."


def test_an_observation_is_found_by_type_concept_files_and_branch() -> None:
    assert facets(OBSERVATION) == [
        ("type", "bugfix"),
        ("concept", "gotcha"),
        ("file_read", "auth/token.py"),
        ("file_modified", "auth/refresh.py"),
        ("file_modified", "auth/token.py"),
        ("branch", "main"),
    ]


def test_a_full_listing_shows_metadata_that_the_text_does_not() -> None:
    assert detail(OBSERVATION) == [
        ("Type", "bugfix"),
        ("Files read", "auth/token.py"),
        ("Files modified", "auth/refresh.py, auth/token.py"),
        ("Branch", "main"),
        ("Prompt number", "3"),
    ]


def test_files_that_the_text_names_are_not_repeated() -> None:
    item = draft("observation", metadata={"type": "change", "files_modified": ["a.py"]})
    assert composed(item).text == "Some text.\n\nFiles: a.py"
    assert detail(item) == [("Type", "change")]


@pytest.mark.parametrize(
    ("type_", "icon"),
    [("bugfix", "🔴"), ("Decision", "⚖️"), ("feature", "🟣"), ("odd", "🟣"), (None, "🟣")],
)
def test_the_icon_of_an_observation_says_its_type(type_: str | None, icon: str) -> None:
    item = record(draft("observation", metadata={"type": type_}))
    assert installed_kinds().get("observation").icon(item) == icon


def test_a_session_summary_has_labelled_paragraphs() -> None:
    item = draft(
        "session_summary",
        "",
        metadata={
            "next_steps": "Ship it",
            "request": "Fix login",
            "files_edited": ["a.py"],
        },
    )
    assert composed(item).text == "Request: Fix login\n\nNext steps: Ship it\n\nFiles: a.py"
    assert facets(item) == [("file_modified", "a.py")]
    assert detail(item) == []


def test_a_prompt_is_listed_by_its_words_in_quotes() -> None:
    kind = installed_kinds().get("user_prompt")
    assert kind.title(record(draft("user_prompt", "How do we\nhandle auth?"))) == (
        '"How do we handle auth?"'
    )
    long = kind.title(record(draft("user_prompt", "word " * 50)))
    assert long.endswith('…"')
    assert len(long) <= 82


def test_a_record_without_a_title_is_listed_by_its_first_line() -> None:
    item = record(draft("note", "\n  First   line\nsecond"))
    assert installed_kinds().get("note").title(item) == "First line"
    assert installed_kinds().get("note").title(replace(item, text="", title="")) == "Note 7"
    assert len(installed_kinds().get("note").title(replace(item, title="x" * 300))) == 100


@pytest.mark.parametrize(
    ("url", "metadata", "domain"),
    [
        ("https://www.Example.org:8080/a", {}, "example.org"),
        ("https://a.example.org/", {"domain": " Docs.Example.org "}, "docs.example.org"),
        ("no url", {}, ""),
        ("http://[::1", {}, ""),
    ],
)
def test_a_website_has_the_domain_of_its_url(
    url: str, metadata: dict[str, str], domain: str
) -> None:
    expected = [("domain", domain)] if domain else []
    assert facets(draft("website", url=url, metadata=metadata)) == expected


def test_an_email_is_found_by_address_and_name_and_titled_by_its_subject() -> None:
    item = draft(
        "email",
        metadata={
            "subject": "Lunch",
            "from": "Ann Lee <Ann@Example.org>",
            "to": ["bob@example.org, Cy <cy@example.org>"],
            "cc": "bob@example.org",
        },
    )
    assert composed(item).title == "Lunch"
    assert facets(item) == [
        ("from", "ann@example.org"),
        ("from", "Ann Lee"),
        ("to", "bob@example.org"),
        ("to", "cy@example.org"),
        ("to", "Cy"),
    ]
    assert ("From", "Ann Lee <Ann@Example.org>") in detail(item)


def test_notes_and_files_are_found_by_where_they_lie() -> None:
    assert facets(draft("note", metadata={"folder": " Work "})) == [("folder", "Work")]
    assert facets(draft("file", metadata={"path": "/a/b.py", "language": "python"})) == [
        ("path", "/a/b.py"),
        ("language", "python"),
        ("filetype", "py"),
    ]


@pytest.mark.parametrize(
    ("item", "field"),
    [
        (draft("observation", metadata={"facts": "one"}), "metadata.facts"),
        (draft("observation", metadata={"files_read": [1]}), "metadata.files_read"),
        (draft("email", metadata={"from": 5}), "metadata.from"),
        (draft("note", metadata={"archived": "no"}), "metadata.archived"),
        (draft("note", "  \x00"), "text"),
        (draft("note", importance=1.5), "importance"),
        (draft("note", importance=float("nan")), "importance"),
        (draft("note", created_at=10**18), "created_at"),
        (draft("note", updated_at=-(10**18)), "updated_at"),
    ],
)
def test_what_cannot_be_used_is_named(item: Draft, field: str) -> None:
    with pytest.raises(InputError) as caught:
        composed(item)
    assert caught.value.field == field


def test_kinds_are_found_by_name() -> None:
    assert installed_kinds().get("session_summary").plural == "sessions"
    with pytest.raises(InputError, match="observation, session_summary"):
        installed_kinds().require("thing")
    assert len({kind.plural for kind in installed_kinds()}) == len(installed_kinds().names)


@pytest.mark.parametrize("word", ["session_summary", "sessions", "Session", " summary "])
def test_a_kind_is_meant_by_its_name_its_plural_its_label_and_its_aliases(word: str) -> None:
    assert installed_kinds().named(word) == "session_summary"


def test_a_record_of_a_kind_that_is_not_installed_is_still_shown() -> None:
    kind = installed_kinds().get("code_review")
    stored = record(replace(draft("note"), kind="code_review", text="Looks good\nto me"))
    assert (kind.label, kind.title(stored)) == ("Code review", "Looks good")
    assert kind.citation(stored).source_type == "code_review"
    assert installed_kinds().named("code_review") is None
