"""Stored vectors, and their way to the index."""

from __future__ import annotations

import numpy as np
import pytest

import drafts
from drafts import store
from mem_search.storage.sqlite import outbox, record_writer, stats, vectors
from mem_search.storage.sqlite.database import Connection

DIMENSIONS = 8


def unit(count: int, seed: int = 0) -> vectors.Vectors:
    rows = np.random.default_rng(seed).normal(size=(count, DIMENSIONS)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)  # type: ignore[no-any-return]


@pytest.fixture
def model(connection: Connection) -> int:
    """Thirty notes and memories with a vector each; two of them with a second half."""
    model = vectors.model_id(connection, "space", "test", DIMENSIONS)
    kinds = ("note", "memory")
    store(connection, *(drafts.draft(f"{n}", f"text {n}", kind=kinds[n % 2]) for n in range(30)))
    passages = [row[0] for row in connection.execute("select id from passages order by id")]
    entries = [2 * passage for passage in passages] + [2 * passages[3] + 1, 2 * passages[4] + 1]
    vectors.save(connection, model, entries, unit(32))
    return model


def test_a_space_has_one_number(connection: Connection) -> None:
    numbers = [vectors.model_id(connection, name, "m", 4) for name in ("a", "b", "a")]
    assert numbers[0] == numbers[2] != numbers[1]


def test_spaces_do_not_mix(connection: Connection, model: int) -> None:
    other = vectors.model_id(connection, "other space", "test", DIMENSIONS)
    assert vectors.entries(connection, other) == set()
    connection.execute("delete from outbox")
    assert outbox.without_vector(connection, model) == 0
    assert outbox.without_vector(connection, other) == 30


def test_a_vector_of_a_passage_that_is_gone_is_not_kept(connection: Connection, model: int) -> None:
    before = vectors.entries(connection, model)
    vectors.save(connection, model, [2 * 9999], unit(1))
    assert vectors.entries(connection, model) == before


def test_the_outbox_goes_from_embed_to_index_to_nothing(connection: Connection, model: int) -> None:
    waiting = outbox.to_embed(connection, 10)
    assert [item.text for item in waiting] == [f"text {n}" for n in range(29, 19, -1)]
    chosen = [item.passage for item in waiting]
    totals = stats.totals(connection)
    assert (totals.passages, totals.embedded, totals.indexed, totals.coverage) == (30, 0, 0, 0)
    outbox.advance(connection, chosen)
    assert outbox.depth(connection) == {"embed": 20, "index": 10}
    assert stats.totals(connection).embedded == 10
    assert not vectors.settled_entries(connection, model)
    outbox.done(connection, "index", chosen)
    assert stats.totals(connection).coverage == pytest.approx(1 / 3)
    assert {entry >> 1 for entry in vectors.settled_entries(connection, model)} == set(chosen)
    outbox.add(connection, "index", [chosen[0], 1])
    assert outbox.depth(connection) == {"embed": 20, "index": 1}  # 1 waits for something else


def test_a_step_that_is_done_late_does_not_undo_a_deletion(
    connection: Connection, model: int
) -> None:
    (passage, *_) = outbox.waiting(connection, "embed", 1)
    outbox.advance(connection, [passage])
    record_writer.remove_by_source_id(connection, "test", ["0"])
    outbox.advance(connection, [passage])
    outbox.done(connection, "index", [passage])
    assert outbox.waiting(connection, "delete", 9) == [passage]
    assert 2 * passage in vectors.entries(connection, model)
    outbox.done(connection, "delete", [passage])
    assert 2 * passage not in vectors.entries(connection, model)


def test_an_empty_store_is_covered(connection: Connection) -> None:
    assert stats.totals(connection).coverage == 1
    corpus = stats.corpus(connection)
    assert (corpus.size, corpus.coverage, corpus.mean_length) == (0, 1, 1)
    assert len(stats.store_id(connection)) == 32


def test_the_corpus_counts_by_kind(connection: Connection, model: int) -> None:
    corpus = stats.corpus(connection)
    assert corpus.passages == {"memory": 15, "note": 15}
    assert corpus.mean_length == pytest.approx((10 * 6 + 20 * 7) / 30)
    assert corpus.waiting == 30
