"""Mentions: everything that a text refers to, and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from growth import check_growth
from mem_search.ingest.edges import find_mentions

KINDS = ("note", "observation", "session_summary")

PIECES = (
    "http://",
    "https://a.io/x",
    "#12",
    "GH-7",
    "o/r#3",
    "src/a.py",
    "./",
    "a.b.c",
    "`f()`",
    "[[",
    "]]",
    "note:4",
    "abc1234",
    " ",
    "\n",
    "(",
    ")",
    ".",
    "/",
    "-",
    "日本",
    "é",
    "\x00",
    "\ud800",
)


def seen(text: str) -> list[tuple[str, str]]:
    return [(mention.kind, mention.value) for mention in find_mentions(text, KINDS)]


@pytest.mark.parametrize(
    ("text", "mentions"),
    [
        ("Fixes #12, see GH-34.", [("issue", "12"), ("issue", "34")]),
        ("like owner/some.repo#5 did", [("issue", "owner/some.repo#5")]),
        ("Merge of a branch (#99)", [("issue", "99")]),
        ("This reverts commit 0a1b2c3d.", [("commit", "0a1b2c3d")]),
        (
            "in `src/a/b.py:42`, ./x.ts and C.java",
            [("path", "src/a/b.py"), ("path", "x.ts"), ("path", "C.java")],
        ),
        (
            "/etc/app.conf ~/.x/settings.json docs/Makefile",
            [("path", "/etc/app.conf"), ("path", "~/.x/settings.json"), ("path", "docs/Makefile")],
        ),
        ("observation:42, (local:note:7)", [("ref", "observation:42"), ("ref", "note:7")]),
        (
            "as [[My_Note|there]] and [[Other  note#part]]",
            [("wikilink", "my note"), ("wikilink", "other note")],
        ),
        (
            "`Foo.bar()` `a::b` `camelCase` `snake_case`",
            [
                ("symbol", "Foo.bar"),
                ("symbol", "a::b"),
                ("symbol", "camelCase"),
                ("symbol", "snake_case"),
            ],
        ),
        (
            "(https://EXAMPLE.org:443/a_(b)/?utm_source=x&q=1#top).",
            [("url", "example.org/a_(b)?q=1")],
        ),
        ("**https://example.org/a**", [("url", "example.org/a")]),
    ],
)
def test_mentions_are_found(text: str, mentions: list[tuple[str, str]]) -> None:
    assert seen(text) == mentions


@pytest.mark.parametrize(
    "text",
    [
        "and/or client/server TCP/IP 1/2 24/7 v1.2.3 e.g. U.S.",
        "the colour #ffaa00 and &#123; and C#7",
        "defaced 1234567 deadbeef-cafe-0123 and 12:30",
        "bob@example.py wrote to github.com/owner/page.html",
        "`plain` words in `back ticks` or snake_case outside of them",
        "notes:12 a note: 12 subnote:5",
        "[[ ]] [[]] [[|x]]",
        "https://",
    ],
)
def test_lookalikes_are_no_mentions(text: str) -> None:
    assert seen(text) == []


@given(st.one_of(st.text(), st.lists(st.sampled_from(PIECES), max_size=40).map("".join)))
def test_any_text_is_read_and_spans_are_exact_and_apart(text: str) -> None:
    end = 0
    for mention in find_mentions(text, KINDS):
        assert end <= mention.start < mention.end <= len(text)
        end = mention.end
        assert mention.value
        if mention.kind in ("commit", "issue", "ref", "path", "symbol"):
            assert mention.value in text[mention.start : mention.end]


@pytest.mark.parametrize(
    "piece", "a/ a. `a [[ #1 f a-b/ http://) https://a/ x+ o/r# note:1 a@b.".split()
)
def test_time_grows_with_the_length_and_no_faster(piece: str) -> None:
    def text_of(length: int) -> str:
        return piece * (length // len(piece))

    check_growth(
        "find_mentions", lambda text: find_mentions(text, KINDS), text_of, (5_000, 50_000), 30, 0.03
    )
