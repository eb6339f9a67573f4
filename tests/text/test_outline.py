"""The structure of a text: what begins where, and what stands above."""

from __future__ import annotations

from mem_search.text.outline import Boundary, Layout, outline, place_in

PLAIN = Layout()


def boundaries(text: str, layout: Layout = PLAIN) -> list[tuple[str, str]]:
    """The first word at each boundary, and what begins there."""
    return [
        (text[place:].split()[0], what.name) for place, what in outline(text, layout).boundaries
    ]


def test_headings_begin_sections_and_parts() -> None:
    text = "intro\n# One\nwords\n\n### Deep\nmore\n\nTwo\n===\nlast\nThree\n-----\n"
    found = outline(text, PLAIN)
    assert [(each.level, each.title) for each in found.headings] == [
        (1, "One"), (3, "Deep"), (1, "Two"), (2, "Three"),
    ]  # fmt: skip
    assert [(text[p:].split("\n")[0], w) for p, w in found.boundaries if w >= Boundary.PART] == [
        ("# One", Boundary.SECTION), ("### Deep", Boundary.PART), ("Two", Boundary.SECTION),
        ("Three", Boundary.SECTION),
    ]  # fmt: skip


def test_what_stands_above_is_the_path_of_headings_and_the_head_of_the_table() -> None:
    text = "# A\n## B\nx\n## C\n| n | p |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n\nafter\n# D\ny\n"
    found = outline(text, PLAIN)
    assert found.above(text.index("x")) == "# A\n## B"
    assert found.above(text.index("## C")) == "# A\n## B"
    assert found.above(text.index("| 3")) == "# A\n## C\n| n | p |"
    assert found.above(text.index("after")) == "# A\n## C"
    assert found.above(text.index("y\n")) == "# D"
    assert found.above(0) == ""


def test_a_fenced_block_has_no_headings_and_its_first_line_stands_above() -> None:
    text = "# A\n\n```sh\n# no heading\n\nmake\n```\nb\n\n~~~\n# open to the end\n"
    found = outline(text, PLAIN)
    assert [each.title for each in found.headings] == ["A"]
    assert found.above(text.index("make")) == "# A\n```sh"
    assert found.above(text.index("b\n")) == "# A"
    assert found.head(len(text) - 2) == "~~~"


def test_two_lines_with_bars_are_no_table() -> None:
    assert not outline("a | b\nc | d\n", PLAIN).blocks
    assert outline("a | b\nc | d\ne | f\n", PLAIN).blocks


def test_each_line_of_csv_is_a_row() -> None:
    text = "name,price\nlamp,3\noil,4\n"
    assert outline(text, Layout(is_table=True)).above(text.index("oil")) == "name,price"
    assert outline(text, PLAIN).above(text.index("oil")) == ""


def test_pages_begin_where_they_are_broken_also_after_an_empty_one() -> None:
    text = "one\f\f\n three\ffour"
    assert boundaries(text, Layout(has_pages=True)) == [("three", "PAGE"), ("four", "PAGE")]
    assert boundaries(text) == [("three", "PARAGRAPH"), ("four", "PARAGRAPH")]


def test_recognised_pages_are_other_text() -> None:
    layout = Layout(has_pages=True, recognised=frozenset({2, 3}))
    assert boundaries("one\ftwo\fthree\ffour", layout) == [
        ("two", "OTHER_TEXT"), ("three", "PAGE"), ("four", "OTHER_TEXT"),
    ]  # fmt: skip


def test_turns_of_a_conversation_are_parts() -> None:
    text = "you: hello\n\nChatGPT: hi\nyou: inside\n\nmore\n\nyou: bye"
    assert boundaries(text, Layout(speakers=("you", "ChatGPT"))) == [
        ("ChatGPT:", "PART"), ("you:", "LINE"), ("more", "PARAGRAPH"), ("you:", "PART"),
    ]  # fmt: skip


def test_definitions_are_parts_of_code() -> None:
    method = "    def f(self):\n        y\n\n        z\n"
    text = f"import os\n\n\nclass A:\n    x = 1\n\n{method}\n}}\n\ndef g"
    assert boundaries(text, Layout(is_code=True)) == [
        ("class", "PART"), ("x", "LINE"), ("def", "PARAGRAPH"), ("y", "LINE"), ("z", "LINE"),
        ("}", "LINE"), ("def", "PART"),
    ]  # fmt: skip


def test_prose_has_no_structure() -> None:
    assert not outline("One.\n\nTwo.\nThree.\n\n- item\n- item\n", PLAIN).is_structured()


def test_a_place_has_its_page_and_the_headings_above_it() -> None:
    text = "# A\nx\n## B\ny\fz\n## C\nwords"
    start = text.index("## B")
    assert place_in(text, (start, 1, "# A"), start) == (1, "A › B")
    assert place_in(text, (start, 1, "# A"), text.index("z")) == (2, "A › B")
    assert place_in(text, (start, None, "# A"), text.index("words")) == (None, "A › C")
    assert place_in(text, (0, None, ""), text.index("## C") + 3) == (None, "A › C")
    assert place_in("no heading", (0, None, ""), 4) == (None, "")
