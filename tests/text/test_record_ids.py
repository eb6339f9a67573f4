"""What callers write for a record."""

from __future__ import annotations

import re

import pytest

from mem_search.errors import InputError
from mem_search.text import record_ids
from mem_search.text.record_ids import RecordId, alias_of

FORMS = [
    ("observation:42", RecordId(42, "observation"), "observation:42"),
    ("local:note:7", RecordId(7, "note"), "note:7"),
    ("42", RecordId(42), "#42"),
    (" #42 ", RecordId(42), "#42"),
    ("S12", RecordId(12, "session_summary"), "session_summary:12"),
    ("#p3", RecordId(3, "user_prompt"), "user_prompt:3"),
    ("cm:2001", RecordId(alias="cm:2001"), "cm:2001"),
    ("CM:#s012", RecordId(alias="cm:S12"), "cm:S12"),
]


@pytest.mark.parametrize(("text", "found", "written"), FORMS)
def test_every_form_of_an_id_is_read_and_written_in_one_way(
    text: str, found: RecordId, written: str
) -> None:
    assert RecordId.parse(text) == found
    assert str(found) == written
    assert RecordId.parse(written) == found
    assert re.fullmatch(record_ids.PATTERN, text.strip())


@pytest.mark.parametrize(
    "text", ["", "note", "12 13", "S", "cm:", "cm:x1", "#", "9" * 19, "Note:1"]
)
def test_what_is_no_id_is_refused_with_the_forms(text: str) -> None:
    with pytest.raises(
        InputError, match=r"is not a ref; write kind:number, .*, the number alone, or cm:2001"
    ) as raised:
        RecordId.parse(text, "ids")
    assert raised.value.field == "ids"
    assert not re.fullmatch(record_ids.PATTERN, text.strip())


@pytest.mark.parametrize(
    ("source", "source_id", "alias"),
    [
        ("claude-mem", "observation:2001", "cm:2001"),
        ("claude-mem", "3f2a9c1b:session_summary:12", "cm:S12"),
        ("claude-mem", "user_prompt:7", "cm:P7"),
        ("claude-mem", "note:7", ""),
        ("git", "observation:2001", ""),
        ("claude-mem", "observation:x", ""),
    ],
)
def test_a_record_of_claude_mem_has_its_id_as_an_alias(
    source: str, source_id: str, alias: str
) -> None:
    assert alias_of(source, source_id) == alias


@pytest.mark.parametrize(
    ("question", "ids"),
    [
        ("#1950", ["#1950"]),
        ("show me #1950 and S12, please", []),
        ("show me #1950 and S12", ["#1950", "session_summary:12"]),
        ("fix of #1950 in the walker", []),
        ("fix of observation:1950 in the walker", ["observation:1950"]),
        ("what did (cm:2001) say?", ["cm:2001"]),
        ("1950", []),
        ("words alone", []),
        ("cm:1 " * 20, ["cm:1"]),
    ],
)
def test_the_ids_of_a_question(question: str, ids: list[str]) -> None:
    assert [str(each) for each in record_ids.find(question)] == ids


def test_a_pasted_text_gives_only_so_many_ids() -> None:
    text = " ".join(f"note:{n}" for n in range(50))
    assert len(record_ids.find(text)) == record_ids.MAX_IDS
