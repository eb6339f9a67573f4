"""The vendored vocabulary cuts text exactly as the model's own tokenizer does."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mem_search.text import wordpieces

# Piece numbers taken once from the tokenizer.json published with the model.
KNOWN = {
    "unbelievable!": [23653, 999],
    "Café naïve e\u0301te\u0301": [7668, 15743, 3802, 2063],
    "日本語のテキスト": [1864, 1876, 1950, 1671, 30239, 30227, 30233, 30240],
    "emoji 👩\u200d👩\u200d👧 🎉!": [7861, 29147, 2072, 100, 100, 999],
    "½ cup ﬁne ß İstanbul": [1092, 2452, 1984, 2638, 1096, 9960],
    "  tabs\tand\nnewlines\x00 ": [21628, 2015, 1998, 2047, 12735],
    "don't re-do 3.14%": [2123, 1005, 1056, 2128, 1011, 2079, 1017, 1012, 2403, 1003],
    "नमस्ते दुनिया": [1327, 29867, 29874, 29859, 1325, 29863, 29877, 29868, 29876],
    "x" * 120: [wordpieces.UNKNOWN],
    "": [],
}


@pytest.mark.parametrize("text", KNOWN)
def test_pieces_are_those_of_the_published_tokenizer(text: str) -> None:
    assert wordpieces.encode([text]) == [KNOWN[text]]


def test_texts_are_encoded_each_for_itself() -> None:
    assert wordpieces.encode(list(KNOWN)) == list(KNOWN.values())


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Ref(parse_ref)", ["Ref", "(", "par", "se", "_", "ref", ")"]),
        ("e\u0301te\u0301 fini", ["e\u0301t", "e\u0301", "fin", "i"]),
        ("日本語", ["日", "本", "語"]),
        ("ok 👩\u200d👩\u200d👧!", ["ok", "👩\u200d👩\u200d👧", "!"]),
        ("한국", ["한", "한", "한", "국", "국", "국"]),
    ],
)
def test_spans_are_offsets_into_the_text(text: str, parts: list[str]) -> None:
    assert [text[start:end] for start, end in wordpieces.spans(text)] == parts


def test_a_control_token_written_as_text_is_ordinary_text() -> None:
    (pieces,) = wordpieces.encode(["[SEP]"])
    assert wordpieces.END not in pieces
    assert len(pieces) == 3


def test_half_a_surrogate_pair_is_a_character_like_any_other() -> None:
    text = "broken \ud83d pair"
    assert [text[a:b] for a, b in wordpieces.spans(text)] == ["broken", "pair"]
    assert wordpieces.count(text) == 2


@given(st.text(st.characters(codec=None), max_size=60))
def test_any_text_has_as_many_spans_as_pieces_in_order_and_inside_it(text: str) -> None:
    spans = wordpieces.spans(text)
    assert len(spans) == wordpieces.count(text) == len(wordpieces.encode([text])[0])
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert [start for start, _ in spans] == sorted(start for start, _ in spans)


@settings(max_examples=6)
@given(st.text("ab .-'\"(é\u0301漢字、。！ア가½’\u2014\n\u00a0", min_size=1, max_size=40))
def test_a_long_text_is_read_in_parts_without_a_difference(part: str) -> None:
    text = part * (120_000 // len(part))
    (whole,) = wordpieces.encode([text])
    assert wordpieces.count(text) == len(wordpieces.spans(text)) == len(whole)


def test_what_is_longer_than_any_word_is_none() -> None:
    assert not wordpieces.is_word("x" * 120)
