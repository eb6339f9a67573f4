from hypothesis import given
from hypothesis import strategies as st

from mem_search.text.highlight import SNIPPET_CHARS, snippet

TEXT = (
    "The quick brown fox. " * 30 + "Tokens are validated in middleware. " + "Lazy dogs sleep. " * 30
)


def test_the_snippet_shows_the_words_that_matched() -> None:
    found = snippet(TEXT, 0, len(TEXT), ["token", "validation"])
    assert "Tokens are validated in middleware" in found.text


def test_without_matching_words_it_shows_the_beginning() -> None:
    assert snippet(TEXT, 21, len(TEXT), ["nothing"]).start == 21


@given(
    st.text(max_size=900),
    st.lists(st.text(max_size=8), max_size=4),
    st.integers(0, 900),
    st.integers(0, 900),
    st.integers(1, SNIPPET_CHARS),
)
def test_a_snippet_is_an_exact_span_within_its_passage(
    text: str, words: list[str], a: int, b: int, length: int
) -> None:
    start, end = sorted((min(a, len(text)), min(b, len(text))))
    found = snippet(text, start, end, words, length=length)
    assert found.text == text[found.start : found.end]
    assert start <= found.start <= found.end <= end
    assert len(found.text) <= length


def test_a_snippet_begins_and_ends_with_whole_words() -> None:
    found = snippet(TEXT, 0, len(TEXT), ["middleware"], length=60)
    around = f" {TEXT} "[found.start : found.end + 2]
    assert not around[0].isalnum()
    assert not (around[-1].isalnum() and around[-2].isalnum())
    assert "middleware" in found.text


def test_a_text_without_spaces_is_cut_where_it_must_be() -> None:
    found = snippet("x" * 5000, 0, 5000, ["y"], length=100)
    assert (found.start, found.end) == (0, 100)
    run = "検索を改善する" * 100
    assert len(snippet(run, 0, len(run), ["検索"], length=90).text) == 90
