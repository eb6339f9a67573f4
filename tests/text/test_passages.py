import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from mem_search.text import wordpieces
from mem_search.text.passages import HALF, SIZE, STRIDE, cut, embedded_texts

LONG = " ".join(f"word{i} and more, then some." for i in range(600))


def test_a_short_text_is_one_passage() -> None:
    (passage,) = cut("a short note")
    assert (passage.ordinal, passage.start, passage.end) == (0, 0, 12)


def test_an_empty_text_has_one_empty_passage() -> None:
    (passage,) = cut("")
    assert (passage.start, passage.end) == (0, 0)


def test_long_texts_are_covered_by_overlapping_passages() -> None:
    passages = cut(LONG)
    assert len(passages) > 3
    assert passages[0].start == 0
    assert passages[-1].end == len(LONG)
    for one, next_one in itertools.pairwise(passages):
        assert one.start < next_one.start < one.end < next_one.end
        overlap = wordpieces.count(LONG[next_one.start : one.end])
        assert SIZE - STRIDE - 5 <= overlap <= SIZE - STRIDE + 5


@settings(max_examples=50, deadline=None)
@given(st.text(st.characters(codec="utf-8"), max_size=400).map(lambda text: text * 6))
def test_every_character_is_in_a_passage(text: str) -> None:
    covered = 0
    for passage in cut(text):
        assert passage.start <= covered
        covered = max(covered, passage.end)
    assert covered == len(text)


def test_the_model_reads_a_short_passage_whole_with_its_title() -> None:
    assert embedded_texts("Title", "some text") == ("Title\nsome text",)
    assert embedded_texts("", "some text") == ("some text",)


def test_the_model_reads_a_long_passage_as_two_overlapping_halves() -> None:
    passage = cut(LONG)[0]
    text = LONG[passage.start : passage.end]
    first, second = embedded_texts("", text)
    assert text.startswith(first)
    assert text.endswith(second)
    assert len(first) + len(second) > len(text)
    assert max(wordpieces.count(half) for half in (first, second)) <= HALF + 1
