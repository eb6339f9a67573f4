"""Agents that keep many sessions in one place: what is read again, and what is named."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import agent_sessions
from agent_sessions import ASKED, CWD, SAID
from mem_search.contracts import Machine
from mem_search.errors import SourceError
from mem_search.model import Draft, LedgerEntry, Location
from mem_search.sources import by_name, compressed, zed


def read(
    source: str, root: Path, cursor: Mapping[str, Any] | None = None
) -> tuple[list[Draft], dict[str, str], Mapping[str, Any]]:
    """The records, the reasons of the ledger by item, and the cursor."""
    batches = list(by_name(source).read(Location(source, str(root)), cursor or {}))
    ledger: list[LedgerEntry] = [entry for batch in batches for entry in batch.ledger]
    drafts = [draft for batch in batches for draft in batch.drafts]
    reasons = {each.item: each.reason or each.outcome for each in ledger}
    return drafts, reasons, json.loads(json.dumps(batches[-1].cursor)) if batches else {}


def change(path: Path, script: str, *rows: tuple[object, ...]) -> None:
    with closing(sqlite3.connect(path)) as store, store:
        store.executescript(script) if not rows else store.executemany(script, rows)


def prompts(drafts: list[Draft]) -> list[str]:
    return [each.text for each in drafts if each.kind == "user_prompt"]


def test_only_the_session_that_changed_is_read_again(tmp_path: Path) -> None:
    root = agent_sessions.crush(tmp_path)
    path = root / "kept" / "crush.db"
    _, _, cursor = read("crush", root)
    part = json.dumps([{"type": "text", "data": {"text": "Is the pier lit as well?"}}])
    change(path, "insert into sessions values('r2', null, 'The pier', 1, 5, 5)")
    change(
        path,
        "insert into messages(id, session_id, role, parts, created_at, updated_at)"
        " values(?, ?, 'user', ?, 1767225700, 1767225700)",
        ("n1", "r2", part),
    )
    drafts, reasons, cursor = read("crush", root, cursor)
    assert ({each.session for each in drafts}, prompts(drafts)) == (
        {"r2"},
        ["Is the pier lit as well?"],
    )
    assert drafts[-1].title == "The pier"
    assert reasons == {"r2": "taken"}
    assert read("crush", root, cursor)[0] == []


def test_what_a_subagent_of_crush_did_belongs_to_the_session_above_it(tmp_path: Path) -> None:
    root = agent_sessions.crush(tmp_path)
    path = root / "kept" / "crush.db"
    change(path, "insert into sessions values('m4$$7', 'r1', 'Look', 2, 6, 6)")
    said = [("user", "Look for lamps"), ("assistant", "There are three lamps in the harbour.")]
    for n, (role, text) in enumerate(said):
        parts = json.dumps([{"type": "text", "data": {"text": text}}])
        change(
            path,
            "insert into messages(id, session_id, role, parts, created_at, updated_at)"
            " values(?, 'm4$$7', ?, ?, 1767225700, 1767225700)",
            (f"s{n}", role, parts),
        )
    drafts, _, _ = read("crush", root)
    assert prompts(drafts) == [ASKED], "what an agent asks its subagent is no prompt"
    (found,) = [each for each in drafts if each.metadata.get("agent") == "m4$$7"]
    assert (found.session, found.text) == ("r1", "There are three lamps in the harbour.")


def test_crush_reads_each_project_of_its_list_and_a_database_that_is_gone_stops_nothing(
    tmp_path: Path,
) -> None:
    root = agent_sessions.crush(tmp_path)
    here = tmp_path / "pier"
    (here / ".crush").mkdir(parents=True)
    (root / "kept" / "crush.db").rename(here / ".crush" / "crush.db")
    listed = [
        {"path": "/gone/quay", "data_dir": "/gone/quay/.crush"},
        {"path": str(here), "data_dir": ".crush"},
        "odd",
    ]
    (root / "projects.json").write_text(json.dumps({"projects": listed}))
    drafts, _, _ = read("crush", root)
    assert {each.metadata["cwd"] for each in drafts if each.kind == "user_prompt"} == {str(here)}
    assert {each.project for each in drafts} == {"pier"}
    machine = Machine(tmp_path, here, {"CRUSH_GLOBAL_DATA": str(tmp_path / "none")})
    (location,) = by_name("crush").discover(machine)
    assert location.path == str(here / ".crush" / "crush.db")
    assert {each.project for each in read("crush", Path(location.path))[0]} == {"pier"}


@pytest.mark.parametrize(
    ("source", "table", "column", "broken", "reason"),
    [
        ("crush", "messages", "parts", "[{", "message 6 cannot be read: "),
        ("crush", "messages", "parts", '[{"type": "hologram", "data": {}}]',
         "message 6 is not understood: a part hologram (Crush, schema 20260127000000)"),
        ("goose", "messages", "content_json", "[{", "message 6 cannot be read: "),
        ("goose", "messages", "content_json", '[{"type": "hologram"}]',
         "message 6 is not understood: a part hologram (Goose, schema 5)"),
    ],
)  # fmt: skip
def test_a_message_that_is_not_understood_is_named_with_the_version_of_its_form(
    source: str, table: str, column: str, broken: str, reason: str, tmp_path: Path
) -> None:
    root = getattr(agent_sessions, source)(tmp_path)
    (path,) = root.rglob("*.db")
    change(
        path,
        f"update {table} set {column} = ? where rowid = (select max(rowid) from {table})",
        (broken,),
    )
    batches = list(by_name(source).read(Location(source, str(root)), {}))
    (batch,) = batches
    assert prompts(list(batch.drafts)) == [ASKED], "the other messages are stored"
    failed = [each for each in batch.ledger if each.outcome == "failed"]
    assert [each.item for each in failed] == [f"{batch.drafts[0].session}:6"]
    assert failed[0].reason.startswith(reason)
    assert batch.whole == (), "what could not be read is no evidence that a record is gone"


def test_a_database_without_the_tables_of_the_agent_is_named_and_never_taken(
    tmp_path: Path,
) -> None:
    root = agent_sessions.goose(tmp_path)
    change(root / "sessions.db", "alter table messages rename to letters")
    drafts, reasons, cursor = read("goose", root)
    assert drafts == []
    assert reasons == {
        "sessions.db": f"{root / 'sessions.db'} cannot be read: it has no table messages"
    }
    assert read("goose", root, cursor)[1] == {}, "a damaged one is not named every few seconds"


def test_a_database_that_is_locked_is_named_and_read_when_it_is_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = agent_sessions.zed(tmp_path)
    with closing(sqlite3.connect(path, isolation_level=None)) as store:
        store.execute("pragma locking_mode = exclusive")
        store.execute("begin exclusive")
        with pytest.raises(SourceError, match=r"threads\.db cannot be read.*sync again"):
            read("zed", path)
        store.execute("rollback")
    assert prompts(read("zed", path)[0]) == [ASKED]


def test_a_running_program_that_has_not_moved_its_log_yet_is_read(tmp_path: Path) -> None:
    root = path = agent_sessions.cursor_editor(tmp_path)
    _, _, cursor = read("cursor-editor", root)
    with closing(sqlite3.connect(path)) as store:
        store.execute("pragma journal_mode = wal")
        store.execute("pragma wal_autocheckpoint = 0")
        said = {"bubbleId": "b6", "type": 2, "text": f"{SAID} All of them."}
        with store:
            row = ("bubbleId:e1:b6", json.dumps(said))
            store.execute("insert into cursorDiskKV values(?, ?)", row)
        drafts, _, _ = read("cursor-editor", root, cursor)
    assert drafts[1].metadata["narrative"].endswith("All of them.")


def test_a_store_that_is_no_file_is_named_and_never_waited_for(tmp_path: Path) -> None:
    root = agent_sessions.goose(tmp_path)
    os.mkfifo(root / "pipe.jsonl")
    (root / "link.jsonl").symlink_to("/dev/zero")
    drafts, reasons, _ = read("goose", root)
    assert prompts(drafts) == [ASKED]
    assert "it is a pipe (FIFO), and only files are read" in reasons["pipe.jsonl"]
    assert "it is a link, and only files are read" in reasons["link.jsonl"]
    path = tmp_path / "threads.db"
    path.symlink_to("/dev/zero")
    with pytest.raises(SourceError, match=r"threads\.db cannot be read: it is a .*device"):
        read("zed", path)


def test_rows_with_odd_values_stop_nothing_of_the_others(tmp_path: Path) -> None:
    root = agent_sessions.goose(tmp_path)
    for odd in ("7", "x'ff41'"):
        change(
            root / "sessions.db",
            f"insert into sessions(id, working_dir, created_at) values({odd}, {odd}, {odd});"
            "insert into messages(session_id, role, content_json, created_timestamp)"
            f" values({odd}, {odd}, {odd}, {odd});",
        )
    path = agent_sessions.zed(tmp_path)
    change(path, "insert into threads values(null, x'ff', 7, x'00', 7, 7, 7, 7, 7)")
    assert prompts(read("goose", root)[0]) == [ASKED]
    drafts, reasons, _ = read("zed", path)
    assert prompts(drafts) == [ASKED]
    assert set(reasons) == {"z1", "a session without an id"}


# Goose


def test_a_session_of_goose_keeps_its_ids_when_its_messages_get_new_numbers(
    tmp_path: Path,
) -> None:
    root = agent_sessions.goose(tmp_path)
    first, _, cursor = read("goose", root)
    hidden = json.dumps({"userVisible": False, "agentVisible": True})
    summary = json.dumps([{"type": "text", "text": "Summary: they talked about a lamp."}])
    change(
        root / "sessions.db",
        "create table copy as select * from messages; delete from messages;"
        "insert into messages(session_id, role, content_json, created_timestamp, metadata_json)"
        " select session_id, role, content_json, created_timestamp, metadata_json from copy;"
        "drop table copy;",
    )
    change(
        root / "sessions.db",
        "insert into messages(session_id, role, content_json, created_timestamp, metadata_json)"
        " values('20260101_1', 'user', ?, 1767225700, ?)",
        (summary, hidden),
    )
    again, _, _ = read("goose", root, cursor)
    assert [each.source_id for each in again] == [each.source_id for each in first]
    assert prompts(again) == [ASKED], "what Goose adds when it compacts is no prompt"


def test_what_a_timer_or_another_agent_asked_goose_is_no_prompt(tmp_path: Path) -> None:
    root = agent_sessions.goose(tmp_path)
    change(root / "sessions.db", "update sessions set session_type = 'scheduled'")
    drafts, _, _ = read("goose", root)
    assert prompts(drafts) == []
    assert SAID in drafts[0].text


def test_files_of_goose_before_its_database_are_read_unless_it_has_them(tmp_path: Path) -> None:
    root = agent_sessions.goose(tmp_path)
    header = {"working_dir": CWD, "description": "An old lamp", "message_count": 6}
    lines = [header, *({**each, "id": None} for each in agent_sessions.goose_messages())]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    for name in ("20250101_120000", "20260101_1"):
        (root / f"{name}.jsonl").write_text(text + "{broken\n")
    drafts, reasons, cursor = read("goose", root)
    by_session = {session: [each for each in drafts if each.session == session]
                  for session in ("20260101_1", "20250101_120000")}  # fmt: skip
    assert by_session["20250101_120000"][0].text == ASKED
    assert by_session["20250101_120000"][-1].title == "An old lamp"
    assert len(by_session["20260101_1"]) == len(by_session["20250101_120000"]) == 3
    assert "cannot be read" in reasons["20250101_120000:8"]
    assert "20260101_1:8" not in reasons, "the database has it"
    assert read("goose", root, cursor)[0] == []


# Zed


def thread(path: Path, data: object, sort: str = "json") -> None:
    change(path, "update threads set data = ?, data_type = ?", (data, sort))


def test_older_threads_of_zed_are_read(tmp_path: Path) -> None:
    path = agent_sessions.zed(tmp_path)
    old = {
        "version": "0.1.0",
        "summary": "An old lamp",
        "initial_project_snapshot": {"worktree_snapshots": [{"worktree_path": CWD}]},
        "messages": [
            {"id": 0, "role": "user", "segments": [{"type": "text", "text": ASKED}]},
            {"id": 1, "role": "assistant", "segments": [{"type": "text", "text": SAID}],
             "tool_uses": [{"id": "t", "name": "terminal", "input": {"command": "make"}}]},
            {"id": 2, "role": "user", "segments": [{"type": "text", "text": "Here it is"}],
             "tool_results": [{"tool_use_id": "t", "is_error": True, "content": "no rule"}]},
            {"id": 3, "role": "assistant", "text": "There is no rule for it."},
        ],
    }  # fmt: skip
    thread(path, json.dumps(old))
    change(path, "update threads set folder_paths = null")
    drafts, _, _ = read("zed", path)
    assert prompts(drafts) == [ASKED]
    assert {each.project for each in drafts} == {"harbour"}
    assert drafts[1].metadata["failed"] == ["Failed: Ran: make — no rule"]
    assert drafts[-1].title == "An old lamp"


def test_a_thread_of_zed_in_an_unknown_form_is_named_with_its_version(tmp_path: Path) -> None:
    path = agent_sessions.zed(tmp_path)
    thread(path, json.dumps({**agent_sessions.zed_thread(), "version": "0.9.0"}))
    assert read("zed", path)[:2] == ([], {"z1": "the thread has the unknown version 0.9.0"})
    thread(path, b"x", "lz4")
    assert read("zed", path)[:2] == ([], {"z1": "its data are of the unknown type lz4"})
    messages = [*agent_sessions.zed_thread()["messages"], {"Oracle": {}}]
    thread(path, json.dumps({**agent_sessions.zed_thread(), "messages": messages}))
    drafts, reasons, _ = read("zed", path)
    assert (len(drafts), reasons["z1:6"]) == (
        3,
        "message 6 is not understood: a message Oracle (Zed, thread 0.3.0)",
    )


def zstd_frame(data: bytes) -> bytes:
    """``data`` in the form of zstd, in blocks that are not compressed."""
    blocks = [data[at : at + 2**16] for at in range(0, len(data), 2**16)]
    frame = b"\x28\xb5\x2f\xfd\x00\x58"  # magic number, no checksum or size, a window of 2 MB
    for number, block in enumerate(blocks, 1):
        head = len(block) << 3 | (number == len(blocks))
        frame += head.to_bytes(3, "little") + block
    return frame


def test_a_compressed_thread_of_zed_says_what_it_needs_where_that_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = agent_sessions.zed(tmp_path)
    thread(path, zstd_frame(json.dumps(agent_sessions.zed_thread()).encode()), "zstd")
    monkeypatch.setattr(compressed, "_READERS", ())
    drafts, reasons, _ = read("zed", path)
    assert drafts == []
    assert reasons["z1"].startswith(
        "it is compressed with zstd, which this Python cannot read; run: "
    )
    assert reasons["z1"].endswith("'mem-search[zstd]'; then: mem-search sync --again")


def test_a_compressed_thread_of_zed_is_read_up_to_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = agent_sessions.zed(tmp_path)
    frame = zstd_frame(json.dumps(agent_sessions.zed_thread()).encode())
    thread(path, frame, "zstd")
    assert prompts(read("zed", path)[0]) == [ASKED]
    thread(path, frame[:-20], "zstd")
    assert read("zed", path)[1]["z1"] == "its data are damaged: they are cut off"
    thread(path, b"\x28\xb5\x2f\xfd\xff\xff\xff", "zstd")
    assert read("zed", path)[1]["z1"].startswith("its data are damaged: ")
    monkeypatch.setattr(zed, "MAX_THREAD_BYTES", 100)
    thread(path, frame, "zstd")
    assert "unpacks to more than" in read("zed", path)[1]["z1"]


# Cursor's editor


def chat(path: Path, **values: object) -> None:
    for key, value in values.items():
        row = (key.replace("__", ":"), json.dumps(value))
        change(path, "insert into cursorDiskKV values(?, ?)", row)


def test_a_chat_of_cursor_has_the_folder_of_its_workspace(tmp_path: Path) -> None:
    root = agent_sessions.cursor_editor(tmp_path)
    workspace = root.parents[1] / "workspaceStorage" / "0cc175b9"
    workspace.mkdir(parents=True)
    (workspace / "workspace.json").write_text('{"folder": "file:///gone/The%20pier"}')
    asked = {"bubbleId": "b1", "type": 1, "text": ASKED}
    chat(root, bubbleId__e1__b1=asked)
    listed = json.dumps({"allComposers": [{"composerId": "e1"}, "odd"]})
    with closing(sqlite3.connect(workspace / "state.vscdb")) as store, store:
        store.execute("create table ItemTable(key text unique on conflict replace, value blob)")
        store.execute("insert into ItemTable values('composer.composerData', ?)", (listed,))
    assert {each.project for each in read("cursor-editor", root)[0]} == {"The pier"}


def test_chats_of_older_versions_of_cursor_are_read(tmp_path: Path) -> None:
    root = agent_sessions.cursor_editor(tmp_path)
    workspace = root.parents[1] / "workspaceStorage" / "0cc175b9"
    workspace.mkdir(parents=True)
    (workspace / "workspace.json").write_text('{"folder": "file:///gone/harbour"}')
    told = [{"type": "user", "text": "Which lamp is out?"}, {"type": "ai", "text": SAID}]
    tabs = {"tabs": [{"tabId": "t1", "chatTitle": "Lamps", "lastSendTime": 1767225600000,
                      "bubbles": told}]}  # fmt: skip
    with closing(sqlite3.connect(workspace / "state.vscdb")) as store, store:
        store.execute("create table ItemTable(key text unique on conflict replace, value blob)")
        key = "workbench.panel.aichat.view.aichat.chatdata"
        store.execute("insert into ItemTable values(?, ?)", (key, json.dumps(tabs)))
    inline = [{"type": 1, "text": "Where is the pier?"}, {"type": 2, "text": "It is north."}]
    chat(root, composerData__e2={"createdAt": 1767225600000, "conversation": inline})
    drafts, _, cursor = read("cursor-editor", root)
    assert prompts(drafts) == [ASKED, "Where is the pier?", "Which lamp is out?"]
    (tab,) = [each for each in drafts if each.session == "t1" and each.kind == "session_summary"]
    assert (tab.title, tab.project) == ("Lamps", "harbour")
    assert read("cursor-editor", root, cursor)[0] == []


def test_a_chat_of_cursor_whose_messages_are_missing_or_of_another_form_is_named(
    tmp_path: Path,
) -> None:
    root = agent_sessions.cursor_editor(tmp_path)
    headers = [{"bubbleId": "gone", "type": 1}]
    chat(
        root,
        composerData__e2={"_v": 10, "fullConversationHeadersOnly": headers},
        composerData__e3={"_v": 99, "turns": ["x"]},
        bubbleId__e3__x={"type": 1, "text": "hello"},
    )
    _, reasons, _ = read("cursor-editor", root)
    assert reasons["e2:1"] == "message 1 is not in the database"
    assert reasons["e3"] == "it has no list of messages that is known (its version is 99)"


def test_a_call_that_the_person_rejected_in_cursor_is_named(tmp_path: Path) -> None:
    root = agent_sessions.cursor_editor(tmp_path)
    tool = {"name": "run_terminal_cmd", "toolCallId": "c", "status": "cancelled",
            "rawArgs": '{"command": "rm lamp"}', "result": '{"rejected": true}'}  # fmt: skip
    chat(root, bubbleId__e1__b5={"bubbleId": "b5", "type": 2, "toolFormerData": tool})
    work = read("cursor-editor", root)[0][1]
    assert work.metadata["rejected"] == ["Rejected by the user: Ran: rm lamp"]


# Kiro


def test_each_form_in_which_kiro_has_kept_sessions_is_read(tmp_path: Path) -> None:
    path = agent_sessions.kiro(tmp_path)
    older = {"conversation_id": "k0", "history": agent_sessions.kiro_history()}
    change(path, "insert into conversations values(?, ?)", ("/gone/pier", json.dumps(older)))
    drafts, _, _ = read("kiro", path)
    assert {(each.session, each.project) for each in drafts} == {("k", "harbour"), ("k0", "pier")}

    def line(kind: str, key: str, *parts: tuple[str, object], **more: object) -> dict[str, object]:
        content = [{"kind": sort, "data": data} for sort, data in parts]
        return {
            "version": "v1",
            "kind": kind,
            "data": {"message_id": key, "content": content} | more,
        }

    use = {"toolUseId": "t", "name": "shell", "input": {"command": "make"}}
    failed = {"toolUseId": "t", "status": "error", "content": [{"kind": "text", "data": "no rule"}]}
    second = [
        line("Prompt", "p", ("text", ASKED), meta={"timestamp": 1767225600}),
        line("AssistantMessage", "a", ("thinking", {"text": "dark"}), ("text", "I look."),
             ("toolUse", use)),
        line("ToolResults", "r", ("toolResult", failed)),
        line("Oracle", "o", ("text", "hm")),
    ]  # fmt: skip
    third = [
        {"id": "e1", "timestamp": "2026-01-01T00:00:01Z",
         "payload": {"type": "user", "content": ASKED}},
        {"id": "e2", "timestamp": "2026-01-01T00:00:02Z",
         "payload": {"type": "assistant", "operationType": "Reasoning", "content": "dark"}},
        {"id": "e3", "timestamp": "2026-01-01T00:00:03Z",
         "payload": {"type": "tool_call", "toolCallId": "t", "toolName": "shell",
                     "args": {"command": "make"}}},
        {"id": "e4", "timestamp": "2026-01-01T00:00:04Z",
         "payload": {"type": "tool_result", "toolCallId": "t", "success": False,
                     "content": "no rule"}},
        {"id": "e5", "timestamp": "2026-01-01T00:00:05Z", "payload": {"type": "turn_end"}},
    ]  # fmt: skip
    root = tmp_path / "sessions"
    folder = root / "0cc175b9" / "sess_3"
    folder.mkdir(parents=True)
    (root / "cli").mkdir()
    for file, lines in ((root / "cli" / "2.jsonl", second), (folder / "messages.jsonl", third)):
        file.write_text("".join(json.dumps(each) + "\n" for each in lines))
    state = {"session_id": "two", "cwd": CWD, "title": "The lamp"}
    (root / "cli" / "2.json").write_text(json.dumps(state))
    (folder / "session.json").write_text(json.dumps({"id": "three", "workspacePaths": [CWD]}))
    drafts, reasons, cursor = read("kiro", root)
    assert prompts(drafts) == [ASKED, ASKED]
    for session in ("two", "three"):
        work = next(
            each for each in drafts if each.session == session and each.kind == "observation"
        )
        assert work.metadata["failed"] == ["Failed: Ran: make — no rule"]
        assert work.project == "harbour"
    assert "dark" not in " ".join(each.text for each in drafts)
    assert [each.title for each in drafts if each.kind == "session_summary"][-1] == "The lamp"
    assert (
        reasons["two:4"] == "message 4 is not understood: a line Oracle (Kiro, lines of version v1)"
    )
    assert read("kiro", root, cursor)[0] == []


def test_a_compaction_of_kiro_takes_no_turn_for_another(tmp_path: Path) -> None:
    path = agent_sessions.kiro(tmp_path)
    first, _, cursor = read("kiro", path)
    again = [*agent_sessions.kiro_history()[2:]]
    said = {"Response": {"message_id": "k4", "content": "The pier is lit."}}
    later = {"user": {"content": {"Prompt": {"prompt": "Now the pier"}}}, "assistant": said}
    value = json.dumps({"conversation_id": "k", "history": [*again, later]})
    change(path, "update conversations_v2 set value = ?, updated_at = 10", (value,))
    drafts, _, _ = read("kiro", path, cursor)
    assert prompts(drafts) == ["Now the pier"]
    asked = {each.source_id for each in first if each.kind == "user_prompt"}
    assert not asked & {each.source_id for each in drafts}


def test_a_conversation_of_kiro_without_a_history_is_named(tmp_path: Path) -> None:
    path = agent_sessions.kiro(tmp_path)
    change(path, "update conversations_v2 set value = ?", (json.dumps({"turns": [], "v": 9}),))
    assert read("kiro", path)[:2] == ([], {"k": "it has no history, but turns, v"})


def test_a_reply_of_kiros_editor_whose_request_is_gone_is_named(tmp_path: Path) -> None:
    root = agent_sessions.kiro_ide(tmp_path)
    (file,) = [each for each in root.rglob("*") if each.name == "9e10"]
    file.unlink()
    drafts, reasons, _ = read("kiro-ide", root)
    assert prompts(drafts) == [ASKED]
    assert reasons["i1:2"] == ("message 2 is not told: the file of its request exec-1 is not there")


# Antigravity


def test_the_plans_of_antigravity_are_stored_also_where_it_kept_no_log(tmp_path: Path) -> None:
    root = tmp_path / "antigravity"
    folder = root / "brain" / "a2"
    folder.mkdir(parents=True)
    (folder / "implementation_plan.md").write_text("# Light the pier\n\nWe will hang ten lamps.")
    (folder / "walkthrough.md").write_text("# Done\n\nTen lamps hang there now.")
    updated = json.dumps({"updatedAt": "2026-01-01T00:00:00Z"})
    (folder / "implementation_plan.md.metadata.json").write_text(updated)
    for name in ("a2.pb", "a3.pb"):
        (root / "conversations").mkdir(exist_ok=True)
        (root / "conversations" / name).write_bytes(b"\x00\x01")
    uris = json.dumps(["file:///gone/The%20pier"])
    with closing(sqlite3.connect(root / "conversation_summaries.db")) as store, store:
        store.execute(
            "create table conversation_summaries(conversation_id text, workspace_uris text)"
        )
        store.execute("insert into conversation_summaries values('a2', ?)", (uris,))
    (work, summary), reasons, cursor = read("antigravity", root)
    assert "We will hang ten lamps." in work.text
    assert "Ten lamps hang there now." in work.text
    assert (work.project, summary.title) == ("The pier", "Light the pier")
    assert reasons == {
        "a2": "taken",
        "a3": "only Antigravity reads its form, and below brain it has neither a log nor plans",
    }
    assert read("antigravity", root, cursor)[1] == {}
    (folder / "walkthrough.md").write_text("# Done\n\nEleven lamps hang there now.")
    assert "Eleven lamps" in read("antigravity", root, cursor)[0][0].text


def test_an_unknown_step_of_antigravity_after_a_call_is_no_answer(tmp_path: Path) -> None:
    root = agent_sessions.antigravity(tmp_path)
    (file,) = root.rglob("transcript.jsonl")
    lines = file.read_text().splitlines(keepends=True)
    unknown = {"step_index": 9, "source": "MODEL", "type": "HOLOGRAM", "content": "Failed: no lamp"}
    file.write_text("".join([*lines[:3], json.dumps(unknown) + "\n", *lines[3:]]))
    drafts, reasons, _ = read("antigravity", root)
    assert reasons["a1:4"] == "message 4 is not understood: a step of type HOLOGRAM"
    assert not any("no lamp" in draft.text for draft in drafts)
    assert any(agent_sessions.ERROR in draft.text for draft in drafts)


def test_a_broken_or_unknown_step_of_antigravity_is_named(tmp_path: Path) -> None:
    root = agent_sessions.antigravity(tmp_path)
    (file,) = root.rglob("transcript.jsonl")
    with file.open("a") as log:
        log.write('{broken\n{"turn": 9, "says": "hm"}\n{"being')
    drafts, reasons, _ = read("antigravity", root)
    assert prompts(drafts) == [ASKED]
    assert reasons["a1:8"].startswith("message 8 cannot be read: ")
    assert reasons["a1:9"] == "message 9 is not understood: a step with turn, says"
