"""The difference between two results of the same query."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mem_search.features.research.service import drift
from mem_search.model.research import StoredResult

REFS = st.sampled_from([f"note:{n}" for n in range(8)])
RESULTS = st.lists(
    st.builds(StoredResult, REFS, st.sampled_from("ab"), st.sampled_from([0.5, 0.75])),
    unique_by=lambda seen: seen.ref,
)


@given(results=RESULTS, total=st.integers(0, 9))
def test_the_same_answer_has_no_drift(results: list[StoredResult], total: int) -> None:
    assert not drift(results, results, total, total)
    assert drift(results, results, total, total + 1)


@given(before=RESULTS, after=RESULTS)
def test_every_difference_is_reported_and_nothing_else(
    before: list[StoredResult], after: list[StoredResult]
) -> None:
    found = drift(before, after, 0, 0)
    assert bool(found) is (before != after)
    old, new = [s.ref for s in before], [s.ref for s in after]
    assert {change.ref for change in found.appeared} == set(new) - set(old)
    assert {change.ref for change in found.gone} == set(old) - set(new)
    for change in (*found.changed, *found.moved, *found.rescored):
        assert change.before is not None
        assert change.after is not None
        assert old[change.before - 1] == new[change.after - 1] == change.ref
    assert all(change.before != change.after for change in found.moved)
    digests = {s.ref: s.digest for s in before}
    assert {change.ref for change in found.changed} == {
        s.ref for s in after if s.ref in digests and digests[s.ref] != s.digest
    }


def test_places_count_from_one() -> None:
    before = [StoredResult("note:1", "a", 0.5), StoredResult("note:2", "a", 0.5)]
    after = [StoredResult("note:2", "a", 0.5)]
    (gone,) = drift(before, after, 2, 1).gone
    (moved,) = drift(before, after, 2, 1).moved
    assert (gone.before, gone.after) == (1, None)
    assert (moved.before, moved.after) == (2, 1)
