"""Sketches: which texts count as nearly equal, and that sketches never change."""

from __future__ import annotations

import hashlib

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mem_search.text import sketch
from mem_search.text.sketch import repeated

LONG = " ".join(f"{word} is told about" for word in "abcdefghijklmnopqrstuvwxyz" * 2)


def near(one: str, other: str) -> bool:
    rows = sketch.read(sketch.sketch("", one) + sketch.sketch("", other))
    return sketch.is_near(rows[0], rows[1])


def test_case_punctuation_and_space_make_no_difference() -> None:
    assert sketch.sketch("The Login", "is fast.") == sketch.sketch("the login:", " IS  fast")
    assert sketch.sketch("", "登录 问题!") == sketch.sketch("登录", "问题")


def test_a_word_more_in_a_long_text_is_nearly_the_same_and_in_a_short_one_is_not() -> None:
    assert near(LONG, f"{LONG} indeed")
    assert not near("the login is fast", "the login is slow")
    assert not near("continue", "stop")
    assert not near("", "stop")


def test_another_number_is_another_thing_however_long_the_text() -> None:
    assert near(f"{LONG} at 10:30", f"{LONG} at 10:30")
    assert not near(f"{LONG} at 10:30", f"{LONG} at 10:31")
    assert not near(f"{LONG} v2", f"{LONG} v3")


def test_sketches_never_change() -> None:
    """Stored sketches are compared with new ones: a change needs a migration."""
    made = b"".join(
        sketch.sketch("Title", text)
        for text in ("", "a few words", f"{LONG} 登录问题 a_b 12", LONG)
    )
    assert hashlib.sha256(made).hexdigest() == (
        "52989851d4ef00a1239e67b744e1982d26371931b5dc178dab78cfe7e7178351"
    )


@given(st.text(), st.text(max_size=50))
def test_any_text_has_a_sketch_and_is_near_itself(title: str, text: str) -> None:
    made = sketch.sketch(title, text)
    assert len(made) == sketch.SIZE
    rows = sketch.read(made + sketch.sketch(title, text))
    assert sketch.is_near(rows[0], rows[1])


def test_a_text_longer_than_what_is_hashed_at_a_time_counts_to_its_end() -> None:
    words = [
        f"w{chr(97 + n % 26)}{chr(97 + n // 26 % 26)}{chr(97 + n // 676)}" for n in range(9000)
    ]
    assert near(" ".join(words), " ".join(words[:-5]))
    assert not near(" ".join(words), " ".join(words[:4000]))


@given(
    st.binary(min_size=sketch.SIZE, max_size=sketch.SIZE),
    st.lists(st.integers(0, sketch.SIZE - 1), max_size=sketch.MAX_DIFFERENT_BYTES),
)
def test_near_duplicates_share_a_word_of_their_heads(made: bytes, changed: list[int]) -> None:
    other = bytearray(made)
    for place in changed:
        other[place] ^= 0x55
    rows = sketch.read(made + bytes(other))
    assert sketch.is_near(rows[0], rows[1])
    assert repeated(sketch.heads(rows)).tolist() == [True, True]


@given(st.lists(st.lists(st.integers(0, 3), min_size=5, max_size=5), max_size=12))
def test_rows_are_repeated_when_they_share_a_word_in_a_column(
    words: list[list[int]],
) -> None:
    heads = np.array(words, np.uint32).reshape(-1, sketch.WORDS)
    expected = [
        any(
            one[column] == other[column]
            for column in range(5)
            for other in words[:n] + words[n + 1 :]
        )
        for n, one in enumerate(words)
    ]
    assert repeated(heads).tolist() == expected


def test_sketches_share_a_word_only_in_the_same_column() -> None:
    rows = np.zeros((3, sketch.SIZE), np.uint8)
    rows[:, : sketch.HEAD] = np.arange(3 * sketch.HEAD, dtype=np.uint8).reshape(3, -1)
    rows[1, 4:8] = rows[0, 4:8]  # the same column
    rows[2, 8:12] = rows[0, 0:4]  # another one
    first, second, third = sketch.shared_words(rows)
    assert len(first) == 1
    assert first == second
    assert third == []
