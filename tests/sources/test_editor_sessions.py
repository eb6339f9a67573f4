"""What each agent that keeps documents, or lives in an editor, has of its own."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import editor_sessions
from agent_sessions import ASKED, CWD, ERROR, LAMP, SAID
from editor_sessions import MS, written
from git_repositories import Repository
from mem_search.contracts import Machine
from mem_search.model import Draft, LedgerEntry, Location
from mem_search.sources import by_name


def read(source: str, root: Path) -> tuple[list[Draft], list[LedgerEntry]]:
    batches = list(by_name(source).read(Location(source, str(root)), {}))
    ledger = [entry for batch in batches for entry in batch.ledger]
    return [draft for batch in batches for draft in batch.drafts], ledger


def prompts(drafts: list[Draft]) -> list[str]:
    return [draft.text for draft in drafts if draft.kind == "user_prompt"]


def test_a_history_of_aider_is_its_prompts_and_what_it_did(tmp_path: Path) -> None:
    drafts, ledger = read("aider", editor_sessions.aider(tmp_path))
    assert prompts(drafts) == [f"{ASKED}\n# at once", "why?"]
    works = [draft.metadata for draft in drafts if draft.kind == "observation"]
    assert [path for each in works for path in each["files_modified"]] == ["new/lamp.py", "wick.py"]
    assert "wick.py" in works[0]["files_read"]
    (failed,) = [line for each in works for line in each.get("failed", ())]
    assert failed == ("Failed: Ran: flake8 wick.py — wick.py:1:2: E999 SyntaxError: invalid syntax")
    said = "\n".join(draft.text for draft in drafts)
    assert "#### a heading of the model\n> a quote of the model" in said
    assert "Commit 1ad679c Light the lamp" in said
    assert "(Y)es" not in said
    assert {draft.project for draft in drafts} == {"harbour"}
    assert len({draft.session for draft in drafts}) == 1
    assert [entry.outcome for entry in ledger] == ["taken"]


def test_a_history_of_aider_is_read_without_the_blanks_at_the_ends_of_its_lines(
    tmp_path: Path,
) -> None:
    history = editor_sessions.aider(tmp_path) / ".aider.chat.history.md"
    history.write_text("\n".join(map(str.rstrip, history.read_text().split("\n"))))
    drafts, _ = read("aider", history.parent)
    assert prompts(drafts)[0] == f"{ASKED}\n# at once"
    assert any(draft.metadata.get("files_modified") for draft in drafts)


@pytest.mark.parametrize("upload", ["", "c1.json"])
def test_a_session_of_continue_that_no_list_has_is_read_as_a_whole(
    tmp_path: Path, upload: str
) -> None:
    root = editor_sessions.continue_dev(tmp_path)
    listed = {draft.source_id for draft in read("continue", root)[0]}
    (root / "sessions.json").unlink()
    os.utime(root / "c1.json", (MS / 1000, MS / 1000))
    location = Location("continue", str(root / "c1.json"), upload=upload)
    drafts = [draft for batch in by_name("continue").read(location, {}) for draft in batch.drafts]
    assert {draft.source_id for draft in drafts} == listed
    assert {draft.created_at for draft in drafts} == {None if upload else MS}


def test_the_input_history_of_aider_says_when_each_prompt_was_written(tmp_path: Path) -> None:
    root = editor_sessions.aider(tmp_path)
    asked = f"\n# 2026-01-01 00:00:07.500000\n+{ASKED}\n+# at once\n"
    (root / ".aider.input.history").write_text(f"{asked}\n# 2026-01-02 00:00:00.0\n+why?\n")
    drafts, ledger = read("aider", root)
    first, second = (draft.created_at for draft in drafts if draft.kind == "user_prompt")
    assert first is not None
    assert second is not None
    assert first % 60_000 == 7_500
    assert second - first == (86_400 - 7.5) * 1000
    left = [entry.reason for entry in ledger if entry.outcome == "left"]
    assert left == [".aider.chat.history.md beside it has its prompts"]
    (root / ".aider.chat.history.md").unlink()
    drafts, _ = read("aider", root)
    assert prompts(drafts) == [f"{ASKED}\n# at once", "why?"]


def test_a_moved_history_of_aider_has_the_same_records(tmp_path: Path) -> None:
    root = editor_sessions.aider(tmp_path)
    before = {draft.source_id for draft in read("aider", root)[0]}
    assert before == {draft.source_id for draft in read("aider", root.rename(tmp_path / "pier"))[0]}


def test_a_history_in_which_no_chat_begins_is_named(tmp_path: Path) -> None:
    (tmp_path / ".aider.chat.history.md").write_text("# something else\n")
    drafts, (entry,) = read("aider", tmp_path)
    assert not drafts
    assert entry.outcome == "failed"
    assert "no chat begins in it" in entry.reason


def test_histories_of_aider_are_found_below_the_home_and_around_the_directory(
    tmp_path: Path,
) -> None:
    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    below = editor_sessions.aider(home / "code")
    Repository(elsewhere / "harbour")
    around = editor_sessions.aider(elsewhere)
    (around / "src").mkdir()
    (below / ".aider.input.history").write_text("\n# 2026-01-01 00:00:07.5\n+x\n")
    own = tmp_path / "own.md"
    own.write_text(editor_sessions.HISTORY)
    machine = Machine(home, around / "src", {"AIDER_CHAT_HISTORY_FILE": str(own)})
    assert [Path(each.path) for each in by_name("aider").discover(machine)] == [
        own, around / ".aider.chat.history.md", below / ".aider.chat.history.md",
    ]  # fmt: skip


def task(folder: Path, *messages: Mapping[str, Any], **known: Any) -> Path:
    tasks = folder / "rooveterinaryinc.roo-cline" / "tasks"
    written(tasks / "t" / "ui_messages.json", list(messages))
    written(tasks / "t" / "history_item.json", {"id": "t", "workspace": CWD, **known})
    return tasks


def said(n: int, name: str, text: str, sort: str = "say") -> dict[str, Any]:
    return {"ts": MS + n, "type": sort, sort: name, "text": text}


def test_a_subtask_of_roo_code_belongs_to_the_task_of_the_person(tmp_path: Path) -> None:
    root = task(tmp_path, said(0, "text", "Count the lamps"), said(1, "completion_result",
                "There are three lamps and one of them is out."), rootTaskId="r0")  # fmt: skip
    (found,), _ = read("roo-code", root)
    assert (found.kind, found.session, found.metadata["agent"]) == ("observation", "r0", "t")


def test_what_went_wrong_with_a_tool_and_what_nobody_allowed(tmp_path: Path) -> None:
    edit = json.dumps({"tool": "appliedDiff", "path": "lamp.py"})
    root = task(
        tmp_path,
        said(0, "text", ASKED),
        said(1, "tool", edit, "ask"),
        said(2, "diff_error", "No match found"),
        said(3, "user_feedback", "Try the wick"),
        said(4, "text", "I try the wick now, it is in the other file."),
        said(5, "tool", edit.replace("lamp", "wick"), "ask"),
        said(6, "resume_task", "", "ask"),
    )
    drafts, _ = read("roo-code", root)
    assert prompts(drafts) == [ASKED, "Try the wick"]
    works = [draft.metadata for draft in drafts if draft.kind == "observation"]
    facts = [fact for each in works for fact in each["facts"]]
    assert facts == ["Failed: Edit: lamp.py — No match found"]
    assert not [path for each in works for path in each["files_modified"]]


def test_a_task_without_what_was_shown_is_read_from_what_was_sent(tmp_path: Path) -> None:
    run = "<execute_command>\n<command>make lamp</command>\n</execute_command>"
    write = f"<write_to_file>\n<path>{LAMP}</path>\n<content>LAMP = 1</content>\n</write_to_file>"
    details = f"<environment_details>\n# Current Working Directory ({CWD}) Files\nlamp.py"
    result = "[execute_command for 'make lamp'] Result:\nCommand executed."
    sent = [
        {"role": "user", "content": f"<task>\n{ASKED}\n</task>{details}</environment_details>"},
        {"role": "assistant", "content": [
            {"type": "text", "text": f"<thinking>dark</thinking>I look first.\n{run}\n{write}"}]},
        {"role": "user", "content": [{"type": "text", "text": result},
                                     {"type": "text", "text": f"{details}</environment_details>"}]},
        {"role": "assistant", "content": SAID},
        {"role": "user", "content": "[x] Result:\n<feedback>\nNow the pier\n</feedback>"},
    ]  # fmt: skip
    tasks = tmp_path / "saoudrizwan.claude-dev" / "tasks"
    path = written(tasks / "1" / "api_conversation_history.json", sent)
    drafts, _ = read("cline", tasks)
    assert prompts(drafts) == [ASKED, "Now the pier"]
    (work,) = [draft for draft in drafts if draft.kind == "observation"]
    assert work.metadata["files_modified"] == ["lamp.py"]
    assert "dark" not in work.text
    assert {draft.project for draft in drafts} == {"harbour"}
    written(path.with_name("ui_messages.json"), editor_sessions.task_messages())
    _, ledger = read("cline", tasks)
    assert {entry.item: entry.outcome for entry in ledger} == {
        "1/api_conversation_history.json": "left", "1/ui_messages.json": "taken",
    }  # fmt: skip


def test_a_subagent_of_cline_lies_beside_its_caller_and_is_no_person(tmp_path: Path) -> None:
    root = editor_sessions.cline(tmp_path)
    (path,) = root.rglob("*.messages.json")
    found = json.loads(path.read_text())
    said = "There are three lamps and one of them is out."
    found["messages"] = [
        {"id": "m0", "role": "user", "content": "Count the lamps", "ts": MS + 2500},
        {"id": "m1", "role": "assistant", "content": said, "ts": MS + 3500},
    ]
    written(path.with_name("agent_7.messages.json"), found)
    drafts, _ = read("cline", root)
    assert prompts(drafts) == [ASKED]
    assert {draft.session for draft in drafts} == {"1767_ab"}
    assert [d.text for d in drafts if d.metadata.get("agent") == "agent_7"] == [said]


def test_tasks_are_read_by_the_source_of_their_extension(tmp_path: Path) -> None:
    user = tmp_path / ".vscode-server" / "data" / "User" / "globalStorage"
    for extension in ("saoudrizwan.claude-dev", "rooveterinaryinc.roo-cline"):
        written(user / extension / "tasks" / "1" / "ui_messages.json", [])
    machine = Machine(tmp_path, tmp_path, {})
    for name, extension in (
        ("cline", "saoudrizwan.claude-dev"),
        ("roo-code", "rooveterinaryinc.roo-cline"),
    ):
        (location,) = by_name(name).discover(machine)
        assert location.path == str(user / extension / "tasks")
    assert by_name("cline").recognises(tmp_path / "tasks" / "1" / "ui_messages.json")


UNKNOWN = [
    (
        "amp",
        "threads/T-1.json",
        {"id": "T-1", "steps": []},
        "no list of messages, its form is not known (Amp)",
    ),
    ("continue", ".continue/sessions/c.json", {"turns": []}, "its form is not known (Continue)"),
    ("cline", "sessions/1/1.messages.json", {"origin": {"version": "9.1"}}, "(Cline 9.1)"),
    ("roo-code", "roo-code.roo-cline/tasks/1/ui_messages.json", {"all": []}, "(Roo Code)"),
    ("copilot-chat", "chatSessions/1.json", {"version": 9, "turns": []}, "(VS Code Chat format 9)"),
]


@pytest.mark.parametrize(("source", "place", "value", "reason"), UNKNOWN)
def test_a_form_that_is_not_known_is_named_and_never_taken(
    source: str, place: str, value: Any, reason: str, tmp_path: Path
) -> None:
    path = written(tmp_path / place, value)
    drafts, (entry,) = read(source, path.parent)
    assert not drafts
    assert entry.outcome == "failed"
    assert reason in entry.reason


def test_kinds_of_messages_that_are_not_known_are_named_once_with_place_and_version(
    tmp_path: Path,
) -> None:
    thread = editor_sessions.amp_thread("T-2")
    thread["messages"] += [{"role": "oracle", "content": "x"}] * 3
    written(tmp_path / "threads" / "T-2.json", thread)
    drafts, ledger = read("amp", tmp_path)
    assert len(drafts) == 3
    (failed,) = [entry for entry in ledger if entry.outcome == "failed"]
    assert failed.item == "threads/T-2.json:7"
    assert failed.reason.startswith("message 7 is not understood: a message of oracle")
    assert "Amp 0.0.1768178000" in failed.reason
    lines = [*editor_sessions.droid_lines(editor_sessions.DROID), *[{"type": "leap"}] * 2]
    written(tmp_path / "sessions" / "x" / f"{editor_sessions.DROID}.jsonl", *lines)
    _, ledger = read("droid", tmp_path / "sessions")
    assert [entry.reason for entry in ledger if entry.outcome == "failed"] == [
        "line 10 is not understood: a line of type leap, and 1 more of it (Droid's format 2)"
    ]


def test_a_fork_of_droid_does_not_repeat_what_its_parent_has(tmp_path: Path) -> None:
    root = editor_sessions.droid(tmp_path)
    start, *copied = editor_sessions.droid_lines("95ee729a-d6bc-49b1-a1fc-5f519e8f6811")
    start |= {"parent": editor_sessions.DROID, "forkedAtMessageId": "m6"}
    new = {"type": "message", "id": "n", "timestamp": "2026-01-01T00:01:00.000Z",
           "message": {"role": "user", "content": "Now the pier"}}  # fmt: skip
    fork = root / "-gone-harbour" / f"{start['id']}.jsonl"
    written(fork, start, *copied, new)
    both, _ = read("droid", root)
    (root / "-gone-harbour" / f"{editor_sessions.DROID}.jsonl").unlink()
    for drafts in (both, read("droid", root)[0]):
        asked = {each.source_id: each for each in drafts if each.kind == "user_prompt"}
        assert {(each.session, each.text) for each in asked.values()} == {
            (editor_sessions.DROID, ASKED), (start["id"], "Now the pier")
        }  # fmt: skip


def test_a_subagent_of_droid_is_no_person(tmp_path: Path) -> None:
    start, *others = editor_sessions.droid_lines("95ee729a-d6bc-49b1-a1fc-5f519e8f6811")
    start |= {"callingSessionId": editor_sessions.DROID, "callingToolUseId": "call_1"}
    written(tmp_path / "sessions" / "x" / f"{start['id']}.jsonl", start, *others)
    drafts, _ = read("droid", tmp_path / "sessions")
    assert prompts(drafts) == []
    assert {draft.session for draft in drafts} == {editor_sessions.DROID}


def test_a_change_of_a_chat_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    root = editor_sessions.copilot_chat(tmp_path)
    (path,) = root.rglob("*.jsonl")
    whole = path.read_text()
    bad = [{"kind": 1, "k": ["requests", 7, "result"], "v": {}}, {"kind": 9}, {"kind": 2, "k": []}]
    path.write_text(whole + "".join(json.dumps(each) + "\n" for each in bad))
    drafts, ledger = read("copilot-chat", root)
    assert prompts(drafts) == [ASKED]
    assert sorted(entry.reason for entry in ledger if entry.outcome == "failed") == [
        "line 7 cannot be applied: what it changes is not there",
        "line 8 is not understood: a change of kind 9 (VS Code Chat)",
        "line 9 cannot be applied: what it changes is not there",
    ]


def test_an_older_chat_is_read_unless_its_newer_form_is_beside_it(tmp_path: Path) -> None:
    root = editor_sessions.copilot_chat(tmp_path)
    (newer,) = root.rglob("*.jsonl")
    older = written(newer.with_suffix(".json"), editor_sessions.chat("v1"))
    drafts, ledger = read("copilot-chat", root)
    assert len(drafts) == 3
    assert {Path(entry.item).name: entry.outcome for entry in ledger} == {
        "v1.json": "left", "v1.jsonl": "taken",
    }  # fmt: skip
    newer.unlink()
    again = read("copilot-chat", root)[0]
    assert [(each.source_id, each.text) for each in again] == [
        (each.source_id, each.text) for each in drafts
    ]
    assert older.is_file()


def test_only_chats_are_looked_at_below_the_storage_of_workspaces(tmp_path: Path) -> None:
    root = editor_sessions.copilot_chat(tmp_path)
    elsewhere = root / "0a1b" / "ms.ext" / "deep" / "chatSessions"
    written(elsewhere / "x.json", editor_sessions.chat("x"))
    outside = editor_sessions.copilot_chat(tmp_path / "outside")
    (root / "linked").symlink_to(outside / "0a1b")
    drafts, _ = read("copilot-chat", root)
    assert {draft.session for draft in drafts} == {"v1"}


def test_what_the_person_denied_and_what_the_system_asked(tmp_path: Path) -> None:
    found = editor_sessions.chat("d")
    (request,) = found["requests"]
    request["response"][3]["isConfirmed"] = {"type": 0}
    found["requests"].append({"requestId": "q2", "message": {"text": "It ended"},
                              "isSystemInitiated": True, "response": []})  # fmt: skip
    written(tmp_path / "chatSessions" / "d.json", found)
    drafts, _ = read("copilot-chat", tmp_path)
    assert prompts(drafts) == [ASKED]
    (work,) = [draft for draft in drafts if draft.kind == "observation"]
    assert work.metadata["rejected"] == ["Rejected by the user: Ran: cat lamp.log; exit 3"]


@pytest.mark.parametrize(
    ("uri", "project"),
    [
        ("file:///gone/my%20harbour", "my harbour"),
        ("file:///c%3A/gone/harbour", "harbour"),
        ("vscode-remote://ssh-remote%2Bpier/gone/quay", "quay"),
    ],
)
def test_the_project_of_a_chat_is_its_folder_on_whatever_machine(
    uri: str, project: str, tmp_path: Path
) -> None:
    root = editor_sessions.copilot_chat(tmp_path)
    written(root / "0a1b" / "workspace.json", {"folder": uri})
    drafts, _ = read("copilot-chat", root)
    assert {draft.project for draft in drafts} == {project}


def test_a_rejected_call_of_amp_is_named_with_the_reason(tmp_path: Path) -> None:
    thread = editor_sessions.amp_thread("T-3")
    run = {"status": "rejected-by-user", "reason": "too dark"}
    thread["messages"][2]["content"][0]["run"] = run
    written(tmp_path / "threads" / "T-3.json", thread)
    drafts, _ = read("amp", tmp_path)
    assert drafts[1].metadata["rejected"] == [
        "Rejected by the user: Ran: cat lamp.log; exit 3 — too dark"
    ]
    assert ERROR not in drafts[1].text


def test_what_is_opened_and_never_closed_costs_no_more_than_its_length(tmp_path: Path) -> None:
    """A hundred thousand tags take a blink; looked for to the end each, they take minutes."""
    content = "<task><execute_command>" * 50_000
    sent = [{"role": role, "content": content} for role in ("user", "assistant")]
    written(tmp_path / "tasks" / "1" / "api_conversation_history.json", sent)
    _, ledger = read("cline", tmp_path)
    assert [entry.outcome for entry in ledger] == ["taken"]
    asks = [said(0, "text", ASKED), *[said(n, "command", "make", "ask") for n in range(1, 3_000)]]
    ledger = read("roo-code", task(tmp_path, *asks))[1]
    assert [entry.outcome for entry in ledger] == ["taken"]
