"""The ledger of what hooks cost: counted for each session, whatever is in the file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mem_search.features.capture.costs import costs, drop, dropped


def line(session: str, event: str, at: int, **more: Any) -> str:
    said = {
        "at": at, "session": session, "agent": "claude-code", "event": event, "tokens": 0,
        "ms": 40.0, "cpu_ms": 20.0, "searched": False, "answered": True,
    }  # fmt: skip
    return json.dumps({**said, **more})


def test_hooks_are_counted_for_each_session_the_latest_first(tmp_path: Path) -> None:
    assert costs(tmp_path)[1] == []
    folder = tmp_path / "hooks"
    folder.mkdir()
    (folder / "costs.jsonl.1").write_text(line("old", "UserPromptSubmit", 5, tokens=60) + "\n")
    lines = [
        line("new", "SessionStart", 10, tokens=900, ms=90.0),
        line("new", "UserPromptSubmit", 20, tokens=70),
        line("new", "PostToolUse", 30, searched=True),
        line("old", "Stop", 15, answered=False),
        '{"at": 3',
        "[]",
        line("new", "Stop", 40, tokens="many"),
        line("odd", "Stop", 40, ms=None),
    ]
    (folder / "costs.jsonl").write_bytes("\n".join(lines).encode() + b"\n\xff\n")
    total, (new, old) = costs(tmp_path)
    assert (total.hooks, total.tokens, total.turns, total.searches) == (5, 1030, 2, 1)
    assert total.unanswered == 1
    assert (new.session, new.hooks, new.tokens, new.turns, new.searches) == ("new", 3, 970, 1, 1)
    assert (new.first_at, new.last_at, max(new.times)) == (10, 30, 90.0)
    assert (old.session, old.hooks, old.first_at, old.last_at) == ("old", 2, 5, 15)


def test_dropped_events_are_counted_in_both_files_and_the_last_is_told(tmp_path: Path) -> None:
    assert dropped(tmp_path) == (0, "")
    folder = tmp_path / "hooks"
    drop(tmp_path, "no JSON")
    (folder / "dropped.log").write_text("an older line\n" * 20_000)
    drop(tmp_path, "unknown event")
    drop(tmp_path, "too long")
    count, last = dropped(tmp_path)
    assert (count, last.partition(" ")[2]) == (20_002, "too long")
    assert (folder / "dropped.log").stat().st_mode & 0o777 == 0o600
