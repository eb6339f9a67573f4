"""What agents' hooks leave in the home becomes records, once, with or without a transcript."""

from __future__ import annotations

import json
import os
import time
from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from mem_search.errors import InputError
from mem_search.features.capture.costs import dropped
from mem_search.features.capture.journals import KEPT_SECONDS, MAX_EVENT_BYTES, Journals
from mem_search.features.capture.service import GRACE_SECONDS, HookEvents
from mem_search.model import Filters
from mem_search.model.forgetting import Traces, words_of
from mem_search.wiring import Runtime, open_runtime
from runtimes import small
from small_disk import room_for

SESSION = "5e551040-0000-4000-8000-000000000001"
LATER = GRACE_SECONDS + 1


@pytest.fixture
async def runtime(tmp_path: Path) -> AsyncIterator[Runtime]:
    """Nothing is done by itself."""
    async with open_runtime(small(tmp_path), background=False) as runtime:
        yield runtime


@pytest.fixture
def events(runtime: Runtime) -> HookEvents:
    return runtime.ingest.hooks


async def drain_later(events: HookEvents) -> None:
    """Take the events after their time of grace."""
    await events.drain(time.time() + LATER)


def leave(events: HookEvents, name: str, hook: str, **more: Any) -> Path:
    events.folder.mkdir(parents=True, exist_ok=True)
    file = events.folder / f"{name}.json"
    given = {"hook_event_name": hook, "session_id": SESSION, "cwd": "/gone/harbour", **more}
    file.write_text(json.dumps(given))
    return file


async def stored(runtime: Runtime) -> list[tuple[str, str]]:
    """(kind, title) of what is stored, the oldest first."""
    page, _ = await runtime.store.records.page(Filters(), "date_asc", 100, 0)
    return sorted((record.kind, record.title) for record, _ in page)


def session(events: HookEvents) -> None:
    """The events of a session, as hooks leave them without a transcript."""
    leave(events, "1", "UserPromptSubmit", prompt="Mend the tide gauge of the pier")
    leave(
        events,
        "2",
        "PostToolUseFailure",
        tool_name="Bash",
        tool_input={"command": "make test"},
        error="Exit code 2\nValueError: no tide",
    )
    leave(
        events,
        "3",
        "PostToolUse",
        tool_name="Edit",
        tool_input={"file_path": "/gone/harbour/gauge.py"},
        tool_response={"filePath": "/gone/harbour/gauge.py"},
    )
    leave(events, "4", "Stop", last_assistant_message="The gauge counts every wave now.")
    leave(events, "5", "SessionEnd")


@pytest.mark.parametrize("room", [30, 450, 900])
async def test_an_event_that_a_full_disk_cut_off_is_recorded_whole_later(
    room: int, events: HookEvents, runtime: Runtime
) -> None:
    """The disk takes a part of the event's lines: of the first one, or also of the second."""
    leave(events, "1", "UserPromptSubmit", prompt="Mend the tide gauge of the pier")
    await drain_later(events)
    (journal,) = events.sessions.iterdir()
    leave(
        events,
        "2",
        "PostToolUseFailure",
        tool_name="Bash",
        tool_input={"command": "make test", "description": "Run " + "all the tests " * 15},
        error="Exit code 2\nValueError: no tide " + "at all " * 60,
    )
    with room_for(journal.stat().st_size + room), pytest.raises(OSError, match="too large"):
        await drain_later(events)
    leave(events, "4", "Stop", last_assistant_message="The gauge counts every wave now.")
    for _ in range(2):
        await drain_later(events)
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    assert [line["uuid"] for line in lines] == ["1", "2", "2-answer", "4"]
    assert list(events.folder.iterdir()) == []
    page, _ = await runtime.store.records.page(Filters(kinds=("observation",)), "date_asc", 9, 0)
    ((work, _),) = page
    (failed,) = work.metadata["failed"]
    assert failed.startswith("Failed with exit code 2: Ran: make test")


async def test_an_event_has_its_lines_once_whatever_came_after_it(tmp_path: Path) -> None:
    """A worker that was killed before it removed the files finds all of them again."""
    async with open_runtime(small(tmp_path), background=False) as runtime:
        events = runtime.ingest.hooks

        def told() -> None:
            leave(events, "1", "UserPromptSubmit", prompt="Mend the tide gauge of the pier")
            for name in "23456":
                leave(events, name, "Stop", last_assistant_message="It counts waves. " * 3_000)

        for _ in range(2):
            told()
            await drain_later(events)
    async with open_runtime(small(tmp_path), background=False) as runtime:
        events = runtime.ingest.hooks
        told()
        await drain_later(events)
        (journal,) = events.sessions.iterdir()
        lines = [json.loads(line)["uuid"] for line in journal.read_text().splitlines()]
        assert lines == ["1", "2", "3", "4", "5", "6"]


async def test_events_without_a_transcript_become_the_records_of_a_session(
    events: HookEvents, runtime: Runtime
) -> None:
    session(events)
    await drain_later(events)
    assert await stored(runtime) == [
        ("observation", "Fix gauge.py: The gauge counts every wave now; `make test` fails"),
        ("session_summary", "Mend the tide gauge of the pier"),
        ("user_prompt", "Mend the tide gauge of the pier"),
    ]
    page, _ = await runtime.store.records.page(Filters(kinds=("observation",)), "date_asc", 9, 0)
    ((work, _),) = page
    assert work.metadata["failed"] == [
        "Failed with exit code 2: Ran: make test — ValueError: no tide"
    ]
    assert work.metadata["type"] == "bugfix"
    assert work.metadata["files_modified"] == ["gauge.py"]
    assert work.session == SESSION
    assert list(events.folder.iterdir()) == []


async def test_a_subagents_words_are_not_the_last_words_of_its_session(
    events: HookEvents, runtime: Runtime
) -> None:
    leave(events, "1", "UserPromptSubmit", prompt="Chart the reefs")
    leave(events, "2", "Stop", last_assistant_message="The reefs are charted.")
    said = "There are seven reefs, two of them new."
    leave(events, "3", "SubagentStop", agent_id="a1", last_assistant_message=said)
    await drain_later(events)
    page, _ = await runtime.store.records.page(Filters(), "date_asc", 9, 0)
    by_agent = {
        str(record.metadata.get("agent")): record.title
        for record, _ in page
        if record.kind == "observation"
    }
    assert by_agent == {"a1": said.removesuffix(".")}
    (summary,) = [record for record, _ in page if record.kind == "session_summary"]
    assert summary.metadata["completed"] == "The reefs are charted."


async def test_an_event_that_is_taken_twice_is_one_record(
    events: HookEvents, runtime: Runtime
) -> None:
    """The worker is killed after it read an event and before it removed the file."""
    session(events)
    await drain_later(events)
    before = await stored(runtime)
    session(events)
    await drain_later(events)
    assert await stored(runtime) == before


async def test_an_event_with_a_transcript_has_the_transcript_read(tmp_path: Path) -> None:
    transcript = tmp_path / "projects" / f"{SESSION}.jsonl"
    transcript.parent.mkdir()
    common = {"sessionId": SESSION, "timestamp": "2026-01-01T00:00:00Z", "cwd": "/gone/harbour"}
    message = {"role": "user", "content": "Deepen the harbour basin"}
    line = {"type": "user", "uuid": "u1", **common, "message": message}
    transcript.write_text(json.dumps(line) + "\n")
    async with open_runtime(small(tmp_path / "home"), background=False) as runtime:
        events = runtime.ingest.hooks
        leave(events, "1", "UserPromptSubmit", prompt="unused", transcript_path=str(transcript))
        await events.drain()
        assert ("user_prompt", "Deepen the harbour basin") in await stored(runtime)
        assert not events.sessions.exists()
        (known,) = await runtime.store.ingest.locations()
        assert (known.location.path, known.followed) == (str(transcript), True)


async def test_an_event_of_another_agent_has_its_sessions_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    sessions = tmp_path / "codex" / "sessions"
    sessions.mkdir(parents=True)
    content = [{"type": "input_text", "text": "Deepen the harbour basin"}]
    lines = [
        {"type": "session_meta", "payload": {"id": SESSION, "cwd": "/gone/harbour"}},
        {
            "type": "response_item",
            "payload": {"type": "message", "role": "user", "content": content},
        },
    ]
    rollout = sessions / "rollout-1.jsonl"
    rollout.write_text("".join(json.dumps(line) + "\n" for line in lines))
    async with open_runtime(small(tmp_path / "home"), background=False) as runtime:
        events = runtime.ingest.hooks
        leave(events, "1", "Stop", agent="codex")
        leave(events, "2", "Stop", agent="no-such-agent")
        assert not await events.drain()
        assert await stored(runtime) == [
            ("session_summary", "Deepen the harbour basin"),
            ("user_prompt", "Deepen the harbour basin"),
        ]
        assert list(events.folder.iterdir()) == []
        (known,) = await runtime.store.ingest.locations()
        assert (known.location.path, known.followed) == (str(sessions), True)


async def test_the_first_prompt_waits_for_its_transcript(events: HookEvents) -> None:
    file = leave(events, "1", "UserPromptSubmit", prompt="Deepen the harbour basin")
    assert await events.drain()
    assert file.exists()
    assert not await drain_later(events)
    assert not file.exists()


async def test_secrets_in_events_are_not_kept(tmp_path: Path) -> None:
    secret = "ghp_" + "Zk3" * 12
    async with open_runtime(small(tmp_path), background=False) as runtime:
        events = runtime.ingest.hooks
        leave(events, "0", "UserPromptSubmit", prompt=f"Keep {secret} safe")
        leave(events, "1", "UserPromptSubmit", prompt=f"Use the token {secret} for the pier")
        await drain_later(events)
    files = [*tmp_path.rglob("*")]  # noqa: ASYNC240
    kept = [file.read_bytes() for file in files if file.is_file()]
    assert any(b"for the pier" in content for content in kept)
    assert not any(secret.encode() in content for content in kept)


async def test_an_event_that_comes_over_http_is_on_the_disk_without_secrets_and_one(
    tmp_path: Path,
) -> None:
    """The reply can come too late: then the hook leaves the same event, too."""
    secret, unique = "ghp_" + "Zk3" * 12, "00000000000000000001-0123abcd"
    async with open_runtime(small(tmp_path), background=False) as runtime:
        events = runtime.ingest.hooks
        event = {
            "hook_event_name": "UserPromptSubmit",
            "session_id": SESSION,
            "cwd": "/gone/harbour",
            "prompt": f"Use the token {secret} for the pier",
        }
        for _ in range(2):
            events.leave(event, unique)
            (file,) = events.folder.iterdir()
            assert secret not in file.read_text()
            await drain_later(events)
        kinds = [kind for kind, _ in await stored(runtime)]
        assert kinds.count("user_prompt") == 1
        with pytest.raises(InputError) as refused:
            events.leave({"hook_event_name": "Stop"}, unique)
        assert refused.value.field == "event.session_id"


async def test_forgetting_looks_into_events_that_wait_and_into_sessions(tmp_path: Path) -> None:
    async with open_runtime(small(tmp_path), background=False) as runtime:
        events = runtime.ingest.hooks
        leave(events, "1", "UserPromptSubmit", prompt="Deepen the zylophantic basin")
        # Only words that no other record has give a forgotten one away.
        common = f"The cwd of the session {SESSION} is gone, and so is the harbour of the prompt"
        leave(events, "2", "UserPromptSubmit", prompt=common, session_id="other")
        await drain_later(events)
        assert {file.stem for file in events.sessions.iterdir()} == {SESSION, "other"}
        leave(events, "3", "Stop", last_assistant_message="The zylophantic basin is deep.")
        leave(events, "5", "Stop", last_assistant_message="Its session is forgotten.")
        gone = "The waves are gone."
        other = leave(events, "4", "Stop", last_assistant_message=gone, session_id="other")
        of_session = Filters(session=SESSION)
        numbers = await runtime.store.forgetting.matching(of_session, 10)
        receipt = await runtime.ingest.forgetting.forget(numbers)
        await runtime.ingest.forgetting.work()
        receipt = await runtime.ingest.forgetting.receipt(receipt.id)
        assert receipt.copies.still_in == ()
        assert receipt.removed["transcripts"] == 2
        left = [*events.folder.iterdir(), *events.sessions.iterdir()]
        assert left == [other, events.sessions / "other.jsonl"]
    for file in tmp_path.rglob("*"):  # noqa: ASYNC240
        assert not (file.is_file() and b"zylophantic" in file.read_bytes()), file


async def test_words_of_the_format_take_no_capture_with_them_and_words_of_its_content_do(
    events: HookEvents,
) -> None:
    given = {"tool_name": "Bash", "tool_use_id": "toolu_1", "permission_mode": "default",
             "tool_input": {"command": "dredge"},
             "tool_response": {"stdout": "deep"}}  # fmt: skip
    leave(events, "1", "PostToolUse", session_id="other", **given)
    leave(events, "2", "UserPromptSubmit", session_id="other", prompt="The zylophantic basin")
    await drain_later(events)
    waits = leave(events, "3", "PostToolUse", session_id="other", **given)
    events.aside.mkdir()
    aside = events.aside / "4.json"
    aside.write_bytes(waits.read_bytes())
    journal = events.sessions / "other.jsonl"
    whole = f"{journal.read_text()}{waits.read_text()}"
    content = "other basin zylophantic the dredge deep gone harbour"
    format_words = words_of(whole) - words_of(content)
    assert format_words > {"message", "content", "timestamp", "assistant", "bash"}
    of_format = Traces(frozenset({*format_words, "tooluse", "toolname"}), frozenset())
    assert await events.forget((), of_format) == 0
    assert waits.exists()
    assert aside.exists()
    lines = journal.read_text().splitlines()
    assert await events.forget((), Traces(frozenset({"zylophantic"}), frozenset())) > 0
    assert journal.read_text().splitlines() == lines[:2]
    assert await events.forget((), Traces(frozenset({"dredge"}), frozenset())) > 0
    assert journal.read_text().splitlines() == lines[1:2]
    assert not any(file.exists() for file in (waits, aside))


FAULTY: list[tuple[Any, str]] = [
    (b"", "1.json: Expecting value: line 1 column 1 (char 0)"),
    (b"[]", "1.json: no object with a session_id"),
    (b"{", "1.json: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
    (b"[" * 100_000, "1.json: its JSON is nested too deep"),
    (b'{"session_id": 3}', "1.json: no object with a session_id"),
    (
        b'{"session_id": "' + b"x" * MAX_EVENT_BYTES,
        f"1.json: has more than {MAX_EVENT_BYTES:,} bytes",
    ),
    ({"session_id": "../up", "prompt": "x"}, "1: its session_id is not one"),
    ({"hook_event_name": "Teleport"}, "1: nothing in it can be recorded"),
    ({"hook_event_name": ["Stop"]}, "1: nothing in it can be recorded"),
    ({"hook_event_name": "UserPromptSubmit", "prompt": 5}, "1: nothing in it can be recorded"),
    ({"hook_event_name": "Stop", "agent": "hal"}, "its agent has no sessions here"),
]


@pytest.mark.parametrize(("event", "reason"), FAULTY)
async def test_an_event_that_cannot_be_used_is_dropped_and_counted(
    tmp_path: Path, event: Any, reason: str
) -> None:
    given = event if isinstance(event, bytes) else json.dumps({"session_id": SESSION, **event})
    async with open_runtime(small(tmp_path), background=False) as runtime:
        events = runtime.ingest.hooks
        events.folder.mkdir(parents=True)
        file = events.folder / "1.json"
        file.write_bytes(given if isinstance(given, bytes) else given.encode())
        leave(events, "2", "UserPromptSubmit", prompt="Deepen the harbour basin")
        await drain_later(events)
        count, last = dropped(tmp_path)
        assert count == 1
        assert last.partition(" ")[2].startswith(reason)
        assert ("user_prompt", "Deepen the harbour basin") in await stored(runtime)
        assert list(events.folder.iterdir()) == []


@pytest.mark.parametrize(
    "odd",
    [
        {"transcript_path": "/" + "y" * 5_000 + ".jsonl"},
        {"transcript_path": "/\0.jsonl", "cwd": 7},
        {"tool_name": 3, "tool_input": [], "tool_response": 7},
        {"tool_response": {"stdout": "\ud800\0"}, "project": {"a": 1}, "platform": [1]},
    ],
)
async def test_odd_values_in_an_event_keep_no_other_event_waiting(
    odd: dict[str, Any], events: HookEvents, runtime: Runtime
) -> None:
    leave(events, "1", "PostToolUse", **{"tool_name": "Bash", "session_id": "odd", **odd})
    leave(events, "2", "UserPromptSubmit", prompt="Deepen the harbour basin")
    events.leave({"hook_event_name": "PostToolUse", "session_id": "odd", **odd})
    await drain_later(events)
    assert ("user_prompt", "Deepen the harbour basin") in await stored(runtime)
    assert list(events.folder.iterdir()) == []


async def test_events_in_any_order_are_all_recorded(
    tmp_path: Path, events: HookEvents, runtime: Runtime
) -> None:
    """Asynchronous hooks can end after the session did, and a session can be resumed."""
    session(events)
    await drain_later(events)
    before = await stored(runtime)
    use = {"tool_name": "Bash", "tool_input": {"command": "make pier"}, "tool_response": {}}
    leave(events, "2a", "PostToolUse", **use)
    leave(events, "0", "PostCompact", compact_summary="The gauge of the pier was in scope.")
    leave(events, "6", "Stop", last_assistant_message="The lamp of the pier burns, too.")
    await drain_later(events)
    assert set(before) - {("session_summary", "Mend the tide gauge of the pier")} <= set(
        await stored(runtime)
    )
    page, _ = await runtime.store.records.page(
        Filters(kinds=("session_summary",)), "date_asc", 9, 0
    )
    ((summary, _),) = page
    assert summary.metadata["request"] == "Mend the tide gauge of the pier"
    assert "The lamp of the pier burns" in summary.text
    assert dropped(tmp_path) == (0, "")


async def test_a_session_without_a_transcript_is_kept_for_a_week(
    events: HookEvents, runtime: Runtime
) -> None:
    session(events)
    await drain_later(events)
    (kept,) = events.sessions.iterdir()
    long_ago = time.time() - KEPT_SECONDS - 60
    os.utime(kept, (long_ago, long_ago))
    await events.drain()
    assert list(events.sessions.iterdir()) == []
    assert len(await stored(runtime)) == 3


async def test_a_defect_over_one_event_sets_it_aside_and_the_others_are_recorded(
    monkeypatch: pytest.MonkeyPatch, events: HookEvents, runtime: Runtime
) -> None:
    append = Journals.append

    def fails(self: Journals, event: Any, uuid: str, at: datetime) -> None:
        if uuid == "2":
            raise KeyError("surprise")
        append(self, event, uuid, at)

    monkeypatch.setattr(Journals, "append", fails)
    session(events)
    await drain_later(events)
    assert [file.name for file in events.aside.iterdir()] == ["2.json"]
    assert list(events.folder.iterdir()) == []
    assert ("user_prompt", "Mend the tide gauge of the pier") in await stored(runtime)
    (failed,) = await events._store.ledger("claude-code", "2.json", 1, 0, "failed")
    assert "KeyError: 'surprise'" in str(failed)


def transcript_in(folder: Path, session: str, asked: str) -> Path:
    file = folder / "-gone-harbour" / f"{session}.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    message = {"role": "user", "content": asked}
    line = {"type": "user", "uuid": session, "sessionId": session, "cwd": "/gone/harbour",
            "timestamp": "2026-01-01T00:00:00Z", "message": message}  # fmt: skip
    file.write_text(f"{json.dumps(line)}\n")
    return file


async def test_the_folder_that_a_variable_names_is_followed_from_then_on(
    tmp_path: Path, events: HookEvents, runtime: Runtime
) -> None:
    """The worker was started before the variable was set."""
    folder = tmp_path / "claude"
    other = SESSION[:-1] + "2"
    transcript = transcript_in(folder / "projects", SESSION, "Mend the gauge")
    transcript_in(folder / "projects", other, "Paint the pier")
    elsewhere = transcript_in(tmp_path / "elsewhere", SESSION[:-1] + "3", "Light the lamp")
    environ = {"CLAUDE_CONFIG_DIR": str(folder)}
    leave(events, "1", "UserPromptSubmit", transcript_path=str(elsewhere), environ=environ)
    await drain_later(events)
    assert [title for kind, title in await stored(runtime) if kind == "user_prompt"] == [
        "Light the lamp"
    ], "a variable names no folder in which the transcript does not lie"
    leave(events, "2", "UserPromptSubmit", transcript_path=str(transcript), environ=environ)
    await drain_later(events)
    followed = [each.location.path for each in await runtime.store.ingest.locations()
                if each.followed]  # fmt: skip
    assert str(folder / "projects") in followed
    assert ("user_prompt", "Paint the pier") in await stored(runtime)
    transcript_in(folder / "projects", other[:-1] + "4", "Count the herons")
    leave(events, "3", "Stop", transcript_path=str(transcript))  # without the variable
    await drain_later(events)
    assert ("user_prompt", "Count the herons") in await stored(runtime)


async def test_a_variable_names_no_folder_of_somebody_else_and_no_relative_one(
    tmp_path: Path, events: HookEvents, runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    transcript = transcript_in(tmp_path / "claude" / "projects", SESSION, "Mend the gauge")
    transcript_in(tmp_path / "claude" / "projects", SESSION[:-1] + "2", "Paint the pier")
    monkeypatch.chdir(tmp_path)
    for environ in ({"CLAUDE_CONFIG_DIR": "claude"}, {"CLAUDE_CONFIG_DIR": ["/x"]}, {"HOME": "/x"}):
        leave(events, "1", "UserPromptSubmit", transcript_path=str(transcript), environ=environ)
        await drain_later(events)
    monkeypatch.setattr(os, "geteuid", lambda: 12_345)
    if transcript.stat().st_uid:
        named = {"CLAUDE_CONFIG_DIR": str(tmp_path / "claude")}
        leave(events, "1", "UserPromptSubmit", transcript_path=str(transcript), environ=named)
        await drain_later(events)
    assert ("user_prompt", "Paint the pier") not in await stored(runtime)
