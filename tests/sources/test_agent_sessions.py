"""Sessions of agents: the same work is the same records, whichever agent did it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import agent_sessions
import editor_sessions
from agent_sessions import ASKED, CWD, ERROR, SAID
from mem_search.contracts import Machine
from mem_search.errors import SourceError
from mem_search.model import Draft, LedgerEntry, Location
from mem_search.sources import by_name, conversations, for_path
from mem_search.sources.agent_work.history import hash_of
from mem_search.text.platforms import platform_named

Make = Callable[[Path], Path]
SESSIONS: Mapping[str, tuple[Make, str]] = {
    "pi": (agent_sessions.pi, "p1"),
    "openclaw": (agent_sessions.openclaw, "o1"),
    "qwen": (agent_sessions.qwen, "q"),
    "copilot": (agent_sessions.copilot, "g"),
    "opencode": (agent_sessions.opencode, "ses_1"),
    "cursor": (agent_sessions.cursor, "u1"),
    "codex": (agent_sessions.codex, "x1"),
    "gemini": (agent_sessions.gemini, "g1"),
    "cline": (editor_sessions.cline, "1767_ab"),
    "roo-code": (editor_sessions.roo_code, "r1"),
    "copilot-chat": (editor_sessions.copilot_chat, "v1"),
    "continue": (editor_sessions.continue_dev, "c1"),
    "amp": (editor_sessions.amp, "T-1"),
    "droid": (editor_sessions.droid, editor_sessions.DROID),
    "crush": (agent_sessions.crush, "r1"),
    "goose": (agent_sessions.goose, "20260101_1"),
    "zed": (agent_sessions.zed, "z1"),
    "cursor-editor": (agent_sessions.cursor_editor, "e1"),
    "kiro": (agent_sessions.kiro, "k"),
    "kiro-ide": (agent_sessions.kiro_ide, "i1"),
    "antigravity": (agent_sessions.antigravity, "a1"),
}
DOCUMENTS = ("cline", "roo-code", "continue", "amp")
"""A session of these is one JSON document."""
VALUES: Mapping[str, tuple[str, str]] = {
    "opencode": ("part", "data"),
    "cursor": ("blobs", "data"),
    "crush": ("messages", "parts"),
    "goose": ("messages", "content_json"),
    "zed": ("threads", "data"),
    "cursor-editor": ("cursorDiskKV", "value"),
    "kiro": ("conversations_v2", "value"),
}
"""Of a source that reads a database: the table and the column with its messages."""
OTHERS = ("kiro-ide", "antigravity")
"""Sources whose ledger names messages of a session instead of lines of a file."""
BESIDE = ("projects.json", "sessions.json", "9e10")
"""Files that say where sessions are."""
FAILED = f"Failed with exit code 3: Ran: cat lamp.log; exit 3 — {ERROR}"


def read(
    source: str, root: Path, cursor: Mapping[str, Any] | None = None
) -> tuple[list[Draft], list[LedgerEntry], Mapping[str, Any]]:
    batches = list(by_name(source).read(Location(source, str(root)), cursor or {}))
    drafts = [draft for batch in batches for draft in batch.drafts]
    ledger = [entry for batch in batches for entry in batch.ledger]
    return drafts, ledger, batches[-1].cursor if batches else {}


@pytest.mark.parametrize("name", SESSIONS)
def test_a_session_is_its_prompt_its_work_and_its_summary(name: str, tmp_path: Path) -> None:
    make, session = SESSIONS[name]
    (prompt, work, summary), ledger, _ = read(name, make(tmp_path))
    assert (prompt.kind, prompt.text, prompt.metadata["cwd"]) == ("user_prompt", ASKED, CWD)
    assert (work.kind, work.metadata["failed"]) == ("observation", [FAILED])
    assert work.text.splitlines()[0] == FAILED
    assert work.metadata["files_modified"] == ["lamp.py"]
    assert work.metadata["narrative"] == f"I look first.\n\n{SAID}"
    assert (summary.kind, summary.metadata["request"]) == ("session_summary", ASKED)
    assert SAID in summary.metadata["completed"]
    for draft in (prompt, work, summary):
        assert (draft.source, draft.session, draft.project) == (name, session, "harbour")
        assert draft.metadata["platform"] == platform_named(name)
        assert draft.created_at is not None
        assert "dark" not in draft.text, "what the agent thinks is not stored"
    assert [(entry.outcome, entry.records) for entry in ledger] == [("taken", 3)]


def _files(root: Path) -> list[Path]:
    return [root] if root.is_file() else [each for each in root.rglob("*") if each.is_file()]


def stored_in(name: str, root: Path) -> Path:
    """The one file at ``root`` that has messages of the source."""
    (path,) = (each for each in _files(root) if each.name not in BESIDE and for_path(each) == name)
    return path


def _deep(levels: int) -> str:
    return '{"deep": ' + "[" * levels + "]" * levels + "}"


@pytest.mark.parametrize(
    "name", [name for name in SESSIONS if name not in (*VALUES, *OTHERS, *DOCUMENTS)]
)
@pytest.mark.parametrize(
    "line", [_deep(200_000), '{"long": "' + "x" * 600_000 + '"}', "{no JSON", "[1, 2]"]
)
def test_a_line_that_cannot_be_read_is_named_and_the_others_are_stored(
    name: str, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name == "gemini" and "long" in line:
        pytest.skip("its lines are as long as its file may be")
    monkeypatch.setattr(conversations, "MAX_LINE_BYTES", 500_000)
    root = SESSIONS[name][0](tmp_path)
    (file,) = (path for path in root.rglob("*.jsonl") if path.is_file())
    whole = file.read_text("utf-8").splitlines(keepends=True)
    file.write_text("".join([*whole, f"{line}\n", f"{line}\n", '{"type": "being written']))
    drafts, ledger, _ = read(name, root)
    assert [draft.kind for draft in drafts] == ["user_prompt", "observation", "session_summary"]
    item = str(file.relative_to(root))
    failed = [each for each in ledger if each.outcome == "failed"]
    assert [each.item for each in failed] == [f"{item}:{len(whole) + n}" for n in (1, 2)]
    assert all(each.reason.startswith("line ") for each in failed)


@pytest.mark.parametrize("name", SESSIONS)
def test_what_did_not_change_is_not_read_again(name: str, tmp_path: Path) -> None:
    root = SESSIONS[name][0](tmp_path)
    _, _, cursor = read(name, root)
    assert read(name, root, json.loads(json.dumps(cursor)))[0] == []


@pytest.mark.parametrize("name", SESSIONS)
def test_the_file_of_a_session_is_known_by_its_place(name: str, tmp_path: Path) -> None:
    root = SESSIONS[name][0](tmp_path)
    assert {for_path(path) for path in _files(root)} - {""} == {name}


FOLDERS = {
    "pi": ({}, ".pi/agent"),
    "openclaw": ({}, ".openclaw"),
    "qwen": ({}, ".qwen"),
    "copilot": ({"COPILOT_HOME": "{}/own"}, "own"),
    "opencode": ({"XDG_DATA_HOME": "{}/data"}, "data/opencode"),
    "cursor": ({}, ".cursor"),
    "codex": ({"CODEX_HOME": "{}/own"}, "own"),
    "gemini": ({}, ".gemini"),
    "cline": ({"CLINE_DATA_DIR": "{}/data"}, "data"),
    "roo-code": ({}, ".config/Code - Insiders/User/globalStorage"),
    "copilot-chat": ({"VSCODE_PORTABLE": "{}/p"}, "p/user-data/User"),
    "continue": ({}, ".continue"),
    "amp": ({"XDG_DATA_HOME": "{}/data"}, "data/amp"),
    "droid": ({"FACTORY_HOME_OVERRIDE": "{}/own"}, "own/.factory"),
    "crush": ({"XDG_DATA_HOME": "{}/data"}, "data"),
    "goose": ({"XDG_DATA_HOME": "{}/data"}, "data"),
    "zed": ({"XDG_DATA_HOME": "{}/data"}, "data/zed"),
    "cursor-editor": ({"XDG_CONFIG_HOME": "{}/config"}, "config"),
    "kiro": ({"XDG_DATA_HOME": "{}/data"}, "data"),
    "kiro-ide": ({"XDG_CONFIG_HOME": "{}/config"}, "config"),
    "antigravity": ({}, ".gemini"),
}


@pytest.mark.parametrize("name", FOLDERS)
def test_sessions_are_found_where_the_agent_keeps_them(name: str, tmp_path: Path) -> None:
    environ, folder = FOLDERS[name]
    machine = Machine(tmp_path, tmp_path, {k: v.format(tmp_path) for k, v in environ.items()})
    assert list(by_name(name).discover(machine)) == []
    (tmp_path / folder).mkdir(parents=True)
    root = SESSIONS[name][0](tmp_path / folder)
    assert [location.path for location in by_name(name).discover(machine)] == [str(root)]


def test_a_fork_of_pi_does_not_repeat_what_its_parent_has(tmp_path: Path) -> None:
    header, *entries = agent_sessions.pi_lines("p2")
    header |= {"parentSession": "/p1.jsonl", "timestamp": "2026-01-01T00:00:30.000Z"}
    asked = {"role": "user", "content": "Now the pier"}
    new = {"type": "message", "id": "n", "timestamp": "2026-01-01T00:00:31.000Z", "message": asked}
    path = tmp_path / "2026-01-01T00-00-30-000Z_p2.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in (header, *entries, new)))
    drafts, _, _ = read("pi", path)
    asked = [draft for draft in drafts if draft.kind == "user_prompt"]
    assert [(each.text, each.session, each.reading.is_copy) for each in asked if each.reading] == [
        (agent_sessions.ASKED, "p1", True), ("Now the pier", "p2", False)
    ]  # fmt: skip
    assert drafts[-1].metadata["request"] == "Now the pier"


def test_a_session_that_grows_keeps_the_ids_of_its_records(tmp_path: Path) -> None:
    root = agent_sessions.qwen(tmp_path)
    first, _, cursor = read("qwen", root)
    (path,) = root.rglob("*.jsonl")
    more = {"uuid": "m", "sessionId": "q", "type": "user", "cwd": CWD,
            "message": {"parts": [{"text": "Now the pier"}]}}  # fmt: skip
    path.write_text(path.read_text() + json.dumps(more) + '\n{"uuid": "half')
    second, _, _ = read("qwen", root, cursor)
    assert second[0].source_id == first[1].source_id
    assert [draft.text for draft in second[1:-1]] == ["Now the pier"]
    assert second[-1].source_id == first[-1].source_id


def test_records_in_a_folder_called_chats_are_no_sessions_of_qwen(tmp_path: Path) -> None:
    path = tmp_path / "chats" / "a.jsonl"
    path.parent.mkdir()
    path.write_text('{"kind": "note", "text": "The lamp burns"}\n')
    assert for_path(path) == ""


@pytest.mark.parametrize("name", ["codex", "gemini"])
def test_steps_replace_the_turns_that_older_versions_stored(name: str, tmp_path: Path) -> None:
    root = SESSIONS[name][0](tmp_path)
    drafts, _, cursor = read(name, root)
    session, place = SESSIONS[name][1], {"codex": 1, "gemini": 2}[name]
    prompt = f"{place}-{hash_of(ASKED)}"
    assert [draft.source_id for draft in drafts] == [
        f"{session}/{prompt}", f"{session}/{prompt}/work", f"{session}/summary",
    ]  # fmt: skip
    older = {"files": cursor["files"]}
    assert read(name, root, older)[0] == drafts, "what was read as turns is read again"


@pytest.mark.parametrize("name", SESSIONS)
def test_sessions_that_other_rules_read_are_read_again_whole(name: str, tmp_path: Path) -> None:
    make, session = SESSIONS[name]
    root = make(tmp_path)
    drafts, _, cursor = read(name, root)
    older = {**cursor, "version": cursor["version"] - 1}
    (batch,) = by_name(name).read(Location(name, str(root)), older)
    assert [*batch.drafts] == drafts
    (whole,) = batch.whole
    assert (whole.session, whole.given) == (session, {each.source_id for each in drafts})
    work = next(each.source_id for each in drafts if each.kind == "observation")
    at = drafts[0].created_at or 0
    old, now = cursor["version"] - 1, cursor["version"]
    cut_elsewhere = [(f"{work}/7", at, old), (f"{drafts[0].source_id}/decision", at, None)]
    of_others = [(f"{session}/none/work", at, old), (f"other/{work}", at, old)]
    of_more = [(f"{work}/8", at, now), (f"{work}/9", at + 9**9, old)]
    assert whole.stale([(work, at, old), *cut_elsewhere, *of_others, *of_more]) == [
        key for key, *_ in cut_elsewhere
    ]


@pytest.mark.parametrize("name", ["gemini", "qwen"])
def test_what_a_hook_gave_to_the_agent_is_no_part_of_the_prompt(name: str, tmp_path: Path) -> None:
    root = SESSIONS[name][0](tmp_path)
    (path,) = root.rglob("*.jsonl")
    recalled = "<hook_context>mem-search holds 3 records\\n<recalled-memory>x</recalled-memory>"
    ours = f"{recalled}</hook_context>"
    given = f"{ours}\\n\\n{ASKED}\\n\\n{ours}"
    if name == "qwen":
        given = f"{ASKED}\\n\\n{ours.replace('<', '&lt;').replace('>', '&gt;')}"
    path.write_text(path.read_text().replace(f'"{ASKED}"', f'"{given}"'))
    assert given in path.read_text()
    assert read(name, root)[0][0].text == ASKED


def test_codex_work_is_cut_into_steps_with_what_failed(tmp_path: Path) -> None:
    def item(kind: str, **given: Any) -> dict[str, Any]:
        return {"type": "response_item", "payload": {"type": kind, **given}}

    def ran(key: str, command: str, output: str) -> list[dict[str, Any]]:
        arguments = json.dumps({"command": ["bash", "-lc", command]})
        return [item("function_call", name="shell", arguments=arguments, call_id=key),
                item("function_call_output", call_id=key, output=output)]  # fmt: skip

    patch = "*** Begin Patch\n*** Update File: lamp.py\n*** Delete File: old.py\n*** End Patch"
    failed = json.dumps({"output": "E  assert 0\n1 failed", "metadata": {"exit_code": 1}})
    running = "Wall time: 1 seconds\nProcess running with session ID 7\nOutput:\n"
    ended = "Wall time: 9 seconds\nProcess exited with code 2\nOutput:\nmake: *** [all] Error 2\n"
    arguments = json.dumps({"cmd": "make -j"})
    stdin = json.dumps({"session_id": 7, "chars": ""})
    lines = [
        *agent_sessions.codex_lines(ASKED)[:6],
        *ran("a", "pytest -q", failed),
        item("custom_tool_call", name="apply_patch", input=patch, call_id="b"),
        item("custom_tool_call_output", call_id="b",
             output=json.dumps({"output": "Success. Updated the following files:\nM lamp.py",
                                "metadata": {"exit_code": 0}})),
        item("custom_tool_call", name="apply_patch", input=patch.replace("lamp", "wick"),
             call_id="c"),
        item("custom_tool_call_output", call_id="c", output="apply_patch verification failed: x"),
        *ran("d", "pytest -q", "Exit code: 0\nWall time: 1 seconds\nOutput:\n1 passed"),
        item("function_call", name="exec_command", arguments=arguments, call_id="e"),
        item("function_call_output", call_id="e", output=running),
        item("function_call", name="write_stdin", arguments=stdin, call_id="f"),
        item("function_call_output", call_id="f", output=ended),
    ]  # fmt: skip
    path = tmp_path / "rollout-x.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    work = [draft.metadata for draft in read("codex", path)[0] if draft.kind == "observation"]
    assert [path for each in work for path in each["files_modified"]] == ["lamp.py", "old.py"]
    assert [line for each in work for line in each.get("failed", ())] == [
        "Failed with exit code 1: Ran: pytest -q — E assert 0",
        "Failed with exit code 2: Ran: make -j — make: *** [all] Error 2",
    ]
    facts = [fact for each in work for fact in each["facts"]]
    assert "Failed: Edit: wick.py — apply_patch verification failed: x" in facts
    assert work[0]["type"] == "bugfix", "a check that failed passes after the change"


def test_only_a_session_of_opencode_that_changed_is_read_again(tmp_path: Path) -> None:
    path = agent_sessions.opencode(tmp_path)
    _, _, cursor = read("opencode", path)
    with closing(sqlite3.connect(path)) as store, store:
        store.executescript(
            """
            insert into session values('ses_2', 'ses_1', '/gone/harbour', 'Child session - x', 2);
            insert into message values('m9', 'ses_2', 9, '{"role": "user"}');
            insert into part values('p9', 'm9', 'ses_2', 9,
                                    '{"type": "text", "text": "Look for lamps"}');
            insert into message values('n9', 'ses_2', 10, '{"role": "assistant"}');
            insert into part values('q9', 'n9', 'ses_2', 10,
                '{"type": "text", "text": "There are three lamps and one of them is out."}');
            """
        )
    (found,), ledger, _ = read("opencode", path, cursor)
    assert (found.session, found.metadata["agent"]) == ("ses_1", "ses_2")
    assert found.text == "There are three lamps and one of them is out."
    assert [entry.item for entry in ledger] == ["ses_2"]


def test_what_a_running_cursor_wrote_last_is_read(tmp_path: Path) -> None:
    root = agent_sessions.cursor(tmp_path)
    (path,) = root.rglob("store.db")
    _, _, cursor = read("cursor", root)
    with closing(sqlite3.connect(path)) as store:
        store.execute("pragma journal_mode = wal")
        store.execute("pragma wal_autocheckpoint = 0")
        _, _, cursor = read("cursor", root, cursor)
        message = json.dumps({"role": "user", "content": "Now the pier"})
        with store:
            store.execute("insert into blobs values('b99', ?)", (message.encode(),))
        drafts, _, _ = read("cursor", root, cursor)
    assert [draft.text for draft in drafts if draft.kind == "user_prompt"][-1:] == ["Now the pier"]


def test_a_rejected_call_is_named_with_the_reason(tmp_path: Path) -> None:
    path = agent_sessions.opencode(tmp_path)
    said = "The user rejected permission to use this specific tool call with feedback: too dark"
    state = {"status": "error", "input": {"command": "rm lamp"}, "error": said}
    part = {"type": "tool", "tool": "bash", "callID": "r", "state": state}
    with closing(sqlite3.connect(path)) as store, store:
        row = ("p29", json.dumps(part))
        store.execute("insert into part values(?, 'm2', 'ses_1', 99, ?)", row)
    work = read("opencode", path)[0][1]
    assert work.metadata["rejected"] == ["Rejected by the user: Ran: rm lamp — too dark"]


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("content", [b"", b"no database at all, but long enough to look at"])
def test_a_damaged_database_is_named(name: str, content: bytes, tmp_path: Path) -> None:
    root = SESSIONS[name][0](tmp_path)
    path = stored_in(name, root)
    path.write_bytes(content)
    if path == root:
        with pytest.raises(SourceError, match=path.name):
            read(name, root)
    else:
        _, ledger, _ = read(name, root)
        (entry,) = ledger
        assert entry.outcome == "failed" or (not content and "empty" in entry.reason)


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)


@pytest.mark.parametrize("name", SESSIONS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
@given(value=JSON, inside=st.integers(0, 60))
def test_odd_values_anywhere_are_no_crash(
    name: str, value: Any, inside: int, tmp_path_factory: Any
) -> None:
    tmp_path = tmp_path_factory.mktemp(name)
    root = SESSIONS[name][0](tmp_path)
    path = stored_in(name, root)
    if name in VALUES:
        table, column = VALUES[name]
        with closing(sqlite3.connect(path)) as store, store:
            rows = store.execute(f"select rowid, {column} from {table}").fetchall()
            for place, (key, data) in enumerate(rows):
                odd = _with(data, value, place) if _is_json(data) else data
                store.execute(f"update {table} set {column} = ? where rowid = ?", (odd, key))
    else:
        lines = path.read_text().splitlines()
        path.write_text(
            "\n".join(
                _with(line, value, n + inside * (name in DOCUMENTS)) for n, line in enumerate(lines)
            )
        )
    _, ledger, _ = read(name, root)
    assert not [entry for entry in ledger if "not as expected" in entry.reason]


def _is_json(data: bytes | str) -> bool:
    return data[:1] in (b"{", "{", "[")


def _with(raw: str | bytes, value: Any, place: int) -> str:
    """The object with ``value`` in place of one of the values in it, at any depth."""

    def replaced(found: Any, left: list[int]) -> Any:
        left[0] -= 1
        if left[0] < 0:
            return value
        if isinstance(found, dict):
            return {key: replaced(each, left) if left[0] >= 0 else each
                    for key, each in found.items()}  # fmt: skip
        return [replaced(each, left) for each in found] if isinstance(found, list) else found

    return json.dumps(replaced(json.loads(raw), [place + 2]))
