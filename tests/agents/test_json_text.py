"""Changes of settings that people edit by hand: everything else in the file stays as it is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mem_search.agents.settings_text import (
    NotJson,
    at,
    read,
    with_item,
    with_member,
    without_items,
    without_member,
)

BY_HAND = """\
\ufeff// my settings
{
\t"theme": "dark", // at night
\t/* both
\t   servers */
\t'servers': {
\t\tone: {command: "x", port: .5},
\t},
\t"list": [1, 2 /* last */],
}
// the end
"""


def test_a_member_is_added_and_nothing_else_moves() -> None:
    new = with_member(BY_HAND, ("servers", "mine"), {"command": "y"})
    added = '\t\t"mine": {\n\t\t\t"command": "y"\n\t\t},\n'
    before, after = BY_HAND.split('\t},\n\t"list"')
    assert new == before + added + '\t},\n\t"list"' + after
    assert without_member(new, ("servers", "mine")) == BY_HAND.replace(".5},", ".5},")


def test_a_comment_behind_the_last_member_stays_behind_it() -> None:
    new = with_member('{\n  "a": 1 // one\n}\n', ("b",), 2)
    assert new == '{\n  "a": 1, // one\n  "b": 2\n}\n'
    assert without_member(new, ("b",)) == '{\n  "a": 1 // one\n}\n'


def test_an_item_is_added_to_a_list_and_taken_out_again() -> None:
    new = with_item(BY_HAND, ("list",), {"x": 1})
    assert at(read(new), ("list",)) == [1, 2, {"x": 1}]
    assert "/* last */" in new
    assert read(without_items(new, ("list",), {"x": 1})) == read(BY_HAND)


def test_objects_on_the_way_are_made() -> None:
    assert read(with_item("", ("hooks", "Stop"), 1)) == {"hooks": {"Stop": [1]}}
    assert with_member("{}", ("a",), 1) == '{\n  "a": 1\n}'


def test_the_indentation_of_what_is_added_does_not_grow() -> None:
    new = with_item('{ "hooks": { "stop": [ 1 ] } }\n', ("hooks", "stop"), {"run": "x"})
    for name in ("start", "end"):
        new = with_item(new, ("hooks", name), {"run": "x"})
    assert new == (
        '{ "hooks": { "stop": [ 1,\n'
        '      {\n        "run": "x"\n      }\n    ],\n'
        '    "start": [\n      {\n        "run": "x"\n      }\n    ],\n'
        '    "end": [\n      {\n        "run": "x"\n      }\n    ]\n'
        "  } }\n"
    )


def test_lines_end_as_before() -> None:
    new = with_member('{\r\n    "a": 1\r\n}\r\n', ("b",), {"c": 2})
    assert new == '{\r\n    "a": 1,\r\n    "b": {\r\n        "c": 2\r\n    }\r\n}\r\n'


def test_of_keys_that_come_twice_the_last_one_counts() -> None:
    assert read(with_member('{"a": {}, "a": {"b": 1}}', ("a", "c"), 2)) == {"a": {"b": 1, "c": 2}}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "it ends in line 1"),
        ('{\n"a": 1\n"b": 2}', "line 3 is not JSON: '\"b\": 2}'"),
        ("{} x", "line 1 is not JSON: 'x'"),
        ("[" * 1000, "it is nested deeper than 200 levels"),
        ('{"a": "\\q"}', "line 1 is not JSON"),
    ],
)
def test_what_is_no_json_is_refused_with_the_line(text: str, reason: str) -> None:
    with pytest.raises(NotJson, match=reason.replace("[", r"\[")):
        with_member(text, ("a",), 1)


def test_a_value_on_the_way_is_not_replaced() -> None:
    for text in ('{"hooks": 3}', '{"hooks": {"Stop": "no list"}}', "[]"):
        with pytest.raises(NotJson, match="is no"):
            with_item(text, ("hooks", "Stop"), 1)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)
OBJECTS = st.dictionaries(st.text(max_size=3), VALUES, max_size=4)


@settings(max_examples=60)
@given(
    OBJECTS, st.sampled_from([None, 2, "\t"]), st.lists(st.text(max_size=3), min_size=1, max_size=3)
)
def test_what_is_added_can_be_taken_out_again(
    content: dict[str, Any], indent: int | str | None, path: list[str]
) -> None:
    text = json.dumps(content, indent=indent)
    place = ("ours", *path)
    new = with_member(text, place, {"command": "x"})
    assert at(json.loads(new), place) == {"command": "x"}
    again = without_member(new, ("ours",))
    assert json.loads(again) == {key: value for key, value in content.items() if key != "ours"}
