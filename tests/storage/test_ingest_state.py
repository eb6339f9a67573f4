"""Cursors and the ledger."""

from __future__ import annotations

from mem_search.model import LedgerEntry, Location
from mem_search.storage.sqlite import ingest_state
from mem_search.storage.sqlite.database import Connection

HERE = Location("git", "/repo", "repo", {"branch": "main"})


def test_a_cursor_is_kept_by_location(connection: Connection) -> None:
    assert ingest_state.cursor(connection, HERE) == {}
    ingest_state.save_cursor(connection, HERE, {"at": [1, "x"]}, followed=True)
    ingest_state.save_cursor(connection, HERE, {"at": 2}, followed=False)
    assert ingest_state.cursor(connection, HERE) == {"at": 2}
    assert ingest_state.cursor(connection, Location("git", "/other")) == {}
    (known,) = ingest_state.locations(connection)
    assert (known.location, known.followed, known.error) == (HERE, True, "")


def test_an_error_keeps_the_cursor_until_it_goes_well_again(connection: Connection) -> None:
    ingest_state.save_cursor(connection, HERE, {"at": 1}, followed=True)
    ingest_state.save_error(connection, HERE, "gone", followed=True)
    assert ingest_state.cursor(connection, HERE) == {"at": 1}
    assert ingest_state.locations(connection)[0].error == "gone"
    ingest_state.save_cursor(connection, HERE, {"at": 2}, followed=True)
    assert ingest_state.locations(connection)[0].error == ""


def test_a_failure_alone_keeps_no_location_that_is_not_followed(connection: Connection) -> None:
    ingest_state.save_error(connection, HERE, "a slip", followed=False)
    assert ingest_state.locations(connection) == []
    ingest_state.save_error(connection, HERE, "locked", followed=True)
    ingest_state.save_error(connection, HERE, "gone", followed=False)
    (known,) = ingest_state.locations(connection)
    assert (known.followed, known.error) == (True, "gone")
    assert ingest_state.drop_cursor(connection, HERE)
    assert not ingest_state.drop_cursor(connection, HERE)


def test_a_quiet_look_at_a_location_that_is_well_writes_nothing(connection: Connection) -> None:
    ingest_state.save_cursor(connection, HERE, {"at": 1}, followed=True)
    before = connection.total_changes
    ingest_state.save_quiet(connection, HERE, followed=True)
    assert connection.total_changes == before


def test_the_newest_word_on_an_item_counts(connection: Connection) -> None:
    ingest_state.note(
        connection, HERE, [LedgerEntry("a", "failed", "torn"), LedgerEntry("b%", "left")]
    )
    ingest_state.note(connection, HERE, [LedgerEntry("a", "taken", records=2)])
    assert ingest_state.ledger_counts(connection) == [("git", "left", 1), ("git", "taken", 1)]
    (entry,) = ingest_state.ledger(connection, "git", "a", 9, 0)
    assert (entry["outcome"], entry["records"], entry["reason"]) == ("taken", 2, "")
    assert [e["item"] for e in ingest_state.ledger(connection, "", "%", 9, 0)] == ["b%"]
    assert ingest_state.ledger(connection, "jsonl", "", 9, 0) == []
    assert len(ingest_state.ledger(connection, "", "", 1, 1)) == 1


def test_what_holds_no_longer_is_struck_with_all_that_lies_in_it(connection: Connection) -> None:
    items = ["a", "a:1", "a:20", "a.b", "a;", "ab", "b", "A", "a/c:1"]
    elsewhere = Location("git", "/elsewhere")
    for location in (HERE, elsewhere):
        ingest_state.note(connection, location, [LedgerEntry(item, "left") for item in items])

    def left() -> list[str]:
        entries = ingest_state.ledger(connection, "", "", 99, 0)
        return sorted(entry["item"] for entry in entries if entry["location"] == HERE.path)

    ingest_state.strike(connection, HERE, ["a", "no such"])
    assert left() == sorted(["a.b", "a;", "ab", "b", "A", "a/c:1"])
    ingest_state.strike(connection, HERE, [""])
    assert left() == []
    assert len(ingest_state.ledger(connection, "", "", 99, 0)) == len(items)
