"""Any text can be parsed, and its demands can be written down and parsed again."""

from datetime import UTC, datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from mem_search.records.registry import installed_kinds
from mem_search.text.query.parse import read

NOW = datetime(2025, 11, 20, 12, tzinfo=UTC)
PIECES = (
    *("AND", "OR", "NOT", "and", "-", "+", "(", ")", '"', "*", "~", ":", ",", "`", " ", " ", "\n"),
    *("type:", "before:", "in:", "kind:", "is:", "file:", "tag:", "last week", "2024", "note"),
    *("auth", "a::b", "x/y.py", "İ", "ß", "snake_case", "登录", "問", "한국어", "😀", "\x00"),
    *("\u202e", "\ud800", "\udfff", "e\u0301", "\u0d4d", "\u2028", "ﬀ", "²", "_", "'", "\\"),
)
QUERIES = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=25).map("".join),
    st.lists(st.sampled_from(PIECES), max_size=25).map(" ".join),
    st.text(st.characters(), max_size=40),
)


@settings(max_examples=1500, deadline=None)
@given(QUERIES)
def test_any_text_is_read_and_its_demand_reads_as_itself(text: str) -> None:
    found = read(text, now=NOW, kinds=installed_kinds())
    again = read(found.analyzed.demanded, now=NOW, kinds=installed_kinds())
    assert again.demand == found.demand
    if found.demand is None and not found.wild:
        assert found.text in (text, "")


@settings(max_examples=300, deadline=None)
@given(QUERIES)
def test_reading_is_a_function_of_its_text(text: str) -> None:
    assert read(text, now=NOW, kinds=installed_kinds()) == read(
        text, now=NOW, kinds=installed_kinds()
    )
