"""``mem-search sources``, as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import editor_sessions
from homes import Home
from mem_search.contracts import Source
from mem_search.sources import built_in
from mem_search.sources.base import BaseSource
from patience import PATIENCE


def test_each_source_says_where_it_looks_what_it_found_and_what_it_left(
    mem: Home, tmp_path: Path
) -> None:
    threads = editor_sessions.amp(tmp_path / "amp")
    editor_sessions.written(threads / "T-2.json", {"id": "T-2", "steps": []})
    mem.ok("sync", "amp", str(threads))
    listed = mem.ok("sources")
    assert "amp  looks in ~/.local/share/amp/threads or $XDG_DATA_HOME/amp/threads" in listed
    assert "continue  looks in ~/.continue/sessions or $CONTINUE_GLOBAL_DIR/sessions" in listed
    assert "slack  looks in what you name: mem-search add PATH" in listed
    (told,) = json.loads(mem.ok("sources", "amp", "--json"))["sources"]
    assert [each["path"] for each in told["read"]] == [str(threads)]
    assert told["ledger"] == {"failed": 1, "taken": 1}
    (reason,) = told["reasons"]
    assert (reason["outcome"], reason["item"]) == ("failed", "T-2.json")
    assert "its form is not known (Amp)" in reason["reason"]
    assert "its form is not known (Amp)" in mem.ok("sources", "amp")
    assert "is not a source; choose one of jsonl" in mem.run("sources", "poems").stderr


def test_a_source_that_looks_by_itself_never_says_that_it_reads_only_what_is_named(
    mem: Home,
) -> None:
    told = {each["source"]: each for each in json.loads(mem.ok("sources", "--json"))["sources"]}
    assert told["goose"]["looks_in"] == "~/.local/share/goose/sessions"
    assert "~/.claude" in told["agent-memory"]["looks_in"]
    asked = {source.name for source in built_in() if _looks(source)}
    assert {name for name in asked if not told[name]["looks_in"]} == set()


def _looks(source: Source) -> bool:
    return type(source).discover is not BaseSource.discover


@pytest.mark.parametrize("command", [("add", "-"), ("import", "jsonl", "-")])
def test_a_command_says_that_it_waits_for_standard_input(
    mem: Home, command: tuple[str, ...]
) -> None:
    with mem.popen(*command) as process:
        assert process.stderr
        assert "from standard input to its end" in process.stderr.readline()
        said = '{"kind": "note", "text": "The ibis came late"}\n'
        process.communicate(said, timeout=PATIENCE)
    assert process.returncode == 0
