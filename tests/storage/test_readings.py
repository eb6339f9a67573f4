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
from mem_search.storage.rules.identities import akin, refused_with
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


def said(session: str, words: str, events: int = 4, **more: Any) -> Draft:
    return draft(
        f"{session}/2/work", words, kind="observation", session=session, created_at=900,
        metadata={"narrative": words, **more}, reading=Reading(RULES, events, session, "a file"),
    )  # fmt: skip


def became(*offered: Draft) -> list[tuple[str, str]]:
    """What is written of drafts that come one after the other, by its last version."""
    decided = settled([prepare(each) for each in offered], {})
    written = [each.draft for each in decided.items if isinstance(each, PreparedDraft)]
    assert set(decided.shorter.values()) <= {
        "more than 9 copies of session parent went on differently"
    }
    return [*{each.source_id: each.text for each in written}.items()]


@pytest.mark.parametrize("order", [*permutations(range(4))])
def test_what_has_the_id_of_something_else_is_kept_beside_it(order: tuple[int, ...]) -> None:
    """Two answers to one prompt, of which one was first read half, and a key hides in neither."""
    offered = [
        said(PARENT, "The gate opens at"),
        said(PARENT, "The gate opens at noon, the key is [redacted:token]", events=5),
        said(PARENT, "The gate is shut"),
        said(PARENT, "The gate opens at noon, the key is [redacted:other] and so on", events=6),
    ]
    found = became(*(offered[place] for place in order))
    assert len(found) == 2
    assert sorted(key for key, _ in found) == ["parent/2/work", "parent/2/work~2"]
    texts = {text for _, text in found}
    assert any(text.startswith("The gate is shut") for text in texts)
    assert any("and so on" in text for text in texts)


def test_other_work_with_the_same_words_is_kept_beside_it() -> None:
    one, two = said(PARENT, "Done.", facts=["ran: make"]), said(PARENT, "Done.", facts=["ran: tox"])
    both = said(PARENT, "Done.", events=5, facts=["ran: make", "ran: lint"])
    assert [key for key, _ in became(one, two, both)] == ["parent/2/work", "parent/2/work~2"]
    moved = [said(PARENT, "Done.", files_read=[path]) for path in ("/gone/pier/a.py", "a.py")]
    assert [key for key, _ in became(*moved)] == ["parent/2/work"]


def test_the_tenth_copy_that_went_on_differently_is_named_in_the_ledger() -> None:
    copies = [said(PARENT, f"{word} answer") for word in "abcdefghijk"]
    decided = settled([prepare(each) for each in copies], {})
    assert len([each for each in decided.items if isinstance(each, PreparedDraft)]) == 9
    [entry] = decided.ledger
    assert entry.item == "a file"
    assert "more than 9 copies" in entry.reason


def test_what_tells_of_a_step_is_refused_with_what_shares_its_id() -> None:
    told = draft("parent/summary", "both", earlier=(("observation", "parent/2/work"),))
    for forgotten in ("parent/2/work", "parent/2/work~2"):
        assert {*akin(told)} & {*refused_with("test", forgotten, "observation")}, forgotten
    assert {*refused_with("test", "a~b", "note")} == {("test", "a~b", "note")}
