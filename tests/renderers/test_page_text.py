"""The text of a record as a tree of elements: what a page may show, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mem_search.model import Record
from mem_search.renderers.page_text import MAX_PART_CHARS, TAGS, Node, beginning, tree
from mem_search.text.highlight import word_matcher


def a_record(**fields: Any) -> Record:
    usual = {"title": "", "source": "test", "source_id": "1", "created_at": 5, "updated_at": 6}
    return Record(number=1, **{**usual, **fields})


def note(text: str, **fields: Any) -> Record:
    return a_record(kind="note", title="A note", text=text, **fields)


def shown(text: str, *, targets: dict[str, str] | None = None) -> list[Node]:
    return tree(note(text), text, word_matcher(("redis",)), targets)


def elements(nodes: list[Node]) -> Iterator[list[Any]]:
    for node in nodes:
        if isinstance(node, list):
            yield node
            yield from elements(node[2:])


def said(nodes: list[Node]) -> str:
    return "".join(node if isinstance(node, str) else said(node[2:]) for node in nodes)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("a **b** `c`", [["p", {}, "a ", ["strong", {}, "b"], " ", ["code", {}, "c"]]]),
        ("# A note\n\nText", [["p", {}, "Text"]]),
        ("# Other", [["h2", {}, "Other"]]),
        ("- [x] a\n- [ ] b", [["ul", {}, ["li", {}, "☑ a"], ["li", {}, "☐ b"]]]),
        ("3. a\n4. b", [["ol", {"start": 3}, ["li", {}, "a"], ["li", {}, "b"]]]),
        ("1. a:\n\n   ```sh\n   redis\n   ```\n2. b",
         [["ol", {}, ["li", {}, ["p", {}, "a:"], ["pre", {}, ["code", {}, ["mark", {}, "redis"]]]],
           ["li", {}, ["p", {}, "b"]]]]),
        ("[[Plan|the plan]]", [["p", {}, ["a", {"ref": "note:7"}, "the plan"]]]),
        ("[p](Notes/Plan.md#x)", [["p", {}, ["a", {"ref": "note:7"}, "p"]]]),
        ("[[Nowhere]]", [["p", {}, ["a", {"find": "Nowhere"}, "Nowhere"]]]),
        ("![d](diagram.png)", [["p", {}, ["a", {}, "d"]]]),
        ("see https://example.org/a).",
         [["p", {}, "see ", ["a", {"href": "https://example.org/a"}, "https://example.org/a"],
           ")."]]),
        ("<b>x</b>", [["p", {}, "<b>x</b>"]]),
        ("[x](javascript:alert(1))", [["p", {}, "[x](javascript:alert(1))"]]),
        ("---\ntags: a\n---\nText", [["pre", {}, ["code", {}, "tags: a"]], ["p", {}, "Text"]]),
        ("", []),
    ],
)  # fmt: skip
def test_markdown_becomes_elements(text: str, wanted: list[Node]) -> None:
    assert shown(text, targets={"plan": "note:7"}) == wanted


@given(st.text(alphabet="ab<>/[]()!#*_`|-+:\"'=&;\\ \n\t~1.\u202e", max_size=300))
def test_whatever_a_text_is_only_known_elements_come_of_it(text: str) -> None:
    for tag, attributes, *_ in elements(shown(text)):
        assert tag in TAGS
        assert set(attributes) <= {"ref", "href", "find", "start", "page"}
        assert str(attributes.get("href", "https://")).lower().startswith(("http://", "https://"))


def test_a_text_that_is_no_markdown_keeps_its_lines_and_has_links() -> None:
    mail = a_record(kind="email", text="# no heading\n  *redis*")
    assert tree(mail, mail.text, word_matcher(("redis",))) == [
        ["plain", {}, "# no heading\n  *", ["mark", {}, "redis"], "*"]
    ]


def test_a_document_with_pages_is_shown_by_page() -> None:
    text = "One\n\fTwo"
    file = a_record(kind="file", text=text, metadata={"pages": 2, "path": "/a.pdf"})
    assert tree(file, text) == [
        ["section", {"page": 1}, ["plain", {}, "One"]],
        ["section", {"page": 2}, ["plain", {}, "Two"]],
    ]


def test_a_long_text_is_read_in_parts_and_none_of_it_is_lost() -> None:
    words = [f"word{number}" for number in range(9000)]
    text = "\n\n".join(" ".join(words[at : at + 50]) for at in range(0, len(words), 50))
    assert len(text) > 4 * MAX_PART_CHARS
    assert said(shown(text)).count("word") == len(words)
    hard = "[" * (4 * MAX_PART_CHARS)
    assert said(shown(hard)) == hard


def test_a_text_is_cut_at_the_end_of_a_paragraph_or_line() -> None:
    assert beginning("a" * 15, 10) == "a" * 15  # little more is shown whole
    assert beginning(f"{'a' * 8}\n\n{'b' * 20}", 10) == "a" * 8
    assert beginning(f"{'a' * 8}\n{'b' * 20}", 10) == "a" * 8
    assert beginning("a" * 30, 10) == "a" * 10
