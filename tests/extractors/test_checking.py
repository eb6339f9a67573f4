"""What a reader did not read is named: in the text's own words, in the ledger and by ``why``."""

from __future__ import annotations

from mem_search.extractors.checking import missing
from mem_search.extractors.refusal import pages_said
from mem_search.ingest.prepare import prepare
from mem_search.model import Draft
from mem_search.model.ingest import (
    MAX_UNREAD,
    UNREAD,
    Batch,
    LedgerEntry,
    PreparedBatch,
    Stored,
    unread_of,
    with_unread,
)


def test_a_word_that_the_text_lacks_is_named_with_its_part() -> None:
    held = [("comment 1", "Saltmarsh of the co\u00adast"), ("slide 2", "The coast, ﬁne, burns")]
    assert list(missing("The fine coast burns of old", held)) == [
        "comment 1 has 1 word missing in the text: saltmarsh"
    ]


def test_words_that_are_cut_otherwise_are_not_missing() -> None:
    assert list(missing("The light house 古い灯台", [("body", "The lighthouse 灯台")])) == []


def test_pages_are_said_in_spans() -> None:
    assert pages_said([1]) == "page 2 is"
    assert pages_said([1, 2, 4, 6, 7, 8]) == "pages 2 and 3, 5 and 7 to 9 are"
    assert pages_said(range(0, 40, 2)).endswith("15 and others are")


def test_a_record_keeps_what_was_not_read_within_bounds() -> None:
    assert with_unread({"a": 1}, []) == {"a": 1}
    some = with_unread(with_unread({}, ["one"]), ["one", "two"])
    assert unread_of(some) == ("one", "two")
    many = with_unread({}, map(str, range(MAX_UNREAD + 5)))[UNREAD]
    assert (len(many), many[-1]) == (MAX_UNREAD + 1, "5 more parts were not read")
    assert unread_of({UNREAD: "what somebody else wrote"}) == ()


def test_the_ledger_says_what_a_record_lacks_whatever_its_source() -> None:
    lacking = with_unread({}, ["a zip of 3 files in this mail was not opened"])
    drafts = [
        prepare(Draft("note", "mail", f"{number}", "Oil.", metadata=metadata))
        for number, metadata in enumerate(({}, lacking, lacking))
    ]
    said = LedgerEntry("c", "taken", "said already", records=1)
    batch = PreparedBatch(Batch(ledger=(said,)), tuple(drafts), ("a", "b", "c"))
    ledger = batch.ledger([Stored(number, "new") for number in (1, 2, 3)])
    assert ledger == [
        LedgerEntry("b", "taken", "a zip of 3 files in this mail was not opened", records=1),
        said,
    ]
