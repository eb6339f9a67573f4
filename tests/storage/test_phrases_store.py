"""Citations without a link in the store: whatever the order, they follow what both texts say."""

from __future__ import annotations

import itertools
import sqlite3
from typing import Any

import pytest

from drafts import draft, store
from mem_search.model import Draft
from mem_search.storage.sql import similar as rules
from mem_search.storage.sqlite.records import RecordWriter

SAID = (
    "The harbour of Trondheim froze twice during the winter of 1893, and merchants carried salted"
    " cod across the fjord on sledges until the pilots found open water again."
)
OWN = "Nothing of this chapter is borrowed from anywhere; its author walked every mile of the road."


def page(name: str, text: str = SAID, **fields: Any) -> Draft:
    url = f"https://pages.example/{name}"
    return draft(name, f"About {name}.\n\n{text}", kind="website", **{"url": url, **fields})


def report(name: str, text: str = SAID, **fields: Any) -> Draft:
    return draft(name, f"{OWN} As one reads: {text} So much for {name}.", kind="report", **fields)


def similar(connection: sqlite3.Connection) -> list[tuple[str, str, float]]:
    """(report, page, confidence) of each citation without a link."""
    return connection.execute(
        "select f.source_id, t.source_id, e.strength from edges e join records f on"
        " f.id = e.from_id join records t on t.id = e.to_id where e.origin = ? order by 1, 2",
        (rules.SIMILAR,),
    ).fetchall()


def remove(connection: sqlite3.Connection, name: str) -> None:
    (number,) = connection.execute("select id from records where source_id = ?", (name,)).fetchone()
    RecordWriter(connection).remove([number], forget=True)


@pytest.mark.parametrize("first", ["page", "report", "together"])
def test_a_quotation_cites_its_page_whichever_comes_first(
    connection: sqlite3.Connection, first: str
) -> None:
    both = [page("p"), report("r")]
    if first == "together":
        store(connection, *both)
    else:
        for each in both if first == "page" else reversed(both):
            store(connection, each)
    ((citing, cited, sure),) = similar(connection)
    assert (citing, cited) == ("r", "p")
    assert 0.5 < sure < 1
    start, end, low, high, form, text, target = connection.execute(
        "select c.place_start, c.place_end, c.context_start, c.context_end, c.form, r.body,"
        " e.target from cites c join edges e on e.id = c.edge_id join records r on r.id = e.from_id"
    ).fetchone()
    assert (form, target) == ("phrase", "https://pages.example/p")
    assert text[start:end] == SAID.removesuffix(".")
    assert text[low:high] == f"As one reads: {SAID}"


def test_a_link_is_surer_than_similar_words(connection: sqlite3.Connection) -> None:
    store(connection, page("p"), report("r", f"{SAID} https://pages.example/p"))
    assert similar(connection) == []
    store(connection, report("r"))  # now without the link
    assert [(a, b) for a, b, _ in similar(connection)] == [("r", "p")]
    store(connection, report("r", f"{SAID} https://pages.example/p"))
    assert similar(connection) == []


def test_what_changes_or_leaves_is_not_cited_any_more(connection: sqlite3.Connection) -> None:
    store(connection, page("p"), report("r"))
    store(connection, page("p", "All of it was rewritten by somebody who liked other words."))
    assert similar(connection) == []
    store(connection, page("p"))
    assert len(similar(connection)) == 1
    store(connection, report("r", "It says something else entirely now, in fresh sentences."))
    assert similar(connection) == []
    store(connection, report("r"))
    remove(connection, "p")
    assert similar(connection) == []
    assert not connection.execute("select * from edges where origin = 'similar'").fetchall()
    store(connection, page("p2"))
    remove(connection, "r")
    assert not connection.execute("select * from edges").fetchall()
    assert not connection.execute("select * from cites").fetchall()


@pytest.mark.parametrize("order", list(itertools.permutations(("a", "b", "c", "r"))))
def test_what_many_pages_have_cites_none_in_any_order(
    connection: sqlite3.Connection, order: tuple[str, ...]
) -> None:
    drafts = {name: page(name) for name in "abc"} | {"r": report("r")}
    for name in order:
        store(connection, drafts[name])
    assert similar(connection) == []


def test_a_page_that_is_saved_several_times_is_one_page(connection: sqlite3.Connection) -> None:
    url = "https://pages.example/same"
    store(connection, *(page(name, url=url) for name in "abc"), report("r"))
    assert [(a, b) for a, b, _ in similar(connection)] == [("r", "a")]


def test_a_turn_of_speech_of_many_reports_cites_nothing(connection: sqlite3.Connection) -> None:
    for number in range(rules.MAX_REPORTS + 1):
        store(connection, report(f"r{number}"))
    store(connection, page("p"))
    assert similar(connection) == []


def test_kinds_that_are_no_documents_of_an_archive_have_no_phrases(
    connection: sqlite3.Connection,
) -> None:
    store(connection, draft("n", SAID), draft("e", SAID, kind="email"), report("r"), page("p"))
    owners = "select distinct r.kind from phrases join records r on r.id = record_id order by 1"
    assert connection.execute(owners).fetchall() == [("report",), ("website",)]


def test_confidence_grows_with_what_is_shared_and_stays_below_that_of_a_link() -> None:
    sure = [rules.confidence(count) for count in range(rules.MIN_SHARED_PHRASES, 500)]
    assert sure == sorted(sure)
    assert 0 < sure[0] < sure[-1] < 1
