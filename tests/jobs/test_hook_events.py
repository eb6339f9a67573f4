"""What agents' hooks leave in the home becomes records, once, with or without a transcript."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from mem_search.errors import InputError
from mem_search.jobs.hook_events import GRACE_SECONDS, HookEvents
from mem_search.model import Filters
from mem_search.wiring import Runtime, open_runtime
from runtimes import small

SESSION = "5e551040-0000-4000-8000-000000000001"
LATER = GRACE_SECONDS + 1


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


async def test_events_without_a_transcript_become_the_records_of_a_session(tmp_path: Path) -> None:
    async with open_runtime(small(tmp_path), background=False) as runtime:
        events = runtime.ingest.hooks
        session(events)
        await events.drain(time.time() + LATER)
        assert await stored(runtime) == [
            ("observation", "The gauge counts every wave now."),
            ("session_summary", "Mend the tide gauge of the pier"),
            ("user_prompt", "Mend the tide gauge of the pier"),
        ]
        page, _ = await runtime.store.records.page(
            Filters(kinds=("observation",)), "date_asc", 9, 0
        )
        ((work, _),) = page
        assert work.metadata["failed"] == [
            "Failed with exit code 2: Ran: make test — ValueError: no tide"
        ]
        assert work.metadata["type"] == "bugfix"
        assert work.metadata["files_modified"] == ["gauge.py"]
        assert work.session == SESSION
        assert [*events.folder.iterdir(), *events.sessions.iterdir()] == []


async def test_an_event_that_is_taken_twice_is_one_record(tmp_path: Path) -> None:
    """The worker is killed after it read an event and before it removed the file."""
    async with open_runtime(small(tmp_path), background=False) as runtime:
        events = runtime.ingest.hooks
        session(events)
        await events.drain(time.time() + LATER)
        before = await stored(runtime)
        session(events)
        await events.drain(time.time() + LATER)
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
        assert await stored(runtime) == [("user_prompt", "Deepen the harbour basin")]
        assert list(events.folder.iterdir()) == []
        (known,) = await runtime.store.ingest.locations()
        assert (known.location.path, known.followed) == (str(sessions), True)


async def test_the_first_prompt_waits_for_its_transcript(tmp_path: Path) -> None:
    async with open_runtime(small(tmp_path), background=False) as runtime:
        events = runtime.ingest.hooks
        file = leave(events, "1", "UserPromptSubmit", prompt="Deepen the harbour basin")
        assert await events.drain()
        assert file.exists()
        assert not await events.drain(time.time() + LATER)
        assert not file.exists()


async def test_secrets_in_events_are_not_kept(tmp_path: Path) -> None:
    secret = "ghp_" + "Zk3" * 12
    async with open_runtime(small(tmp_path), background=False) as runtime:
        events = runtime.ingest.hooks
        leave(events, "0", "UserPromptSubmit", prompt=f"Keep {secret} safe")
        leave(events, "1", "UserPromptSubmit", prompt=f"Use the token {secret} for the pier")
        await events.drain(time.time() + LATER)
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
            await events.drain(time.time() + LATER)
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
        await events.drain(time.time() + LATER)
        assert {file.stem for file in events.sessions.iterdir()} == {SESSION, "other"}
        leave(events, "3", "Stop", last_assistant_message="The zylophantic basin is deep.")
        other = leave(events, "4", "Stop", last_assistant_message="The waves are gone.")
        of_session = Filters(session=SESSION)
        numbers = await runtime.store.forgetting.matching(of_session, 10)
        receipt = await runtime.ingest.forgetting.forget(numbers)
        await runtime.ingest.forgetting.work()
        receipt = await runtime.ingest.forgetting.receipt(receipt.id)
        assert receipt.copies.still_in == ()
        assert receipt.removed["transcripts"] == 1
        left = [*events.folder.iterdir(), *events.sessions.iterdir()]
        assert left == [other, events.sessions / "other.jsonl"]
    for file in tmp_path.rglob("*"):  # noqa: ASYNC240
        assert not (file.is_file() and b"zylophantic" in file.read_bytes()), file


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{", b'{"session_id": 3}', b'{"session_id": "../up", "prompt": "x"}']
)
async def test_an_event_that_cannot_be_read_is_dropped_and_counted(
    tmp_path: Path, content: bytes
) -> None:
    async with open_runtime(small(tmp_path), background=False) as runtime:
        events = runtime.ingest.hooks
        events.folder.mkdir(parents=True)
        (events.folder / "1.json").write_bytes(content)
        leave(events, "2", "UserPromptSubmit", prompt="Deepen the harbour basin")
        await events.drain(time.time() + LATER)
        assert events.dropped == 1
        assert ("user_prompt", "Deepen the harbour basin") in await stored(runtime)
        assert list(events.folder.iterdir()) == []


async def test_the_end_of_a_session_waits_for_what_was_said_before_it(tmp_path: Path) -> None:
    """Events of the last seconds may wait; their session has to be there until then."""
    async with open_runtime(small(tmp_path), background=False) as runtime:
        events = runtime.ingest.hooks
        leave(events, "1", "UserPromptSubmit", prompt="Mend the tide gauge of the pier")
        await events.drain(time.time() + LATER)
        leave(events, "2", "Stop", last_assistant_message="The gauge counts every wave now.")
        leave(events, "3", "SessionEnd")
        assert await events.drain()  # both wait
        await events.drain(time.time() + LATER)
        page, _ = await runtime.store.records.page(
            Filters(kinds=("session_summary",)), "date_asc", 9, 0
        )
        ((summary, _),) = page
        assert summary.metadata["request"] == "Mend the tide gauge of the pier"
        assert list(events.sessions.iterdir()) == []
