"""The sparse model that mem-search brings, and the vectors that it makes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mem_search.embedders import bundled
from mem_search.embedders.bundled import BundledSparse
from mem_search.errors import ModelUnavailable
from mem_search.text import sparse, wordpieces


@pytest.fixture(scope="module")
def model() -> BundledSparse:
    return BundledSparse()


def pieces(vector: bytes) -> dict[str, float]:
    """The word pieces of a vector, the heaviest first."""
    vocabulary = wordpieces.VOCABULARY.read_text("utf-8").splitlines()
    terms = np.frombuffer(vector, [("piece", "<u2"), ("weight", "u1")])
    found = {vocabulary[piece]: weight / sparse.STEPS for piece, weight in terms.tolist()}
    return dict(sorted(found.items(), key=lambda each: -each[1]))


def test_a_text_has_words_that_it_does_not_say(model: BundledSparse) -> None:
    found = pieces(model.of_passage("The car was repaired by a mechanic."))
    assert {*[*found][:2]} == {"mechanic", "car"}
    assert found["repair"] > 1
    assert "the" not in found


def test_weights_are_those_of_the_published_model(model: BundledSparse) -> None:
    # Of the weights in float32, by another program.
    found = pieces(model.of_question("When did Caroline go to the LGBTQ support group?"))
    told = {"when": 2.14, "caroline": 1.93, "support": 1.93, "group": 1.62, "julia": 1.12}
    for word, weight in told.items():
        assert found[word] == pytest.approx(weight, abs=0.05)


def test_a_related_text_scores_higher_than_another(model: BundledSparse) -> None:
    question = model.of_question("why does the consumer panic")
    texts = ["The consumer crashes when the broker closes.", "Sourdough rests in the fridge.", ""]
    near, far, nothing = sparse.scores(question, [model.of_passage(text) for text in texts])
    assert near > 5 > 1 > far
    assert nothing < 1


def test_a_text_of_any_length_has_a_vector_of_bounded_size(model: BundledSparse) -> None:
    for text in ("", "x", "word " * 5000, "漢字 " * 700, "\x00\ud800"):
        assert len(model.of_passage(text)) <= 3 * sparse.MAX_TERMS


@given(arrays(np.float32, 400, elements=st.floats(0, 3.875, width=32)))
def test_the_heaviest_terms_are_kept(weights: np.ndarray) -> None:
    kept = np.frombuffer(sparse.packed(weights), [("piece", "<u2"), ("weight", "u1")])
    left_out = np.delete(weights, kept["piece"])
    assert len(kept) == min(sparse.MAX_TERMS, int((np.round(weights * sparse.STEPS) > 0).sum()))
    assert np.abs(weights[kept["piece"]] - kept["weight"] / sparse.STEPS).max(initial=0) < 0.009
    if len(kept) == sparse.MAX_TERMS:
        assert left_out.max() - weights[kept["piece"]].min() < 1 / sparse.STEPS


@pytest.mark.parametrize("content", [None, b"", bundled.SPARSE_FILE.read_bytes()[:-1]])
def test_a_file_that_is_missing_or_another_is_named(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "model.onnx"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ModelUnavailable, match=str(file)) as caught:
        BundledSparse(file).of_passage("text")
    assert "--force-reinstall" in caught.value.message
