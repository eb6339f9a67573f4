"""What agents did is read from their transcripts, and every file and failed command asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from capture_search import Happened, asked, happened

SESSION = "5e551040-0000-4000-8000-000000000001"


def line(uuid: str, kind: str, *blocks: dict[str, Any]) -> str:
    common = {"sessionId": SESSION, "timestamp": "2026-01-01T00:00:00Z", "cwd": "/gone/harbour"}
    message = {"id": uuid, "role": kind, "content": list(blocks)}
    return json.dumps({"type": kind, "uuid": uuid, **common, "message": message}) + "\n"


def call(key: str, tool: str, answer: str = "done", *, failed: bool = False, **given: str) -> str:
    """A call and its result."""
    use = {"type": "tool_use", "id": key, "name": tool, "input": given}
    result = {"type": "tool_result", "tool_use_id": key, "content": answer, "is_error": failed}
    return line(f"{key}-1", "assistant", use) + line(f"{key}-2", "user", result)


def transcript(folder: Path) -> Path:
    file = folder / f"{SESSION}.jsonl"
    file.write_text(
        line("p", "user", {"type": "text", "text": "Mend the tide gauge of the pier"})
        + call("a", "Edit", file_path="/gone/harbour/src/gauge.py")
        + call("b", "Write", file_path="/gone/harbour/tests/gauge.toml")
        + call("c", "Edit", "<tool_use_error>no", failed=True, file_path="/gone/harbour/lamp.py")
        + call("d", "Bash", "Exit code 2\nValueError: no tide", failed=True, command='make "all"')
        + call("e", "Bash", "Exit code 2\nValueError: no tide", failed=True, command='make "all"')
        + call("f", "Bash", "The user doesn't want to proceed", failed=True, command="rm -r pier")
        + call("g", "Bash", command="ls")
    )
    return file


def test_only_what_happened_is_asked_for_once(tmp_path: Path) -> None:
    assert [(each.file, each.question) for each in happened(transcript(tmp_path))] == [
        ("/gone/harbour/src/gauge.py", 'file:"gauge.py"'),
        ("/gone/harbour/tests/gauge.toml", 'file:"gauge.toml"'),
        ("", 'failed:"make"'),
    ]


async def test_what_is_recorded_is_found(tmp_path: Path) -> None:
    transcript(tmp_path)
    figures, missing = await asked(tmp_path)
    assert (figures, missing) == ({"files": 1.0, "commands": 1.0, "by_words": 1.0}, [])


async def test_what_no_record_says_is_named(tmp_path: Path, monkeypatch: Any) -> None:
    transcript(tmp_path)
    monkeypatch.setattr(Happened, "is_in", lambda each, record: each.file.endswith("gauge.py"))
    figures, missing = await asked(tmp_path)
    assert figures["files"] == 0.5
    assert 'file:"gauge.toml"' in missing
    assert 'failed:"make"' in missing
