"""Words in one form for the index and the question, however they are written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from written_forms import WRITTEN

from mem_search.text import word_forms, words
from mem_search.text.highlight import highlight, snippet, word_matcher
from mem_search.text.identifiers import find


def indexed(text: str) -> set[str]:
    """The words of a text as a tokenizer sees it, and those beside it."""
    return {run.lower() for run in words.RUN.findall(f"{text} {words.extra_terms(text)}")}


def asked(question: str) -> list[set[str]]:
    """For each word of a question, the words of the index that it matches."""
    found = words.read(question)
    single = [{word, word_forms.folded(word)} for word in found.words]
    return single + [{pair} for run in found.cjk for pair in words.bigrams(run)]


@pytest.mark.parametrize(("text", "question"), WRITTEN)
def test_a_word_is_found_as_people_type_it(text: str, question: str) -> None:
    assert all(each & indexed(text) for each in asked(question)), (indexed(text), asked(question))


@pytest.mark.parametrize(("text", "question"), WRITTEN)
def test_a_word_is_found_as_it_is_written(text: str, question: str) -> None:
    assert all(each & indexed(text) for each in asked(text) if each != {"1"}), indexed(text)
    assert all(each & indexed(question) for each in asked(question))


@pytest.mark.parametrize(
    ("text", "word", "marked"),
    [
        ("Die Hafen\u00adgebühr gilt", "hafengebühr", "Die **Hafen\u00adgebühr** gilt"),
        ("the ﬁnal oﬃce ﬂoor", "office", "the ﬁnal **oﬃce** ﬂoor"),
        ("Ｎｏ． １２３４５ lamp", "12345", "Ｎｏ． **１２３４５** lamp"),
        ("من خـــلال العام", "خلال", "من **خـــلال** العام"),
        ("маяк и ёлка", "елка", "маяк и **ёлка**"),
        ("ο φάρος", "φαρος", "ο **φάρος**"),
    ],
)
def test_what_is_marked_is_the_text_as_it_was_written(text: str, word: str, marked: str) -> None:
    assert highlight(text, [word]) == marked
    (span,) = word_matcher((word,)).spans(text)
    assert text[slice(*span)] == marked.split("**")[1]
    assert word_matcher((word,)).stands_in(text)
    cut = snippet(f"{'a ' * 300}{text}{' b' * 300}", 0, 1200, [word])
    assert text[slice(*span)] in cut.text


@pytest.mark.parametrize(
    "text",
    ["plain words", "the naïve café", "Straße", "กำลัง น้ำ", "ㅋㅋㅋ", "한국어", "中文", "नमस्ते"],
)
def test_what_people_type_stays_as_it_is(text: str) -> None:
    assert word_forms.plain(text) == text
    assert word_forms.view(text) is None


def test_a_model_sees_what_a_reader_sees() -> None:
    assert word_forms.seen("Hafen\u00adgebühr im oﬃce １２") == "Hafengebühr im office 12"
    assert word_forms.seen("می‌خواهم 👩‍🔧") == "می‌خواهم 👩‍🔧"


def test_a_name_is_the_same_with_a_hyphen_that_does_not_break() -> None:
    (name,) = find("AB-5521-KX")
    assert name.held("policy AB\u20115521\u2011KX is valid") == 2
    assert find("AB\u20115521\u2011KX") == (name,)


def test_phrases_match_across_words_in_another_form() -> None:
    beside = f" {words.extra_terms('In the ﬁnal oﬃce plan of May')} "
    assert " the final office plan of " in beside


@given(st.text(st.characters(codec="utf-8"), max_size=60))
def test_a_plain_text_stays_plain_and_every_span_is_one_of_the_text(text: str) -> None:
    found = word_forms.plain(text)
    view = word_forms.view(text)
    assert (view.text if view else text) == found
    assert word_forms.plain(word_forms.plain(found)) == word_forms.plain(found)
    if view:
        spans = [view.span(at, at + 1) for at in range(len(view.text))]
        assert all(0 <= start < end <= len(text) for start, end in spans)
        assert spans == sorted(spans)


def test_a_word_behind_a_colour_of_a_terminal_is_a_word() -> None:
    log = "\x1b[1m\x1b[32mCompiling\x1b[0m quay v1\n\x1b]8;;https://e.org/\x1b\\\x1b[31mlantern\x1b[0m"
    assert {"compiling", "quay", "lantern"} <= set(words.extra_terms(log).split())
    assert word_forms.plain(log) == "Compiling quay v1\nlantern"
    assert word_forms.has_forms(log)
