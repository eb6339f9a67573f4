"""The contract of every kind of record."""

from dataclasses import replace
from importlib.metadata import EntryPoint
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mem_search.contracts import RecordKind
from mem_search.errors import InputError
from mem_search.model import Draft, Link, Record
from mem_search.records import BUILT_IN
from mem_search.records.registry import ENTRY_POINTS, installed_kinds, load

WORDS = st.text(max_size=40) | st.text(alphabet="ab ,\n\r-:\x00\ud800é", max_size=40)
LISTS = st.lists(WORDS, max_size=4)
METADATA = st.fixed_dictionaries(
    {},
    optional={
        "type": WORDS,
        "subtitle": WORDS,
        "narrative": WORDS,
        "facts": LISTS,
        "concepts": LISTS,
        "files_read": LISTS,
        "files_modified": LISTS,
        "files_edited": LISTS,
        "request": WORDS,
        "completed": WORDS,
        "notes": WORDS,
        "branch": WORDS,
        "folder": WORDS,
        "domain": WORDS,
        "path": WORDS,
        "subject": WORDS,
        "from": WORDS,
        "to": LISTS,
        "archived": st.booleans(),
        "unknown": st.none() | st.integers() | WORDS | st.dictionaries(WORDS, LISTS, max_size=2),
    },
)
DRAFTS = st.builds(
    Draft,
    kind=st.sampled_from(installed_kinds().names),
    source=st.just("test"),
    source_id=st.just("1"),
    text=WORDS.map(lambda words: f"{words} end"),
    title=WORDS,
    project=WORDS,
    tags=LISTS.map(tuple),
    url=WORDS,
    importance=st.none() | st.floats(0, 1),
    metadata=METADATA,
    links=st.lists(st.builds(Link, WORDS, WORDS), max_size=2).map(tuple),
)


def stored(draft: Draft) -> Record:
    values: dict[str, Any] = {
        name: getattr(draft, name)
        for name in Draft.__dataclass_fields__
        if name not in ("links", "earlier", "reading", "former", "place", "project_id")
    }
    return Record(number=3, **{**values, "created_at": 0, "updated_at": 0})


@given(DRAFTS)
def test_composing_twice_changes_nothing(draft: Draft) -> None:
    kind = installed_kinds().get(draft.kind)
    once = kind.compose(draft)
    assert kind.compose(once) == once


@given(DRAFTS)
def test_whatever_is_composed_can_be_encoded_listed_and_filtered(draft: Draft) -> None:
    kind = installed_kinds().get(draft.kind)
    once = kind.compose(draft)
    once.text.encode()
    once.title.encode()
    assert once.text.strip()
    assert set(draft.metadata) == set(once.metadata)
    facets = list(kind.facets(once))
    assert len(set(facets)) == len(facets)
    assert all(name and value == value.strip() and value for name, value in facets)
    record = stored(once)
    title = kind.title(record)
    assert title.strip()
    assert "\n" not in title
    assert len(title) <= 100
    assert kind.icon(record)
    assert all(label and text for label, text in kind.detail(record))


def test_a_built_in_kind_is_listed_under_its_plural_and_lies_in_a_module_of_its_name() -> None:
    for plural, (value, _) in BUILT_IN.items():
        kind = load(EntryPoint(plural, value, ENTRY_POINTS))
        assert kind.plural == plural
        assert type(kind).__module__ == f"mem_search.records.{kind.name}"


@pytest.mark.parametrize("kind", tuple(installed_kinds()), ids=lambda kind: kind.name)
class TestKind:
    def test_is_found_by_its_name(self, kind: RecordKind) -> None:
        assert type(installed_kinds().get(kind.name)) is type(kind)
        assert [other.name for other in installed_kinds() if other.plural == kind.plural] == [
            kind.name
        ]
        assert kind.label

    def test_keeps_unknown_metadata(self, kind: RecordKind) -> None:
        draft = Draft(kind.name, "test", "1", "text", metadata={"their_key": {"a": [1]}})
        composed = kind.compose(draft)
        assert composed.metadata == {"their_key": {"a": [1]}}
        assert ("Their key", '{"a": [1]}') in kind.detail(stored(composed))

    def test_can_be_filtered_by_where_and_by_whom(self, kind: RecordKind) -> None:
        values = {"branch": "main", "author": "Ann", "platform": "linux"}
        draft = kind.compose(Draft(kind.name, "test", "1", "text", metadata=values))
        assert set(values.items()) <= set(kind.facets(draft))

    def test_is_found_by_its_title_when_it_has_no_text(self, kind: RecordKind) -> None:
        draft = Draft(kind.name, "test", "1", "", title=" Only\na title ")
        assert kind.compose(draft).text == "Only a title"

    def test_refuses_a_draft_that_says_nothing(self, kind: RecordKind) -> None:
        with pytest.raises(InputError) as caught:
            kind.compose(Draft(kind.name, "test", "1", " \n"))
        assert caught.value.field == "text"

    def test_does_not_change_the_draft_it_is_given(self, kind: RecordKind) -> None:
        metadata = {"branch": "a\x00"}
        draft = Draft(kind.name, "test", "1", "text", metadata=metadata)
        before = replace(draft)
        kind.compose(draft)
        assert draft == before
        assert metadata == {"branch": "a\x00"}
