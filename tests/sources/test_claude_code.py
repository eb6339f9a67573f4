"""What the claude-code source makes of a transcript: prompts, observations, summaries."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from claude_code_script import CWD, SESSION, START, Script
from mem_search.ingest.prepare import outcome
from mem_search.model import Draft, LedgerEntry, Link, Location
from mem_search.sources.agent_work import evidence
from mem_search.sources.claude_code import ClaudeCode
from mem_search.sources.claude_code.files import transcripts


def read(root: Path) -> tuple[list[Draft], list[LedgerEntry]]:
    batches = list(ClaudeCode().read(Location("claude-code", str(root)), {}))
    return (
        [draft for batch in batches for draft in batch.drafts],
        [entry for batch in batches for entry in batch.ledger],
    )


def drafts_of(script: Script, root: Path, kind: str = "") -> list[Draft]:
    script.write(root / "project" / f"{script.session}.jsonl")
    return [draft for draft in read(root)[0] if draft.kind == kind or not kind]


ODD = st.sampled_from(
    [None, True, 0, -1, 1e308, 10**30, "", "\ud800", "\x00", "x" * 9000, "2026-13-45T99:99:99Z",
     [], {}, [[]], [None], [5], ["a"], {"a": {"b": []}}, [{"type": "text", "text": 5}],
     [{"type": 5, "text": "a"}], [{"type": "tool_use", "id": 5, "name": 5, "input": 5}],
     [{"type": "tool_result", "tool_use_id": 5, "content": 5, "is_error": 5}],
     [{"type": "tool_use", "id": "t", "name": "Read", "input": {"file_path": 5, "todos": 5}}]]
)  # fmt: skip
FIELDS = st.sampled_from(
    "type uuid sessionId timestamp cwd gitBranch agentId isSidechain isMeta isCompactSummary"
    " origin message summary leafUuid aiTitle customTitle operation content attachment"
    " isApiErrorMessage message.content message.id message.model attachment.type"
    " attachment.prompt".split()
)


@settings(max_examples=200, deadline=None)
@given(
    kind=st.sampled_from(
        ["user", "assistant", "attachment", "queue-operation", "summary", "ai-title", "new"]
    ),
    odd=st.dictionaries(FIELDS, ODD, min_size=1, max_size=3),
)
def test_any_value_in_any_field_is_read_or_is_one_line_that_names_the_field(
    tmp_path_factory: pytest.TempPathFactory, kind: str, odd: dict[str, Any]
) -> None:
    script = Script().asks("Why does the tide table start at noon?")
    script.line(kind, message={"role": kind, "content": "words"}, attachment={"prompt": "words"})
    line = script.lines[-1]
    for name, shared in odd.items():
        value = copy.deepcopy(shared)  # or a value could be put into itself
        outer, _, inner = name.partition(".")
        if inner and isinstance(line[outer], dict):
            line[outer][inner] = value
        elif not inner:
            line[outer] = value
    script.does("Read", file_path=f"{CWD}/tide/table.py").says("The loader drops twelve hours.")
    root = tmp_path_factory.mktemp("odd")
    script.write(root / "project" / f"{SESSION}.jsonl")
    drafts, ledger = read(root)
    assert "Why does the tide table start at noon?" in [draft.text for draft in drafts]
    for entry in ledger:
        if entry.outcome == "failed":
            assert entry.item.endswith(":2")
            said = entry.reason.removeprefix("line 2 cannot be used: ")
            assert said.startswith((*odd, "message.content.", "type: ")), entry
    for made in map(outcome, drafts):  # a name of 9,000 letters is refused
        refused = isinstance(made, str)
        assert not refused or made.startswith(("source_id ", "session ", "project ", "metadata."))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"cwd": 5}, "cwd: input should be a string, not a number"),
        ({"timestamp": 1772366400}, "timestamp: input should be a string, not a number"),
        ({"message": "words"}, "message: input should be an object, not a string"),
        ({"message": {"content": 5}}, "message.content: input should be a string or a list, not a"),
        (
            {"message": {"content": [{"type": "text", "text": 5}]}},
            "message.content.0.text: input should be a string, not a number",
        ),
    ],
)
def test_a_number_where_a_string_belongs_is_a_line_of_the_ledger(
    tmp_path: Path, change: dict[str, Any], reason: str
) -> None:
    script = Script().asks("Why noon?").asks("Why not midnight?").asks("And now?")
    script.lines[1] |= change
    script.write(tmp_path / "project" / f"{SESSION}.jsonl")
    drafts, ledger = read(tmp_path)
    assert [d.text for d in drafts if d.kind == "user_prompt"] == ["Why noon?", "And now?"]
    (failed,) = (entry for entry in ledger if entry.outcome == "failed")
    assert failed.item.endswith(":2")
    assert failed.reason.startswith(f"line 2 cannot be used: {reason}")


def test_a_session_becomes_its_prompt_then_the_work_then_the_summary(tmp_path: Path) -> None:
    script = Script().asks("Why does the tide table start at noon?")
    script.does("Read", file_path=f"{CWD}/tide/table.py")
    script.says("The table starts at noon because the loader drops the first twelve hours.")

    prompt, work, summary = drafts_of(script, tmp_path)

    assert (prompt.kind, prompt.source, prompt.source_id) == (
        "user_prompt",
        "claude-code",
        f"{SESSION}/u0",
    )
    assert prompt.text == "Why does the tide table start at noon?"
    assert (prompt.created_at, prompt.project, prompt.session) == (START, "harbour", SESSION)
    assert prompt.metadata == {
        "prompt_number": 1,
        "branch": "tide",
        "cwd": CWD,
        "session_id": SESSION,
        "platform": "claude",
    }
    assert (work.kind, work.source_id) == ("observation", f"{SESSION}/u0/work")
    assert work.title.startswith("The table starts at noon because")
    assert work.metadata["type"] == "discovery"
    assert work.metadata["files_read"] == ["tide/table.py"]
    assert (work.created_at, work.updated_at) == (START + 1000, START + 3000)
    assert (summary.kind, summary.source_id) == ("session_summary", f"{SESSION}/summary")
    assert summary.metadata["request"] == prompt.text
    assert summary.metadata["completed"] == work.metadata["narrative"]
    assert summary.metadata["extracted"] is True
    assert "learned" not in summary.metadata


@pytest.mark.parametrize(
    "content",
    [
        "<system-reminder>Remember the style guide.</system-reminder>",
        "<private>the key is under the mat</private>",
        "<claude-mem-context>Observation #1</claude-mem-context>",
        "<local-command-stdout>Kept model</local-command-stdout>",
        "<command-name>/model</command-name>\n<command-args>opus</command-args>",
        "<task-notification>\nBuild finished\n</task-notification>\nRead the output file.",
        [{"type": "text", "text": "[Request interrupted by user for tool use]"}],
        [{"type": "image", "source": {"data": "AAAA"}}],
    ],
)
def test_what_no_person_wrote_is_no_prompt(tmp_path: Path, content: Any) -> None:
    script = Script().asks(content)
    script.write(tmp_path / "s.jsonl")

    drafts, ledger = read(tmp_path)

    assert drafts == []
    assert [(entry.item, entry.outcome) for entry in ledger] == [("s.jsonl", "left")]
    assert ledger[0].reason.startswith("no prompts or work in it (")


@pytest.mark.parametrize(
    "flags", [{"isMeta": True}, {"isVisibleInTranscriptOnly": True}, {"origin": {"kind": "hook"}}]
)
def test_messages_marked_as_injected_are_no_prompts(tmp_path: Path, flags: Any) -> None:
    assert drafts_of(Script().asks("Base directory for this skill", **flags), tmp_path) == []


@pytest.mark.parametrize(
    ("text", "prompt"),
    [
        pytest.param(
            "Mend the pier <private>for Ada <private>and Bo</private> only</private>today"
            "<system-reminder>be brief</system-reminder>, and explain <private> tags",
            "Mend the pier today, and explain <private> tags",
            id="injected blocks are cut out",
        ),
        pytest.param(
            "<command-message>review</command-message><command-name>/review</command-name>"
            "<command-args>the new lighthouse parser</command-args>",
            "/review the new lighthouse parser",
            id="the words after a slash command",
        ),
    ],
)
def test_a_prompt_is_what_a_person_wrote(tmp_path: Path, text: str, prompt: str) -> None:
    assert [d.text for d in drafts_of(Script().asks(text), tmp_path, "user_prompt")] == [prompt]


def test_a_prompt_queued_while_the_agent_works_counts_once(tmp_path: Path) -> None:
    queued = {"type": "queued_command", "prompt": "also check the harbour lights"}
    script = Script().asks("Look at the lights")
    script.line("queue-operation", operation="enqueue", content="also check the harbour lights")
    script.line("queue-operation", operation="remove")
    script.line("attachment", attachment={**queued, "commandMode": "prompt"})
    script.line("queue-operation", operation="enqueue", content="and the buoys")
    script.line("attachment", attachment={**queued, "prompt": "and the buoys"})
    script.line("queue-operation", operation="remove")

    prompts = drafts_of(script, tmp_path, "user_prompt")

    assert [prompt.text for prompt in prompts] == [
        "Look at the lights",
        "also check the harbour lights",
        "and the buoys",
    ]
    assert [prompt.metadata["prompt_number"] for prompt in prompts] == [1, 2, 3]


def test_context_that_hooks_injected_is_not_read_back(tmp_path: Path) -> None:
    script = Script().asks("Continue with the dredging plan please")
    for kind in ("hook_additional_context", "prompt_snapshot"):
        script.line("attachment", attachment={"type": kind, "content": "old memory"})
    script.line("api-request-blob", body="old memory")
    script.line("never-seen-before", message="old memory")
    assert "old memory" not in str(drafts_of(script, tmp_path))


def test_failures_keep_the_command_and_the_end_of_the_error(tmp_path: Path) -> None:
    error = "Exit code 2\n" + "\n".join(f"noise {n}" for n in range(50)) + "\n1 test failed"
    script = Script().asks("Fix the flaky gauge test")
    script.does("Bash", command="make test", answer=error, failed=True)
    script.does("Edit", file_path=f"{CWD}/gauge.py")
    script.does("Bash", command="make test", answer="all passed")
    script.does("Read", file_path="/etc/hosts", answer="File does not exist.", failed=True)
    script.does("Write", file_path="a.py", answer="The user doesn't want to", failed=True)
    script.does("Bash", command="ls", answer="Sibling tool call errored", failed=True)

    work, after = drafts_of(script, tmp_path, "observation")

    failed, passed = work.metadata["facts"]
    unread, rejected = after.metadata["facts"]
    assert failed.startswith("Failed with exit code 2: Ran: make test — 1 test failed\n")
    assert "noise 40" not in failed
    assert passed == "Ran: make test"
    assert unread == "Failed: Read: /etc/hosts — File does not exist."
    assert rejected == "Rejected by the user: Write: a.py"
    assert work.metadata["failed"] == [failed.partition("\n")[0]]
    assert after.metadata["rejected"] == [rejected]
    assert work.metadata["type"] == "bugfix"
    assert work.metadata["concepts"] == ["problem-solution", "what-changed"]
    assert work.metadata["files_modified"] == ["gauge.py"]
    assert work.metadata["files_read"] == []
    assert work.title == "Fix gauge.py for “Fix the flaky gauge test”; `make test` passes"
    assert work.text.startswith(failed)


@pytest.mark.parametrize(
    ("output", "line"),
    [
        ("collected 2 items\nE   assert 1 == 2\n\n1 failed", "E assert 1 == 2"),
        ('  File "x.py", line 3\nValueError: bad\n', "ValueError: bad"),
        ("hm\n  ** (RuntimeError) no key\n  stacktrace\n5 failures", "** (RuntimeError) no key"),
        ("src/a.rs\nerror[E0308]: mismatched types\n  help", "error[E0308]: mismatched types"),
        ("bash: frob: command not found", "bash: frob: command not found"),
        ("nothing tells\nthe last line", "the last line"),
        ("", ""),
    ],
)
def test_the_line_of_an_error_is_the_telling_one(output: str, line: str) -> None:
    assert evidence.error_line(output) == line


def test_a_rejected_call_keeps_the_reason(tmp_path: Path) -> None:
    script = Script().asks("Clean the harbour")
    reason = "The user doesn't want to proceed with this tool use. To tell you how to proceed, "
    script.does("Bash", command="rm -r old", answer=f"{reason}the user said:\nkeep it", failed=True)
    (work,) = drafts_of(script, tmp_path, "observation")
    assert work.metadata["rejected"] == ["Rejected by the user: Ran: rm -r old — keep it"]
    assert "failed" not in work.metadata


def test_a_plan_that_was_approved_and_an_answer_are_decisions(tmp_path: Path) -> None:
    script = Script().asks("How shall we store the tides?")
    script.does("ExitPlanMode", plan="# Store tides in one table\nOne row an hour.")
    script.does("AskUserQuestion", answer='User answered: "Which unit?"="metres"')
    script.does("ExitPlanMode", plan="# Sell the harbour", answer="The user doesn't", failed=True)

    plan, answer, _ = drafts_of(script, tmp_path, "observation")

    assert plan.metadata["type"] == answer.metadata["type"] == "decision"
    assert plan.title == "Store tides in one table — One row an hour"
    assert plan.text == "Plan:\n# Store tides in one table\nOne row an hour."
    assert answer.title == answer.text == "Which unit? metres"


@pytest.mark.parametrize(
    ("said", "chosen"),
    [
        (
            "We chose SQLite instead of a server. It is one file.",
            "We chose SQLite instead of a server.",
        ),
        (
            "The gauge doesn't know feet. I need to use metres.",
            "Use metres — The gauge doesn't know feet",
        ),
        ("Let me write to a spool to avoid a lost wave.", "Write to a spool to avoid a lost wave."),
        ("The module doesn't exist yet. Let me create it now.", ""),
        ("Let me try a different approach to get the documentation:", ""),
        ("All tests pass. Now let me commit.", ""),
        ("Decision: the gauge stays in metres.", "Decision: the gauge stays in metres."),
        ("We stick with one table; two would drift.", "We stick with one table; two would drift."),
        ("A server might be faster instead, but that can wait.", ""),
        ("There are two ways. Which one do you prefer?", ""),
    ],
)
def test_a_decision_is_what_chooses_one_way(tmp_path: Path, said: str, chosen: str) -> None:
    script = Script().asks("Go on").says(said).does("Write", file_path=f"{CWD}/x.py")
    found = [d for d in drafts_of(script, tmp_path, "observation") if "/work" not in d.source_id]
    assert [draft.title for draft in found] == ([chosen] if chosen else [])


@pytest.mark.parametrize(
    ("before", "asked", "chosen"),
    [
        ("There are two ways: feet or metres. Which do you prefer?", "metres now",
         "Metres now — There are two ways: feet or metres"),
        ("I suggest feet.", "agreed, feet", "Agreed, feet — I suggest feet"),
        ("I suggest feet.", "why feet?", ""),
        ("I'd use feet rather than metres. Which one do you prefer?", "do it", ""),
        ("It is done.", "We use metres everywhere, the harbour has confirmed it.",
         "We use metres everywhere, the harbour has confirmed it."),
        ("It is done.", "let's store times as UTC", "Store times as UTC"),
        ("It is done.", "commit this please", ""),
    ],
)  # fmt: skip
def test_a_person_decides_in_a_prompt_or_by_answering_a_choice(
    tmp_path: Path, before: str, asked: str, chosen: str
) -> None:
    script = Script().asks("Look at the gauge").does("Read", file_path=f"{CWD}/gauge.py")
    uuid = f"u{len(script.says(before).lines)}"
    script.asks(asked)
    found = [
        draft
        for draft in drafts_of(script, tmp_path, "observation")
        if draft.source_id == f"{SESSION}/{uuid}/decision"
    ]
    assert [draft.title for draft in found] == ([chosen] if chosen else [])
    assert all(asked in draft.text for draft in found)


def test_a_step_begins_after_the_work_that_the_step_before_it_did(tmp_path: Path) -> None:
    script = Script().asks("Mend the gauge").says("The gauge is wrong by an hour.")
    script.does("Edit", file_path=f"{CWD}/gauge.py")
    script.does("Bash", command="make test", answer="Exit code 2\nError: no tide", failed=True)
    script.does("Edit", file_path=f"{CWD}/gauge.py").does("Bash", command="make test")
    first, second = drafts_of(script, tmp_path, "observation")
    assert (second.created_at or 0) >= (first.updated_at or 1)


def test_what_a_check_of_style_complains_of_is_tidied_up_not_repaired(tmp_path: Path) -> None:
    script = Script().asks("Go on").does("Edit", file_path=f"{CWD}/gauge.py")
    script.does("Bash", command="ruff check .", answer="Exit code 1\nF401 unused", failed=True)
    script.does("Edit", file_path=f"{CWD}/gauge.py").does("Bash", command="ruff check .")
    types = [draft.metadata["type"] for draft in drafts_of(script, tmp_path, "observation")]
    assert types == ["feature", "refactor"]


def test_new_files_of_code_are_a_feature_and_a_check_that_passes_unchanged_repairs_nothing(
    tmp_path: Path,
) -> None:
    script = Script().asks("go on").does("Write", file_path=f"{CWD}/gauge.py")
    script.does("Bash", command="make test", answer="Exit code 2\nno module", failed=True)
    script.does("Bash", command="pip install tides").does("Bash", command="make test")
    (step,) = drafts_of(script, tmp_path, "observation")
    assert step.metadata["type"] == "feature"


def test_a_decision_that_takes_back_an_earlier_one_supersedes_it(tmp_path: Path) -> None:
    script = Script().asks("Go on")
    script.says("The pump can't start. I'll add it to pump_list.txt directly.").does("Read")
    script.says("Let me remove the pump_list.txt file since we no longer need it.").does("Read")
    script.says("The quay isn't high. Let me use quay_wall.txt here.")
    early, late, other, *_ = (
        draft for draft in drafts_of(script, tmp_path) if draft.metadata.get("type") == "decision"
    )
    assert late.links == (Link(early.source_id, "supersedes"),)
    assert early.links == other.links == ()


def test_a_turn_becomes_its_steps(tmp_path: Path) -> None:
    script = Script().asks("Implement the tide table")
    script.says("Let me look at what there is.")
    script.does("Read", file_path=f"{CWD}/a.py").does("Read", file_path=f"{CWD}/b.py")
    script.says("Now let me add the table:").does("Write", file_path=f"{CWD}/table.py")
    script.does("Bash", command="make test", answer="Exit code 2\nError: no tide", failed=True)
    script.says("The table has no tide for noon.").does("Edit", file_path=f"{CWD}/table.py")
    script.does("Bash", command="make test | tail", answer="ok")
    script.says("Too many branches. Let me extract the loop into its own function.")
    script.does("Edit", file_path=f"{CWD}/table.py")
    script.says("Now the tests.").does("Write", file_path=f"{CWD}/tests/test_table.py")
    script.does("Bash", command="git add . && git commit -m tides")
    script.says("Let me see what is next.").does("Bash", command="cat TODO")

    steps = drafts_of(script, tmp_path, "observation")

    assert [(step.metadata["type"], step.title) for step in steps] == [
        ("discovery", "Read a.py and 1 more for “Implement the tide table”"),
        ("feature", "Add the table in table.py; `make test` fails"),
        ("bugfix", "Fix table.py: The table has no tide for noon; `make test` passes"),
        ("refactor", "Extract the loop into its own function in table.py"),
        ("change", "Change test_table.py: tides"),
        ("discovery", "See what is next for “Implement the tide table”"),
    ]
    assert steps[1].metadata["failed"] == [
        "Failed with exit code 2: Ran: make test — Error: no tide"
    ]
    assert "problem-solution" in steps[2].metadata["concepts"]
    assert [step.source_id.rpartition("/")[2] for step in steps] == ["work", *"23456"]


def test_calls_made_together_stay_together(tmp_path: Path) -> None:
    script = Script().asks("Implement the pier")
    uses = [
        {"type": "tool_use", "id": f"t{n}", "name": name, "input": {"file_path": f"{CWD}/{n}.py"}}
        for n, name in enumerate(("Read", "Read", "Edit"))
    ]
    script.line("assistant", message={"id": "m", "content": uses})
    script.asks(
        [{"type": "tool_result", "tool_use_id": f"t{n}", "content": "ok"} for n in range(3)]
    )
    (work,) = drafts_of(script, tmp_path, "observation")
    assert work.metadata["files_read"] == ["0.py", "1.py"]
    assert work.metadata["files_modified"] == ["2.py"]


@pytest.mark.parametrize(
    ("prompt", "kind"),
    [
        ("Fix the crash and add a test", "bugfix"),
        ("Add a fixture for tides", "feature"),
        ("Refactor the gauge, then fix its test", "refactor"),
        ("Go on", "feature"),
    ],
)
def test_the_type_of_a_change_follows_the_words_of_the_prompt(
    tmp_path: Path, prompt: str, kind: str
) -> None:
    script = Script().asks(prompt).does("Edit", file_path=f"{CWD}/x.py")
    assert drafts_of(script, tmp_path, "observation")[0].metadata["type"] == kind


def test_a_turn_without_work_or_words_gives_no_observation(tmp_path: Path) -> None:
    assert drafts_of(Script().asks("Thanks a lot").says("Welcome!"), tmp_path, "observation") == []


def test_a_title_is_what_was_found_not_what_was_announced(tmp_path: Path) -> None:
    script = Script().asks("What is wrong with the gauge?")
    script.says("Let me look at the gauge first.\n```\nsome code in here\n```")
    script.says("## **Root cause**: the gauge counts " + "very " * 30 + "slowly")
    (work,) = drafts_of(script, tmp_path, "observation")
    assert work.title.startswith("Root cause: the gauge counts very")
    assert work.title.endswith("very…")
    assert len(work.title) <= 120
    assert work.metadata["subtitle"] == ""


def test_a_subtitle_is_where_the_turn_came_to(tmp_path: Path) -> None:
    script = Script().asks("What is wrong with the gauge?")
    script.says("The gauge counts too slowly.\n\nIt should be replaced before the spring tide.")
    (work,) = drafts_of(script, tmp_path, "observation")
    assert work.title == "The gauge counts too slowly"
    assert work.metadata["subtitle"] == "It should be replaced before the spring tide."


def test_a_long_turn_becomes_several_observations(tmp_path: Path) -> None:
    script = Script().asks("Survey the whole coast")
    for mile in range(30):
        script.says(f"Mile {mile}: " + "rocks and sand " * 60)
    parts = drafts_of(script, tmp_path, "observation")
    assert [part.source_id.removeprefix(f"{SESSION}/u0/") for part in parts] == [
        "work",
        "work/2",
        "work/3",
        "work/4",
    ]
    assert all(len(part.metadata["narrative"]) <= 8100 for part in parts)
    assert all(f"Mile {mile}:" in "".join(part.text for part in parts) for mile in range(30))


def test_the_agents_own_compaction_is_the_summary(tmp_path: Path) -> None:
    compaction = (
        "This session is being continued from a previous conversation.\n\nAnalysis:\nhm\n\n"
        "Summary:\n1. Primary Request and Intent:\n   Deepen the harbour.\n\n"
        "3. Files and Code Sections:\n   - `dredge.py` digs\n     ```python\n     dig()\n"
        "     ```\n\n4. Errors and fixes:\n   - Silt came back.\n\n"
        "6. All user messages:\n   - dig\n\n8. Current Work:\n   Digging.\n\n"
        "9. Optional Next Step:\n   Dig more.\n\n"
        "If you need specific details from before compaction, read the transcript."
    )
    script = Script().asks("Deepen the harbour").does("Write", file_path=f"{CWD}/dredge.py")
    script.asks(compaction, isCompactSummary=True)

    *_, summary = drafts_of(script, tmp_path)

    assert summary.metadata == {
        "request": "Deepen the harbour.",
        "investigated": "- `dredge.py` digs",
        "learned": "- Silt came back.",
        "completed": "Digging.",
        "next_steps": "Dig more.",
        "files_edited": ["dredge.py"],
        "branch": "tide",
        "platform": "claude",
    }
    assert summary.text.startswith("Request: Deepen the harbour.\n\nInvestigated: ")

    script.says("The harbour is four metres deep now.")
    _, before, after, summary = drafts_of(script, tmp_path)
    assert summary.metadata["completed"] == (
        "The harbour is four metres deep now.\n\n- Add dredge.py for “Deepen the harbour”"
    )
    assert before.source_id == f"{SESSION}/u0/work"
    assert after.source_id == f"{SESSION}/u3/work"
    assert "Deepen the harbour." not in after.text


def test_a_session_without_a_request_is_summarised_by_its_last_words(tmp_path: Path) -> None:
    script = Script().says("The nightly check of the buoys begins.").does("Bash", command="check")
    (summary,) = drafts_of(script, tmp_path, "session_summary")
    assert summary.metadata["completed"] == "The nightly check of the buoys begins."
    assert summary.title == "The nightly check of the buoys begins."


COMPACTION = (
    "This session is being continued from a previous conversation.\n\nSummary:\n"
    "1. Primary Request and Intent:\n   Deepen the harbour.\n\n"
    "7. Pending Tasks:\n   - **harbour-1** (open): dredge the north\n"
    "   - **harbour-2** (open): dredge the south\n"
)


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("Nothing is deep yet.", ["harbour-1", "harbour-2"]),
        ("harbour-1 is done and pushed.", ["harbour-2"]),
        ("All done. The entire harbour is complete.", []),
        ("All done, all is pushed. Known issue: the crane-3 squeaks loudly.", ["crane-3"]),
    ],
)
def test_work_that_was_done_after_a_compaction_is_not_served_as_open(
    tmp_path: Path, said: str, left: list[str]
) -> None:
    script = Script().asks("Deepen the harbour").asks(COMPACTION, isCompactSummary=True)
    script.does("Write", file_path=f"{CWD}/dredge.py").says(said)
    (summary,) = drafts_of(script, tmp_path, "session_summary")
    steps = summary.metadata.get("next_steps", "")
    named = [name for name in ("harbour-1", "harbour-2", "crane-3") if name in steps]
    assert named == left


def test_a_session_without_a_compaction_is_summarised_by_its_steps(tmp_path: Path) -> None:
    script = Script().asks("Implement the pier")
    script.says("Let me look at the piles.")
    script.does("Read", file_path=f"{CWD}/a.py").does("Read", file_path=f"{CWD}/b.py")
    script.says("Now let me add the deck:").does("Write", file_path=f"{CWD}/deck.py")
    script.says("The deck lies.")
    (summary,) = drafts_of(script, tmp_path, "session_summary")
    assert summary.metadata["investigated"] == "- Read a.py and 1 more for “Implement the pier”"
    assert summary.metadata["completed"] == "The deck lies.\n\n- Add deck.py: The deck lies"


def test_a_compaction_without_headings_is_kept_whole(tmp_path: Path) -> None:
    script = Script().asks("Go").asks("We dug. It is deep.", isCompactSummary=True)
    (summary,) = drafts_of(script, tmp_path, "session_summary")
    assert summary.metadata["notes"] == "We dug. It is deep."


def test_a_session_is_called_by_its_title_and_a_persons_title_stays(tmp_path: Path) -> None:
    script = Script()
    script.lines.append({"type": "summary", "summary": "Other session", "leafUuid": "x"})
    script.asks("Deepen the harbour")
    assert drafts_of(script, tmp_path, "session_summary")[0].title == "Deepen the harbour"
    script.line("ai-title", aiTitle="Harbour works")
    assert drafts_of(script, tmp_path, "session_summary")[0].title == "Harbour works"
    script.line("custom-title", customTitle="Dredging").line("ai-title", aiTitle="Harbour")
    assert drafts_of(script, tmp_path, "session_summary")[0].title == "Dredging"


def test_a_subagents_work_belongs_to_the_session_and_its_orders_are_no_prompts(
    tmp_path: Path,
) -> None:
    Script().asks("Chart the reefs").write(tmp_path / f"{SESSION}.jsonl")
    agent = Script(
        cwd=f"{CWD}/charts", common={"isSidechain": True, "agentId": "a1", "gitBranch": "HEAD"}
    )
    agent.asks("You are to list the reefs").does("Read", file_path=f"{CWD}/charts/reefs.csv")
    agent.says("There are seven reefs, two of them new.")
    agent.write(tmp_path / SESSION / "subagents" / "agent-a1.jsonl")
    own = Script(common={"isSidechain": True, "agentId": "acompact-1"})
    own.asks("Your task is to summarise").says("Here is a summary of everything so far.")
    own.write(tmp_path / SESSION / "subagents" / "agent-acompact-1.jsonl")

    drafts, ledger = read(tmp_path)

    assert [draft.kind for draft in drafts] == ["user_prompt", "session_summary", "observation"]
    work = drafts[-1]
    assert (work.session, work.project) == (SESSION, "harbour")
    assert work.metadata["agent"] == "a1"
    assert work.metadata["branch"] == ""
    assert work.metadata["files_read"] == ["charts/reefs.csv"]
    assert [entry.outcome for entry in ledger] == ["taken", "taken", "left"]


def test_sidechains_inside_a_session_file_are_told_apart(tmp_path: Path) -> None:
    script = Script().asks("Chart the reefs")
    script.common = {"isSidechain": True}
    script.asks("List reefs").says("The subagent found seven reefs here.")
    script.common = {}
    script.says("The subagent is done: seven reefs are charted.")
    work = drafts_of(script, tmp_path, "observation")
    assert {draft.metadata["agent"] for draft in work} == {"main", "subagent"}


OTHER = "0ce4a000-0000-4000-8000-000000000002"


def test_lines_copied_from_another_session_belong_to_it(tmp_path: Path) -> None:
    first = Script().asks("Chart the reefs")
    second = Script(session=OTHER).asks("Now the shoals")
    second.lines = [*first.lines, *second.lines]
    second.write(tmp_path / f"{OTHER}.jsonl")

    drafts, _ = read(tmp_path)

    assert [(draft.source_id, draft.reading.is_copy) for draft in drafts if draft.reading] == [
        (f"{SESSION}/u0", True),
        (f"{SESSION}/summary", True),
        (f"{OTHER}/u0", False),
        (f"{OTHER}/summary", False),
    ]
    assert drafts[-1].metadata["request"] == "Now the shoals"


def test_messages_that_the_program_made_are_not_the_agents(tmp_path: Path) -> None:
    script = Script().asks("Chart the reefs")
    script.line(
        "assistant",
        message={"model": "<synthetic>", "content": [{"type": "text", "text": "API Error: 529"}]},
    )
    assert "529" not in str(drafts_of(script, tmp_path))


def test_linked_folders_of_the_location_are_read_each_once(tmp_path: Path) -> None:
    root, far = tmp_path / "projects", tmp_path / "far"
    for folder in (root / "-own", far / "-moved"):
        folder.mkdir(parents=True)
        (folder / "s.jsonl").write_text("{}\n")
    (root / "-moved").symlink_to(far / "-moved")
    (root / "-again").symlink_to(far / "-moved")
    (root / "-loop").symlink_to(root)
    (root / "-gone").symlink_to(tmp_path / "gone")
    found = transcripts(root)
    assert len(found.files) == 2
    assert "-own/s.jsonl" in found.files
    assert len(found.left) == 2  # what was read under another name, and the location itself
