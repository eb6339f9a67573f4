"""Sessions that this machine has, and that claude-mem's hooks tell, too: each is stored once, and
the hook that begins the next session gets what was done in it.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from claude_mem_client import BUN, send
from http_worker import Client, lifecycle_of

import agent_sessions
from agent_sessions import ASKED, CWD, SAID
from mem_search.features.capture.service import GRACE_SECONDS
from mem_search.model import Filters, Location, Record
from mem_search.sources.claude_code.files import projects_folder

AGENTS = {
    "pi": (agent_sessions.pi, ".pi/agent", "p1", "p1"),
    "openclaw": (agent_sessions.openclaw, ".openclaw", "o1", "o1"),
    "qwen": (agent_sessions.qwen, ".qwen", "q", "q"),
    "copilot": (agent_sessions.copilot, ".copilot", "g", "g"),
    "opencode": (agent_sessions.opencode, ".local/share/opencode", "ses_1",
                 "opencode-ses_1-1764000000000"),
    "cursor": (agent_sessions.cursor, ".cursor", "u1", "u1"),
    "codex": (agent_sessions.codex, ".codex", "x1", "x1"),
    "gemini-cli": (agent_sessions.gemini, ".gemini", "g1", "g1"),
}  # fmt: skip
"""As claude-mem's clients name them: what writes a session, the folder, its id, and what they call
the session.
"""


@pytest.fixture(autouse=True)
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of a person without settings of agents."""
    home = tmp_path / "person"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    for name in (
        "CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "OPENCLAW_STATE_DIR", "QWEN_HOME",
        "QWEN_RUNTIME_DIR", "PI_CODING_AGENT_DIR", "PI_CODING_AGENT_SESSION_DIR", "XDG_DATA_HOME",
    ):  # fmt: skip
        monkeypatch.delenv(name, raising=False)
    return home


async def told(client: Client, session: str, platform: str) -> None:
    """A whole session, as claude-mem's hooks tell it; every event of it was taken."""
    who = {"contentSessionId": session, "platformSource": platform, "cwd": CWD}
    for path, body in (
        ("init", {"project": "harbour", "prompt": ASKED}),
        ("observations", {"tool_name": "Bash", "tool_input": {"command": "ls"},
                          "tool_response": "lamp.log"}),
        ("summarize", {"last_assistant_message": SAID}),
        ("session-end", {"reason": "other"}),
    ):  # fmt: skip
        assert (await send(client, f"/api/sessions/{path}", {**who, **body})).status == 200
    hooks = lifecycle_of(client).runtime.ingest.hooks
    assert not await hooks.drain(time.time() + GRACE_SECONDS + 1)


async def stored(client: Client) -> list[Record]:
    records = lifecycle_of(client).runtime.store.records
    page, _ = await records.page(Filters(), "date_asc", 100, 0)
    return [record for record, _ in page]


async def context(client: Client, platform: str) -> str:
    """What claude-mem's hook gets at the start of a session."""
    path = f"/api/context/inject?projects=harbour&platformSource={platform}&colors=true"
    reply = await client.get(path, headers=BUN)
    assert reply.status == 200, await reply.text()
    return await reply.text()


@pytest.mark.parametrize("platform", AGENTS)
async def test_a_session_of_which_the_machine_has_the_file_is_stored_once(
    platform: str, empty: Client, person: Path
) -> None:
    make, folder, session, called = AGENTS[platform]
    (person / folder).mkdir(parents=True)
    make(person / folder)
    await told(empty, called, platform)
    name = platform.removesuffix("-cli")
    found = await stored(empty)
    assert sorted(each.kind for each in found) == ["observation", "session_summary", "user_prompt"]
    assert {(each.source, each.session) for each in found} == {(name, session)}
    assert SAID in await context(empty, platform)
    assert await context(empty, "windsurf") == ""


@pytest.mark.parametrize("platform", AGENTS)
async def test_a_session_that_no_file_has_is_stored_as_it_is_told(
    platform: str, empty: Client
) -> None:
    _, _, session, called = AGENTS[platform]
    await told(empty, called, platform)
    found = await stored(empty)
    assert {each.kind for each in found} == {"user_prompt", "observation", "session_summary"}
    name = platform.removesuffix("-cli")
    assert {(each.session, each.metadata["platform"]) for each in found} == {(session, name)}
    assert SAID in await context(empty, platform)


async def test_the_hook_of_claude_code_gets_what_its_transcripts_have(
    empty: Client, person: Path
) -> None:
    folder = projects_folder(person, {}) / "-gone-harbour"
    folder.mkdir(parents=True)
    common = {"sessionId": "c1", "cwd": CWD, "timestamp": "2026-01-01T00:00:00.000Z"}
    lines = (
        {"type": "user", "uuid": "1", "message": {"role": "user", "content": ASKED}},
        {"type": "assistant", "uuid": "2", "message": {
            "role": "assistant", "content": [{"type": "text", "text": SAID}]}},
    )  # fmt: skip
    (folder / "c1.jsonl").write_text("".join(json.dumps({**common, **a}) + "\n" for a in lines))
    reader = lifecycle_of(empty).runtime.ingest.reader
    await reader.read(Location("claude-code", str(folder.parent)))
    for platform in ("claude", "claude-code"):
        assert SAID in await context(empty, platform)
    assert await context(empty, "codex") == ""
    body = {"q": ASKED, "project": "harbour", "platformSource": "claude"}
    found = await (await send(empty, "/api/context/semantic", body)).json()
    assert found["count"]
