"""What is recorded of sessions: of written ones, and of transcripts by searches."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import capture
import capture_written
import pytest
from capture_search import Happened, asked, happened

from mem_search.model import Draft
from mem_search.sources.claude_code.lines import parse_line

# The written sessions become transcripts and judgements, and their figures count what is right.

TYPES = {"discovery", "feature", "bugfix", "refactor", "change"}
FILES = (capture_written.LOOKED_AT, capture_written.HELD_OUT)
TEXT = """# A remark.

session pier
> The tide gauge is wrong\\nby a metre
edit gauge.py :: high => low
run make check ## Check it
fail 2 making\\nE  ValueError: no tide
!error ValueError: no tide
=bugfix
glob *.py
ok gauge.py
write lamp.py :: on = True
error File has not been read yet.
- We could paint it.
?decision
ask Which colour? | red | blue
ok User has answered your questions: "Which colour?"="red".
!decision
- Red needs two coats.
~decision
refuse rm -r pier

session quay
> thanks
"""


def one(text: str = TEXT) -> capture_written.Session:
    return next(capture_written.sessions(text))


def given(session: capture_written.Session, number: int) -> Any:
    """What the call at a line was given, or the result there said."""
    (block,) = session.lines[number - 1]["message"]["content"]
    return block["input"] if block["type"] == "tool_use" else block["content"]


def test_labels_judge_the_line_before_them() -> None:
    assert one().judgements == {
        "steps": {"bugfix": [5]}, "decisions": [12], "undecided": [10], "either": [13],
        "failed": {"5": "ValueError: no tide"}, "rejected": [15],
    }  # fmt: skip
    assert [each.name for each in capture_written.sessions(TEXT)] == ["pier", "quay"]


def test_calls_have_the_input_and_the_answer_that_were_written() -> None:
    session = one()
    assert session.lines[0]["message"]["content"] == "The tide gauge is wrong\nby a metre"
    edited = {"file_path": "/home/dev/shop/gauge.py", "old_string": "high", "new_string": "low"}
    assert given(session, 2) == edited
    assert given(session, 3) == "The file gauge.py has been updated successfully."
    assert given(session, 4) == {"command": "make check", "description": "Check it"}
    assert given(session, 5) == "Exit code 2\nmaking\nE  ValueError: no tide"
    assert (given(session, 6), given(session, 7)) == ({"pattern": "*.py"}, "gauge.py")
    assert given(session, 8) == {"file_path": "/home/dev/shop/lamp.py", "content": "on = True"}
    assert given(session, 9) == "<tool_use_error>File has not been read yet.</tool_use_error>"
    (question,) = given(session, 11)["questions"]
    assert question["question"] == "Which colour?"
    assert [option["label"] for option in question["options"]] == ["red", "blue"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("> before", "before the first session: > before"),
        ("session pier\nedti gauge.py", "no event and no label: edti gauge.py"),
        ("session pier\n> a\n!error b", "no command that failed before: !error b"),
    ],
)
def test_a_line_that_means_nothing_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        list(capture_written.sessions(text))


def test_every_written_session_is_a_transcript_with_judgements_of_known_types() -> None:
    names: list[str] = []
    for path in FILES:
        for session in capture_written.sessions(path.read_text("utf-8")):
            names.append(session.name)
            assert set(session.steps) <= TYPES
            assert all(parse_line(raw, n).events for n, raw in enumerate(session.lines, 1))
            judged = [*session.decisions, *session.undecided, *session.either]
            assert len(judged) == len(set(judged)), session.name
            assert 0 not in judged
    assert len(names) == len(set(names))


def test_figures_count_what_was_recorded_and_is_no_decision(tmp_path: Path) -> None:
    session = one()
    path = session.write(tmp_path)

    def recorded(*numbers: int) -> str:
        drafts = [
            Draft(
                "observation",
                "claude-code",
                f"pier-{number}/decision",
                "",
                session="pier",
                metadata={"type": "decision", "agent": "main"},
            )
            for number in numbers
        ]
        return capture.figures([capture.Judged(path, drafts, session.judgements)])

    told = recorded(10, 12, 13)
    assert "decisions 1 of 1, no_decision 0 of 1" in told
    assert told.endswith("1 recorded as a decision and none: recall 1.000, precision 0.500")
    assert recorded(1).endswith("1 recorded as a decision and none: recall 0.000, precision 0.000")


def test_of_the_sessions_held_out_only_figures_are_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = "session pier\n> mend the gauge\nedit gauge.py\n=refactor\nrefuse rm -r pier"
    for name in ("LOOKED_AT", "HELD_OUT"):
        path = tmp_path / name
        path.write_text(wrong, "utf-8")
        monkeypatch.setattr(capture_written, name, path)

    capture.written(quiet=True)
    quiet = capsys.readouterr().out.splitlines()
    capture.written(quiet=False)
    full = capsys.readouterr().out.splitlines()

    assert [line.partition(":")[0] for line in quiet] == ["written, looked at", "written, held out"]
    assert full[-1] == quiet[-1]
    assert [line for line in full if line not in quiet] == full[:-2] != []
    assert all(line.startswith("  ") for line in full[:-2])


# What agents did is read from their transcripts, and every file and failed command asked for.

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
