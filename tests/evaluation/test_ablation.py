"""What ``scripts/evaluate --without`` leaves out exists in the product."""

from __future__ import annotations

import pytest
from ablation import CONSTANTS, PARTS, leave_out

from mem_search.errors import InputError
from mem_search.search.stages import STAGES


def test_every_constant_is_one_of_its_module() -> None:
    for module, constant, _ in CONSTANTS.values():
        assert hasattr(module, constant), constant


def test_stages_and_constants_have_names_of_their_own() -> None:
    assert len(set(PARTS)) == len(PARTS)
    assert {stage.name for stage in STAGES if not stage.required} < set(PARTS)


def test_a_stage_is_left_out_of_the_list_and_the_list_itself_stays() -> None:
    left = leave_out(["feedback"])
    assert [stage.name for stage in left] == [s.name for s in STAGES if s.name != "feedback"]


@pytest.mark.parametrize("name", ["nonsense", "sort"])
def test_what_cannot_be_left_out_is_refused_with_what_can(name: str) -> None:
    with pytest.raises(InputError, match=r"these can: length, rank-bonus, .*feedback"):
        leave_out([name])
