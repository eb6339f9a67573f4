"""What was forgotten does not come back: not from a backup, an export, a source or a queue."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from chosen_store import in_a_file
from homes import Home, quick
from patience import until

pytestmark = [pytest.mark.worker, in_a_file("a backup is of files")]

LINES = "".join(
    json.dumps({"kind": "note", "source_id": f"n{n}", "title": title, "text": f"{title} text"})
    + "\n"
    for n, title in enumerate(["Zorblax harbour", "Lamp and pier", "Quuxly gauge"])
)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    made = quick(tmp_path, MEM_SEARCH_FOLLOW="0")
    yield made
    made.end()


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Home]:
    (tmp_path / "other").mkdir()
    made = quick(tmp_path / "other", MEM_SEARCH_FOLLOW="0")
    yield made
    made.end()


def titles(home: Home) -> list[str]:
    exported = home.ok("export").splitlines()
    return sorted(each["title"] for each in map(json.loads, exported) if "title" in each)


def bytes_with(home: Home, word: bytes) -> list[str]:
    return sorted(
        str(file.relative_to(home.path))
        for file in home.path.rglob("*")
        if file.is_file() and word in file.read_bytes().lower()
    )


def forget(home: Home, *words: str) -> None:
    for word in words:
        home.ok("forget", "--query", word, "--yes")


def filled(home: Home) -> Path:
    """Three notes; returns a backup of them."""
    home.ok("import", "jsonl", "-", given=LINES)
    backup = home.path.parent / "all.zip"
    home.ok("backup", str(backup))
    return backup


def test_a_restore_leaves_out_what_was_forgotten_since_the_backup(home: Home) -> None:
    backup = filled(home)
    forget(home, "zorblax", "quuxly")
    home.ok("worker", "stop")
    said = home.ok("restore", "--replace", str(backup))
    assert "restored 1 record" in said
    assert "left out 2 records forgotten since then" in said
    # Gone before anybody opens the store; the words are known until the next worker is done.
    with closing(sqlite3.connect(home.path / "mem-search.db")) as store:
        assert store.execute("select title from records").fetchall() == [("Lamp and pier",)]
    home.ok("worker", "start")
    assert titles(home) == ["Lamp and pier"]
    until(lambda: home.call("GET", "/api/forget")["receipts"][0]["state"] == "done")
    assert bytes_with(home, b"zorblax") == []
    again = home.ok("import", "jsonl", "-", given=LINES)
    assert "forgotten before" in again
    assert titles(home) == ["Lamp and pier"]
    # A second restore of the same file leaves them out as well.
    home.ok("worker", "stop")
    assert "left out 2" in home.ok("restore", "--replace", str(backup))


def test_forgotten_records_return_only_when_that_was_said_and_confirmed(home: Home) -> None:
    backup = filled(home)
    forget(home, "zorblax")
    home.ok("worker", "stop")
    asked = home.run("restore", "--replace", "--even-forgotten", str(backup))
    assert (asked.returncode, "--yes" in asked.stderr) == (2, True)
    home.ok("worker", "start")
    assert titles(home) == ["Lamp and pier", "Quuxly gauge"]  # nothing was changed
    home.ok("worker", "stop")
    said = home.ok("restore", "--replace", "--even-forgotten", "--yes", str(backup))
    assert "restored 3 records" in said
    assert "1 of them had been forgotten since then" in said
    home.ok("worker", "start")
    assert len(titles(home)) == 3


def test_a_backup_of_another_home_meets_the_tombstones_of_both(home: Home, other: Home) -> None:
    backup = filled(home)
    other.ok("import", "jsonl", "-", given=LINES)
    forget(other, "zorblax")
    theirs = other.path.parent / "theirs.zip"
    other.ok("backup", str(theirs))
    forget(home, "quuxly")
    home.ok("worker", "stop")
    assert "left out 1 " in home.ok("restore", "--replace", str(theirs))
    assert titles(home) == ["Lamp and pier"]
    home.ok("import", "jsonl", "-", given=LINES)
    assert titles(home) == ["Lamp and pier"]
    home.ok("worker", "stop")
    assert "left out 2 " in home.ok("restore", "--replace", str(backup))


def test_an_empty_home_has_nothing_to_leave_out(home: Home, other: Home) -> None:
    backup = filled(home)
    said = other.ok("restore", str(backup))
    assert "restored 3 records" in said
    assert "left out" not in said


def test_a_store_whose_tombstones_cannot_be_read_is_named(home: Home) -> None:
    backup = filled(home)
    forget(home, "zorblax")
    home.ok("worker", "stop")
    for file in home.path.glob("mem-search.db*"):
        file.unlink()
    (home.path / "mem-search.db").write_bytes(b"no database")
    done = home.run("restore", "--replace", str(backup))
    assert done.returncode == 0
    assert "may be back: its tombstones cannot be read" in done.stderr


def test_a_user_of_the_home_is_asked_as_well(home: Home) -> None:
    secret = home.ok("token", "create", "ada-laptop", "--user", "ada").strip()
    ada = Home(home.path, home.environ | {"MEM_SEARCH_TOKEN": secret})
    ada.ok("import", "jsonl", "-", given=LINES)
    backup = filled(home)
    forget(ada, "zorblax")
    home.ok("worker", "stop")
    assert "left out 1 " in home.ok("restore", "--replace", str(backup))
    home.ok("worker", "start")
    assert titles(ada) == ["Lamp and pier", "Quuxly gauge"]
    assert len(titles(home)) == 3


def test_an_older_export_and_a_copy_before_an_upgrade_bring_nothing_back(
    home: Home, other: Home
) -> None:
    filled(home)
    export = home.path.parent / "old.jsonl"
    export.write_text(home.ok("export"))
    copy = home.path / "before-upgrade-20260101T000000Z.db"
    home.ok("worker", "stop")
    shutil.copy(home.path / "mem-search.db", copy)
    home.ok("worker", "start")
    forget(home, "zorblax")
    until(lambda: home.call("GET", "/api/forget")["receipts"][0]["state"] == "done")
    assert not copy.exists()
    home.ok("import", str(export))
    assert titles(home) == ["Lamp and pier", "Quuxly gauge"]
    # An export made later refuses them elsewhere, too.
    newer = home.path.parent / "new.jsonl"
    newer.write_text(home.ok("export"))
    other.ok("import", str(newer))
    other.ok("import", str(export))
    assert titles(other) == ["Lamp and pier", "Quuxly gauge"]


def test_a_restored_store_sends_no_message_about_what_was_forgotten(home: Home) -> None:
    home.ok("import", "jsonl", "-", given=LINES)
    with closing(sqlite3.connect(home.path / "mem-search.db")) as store, store:
        store.execute(
            "insert into webhook_deliveries(id, event, url, body, next_at, created_at)"
            " values('w1', 'x', 'http://127.0.0.1:9/', ?, 99999999999999, 0)",
            (b'{"title": "Zorblax harbour"}',),
        )
    backup = home.path.parent / "all.zip"
    home.ok("backup", str(backup))
    forget(home, "zorblax")
    home.ok("worker", "stop")
    home.ok("restore", "--replace", str(backup))
    with closing(sqlite3.connect(home.path / "mem-search.db")) as store:
        assert store.execute("select count(*) from webhook_deliveries").fetchone() == (0,)
