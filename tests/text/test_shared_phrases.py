"""Phrases that two texts share: which are kept, and what a comparison finds."""

from __future__ import annotations

import pytest

from mem_search.text.shared_phrases import LENGTH, MAX_PHRASES, sampled_phrases, shared

SAID = (
    "The harbour of Trondheim froze twice during the winter of 1893, and merchants carried salted"
    " cod across the fjord on sledges."
)
REPORT = f"Trade never stopped. “{SAID}” So much for ships."
PAGE = f"Winters were harsh.\n\n{SAID}\n\nIn spring the ice broke."


def anchors(text: str, other: str) -> list[tuple[int, int]]:
    """Where the phrases start that both texts keep."""
    own, others = dict(sampled_phrases(text)), dict(sampled_phrases(other))
    return [(own[each], others[each]) for each in own.keys() & others.keys()]


def test_a_quotation_is_one_run_with_its_place() -> None:
    (run,) = shared(REPORT, PAGE, anchors(REPORT, PAGE))
    assert REPORT[run.start : run.end] == SAID.removesuffix(".")
    assert run.length == len(SAID.split())
    assert run.words < run.length  # "the", "of", "and" say nothing


def test_case_punctuation_links_and_markers_make_no_difference() -> None:
    written = SAID.upper().replace(",", ";").replace("MERCHANTS", "merchants [12, 14]")
    (run,) = shared(written, PAGE, anchors(written, PAGE))
    assert run.length == len(SAID.split())


def test_a_changed_word_leaves_one_run_and_others_leave_several() -> None:
    words = SAID.split()
    words[10] = "frosts"
    changed = " ".join(words)
    runs = shared(changed, PAGE, anchors(changed, PAGE))
    assert sum(run.length for run in runs) >= len(words) - 2


def test_what_is_said_in_other_words_is_not_shared() -> None:
    other = "Ice closed the port two times that year, so traders pulled fish over the water."
    assert not anchors(other, PAGE)
    assert shared(other, PAGE, []) == []


@pytest.mark.parametrize("text", ["", "one two three", "of the and in " * 50, "\ud800 a b c d"])
def test_texts_without_words_of_content_keep_nothing(text: str) -> None:
    assert len(sampled_phrases(text)) <= 1


def test_a_text_without_spaces_is_compared_by_its_characters() -> None:
    said = "一八九三年冬天特隆赫姆港口两次结冰商人们用雪橇把咸鳕鱼运过峡湾"
    page, report = f"很冷。{said}。春天来了。", f"有人写道{said}如此而已"
    (run,) = shared(report, page, anchors(report, page))
    assert report[run.start : run.end] == said


def test_a_long_text_keeps_a_bounded_number_that_others_keep_as_well() -> None:
    long = " ".join(f"word{n} thing{n * 7 % 1009}" for n in range(9_000))
    assert MAX_PHRASES / 3 < len(sampled_phrases(long)) <= MAX_PHRASES
    part = long[40_000:60_000]
    both = dict(sampled_phrases(long)).keys() & dict(sampled_phrases(part)).keys()
    assert both
    assert all(long[at : at + LENGTH] == part[b : b + LENGTH] for at, b in anchors(long, part))
