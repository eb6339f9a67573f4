"""Context: what the stages ``neighbours`` and ``session`` add to each record."""

from typing import NamedTuple

import numpy as np
import pytest

from mem_search.model import Kind
from mem_search.search.stages import scoring
from ranking_states import state


class Turn(NamedTuple):
    position: int
    conversation: int = 1
    kind: Kind = "user_prompt"


def added(scores: list[float], *turns: Turn) -> dict[str, list[float]]:
    before = state(
        len(turns),
        kinds=[turn.kind for turn in turns],
        parts={"fused": scores},
        conversations=np.array([turn.conversation for turn in turns], dtype=np.int64),
        positions=np.array([turn.position for turn in turns], dtype=np.int32),
    )
    nothing = np.zeros(len(turns))
    return {
        "neighbours": scoring.neighbours(before).parts.get("neighbours", nothing).tolist(),
        "session": scoring.session(before).parts.get("session", nothing).tolist(),
    }


def test_a_turn_gains_from_its_neighbours_by_distance() -> None:
    found = added([0.0, 2.0, 0.0], Turn(1), Turn(2), Turn(3))["neighbours"]
    assert found == [0.3 * 2.0, 0.0, 0.4 * 2.0]


def test_negative_neighbours_do_no_harm() -> None:
    assert added([1.0, -3.0], Turn(1), Turn(2))["neighbours"][0] == 0.0


def test_other_sessions_are_not_neighbours() -> None:
    assert not any(added([1.0, 2.0], Turn(1), Turn(2, conversation=2))["neighbours"])


def test_a_session_with_several_matches_is_raised_by_its_best_three() -> None:
    turns = [Turn(n * 10) for n in range(1, 5)]
    found = added([3.0, 2.0, 1.0, 1.0, 9.0], *turns, Turn(1, conversation=2))["session"]
    assert found[:4] == [pytest.approx(0.5 * (3.0 + 2.0 + 1.0) / 3)] * 4
    assert found[4] == pytest.approx(0.5 * 9.0 / 3)


def test_records_without_a_session_have_no_context() -> None:
    found = added([3.0, 2.0], Turn(0, conversation=0), Turn(0, conversation=0))
    assert found == {"neighbours": [0.0, 0.0], "session": [0.0, 0.0]}


def test_in_a_mixed_page_neighbours_are_left_out() -> None:
    found = added([1.0, 2.0, 1.0], Turn(1), Turn(2), Turn(1, kind="observation"))
    assert found["neighbours"] == [0.0, 0.0, 0.0]
    assert found["session"][0] > 0


def test_nothing_found_has_no_context() -> None:
    assert added([]) == {"neighbours": [], "session": []}
