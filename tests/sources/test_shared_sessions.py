"""One event is one record, in whatever order, how often and from which files it is read.

Each source has a builder that writes a session as its program does: the parent, a fork that begins
with copied history, copies of less. Any order of them gives what the fullest files give at once.
"""

import json
import os
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mem_search.features.capture.service import GRACE_SECONDS
from mem_search.model import Filters, Location, Record
from mem_search.wiring import Runtime, open_runtime
from runtimes import small

PARENT, FORK, CHILD = (f"019a0000-000{day}-7000-8000-{day:012}" for day in (1, 3, 5))
CWD = "/gone/harbour"
TURNS = [
    ("How does the tide gate open", "It compares the inner and the outer level each minute."),
    ("Which sensor is right", "I decided to use the infrared sensor instead of the camera."),
    ("Count the herons as well", "The heron counter is on the dashboard now, with a test."),
]
NEW = [("Plant a quince", "The quince register lists every tree by its row and its year.")]
ORDER = [("Look for the cache misses", "The cache misses because its key holds the time of day.")]
COPIED = 2
"""Turns of the parent that the fork begins with."""

Lines = list[dict[str, Any]]
Turn = tuple[str, str]


@dataclass(frozen=True)
class Made:
    """A session as it is to be written: ``copied`` turns of the parent come first."""

    id: str
    turns: list[Turn]
    copied: int = 0
    day: int = 1
    is_child: bool = False

    def __iter__(self) -> Any:
        """(number, is copied, asked, said, when asked, when said) of each turn."""
        for n, (asked, said) in enumerate([*TURNS[: self.copied], *self.turns]):
            is_copy = n < self.copied
            day = 1 if is_copy else self.day
            at = [f"2026-01-{day:02}T0{n}:00:0{s}.000Z" for s in (1, 9)]
            yield n, is_copy, asked, said, *at

    @property
    def began(self) -> str:
        return f"2026-01-{self.day:02}T00:00:00.000Z"

    def uuid(self, n: int, what: int, *, is_copy: bool) -> str:
        of = PARENT if is_copy else self.id
        return f"{of[-1]}{n}{what}00000-0000-4000-8000-000000000000"


def claude_code(made: Made) -> tuple[str, Lines]:
    common = {"cwd": CWD, "gitBranch": "main", "sessionId": made.id}
    lines: Lines = [{"type": "queue-operation", "operation": "dequeue", "sessionId": made.id,
                     "timestamp": made.began}]  # fmt: skip
    for n, is_copy, asked, said, at, then in made:
        text = [{"type": "text", "text": said}]
        lines += [
            {"type": "user", "uuid": made.uuid(n, 1, is_copy=is_copy), "timestamp": at,
             "message": {"role": "user", "content": asked}, **common},
            {"type": "assistant", "uuid": made.uuid(n, 2, is_copy=is_copy), "timestamp": then,
             "message": {"role": "assistant", "content": text}, **common},
        ]  # fmt: skip
    return f"-gone-harbour/{made.id}.jsonl", lines


def qwen(made: Made) -> tuple[str, Lines]:
    lines: Lines = []
    for n, is_copy, asked, said, at, then in made:
        for what, kind, words, when in ((1, "user", asked, at), (2, "assistant", said, then)):
            uuid = made.uuid(n, what, is_copy=is_copy)
            line = {"uuid": uuid, "sessionId": made.id, "timestamp": when, "cwd": CWD,
                    "type": kind, "message": {"parts": [{"text": words}]}}  # fmt: skip
            stamp = {"forkedFrom": {"sessionId": PARENT, "messageUuid": uuid}} if is_copy else {}
            lines.append({**line, **stamp})
    return f"-gone-harbour/chats/{made.id}.jsonl", lines


def codex(made: Made) -> tuple[str, Lines]:
    source = {"subagent": {"thread_spawn": {}}} if made.is_child else "cli"
    meta = {"id": made.id, "cwd": CWD, "source": source, "timestamp": made.began}
    of_parent = {"id": PARENT, "cwd": CWD, "source": "cli"}
    lines: Lines = [{"type": "session_meta", "timestamp": made.began, "payload": meta}]
    if made.copied:
        lines.append({"type": "session_meta", "timestamp": made.began, "payload": of_parent})
    for n, is_copy, asked, said, at, then in made:
        turn = f"019a0000-000{1 if is_copy else made.day}-7000-8000-10000000000{n}"
        at, then = (made.began, made.began) if is_copy else (at, then)
        lines += [
            {"type": "turn_context", "timestamp": at, "payload": {"turn_id": turn, "cwd": CWD}},
            {"type": "response_item", "timestamp": at, "payload": {
                "type": "message", "role": "user",
                "content": [{"type": "input_text", "text": asked}]}},
            {"type": "event_msg", "timestamp": at, "payload": {"type": "token_count"}},
            {"type": "response_item", "timestamp": then, "payload": {
                "type": "message", "role": "assistant",
                "content": [{"type": "output_text", "text": said}]}},
        ]  # fmt: skip
    return f"2026/01/0{made.day}/rollout-2026-01-0{made.day}T00-00-00-{made.id}.jsonl", lines


def pi(made: Made) -> tuple[str, Lines]:
    above = {"parentSession": f"/x/2026-01-01T00-00-00-000Z_{PARENT}.jsonl"} if made.copied else {}
    lines: Lines = [{"type": "session", "version": 3, "id": made.id, "timestamp": made.began,
                     "cwd": CWD, **above}]  # fmt: skip
    for n, is_copy, asked, said, at, then in made:
        for what, role, words, when in ((1, "user", asked, at), (2, "assistant", said, then)):
            content = [{"type": "text", "text": words}]
            said = {"role": role, "content": content}
            key = made.uuid(n, what, is_copy=is_copy)[:8]
            lines.append({"type": "message", "id": key, "timestamp": when, "message": said})
    return f"--gone--/2026-01-0{made.day}T00-00-00-000Z_{made.id}.jsonl", lines


def openclaw(made: Made) -> tuple[str, Lines]:
    return f"main/sessions/{made.id}.jsonl", pi(made)[1]


def copilot(made: Made) -> tuple[str, Lines]:
    start = {"sessionId": made.id, "context": {"cwd": CWD, "branch": "main"}}
    lines: Lines = [{"type": "session.start", "id": f"start-{made.id}", "timestamp": made.began,
                     "data": start}]  # fmt: skip
    for n, is_copy, asked, said, at, then in made:
        for what, kind, words, when in ((1, "user", asked, at), (2, "assistant", said, then)):
            lines.append({"type": f"{kind}.message", "id": made.uuid(n, what, is_copy=is_copy),
                          "timestamp": when, "data": {"content": words}})  # fmt: skip
    return f"{made.id}/events.jsonl", lines


def gemini(made: Made) -> tuple[str, Lines]:
    lines: Lines = [{"sessionId": made.id, "startTime": made.began, "kind": "main",
                     "directories": [CWD]}]  # fmt: skip
    for n, is_copy, asked, said, at, then in made:
        for what, kind, words, when in ((1, "user", asked, at), (2, "gemini", said, then)):
            lines.append({"id": made.uuid(n, what, is_copy=is_copy), "type": kind,
                          "timestamp": when, "content": words})  # fmt: skip
    return f"harbour/chats/session-2026-01-01T00-00-{made.id[-4:]}{made.day}.jsonl", lines


FOLDERS = {"copilot": "session-state", "openclaw": "agents"}
"""The folder by which a source knows its files."""

SOURCES: Mapping[str, Callable[[Made], tuple[str, Lines]]] = {
    "claude-code": claude_code, "qwen": qwen, "codex": codex, "pi": pi, "openclaw": openclaw,
    "copilot": copilot, "gemini": gemini,
}  # fmt: skip
SESSIONS = {
    "parent": Made(PARENT, TURNS),
    "fork": Made(FORK, NEW, copied=COPIED, day=3),
    "child": Made(CHILD, ORDER, copied=1, day=5, is_child=True),
}


def write(name: str, root: Path, made: Made, lines: int | None = None) -> Location:
    """The session in a folder of the source; only its first ``lines``."""
    root = root / FOLDERS.get(name, "")
    place, written = SOURCES[name](made)
    path = root / place
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        file.writelines(f"{json.dumps(line)}\n" for line in written[:lines])
    return Location(name, str(root))


def grow(name: str, root: Path, made: Made) -> Location:
    """The session with all of its lines, of which the file has the first."""
    place, written = SOURCES[name](made)
    path = root / FOLDERS.get(name, "") / place
    if not path.exists():
        return write(name, root, made)
    has = path.read_bytes().count(b"\n")
    with path.open("a") as file:
        file.writelines(f"{json.dumps(line)}\n" for line in written[has:])
    return Location(name, str(root / FOLDERS.get(name, "")))


async def stored(runtime: Runtime) -> dict[str, Record]:
    page, _ = await runtime.store.records.page(Filters(), "date_asc", 200, 0)
    return {record.source_id: record for record, _ in page}


def told(records: Iterable[Record]) -> dict[str, tuple[Any, ...]]:
    """What people see of records: all but numbers, and how much a reading knew."""
    return {
        each.source_id: (
            each.kind, each.session, each.title, each.text, each.created_at, each.updated_at,
            each.project, {k: v for k, v in each.metadata.items() if k != "reading"},
        )
        for each in records
    }  # fmt: skip


async def all_read(runtime: Runtime, name: str, root: Path) -> dict[str, Record]:
    for made in SESSIONS.values():
        location = write(name, root, made)
    await runtime.ingest.reader.read(location)
    return await stored(runtime)


@pytest.mark.parametrize("told_first", [True, False])
async def test_what_hooks_tell_of_a_session_is_one_with_its_transcript(
    told_first: bool, tmp_path: Path
) -> None:
    """The hooks tell of it before its transcript is there, or after an older one was read."""
    async with open_runtime(small(tmp_path / "once"), background=False) as runtime:
        expected = await all_read(runtime, "claude-code", tmp_path / "all")
    async with open_runtime(small(tmp_path / "home"), background=False) as runtime:
        root = tmp_path / "true"
        if not told_first:
            location = write("claude-code", root, SESSIONS["parent"], 3)
            await runtime.ingest.reader.read(location)
        await told_by_hooks(runtime, SESSIONS["parent"])
        assert len({each.session for each in (await stored(runtime)).values()}) == 1
        for made in SESSIONS.values():
            location = grow("claude-code", root, made)
        await runtime.ingest.reader.read(location)
        assert told((await stored(runtime)).values()) == told(expected.values())
        await told_by_hooks(runtime, SESSIONS["parent"])
        assert told((await stored(runtime)).values()) == told(expected.values())


async def told_by_hooks(runtime: Runtime, made: Made) -> None:
    """Hooks on a machine without the transcript: what they say becomes records."""
    hooks = runtime.ingest.hooks
    hooks.folder.mkdir(parents=True, exist_ok=True)
    for n, _, asked, said, at, then in made:
        prompt = {"hook_event_name": "UserPromptSubmit", "prompt": asked}
        stop = {"hook_event_name": "Stop", "last_assistant_message": said}
        for what, event, when in ((1, prompt, at), (2, stop, then)):
            file = hooks.folder / f"{n}{what}.json"
            file.write_text(json.dumps({**event, "session_id": made.id, "cwd": CWD}))
            written = datetime.fromisoformat(when).timestamp()
            os.utime(file, (written, written))
    await hooks.drain(time.time() + GRACE_SECONDS + 1)


ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(["copy", "backup", "moved", "again", "true"]),
        st.sampled_from([*SESSIONS]),
        st.integers(1, 9),
    ),
    min_size=4,
    max_size=8,
)


@pytest.mark.parametrize("name", SOURCES)
async def test_any_order_of_files_gives_what_the_fullest_give(name: str, tmp_path: Path) -> None:
    examples: list[list[tuple[str, str, int]]] = []

    @settings(max_examples=6, derandomize=True, database=None,
              suppress_health_check=[HealthCheck.too_slow])  # fmt: skip
    @given(ACTIONS)
    def collect(actions: list[tuple[str, str, int]]) -> None:
        examples.append(actions)

    collect()
    async with open_runtime(small(tmp_path / "once"), background=False) as runtime:
        expected = await all_read(runtime, name, tmp_path / "all")
    events = [each for each in expected.values() if each.kind != "session_summary"]
    assert len({each.text for each in events}) == len(events), "an event is one record"
    shared = [each for each in events if each.metadata.get("sessions")]
    assert {each.session for each in shared} <= {PARENT}
    assert any(FORK in each.metadata["sessions"] for each in shared)
    for number, actions in enumerate(examples):
        async with AsyncExitStack() as stack:
            home = small(tmp_path / f"home{number}")
            runtime = await stack.enter_async_context(open_runtime(home, background=False))
            before: set[str] = set()
            for step, (action, session, lines) in enumerate(actions):
                root = tmp_path / f"files{number}" / ("true" if action == "true" else f"{step}")
                made = SESSIONS[session]
                match action:
                    case "moved":
                        location = write(name, root, made)
                    case "again":
                        location = grow(name, tmp_path / f"files{number}" / "true", made)
                    case "true" if not (root / FOLDERS.get(name, "")).exists():
                        location = write(name, root, made, lines)
                    case "true":
                        location = grow(name, root, made)
                    case _:
                        location = write(name, root, made, lines)
                await runtime.ingest.reader.read(location)
                now = await stored(runtime)
                assert before <= now.keys(), (actions, step)
                before = {*now}
            true = tmp_path / f"files{number}" / "true"
            for made in SESSIONS.values():
                location = grow(name, true, made)
            await runtime.ingest.reader.read(location)
            assert told((await stored(runtime)).values()) == told(expected.values()), actions
