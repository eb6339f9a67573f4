"""``mem-search sources``, as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import editor_sessions
from homes import Home


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
    assert "is no source; known are jsonl" in mem.run("sources", "poems").stderr
