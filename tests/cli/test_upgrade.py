"""An installation that gets newer, or older: the worker and the store follow, or say why not.

``worker.json`` says of which version a worker is, and the list of steps in the store says which
programs can open it; these tests write another version there.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing

import pytest

from chosen_store import in_a_file
from homes import Home
from mem_search import __version__
from mem_search.daemon.connection import is_older

pytestmark = pytest.mark.worker
NOTE = '{"kind": "note", "source_id": "1", "title": "Harbour", "text": "The bridge opens."}\n'
STORED = (json.loads(NOTE),)


def pretend(home: Home, version: str) -> dict[str, object]:
    """Let the running worker be of another version; what ``worker.json`` says then."""
    state = {**home.worker(), "version": version, "added_later": True}
    (home.path / "worker.json").write_text(json.dumps(state, indent=1))
    return state


@pytest.mark.parametrize(
    "words",
    [("search", "bridge"), ("get", "note:1"), ("worker", "start")],
)
def test_a_newer_program_replaces_the_worker_at_its_port(
    home: Home, words: tuple[str, ...]
) -> None:
    home.ok("worker", "start")
    before = pretend(home, "0.0.9")
    done = home.run(*words)
    after = home.worker()
    assert done.returncode == 0, done.stderr
    assert f"mem-search {__version__} replaces the running worker, which is 0.0.9" in done.stderr
    assert after["instance_id"] != before["instance_id"]
    assert (after["port"], after["version"]) == (before["port"], __version__)
    again = home.run(*words)
    assert (again.returncode, again.stderr) == (0, "")


def test_the_relay_of_agents_replaces_it_too(home: Home) -> None:
    home.ok("worker", "start")
    before = pretend(home, "0.0.9")
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    told = {
        "jsonrpc": "2.0", "id": 0, "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {},
                   "clientInfo": {"name": "a", "version": "1"}},
    }  # fmt: skip
    said = home.ok("mcp", given="".join(json.dumps(each) + "\n" for each in (told, asked)))
    assert '"tools"' in said
    assert home.worker()["instance_id"] != before["instance_id"]


def test_an_older_program_uses_the_newer_worker(home: Home) -> None:
    home.ok("worker", "start")
    before = pretend(home, "99.0.0")
    assert "Harbour" in home.ok("search", "bridge")
    assert "Harbour" in home.ok("get", "note:1")
    assert home.worker() == before


@in_a_file("it is changed by hand")
def test_an_older_program_refuses_a_newer_store_in_one_line(home: Home) -> None:
    home.ok("worker", "stop")
    with closing(sqlite3.connect(home.path / "mem-search.db")) as store:
        store.execute("insert into mem_search_migrations values('m999_later', 0)")
        store.commit()
        content = "select name from mem_search_migrations union all select body from records"
        before = store.execute(content).fetchall()
        for words in (("search", "bridge"), ("get", "note:1"), ("worker", "start")):
            refused = home.run(*words)
            assert refused.returncode == 3
            said = refused.stderr.splitlines()
            (line,) = [each for each in said if " is starting; " not in each]
            assert "written by a newer mem-search (m999_later); update mem-search" in line
        assert store.execute(content).fetchall() == before
        store.execute("delete from mem_search_migrations where name = 'm999_later'")
        store.commit()
    assert "Harbour" in home.ok("search", "bridge")


@in_a_file("it is copied")
def test_the_copy_from_before_an_upgrade_is_a_store_again(home: Home) -> None:
    home.ok("worker", "stop")
    with closing(sqlite3.connect(home.path / "mem-search.db")) as store:
        store.execute("vacuum into ?", (str(home.path / "before-upgrade-20260101T000000Z.db"),))
    home.ok("import", "jsonl", "-", given=NOTE.replace('"1"', '"2"').replace("Harbour", "Quay"))
    home.ok("worker", "stop")
    aside = home.path / "aside"  # as docs/operations.md says it
    aside.mkdir()
    for file in home.path.glob("mem-search.db*"):
        shutil.move(file, aside)
    shutil.copy(home.path / "before-upgrade-20260101T000000Z.db", home.path / "mem-search.db")
    said = home.ok("search", "bridge")
    assert "Harbour" in said
    assert "Quay" not in said
    assert "FAIL" not in home.run("doctor").stdout.replace("FAIL  modes", "")


@pytest.mark.parametrize(
    ("older", "newer"),
    [("0.1.0", "0.1.1"), ("0.9.0", "0.10.0"), ("1.0.0rc1", "1.0.0"), ("1.0.0a2", "1.0.0b1"),
     ("1.0.0b9", "1.0.0rc1"), ("1.0.0rc2", "1.0.0rc10")],
)  # fmt: skip
def test_versions_have_an_order(older: str, newer: str) -> None:
    assert is_older(older, newer)
    assert not is_older(newer, older)
    assert not is_older(older, older)


@pytest.mark.parametrize("odd", ["", "unknown", "1.0.0+local", "١.0.0", "1..0"])
def test_what_is_no_version_is_never_older(odd: str) -> None:
    assert not is_older(odd, "1.0.0")
    assert not is_older("1.0.0", odd)
