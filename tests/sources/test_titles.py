"""Titles of steps and decisions: narration is none; evidence stands where words name nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from claude_code_script import CWD, Script
from mem_search.model import Draft, Location
from mem_search.sources.agent_work.evidence import commit_subject
from mem_search.sources.agent_work.titles import (
    Evidence,
    decision_title,
    step_title,
    wanted,
    weight_of,
)
from mem_search.sources.claude_code import ClaudeCode

NARRATION = [
    "Let me simplify",
    "Check what's next.",
    "Start implementing.",
    "Now let me look at the code first.",
    "I see the issue.",
    "Good. Implement all three files.",
    "All 43 tests pass.",
    "Here's a summary of what was done.",
    "I have everything I need now.",
    "Close this task and move to the next one",
    "Still waiting for the suite.",
    "Schau mal, was als nächstes kommt.",
]
SAYS = [
    "Make `with_span` work with do blocks",
    "The cache is never emptied, so memory grows",
    "Add the trace header to notify-session.sh",
    "The LiveView process cannot see the sandbox",
    "Der Zwischenspeicher wird nie geleert",
    "重试逻辑移动到客户端模块里面",
]


def title(kind: str, *texts: str, **known: Any) -> str:
    nothing: dict[str, Any] = dict.fromkeys(
        ("modified", "read", "facts", "failed", "broken", "defined"), ()
    )
    nothing |= {"aim": "", "chosen": (), "passed": "", "commit": "", "asked": "", "created": False}
    return step_title(Evidence(type=kind, texts=texts, **(nothing | known)))


@pytest.mark.parametrize("said", NARRATION)
def test_narration_names_nothing_and_is_no_title(said: str) -> None:
    assert wanted(said) == ""
    asked = title("feature", said, modified=["app/tide.py"], asked="Show the tide in feet")
    assert asked == "Extend app/tide.py for “Show the tide in feet”"


@pytest.mark.parametrize("said", SAYS)
def test_a_sentence_that_names_something_is_a_title(said: str) -> None:
    assert weight_of(said) >= 2
    assert title("discovery", f"Let me see. {said}.") == said


def test_a_change_has_its_place_and_how_it_went() -> None:
    said = "Let me fix the refresh-token race."
    known = {"modified": ["app/auth/session.py", "tests/test_rotate.py"]}
    found = title("bugfix", said, passed="pytest tests/test_rotate.py", **known)
    assert found == (
        "Fix the refresh-token race in auth/session.py and 1 more;"
        " `pytest tests/test_rotate.py` passes"
    )
    assert title("bugfix", said, broken=["make test"], **known).endswith("; `make test` fails")


def test_the_place_is_not_said_twice_and_is_the_file_that_the_words_are_about() -> None:
    files = ["lib/router.ex", "test/transcript_renderer_test.exs"]
    said = "Let me update the renderer test for `id` and `uuid`."
    assert title("change", said, modified=files).endswith(
        "in transcript_renderer_test.exs and 1 more"
    )
    assert title("feature", "I'll extend SessionLive.", modified=["live/session_live.ex"]) == (
        "Extend SessionLive"
    )


def test_without_words_the_commit_the_failure_or_what_was_removed_is_the_title() -> None:
    assert title("discovery", "Now let me commit.", commit="feat: tides in feet") == (
        "Commit “feat: tides in feet”"
    )
    failed = "Failed with exit code 128: Ran: git push 2>&1 — fatal: no upstream branch"
    assert title("discovery", failed=[failed]) == ("`git push` failed — fatal: no upstream branch")
    assert title("change", modified=["old.py"], facts=["Ran: git rm old.py"]) == "Remove old.py"


def test_names_that_an_edit_brings_are_the_object_where_words_name_none(tmp_path: Path) -> None:
    script = Script().asks("Count the waves").says("Let me write it.")
    new = "class Ring:\n    def push_wave(self):\n        pass\n    def count(self): ..."
    script.does("Edit", file_path=f"{CWD}/gauge.py", old_string="def count(self)", new_string=new)
    script.write(tmp_path / "p" / f"{script.session}.jsonl")
    (batch, *_) = ClaudeCode().read(Location("claude-code", str(tmp_path)), {})
    assert "Extend gauge.py: Ring, push_wave for “Count the waves”" in [
        each.title for each in batch.drafts
    ]


def test_a_numbered_heading_of_a_report_is_its_title() -> None:
    report = "Perfect! Let me check more of the tmux service.\n### 1. How `list_panes/0` works\nIt."
    assert title("discovery", report) == "How `list_panes/0` works"


def test_what_has_only_looked_does_not_say_that_it_did() -> None:
    said = "Now implement the tide table for the pier."
    assert title("discovery", said, read=["lib/pier.ex"]) == (
        "Read lib/pier.ex to implement the tide table for the pier"
    )


@pytest.mark.parametrize(
    ("chosen", "because", "wanted"),
    [
        ("Use `:auto` mode.", "The view cannot see the sandbox. I need to use `:auto` mode.",
         "Use `:auto` mode — The view cannot see the sandbox"),
        ("Fix it by a cron job to avoid a daemon.",
         "The spool is never emptied. Let me fix it by a cron job to avoid a daemon.",
         "Fix it by a cron job to avoid a daemon — The spool is never emptied"),
        ("Use SQLite because it is one file.", "It grows. Use SQLite because it is one file.",
         "Use SQLite because it is one file."),
        ("But gauges stay as they are", "No.", "Gauges stay as they are"),
    ],
)  # fmt: skip
def test_a_decision_has_its_choice_and_its_reason(chosen: str, because: str, wanted: str) -> None:
    assert decision_title(chosen, because) == wanted


def test_a_decision_and_its_step_never_share_a_title(tmp_path: Path) -> None:
    script = Script().asks("Count the waves").does("Read", file_path=f"{CWD}/gauge.py")
    script.says("We use a ring buffer instead of a list.")
    script.does("Edit", file_path=f"{CWD}/gauge.py").does("Bash", command="make test")
    script.write(tmp_path / "p" / f"{script.session}.jsonl")
    batches = ClaudeCode().read(Location("claude-code", str(tmp_path)), {})
    found: list[Draft] = [
        each for batch in batches for each in batch.drafts if each.kind == "observation"
    ]
    titles = [each.title for each in found]
    assert "We use a ring buffer instead of a list." in titles
    assert len(set(titles)) == len(titles) == 3
    (step,) = (each for each in found if each.metadata.get("files_modified"))
    assert step.title == "Extend gauge.py for “Count the waves”"


def test_the_subject_of_a_commit_is_read_from_each_way_to_give_it() -> None:
    assert commit_subject('git commit -am "Fix the tide\n\nBody"') == "Fix the tide"
    heredoc = "git add . && git commit -m \"$(cat <<'EOF'\nfeat: tides\n\nBody\nEOF\n)\""
    assert commit_subject(heredoc) == "feat: tides"
    assert commit_subject("git commit --amend --no-edit") == commit_subject("git status") == ""
