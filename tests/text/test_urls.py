"""URLs as names: the same page has the same name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mem_search.text.urls import commit_of, issue_of, normal_url, without_trailing_marks


@pytest.mark.parametrize(
    "url",
    [
        "https://example.org/a?q=1",
        "http://example.org/a/?q=1#part",
        "HTTPS://user:pw@www.Example.org:443/a?utm_medium=mail&q=1&fbclid=2",
    ],
)
def test_ways_of_writing_a_page_have_one_name(url: str) -> None:
    assert normal_url(url) == "example.org/a?q=1"


def test_pages_of_issues_and_commits_are_recognised() -> None:
    assert issue_of(normal_url("https://github.com/Owner/Repo/pull/12/files")) == ("repo", "12")
    assert issue_of(normal_url("https://git.example.org/a/b/c/-/issues/3")) == ("c", "3")
    assert issue_of("github.com/owner/repo/issues") is None
    assert commit_of("github.com/o/r/commit/0a1b2c3") == "0a1b2c3"
    assert commit_of("github.com/o/r/tree/0a1b2c3") == ""


@given(st.text())
def test_any_text_has_a_name_or_none_and_a_name_stays_itself(text: str) -> None:
    for url in (text, f"https://{text}"):
        name = normal_url(url)
        assert name == "" or normal_url(f"https://{name}") in (name, name.rstrip("/"))
        assert url.startswith(without_trailing_marks(url))
