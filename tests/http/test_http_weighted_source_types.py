"""Every record has exactly one source type, whatever its kind and source."""

from __future__ import annotations

import typing

from hypothesis import given
from hypothesis import strategies as st

from mem_search.features.weighted.requests import (
    RULES,
    SESSION_SOURCES,
    SourceType,
    rules_for,
    source_type_for,
)
from mem_search.model import Kind
from mem_search.records.registry import installed_kinds

SOURCES = st.one_of(
    st.sampled_from([*SESSION_SOURCES, "jsonl", "git", "api"]), st.text(max_size=10)
)
WORDS = typing.get_args(SourceType)


@given(st.sampled_from(installed_kinds().names), SOURCES)
def test_exactly_one_rule_holds_for_a_record(kind: Kind, source: str) -> None:
    met = [
        rule
        for rule in RULES
        if kind in rule.kinds and rule.of_agents in (None, source in SESSION_SOURCES)
    ]
    assert [rule.word for rule in met] == [source_type_for(kind, source)]


def test_all_words_but_one_have_records() -> None:
    assert {rule.word for rule in RULES} == set(WORDS) - {"checkpoint_recall"}
    assert rules_for(["checkpoint_recall"]) == ()


def test_notes_of_agents_and_of_people_have_different_source_types() -> None:
    assert source_type_for("note", "claude-mem") == "conversation"
    assert source_type_for("note", "jsonl") == "direct_input"
    assert source_type_for("observation", "git") == "api_import"
