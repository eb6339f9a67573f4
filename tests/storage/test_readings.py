"""Which of two readings is kept, where an earlier version let the last file win."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from drafts import draft
from mem_search.ingest.prepare import prepare
from mem_search.model import Draft
from mem_search.model.ingest import PreparedDraft
from mem_search.model.records import Reading
from mem_search.storage.rules.readings import ReadBefore, settled

PARENT, FORK = "parent", "fork"
RULES = 7


def step(session: str, began: int, *former: str, **reading: Any) -> Draft:
    return draft(
        f"{session}/2/work", f"what {session} did", kind="observation", session=session,
        created_at=began, updated_at=began + 1, former=former,
        reading=Reading(RULES, 4, session, is_open=True, **reading),
    )  # fmt: skip


def old(number: int, session: str, began: int, ended: int) -> ReadBefore:
    """What a version without readings stored."""
    key = f"{session}/2/work"
    return ReadBefore(key, number, "observation", session, began, ended, "", {}, ())


@pytest.mark.parametrize("order", [*permutations((PARENT, FORK))])
def test_what_a_fork_took_from_its_parent_comes_back(order: tuple[str, ...]) -> None:
    # The step of the parent has its id, and the words and times of the fork.
    damaged = old(5, PARENT, 1100, 1200)
    read = {PARENT: step(PARENT, 900), FORK: step(FORK, 1100, f"{PARENT}/2/work")}
    decided = settled(
        [prepare(read[name]) for name in order], {("test", damaged.source_id): damaged}
    )
    written = [each.draft for each in decided.items if isinstance(each, PreparedDraft)]
    assert {(each.source_id, each.text) for each in written} == {
        ("parent/2/work", "what parent did"), ("fork/2/work", "what fork did"),
    }  # fmt: skip
    assert all("sessions" not in each.metadata for each in written)
    assert decided.shorter == {}


def test_what_a_longer_copy_told_stays_although_earlier_rules_made_it() -> None:
    longer = old(5, PARENT, 900, 2000)
    decided = settled([prepare(step(PARENT, 900))], {("test", longer.source_id): longer})
    assert [each.outcome for each in decided.items if not isinstance(each, PreparedDraft)] == [
        "unchanged"
    ]
