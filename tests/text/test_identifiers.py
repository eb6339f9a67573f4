"""Names in a question: what is one, and how a text has it."""

from __future__ import annotations

import pytest

from mem_search.text import identifiers
from mem_search.text.words import AnyWords, WordPhrase

SURE = (
    "foo_bar __init__ CLAUDE_MEM_WORKER_PORT readFile HTTPServer ast.parse std::fs src/main.rs"
    " ~/notes /etc/passwd Cargo.toml .gitignore v2 v1.2.3 3.12 --no-ignore -f $HOME 1af3d47 #1950"
    " CVE-2021-3013 E0308 TS2345 0x80070005 https://example.org/a?b=1 ada@example.org C:\\Temp\\log"
    " python3-slim"
).split()
PLAIN = "chroma-mcp real-time and/or MS-DOS".split()
WORDS = (
    "word 12 2.5% 10k 2nd 24/7 12:30 2026-03-04 50-100 e.g. i.e PDFs it's $5 NASA - -- / ... U.S."
).split()


@pytest.mark.parametrize("text", SURE)
def test_a_name_is_found_among_words_and_marks(text: str) -> None:
    for asked in (text, f"where is ({text}), and why?", f'what of `{text}` or "{text}"'):
        assert [(name.text, name.plain) for name in identifiers.find(asked)] == [(text, False)]


@pytest.mark.parametrize("text", PLAIN)
def test_words_joined_by_a_hyphen_or_slash_may_be_a_name(text: str) -> None:
    found = identifiers.find(f"the {text} one")
    assert [(name.text, name.plain) for name in found] == [(text, True)]


@pytest.mark.parametrize("text", WORDS)
def test_words_numbers_and_dates_are_no_names(text: str) -> None:
    assert identifiers.find(f"the {text} one") == ()


def test_a_pasted_text_gives_only_so_many_names() -> None:
    assert len(identifiers.find(" ".join(f"name_{n}" for n in range(50)))) == identifiers.MAX_NAMES
    assert identifiers.find("a_" * identifiers.MAX_NAME_CHARS) == ()


@pytest.mark.parametrize(
    ("name", "text", "held"),
    [
        ("foo_bar", "call FOO_BAR() now", 2),
        ("foo_bar", "foo bar", 0),
        ("foo_bar", "foo_bar_baz", 1),
        ("foo_bar", "foo_bar_baz, and foo_bar.", 2),
        ("--no-ignore", "`--no-ignore-dot`", 1),
        ("--no-ignore", "with --no-ignore.", 2),
        ("#19", "see #195", 0),
        ("#19", "owner/repo#19", 2),
        ("3.1", "since 3.12", 0),
        ("3.1", "since 3.1.4", 1),
        ("main.rs", "src/main.rs:12", 2),
        ("main.rs", "domain.rs", 0),
        ("8.2.0", "released v8.2.0", 1),
        ("v8.2.0", "released 8.2.0", 1),
        ("v8.2.0", "released 8.2.0, v8.2.0", 2),
        ("8.2.0", "released v18.2.0", 0),
        ("8.2.0", "archived dev8.2.0", 0),
        ("sessionIds", "the memorySessionIds", 1),
        ("sessionIds", "the memorysessionids", 0),
        ("writeFile", "STRASSE, Straße: writeFileSync", 1),
        ("1af3d47", "1af3d47a0b", 2),
    ],
)
def test_how_a_text_has_a_name(name: str, text: str, held: int) -> None:
    (found,) = identifiers.find(name)
    assert found.held(text) == held


@pytest.mark.parametrize(
    ("name", "phrases"),
    [
        ("8.2.0", (("8", "2", "0"), ("v8", "2", "0"))),
        ("v8.2.0", (("8", "2", "0"), ("v8", "2", "0"))),
        ("sessionIds", (("sessionids",), ("session", "ids"))),
        ("foo_bar", (("foo", "bar"),)),
        ("v2", (("v2",),)),
    ],
)
def test_what_is_looked_up_for_a_name(name: str, phrases: tuple[tuple[str, ...], ...]) -> None:
    (found,) = identifiers.find(name)
    query = found.query
    rows = query.of if isinstance(query, AnyWords) else (query,)
    assert tuple(row.words for row in rows if isinstance(row, WordPhrase)) == phrases
