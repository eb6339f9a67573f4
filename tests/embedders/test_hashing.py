"""Texts that share words are near, and the vectors never change."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mem_search.embedders.hashing import HashingEmbedder

embed = HashingEmbedder().embed


def test_texts_that_share_words_are_nearer() -> None:
    query, near, far = embed(["token expiry", "fix token expiry in auth", "bread recipe"])
    assert query @ near > 0.5 > query @ far


def test_parts_of_words_count_too() -> None:
    query, near, far = embed(["authentication", "authenticate", "bread"])
    assert query @ near > 0.3 > query @ far


def test_case_and_order_do_not_count() -> None:
    one, other = embed(["Auth Token", "token auth"])
    assert np.allclose(one, other)


def test_another_process_gives_the_same_vectors() -> None:
    code = (
        "from mem_search.embedders.hashing import HashingEmbedder as H;"
        "print(H().embed(['héllo wörld 42']).tobytes().hex())"
    )
    told = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()
    assert told == embed(["héllo wörld 42"]).tobytes().hex()


@given(st.text(st.characters(codec=None)))
def test_any_text_has_a_unit_vector(text: str) -> None:
    vector = embed([text])
    assert vector.dtype == np.float32
    assert np.isclose(np.linalg.norm(vector), 1, atol=1e-5)
