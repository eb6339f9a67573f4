"""Forms in which newer and older versions of agents keep their sessions."""

from __future__ import annotations

import importlib
import json
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import agent_sessions
from agent_sessions import ASKED, CWD, SAID
from mem_search.contracts import Machine
from mem_search.errors import SourceError
from mem_search.model import Draft, LedgerEntry, Location
from mem_search.sources import by_name, compressed
from mem_search.sources.agent_work.history import hash_of

THREAD = "0199bbbb-0000-7000-8000-0000000000a1"
OWN = "0199bbbb-0000-7000-8000-0000000000b2"
FORK = "0199bbbb-0000-7000-8000-0000000000c3"


def read(source: str, root: Path) -> tuple[list[Draft], dict[str, LedgerEntry]]:
    batches = list(by_name(source).read(Location(source, str(root)), {}))
    drafts = [draft for batch in batches for draft in batch.drafts]
    return drafts, {entry.item: entry for batch in batches for entry in batch.ledger}


def prompts(drafts: Iterable[Draft]) -> list[tuple[str, str]]:
    """The places of prompts, without the hash of what was said, and their words."""
    asked = [draft for draft in drafts if draft.kind == "user_prompt"]
    return [(each.source_id.removesuffix(f"-{hash_of(each.text)}"), each.text) for each in asked]


def written(path: Path, lines: Iterable[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return path


V2 = """
    create table session_v2(id text primary key, parent_id text, fork_session_id text,
        directory text, title text, version text, time_created integer, time_updated integer);
    create table session_message(id text primary key, session_id text, type text, seq integer,
        time_created integer, time_updated integer, data text);
    create table if not exists session(id text primary key, parent_id text, directory text,
        title text, time_created integer);
"""
MESSAGES: list[tuple[str, dict[str, Any]]] = [
    ("user", {"text": "Why is the buoy late?"}),
    ("assistant", {"content": [
        {"type": "reasoning", "text": "It is dark"},
        {"type": "text", "text": "I look at the tide first."},
        {"type": "tool", "id": "c1", "name": "shell", "state": {
            "status": "completed", "input": {"command": "cat tide"}, "metadata": {"exit": 3},
            "content": [{"type": "text", "text": "no such file"}]}},
        {"type": "tool", "id": "c2", "name": "edit", "state": {
            "status": "error", "input": {"filePath": f"{CWD}/buoy.py"},
            "error": {"type": "unknown", "message": "it changed meanwhile"}}}]}),
    ("synthetic", {"text": "Nobody asked this"}),
    ("shell", {"command": "make tide", "status": "exited", "exit": 0, "output": "ok"}),
    ("compaction", {"status": "completed", "summary": "Request: The buoy\\nCompleted: The tide"}),
    ("idle", {"outcome": "succeeded"}),
]  # fmt: skip


def second(path: Path, session: str, messages: Iterable[tuple[str, Any]], **more: Any) -> Path:
    """Add a session as OpenCode 2.x keeps it."""
    row = {"version": "2.0.14", "title": "Buoy", "directory": CWD, "time_created": 1000, **more}
    with closing(sqlite3.connect(path)) as store, store:
        if not store.execute("select 1 from sqlite_master where name = 'session_v2'").fetchone():
            store.executescript(V2)
        names = ", ".join(("id", *row))
        marks = ", ".join("?" * (len(row) + 1))
        store.execute(f"insert into session_v2({names}) values({marks})", (session, *row.values()))
        for number, (sort, data) in enumerate(messages, 1):
            at = row["time_created"] + number
            text = data if isinstance(data, str) else json.dumps({"time": {"created": at}, **data})
            key = f"{session}-{number}"
            store.execute("insert into session_message values(?, ?, ?, ?, ?, ?, ?)",
                          (key, session, sort, number, at, at, text))  # fmt: skip
    return path


def test_a_session_of_opencode_2_is_read(tmp_path: Path) -> None:
    drafts, ledger = read("opencode", second(tmp_path / "opencode.db", "ses_2", MESSAGES))
    assert prompts(drafts) == [("ses_2/ses_2-1", "Why is the buoy late?")]
    said = "\n".join(draft.text for draft in drafts)
    for words in ("I look at the tide first", "exit code 3", "it changed meanwhile", "make tide"):
        assert words in said
    assert "dark" not in said
    assert "Nobody" not in said
    assert {draft.project for draft in drafts} == {"harbour"}
    assert {entry.outcome for entry in ledger.values()} == {"taken"}


def test_both_generations_in_one_file_are_read_and_none_twice(tmp_path: Path) -> None:
    path = agent_sessions.opencode(tmp_path)
    before, _ = read("opencode", path)
    copied = [
        ("user", {"text": ASKED}),
        ("assistant", {"content": [{"type": "text", "text": SAID}]}),
    ]
    with closing(sqlite3.connect(path)) as store, store:
        store.executescript("update message set time_created = time_created + 5000")
    later = [("user", {"text": "Dim it again", "time": {"created": 9000}})]
    second(path, "ses_1", [*copied, *later], time_created=5000)
    second(path, "ses_new", MESSAGES)
    drafts, ledger = read("opencode", path)
    asked = sorted(text for _, text in prompts(drafts))
    assert asked == ["Dim it again", ASKED, "Why is the buoy late?"]
    assert {draft.source_id for draft in before} <= {draft.source_id for draft in drafts}
    assert len({draft.source_id for draft in drafts}) == len(drafts)
    assert set(ledger) == {"ses_1", "ses_new"}


def test_a_fork_of_opencode_2_has_only_what_came_after_it(tmp_path: Path) -> None:
    path = second(tmp_path / "opencode.db", "ses_a", MESSAGES)
    copied = [(sort, {**data, "time": {"created": 1001}}) for sort, data in MESSAGES]
    own = ("user", {"text": "Paint the buoy"})
    second(path, "ses_b", [*copied, own], time_created=9000, fork_session_id="ses_a")
    drafts, _ = read("opencode", path)
    assert [text for _, text in prompts(drafts)] == ["Why is the buoy late?", "Paint the buoy"]


def test_the_work_of_a_subagent_of_opencode_2_belongs_to_the_session_above(tmp_path: Path) -> None:
    path = second(tmp_path / "opencode.db", "ses_a", MESSAGES)
    second(path, "ses_b", MESSAGES[:2], time_created=9000, parent_id="ses_a")
    drafts, _ = read("opencode", path)
    assert {draft.session for draft in drafts} == {"ses_a"}
    assert len(prompts(drafts)) == 1
    assert "ses_b" in {draft.metadata.get("agent") for draft in drafts}


def test_what_is_not_known_of_opencode_2_is_named_with_its_version(tmp_path: Path) -> None:
    path = second(tmp_path / "opencode.db", "ses_a", [*MESSAGES, ("sung", {}), ("user", "{no")])
    second(path, "ses_b", [("sung", {"text": "Lo"})])
    drafts, ledger = read("opencode", path)
    assert {draft.session for draft in drafts} == {"ses_a"}
    sung = "message 7 is not understood: message type sung (OpenCode 2.0.14)"
    assert (ledger["ses_a:7"].outcome, ledger["ses_a:7"].reason) == ("failed", sung)
    assert ledger["ses_a:8"].reason.startswith("message 8 cannot be read")
    assert "ses_b" not in ledger
    assert ledger["ses_b:1"].outcome == "failed"


def test_a_database_of_a_form_that_is_not_known_says_so(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    with closing(sqlite3.connect(path)) as store, store:
        store.execute("create table session_v3(id)")
    with pytest.raises(SourceError, match=r"its form is not known, it has no table .*session_v2"):
        read("opencode", path)


def rollout(session: str, *turns: str, first: int = 0, **meta: Any) -> list[dict[str, Any]]:
    lines = agent_sessions.codex_lines(*turns)
    lines[0]["payload"] = {"id": session, "cwd": CWD, "cli_version": "0.170.0", **meta}
    return [{**line, "ordinal": first + n} for n, line in enumerate(lines)]


def named(home: Path, session: str, *, folder: str = "sessions/2026/01/01") -> Path:
    return home / folder / f"rollout-2026-01-01T00-00-00-{session}.jsonl"


def packed(path: Path) -> Path:
    zstd = pytest.importorskip("backports.zstd")
    target = path.with_name(f"{path.name}.zst")
    target.write_bytes(zstd.compress(path.read_bytes()))
    path.unlink()
    return target


def test_archived_sessions_of_codex_are_found(tmp_path: Path) -> None:
    written(named(tmp_path, THREAD), rollout(THREAD, ASKED))
    written(named(tmp_path, FORK, folder="archived_sessions"), rollout(FORK, "Dim it"))
    machine = Machine(tmp_path, tmp_path, {"CODEX_HOME": str(tmp_path)})
    found = [Path(each.path).name for each in by_name("codex").discover(machine)]
    assert found == ["sessions", "archived_sessions"]
    drafts, _ = read("codex", tmp_path / "archived_sessions")
    assert prompts(drafts) == [(f"{FORK}/1", "Dim it")]


def test_a_compressed_rollout_is_the_same_session(tmp_path: Path) -> None:
    file = written(named(tmp_path, THREAD), rollout(THREAD, ASKED))
    plain, _ = read("codex", tmp_path)
    content = file.read_bytes()
    packed(file)

    def told(drafts: Iterable[Draft]) -> list[tuple[object, ...]]:
        return [(each.kind, each.source_id, each.session, each.text) for each in drafts]

    assert told(read("codex", tmp_path)[0]) == told(plain)
    file.write_bytes(content)  # while Codex compresses it, both are there
    drafts, ledger = read("codex", tmp_path)
    assert told(drafts) == told(plain)
    assert len(ledger) == 1


@pytest.mark.parametrize("keep", [0.5, 0.99])
def test_a_compressed_rollout_that_is_cut_off_is_named(keep: float, tmp_path: Path) -> None:
    file = packed(written(named(tmp_path, THREAD), rollout(THREAD, ASKED, "And dim it", "Now")))
    content = file.read_bytes()
    file.write_bytes(content[: int(len(content) * keep)])
    _, ledger = read("codex", tmp_path)
    (entry,) = ledger.values()
    assert entry.outcome == "failed"
    assert "the compressed file is" in entry.reason


def test_without_a_reader_of_zstd_the_step_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed(written(named(tmp_path, THREAD), rollout(THREAD, ASKED)))
    monkeypatch.setattr(compressed, "_READERS", ("no.such.zstd",))
    _, ledger = read("codex", tmp_path)
    (entry,) = ledger.values()
    assert entry.outcome == "failed"
    assert "compressed with zstd" in entry.reason
    assert "mem-search[zstd]" in entry.reason


@pytest.mark.parametrize("ending", ["", ".zst"])
def test_a_thread_that_goes_on_another_file_is_one_session(ending: str, tmp_path: Path) -> None:
    first = rollout(THREAD, "Light the lamp", "Paint it black", history_mode="paginated")
    end = next(n for n, line in enumerate(first) if "Paint it" in json.dumps(line))
    file = written(named(tmp_path, THREAD), first)
    if ending:
        packed(file)
    base = {"thread_id": THREAD, "end_ordinal_exclusive": end, "end_byte_offset": 1}
    meta = {"history_mode": "paginated", "history_base": base}
    last = rollout(THREAD, "Paint it white", first=end, **meta)
    written(named(tmp_path, f"{THREAD}_{OWN}"), last)
    drafts, ledger = read("codex", tmp_path)
    found = dict(prompts(drafts))
    assert found == {
        f"{THREAD}/1": "Light the lamp",
        f"{THREAD}/2": "Paint it black",  # it was asked, although the thread went back
        f"{THREAD}/1-{OWN}": "Paint it white",
    }
    assert {draft.session for draft in drafts} == {THREAD}
    # The reading of the file that goes on knows all of the thread.
    summary = [draft for draft in drafts if draft.kind == "session_summary"][-1]
    assert "Light the lamp" in summary.text
    assert summary.text.count(SAID) == 2
    assert {entry.outcome for entry in ledger.values()} == {"taken"}


def test_a_thread_whose_beginning_is_gone_says_so(tmp_path: Path) -> None:
    base = {"thread_id": THREAD, "end_ordinal_exclusive": 5, "end_byte_offset": 1}
    written(named(tmp_path, f"{THREAD}_{OWN}"), rollout(THREAD, "Go on", history_base=base))
    drafts, ledger = read("codex", tmp_path)
    assert [text for _, text in prompts(drafts)] == ["Go on"]
    reasons = [entry.reason for entry in ledger.values() if entry.outcome == "failed"]
    assert len(reasons) == 1
    assert f"goes on the file {THREAD}, which is not there" in reasons[0]


def test_files_that_go_on_each_other_without_end_are_read_once(tmp_path: Path) -> None:
    for own, other in ((THREAD, OWN), (OWN, THREAD)):
        base = {"thread_id": other, "end_ordinal_exclusive": 99, "end_byte_offset": 1}
        written(named(tmp_path, f"{FORK}_{own}"), rollout(FORK, own, history_base=base))
    drafts, _ = read("codex", tmp_path)
    assert {THREAD, OWN} <= {text for _, text in prompts(drafts)}


def test_a_paginated_fork_has_only_its_own_turns(tmp_path: Path) -> None:
    written(named(tmp_path, THREAD), rollout(THREAD, "Light the lamp"))
    base = {"thread_id": THREAD, "end_ordinal_exclusive": 99, "end_byte_offset": 1}
    fork = rollout(FORK, "Paint it white", history_base=base, forked_from_id=THREAD)
    written(named(tmp_path, FORK), fork)
    drafts, _ = read("codex", tmp_path)
    assert prompts(drafts) == [(f"{THREAD}/1", "Light the lamp"), (f"{FORK}/1", "Paint it white")]


def test_a_rollout_that_has_only_what_was_shown_is_read(tmp_path: Path) -> None:
    def shown(kind: str, words: str) -> dict[str, Any]:
        item = {"type": kind, "content": [{"type": "text", "text": words}]}
        return {"type": "event_msg", "payload": {"type": "item_completed", "item": item}}

    lines = [rollout(THREAD)[0], shown("UserMessage", ASKED), shown("AgentMessage", SAID)]
    stamped = [{**line, "timestamp": f"2026-01-01T00:00:0{n}Z"} for n, line in enumerate(lines)]
    written(named(tmp_path, THREAD), stamped)
    drafts, _ = read("codex", tmp_path)
    assert prompts(drafts) == [(f"{THREAD}/1", ASKED)]
    assert any(SAID in draft.text for draft in drafts)


def test_a_rollout_whose_first_line_alone_has_a_time_is_read_with_it(tmp_path: Path) -> None:
    """As Codex wrote until August 2025: items without an envelope."""
    session = "0199bbbb-0000-7000-8000-00000000000a"
    said = [("user", "input_text", "How is the tide"), ("assistant", "output_text", "It is high.")]
    lines: list[dict[str, Any]] = [
        {"id": session, "timestamp": "2025-06-04T09:00:00.000Z", "instructions": None},
        {"record_type": "state"},
        *(
            {"type": "message", "role": role, "content": [{"type": sort, "text": words}]}
            for role, sort, words in said
        ),
    ]
    path = tmp_path / f"rollout-2025-06-04T09-00-00-{session}.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    drafts, _ = read("codex", tmp_path)
    assert any("It is high." in draft.text for draft in drafts)
    assert {draft.created_at for draft in drafts} == {1749027600000}


def test_an_item_of_codex_that_is_not_known_is_named_with_the_version(tmp_path: Path) -> None:
    odd = {"type": "response_item", "payload": {"type": "song", "text": "Lo"}}
    lines = rollout(THREAD, ASKED)
    file = written(named(tmp_path, THREAD), [*lines, odd, odd])
    drafts, ledger = read("codex", tmp_path)
    assert len(drafts) == 3
    entry = ledger[f"{file.relative_to(tmp_path)}:{len(lines) + 1}"]
    assert entry.reason == (
        f"line {len(lines) + 1} is not understood: item song, and 1 more of it (Codex 0.170.0)"
    )


def test_a_subagent_of_gemini_works_for_its_session(tmp_path: Path) -> None:
    root = agent_sessions.gemini(tmp_path)
    chats = root / "harbour" / "chats"
    written(chats / "g1" / "sub7.jsonl", [
        {"sessionId": "sub7", "projectHash": "h", "kind": "subagent", "directories": [CWD]},
        {"id": "a", "type": "user", "content": "Count the lamps"},
        {"id": "b", "type": "gemini", "content": "There are three lamps and one is out."},
    ])  # fmt: skip
    drafts, ledger = read("gemini", root)
    assert [text for _, text in prompts(drafts)] == [ASKED]
    (found,) = [draft for draft in drafts if "three lamps" in draft.text]
    assert (found.session, found.metadata["agent"], found.project) == ("g1", "sub7", "harbour")
    assert ledger["harbour/chats/g1/sub7.jsonl"].outcome == "taken"


def test_a_transcript_of_cursor_is_read(tmp_path: Path) -> None:
    (prompt, work, summary), _ = read("cursor", agent_sessions.cursor_transcript(tmp_path))
    assert (prompt.text, prompt.session, prompt.project) == (ASKED, "u2", "harbour")
    assert prompt.created_at == 1767225600000
    assert work.metadata["files_modified"] == ["lamp.py"]
    assert "REDACTED" not in work.text
    assert SAID in summary.metadata["completed"]


@pytest.mark.parametrize("place", ["u2.jsonl", "u2/u2.jsonl"])
def test_cursor_puts_transcripts_in_several_places(place: str, tmp_path: Path) -> None:
    folder = agent_sessions.cursor_transcript(tmp_path) / "gone-harbour" / "agent-transcripts"
    content = (folder / "u2" / "u2.jsonl").read_bytes()
    (folder / "u2" / "u2.jsonl").unlink()
    (folder / place).write_bytes(content)
    (folder / "u2" / "subagents").mkdir()
    (folder / "u2" / "subagents" / "k1.jsonl").write_bytes(content)
    drafts, ledger = read("cursor", tmp_path / "projects")
    assert {draft.session for draft in drafts} == {"u2"}
    assert len(prompts(drafts)) == 1
    assert {draft.metadata.get("agent") for draft in drafts if draft.kind == "observation"} == {
        "main", "k1",
    }  # fmt: skip
    assert len(ledger) == 2


def test_a_session_of_cursor_that_has_a_database_is_read_from_there(tmp_path: Path) -> None:
    home = tmp_path / ".cursor"
    agent_sessions.cursor(home)
    agent_sessions.cursor_transcript(home)
    folder = home / "projects" / "gone-harbour" / "agent-transcripts"
    (folder / "u2" / "u2.jsonl").rename(folder / "u1.jsonl")
    machine = Machine(tmp_path, tmp_path, {})
    found = [Path(each.path) for each in by_name("cursor").discover(machine)]
    assert [each.name for each in found] == ["chats", "projects"]
    both = [read("cursor", each) for each in found]
    assert [len(prompts(drafts)) for drafts, _ in both] == [1, 0]
    (entry,) = both[1][1].values()
    assert (entry.outcome, "store.db" in entry.reason) == ("left", True)


def test_a_transcript_of_cursor_that_is_text_is_read(tmp_path: Path) -> None:
    file = tmp_path / "projects" / "gone-harbour" / "agent-transcripts" / "t1.txt"
    file.parent.mkdir(parents=True)
    file.write_text(
        f"user:\n<user_query>\n{ASKED}\n</user_query>\n\nassistant:\n[Thinking] It is dark\n\n"
        f"I look first.\n[Tool call] Write\n  path: {CWD}/lamp.py\n  contents: LAMP = 1\n\n"
        f"[Tool result] Write\n\nassistant:\n{SAID}\n"
    )
    drafts, ledger = read("cursor", tmp_path / "projects")
    assert [text for _, text in prompts(drafts)] == [ASKED]
    (work,) = [draft for draft in drafts if draft.kind == "observation"]
    assert work.metadata["files_modified"] == [f"{CWD}/lamp.py"]
    assert "dark" not in work.text
    assert SAID in work.text
    assert {entry.outcome for entry in ledger.values()} == {"taken"}


def test_a_database_of_cursor_without_messages_in_json_is_named(tmp_path: Path) -> None:
    root = agent_sessions.cursor(tmp_path)
    (path,) = root.rglob("*.db")
    with closing(sqlite3.connect(path)) as store, store:
        store.execute("update blobs set data = x'0a20ff00'")
    drafts, ledger = read("cursor", root)
    assert drafts == []
    (entry,) = ledger.values()
    assert (entry.outcome, "not understood: none is a message" in entry.reason) == ("failed", True)


def test_the_extra_for_compressed_files_has_a_reader() -> None:
    found = [
        name for name in compressed._READERS if importlib.util.find_spec(name.partition(".")[0])
    ]
    assert found
