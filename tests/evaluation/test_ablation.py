"""What ``scripts/evaluate --without`` leaves out exists in the product."""

from __future__ import annotations

import pytest
from ablation import CONSTANTS, PARTS, leave_out, without_each

from mem_search.errors import InputError
from mem_search.search.stages import STAGES, scoring
from mem_search.search.state import Stage


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


class Seen:
    """Stands for the hybrid search: its answer is what it would run with now."""

    def __init__(self, stages: list[Stage]) -> None:
        self._stages = stages

    async def search(self, text: str, project: str) -> list[str]:
        if text == "fails":
            raise InputError("it fails")
        return [f"bonus {scoring.RANK_BONUS}", *(stage.name for stage in self._stages)]

    def close(self) -> None:
        pass


async def test_each_part_that_a_plain_search_runs_is_left_out_alone_and_only_while_asking() -> None:
    stages = [*STAGES]
    hybrid = Seen(stages)
    everything = await hybrid.search("", "")
    systems = without_each(hybrid, stages)
    assert {"without feedback", "without folding", "without length"} <= set(systems)
    assert {"without sort", "without recency", "without per-kind"}.isdisjoint(systems)
    left = await systems["without feedback"].search("", "")
    assert left == [each for each in everything if each != "feedback"]
    assert (await systems["without rank-bonus"].search("", ""))[0] == "bonus 0.0"
    for name in ("without feedback", "without rank-bonus"):
        with pytest.raises(InputError):
            await systems[name].search("fails", "")
        assert await hybrid.search("", "") == everything
