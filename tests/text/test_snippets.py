from hypothesis import given
from hypothesis import strategies as st

from mem_search.text.snippets import LENGTH, snippet

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
)
def test_a_snippet_is_an_exact_span_within_its_passage(
    text: str, words: list[str], a: int, b: int
) -> None:
    start, end = sorted((min(a, len(text)), min(b, len(text))))
    found = snippet(text, start, end, words)
    assert found.text == text[found.start : found.end]
    assert start <= found.start <= found.end <= end
    assert len(found.text) <= 3 * LENGTH
