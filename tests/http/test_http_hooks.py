"""Hooks over HTTP: a session that starts gets its context, and only the owner may tell."""

from __future__ import annotations

import asyncio
import json
import subprocess
import threading
from pathlib import Path

import pytest
from http_worker import TOKEN, Client, lifecycle_of

from git_repositories import ODD, put
from mem_search.features.capture import http as hooks
from mem_search.git.changes import changed_files
from mem_search.projects import Project
from mem_search.text import secret_rules, token_count
from mem_search.waiting import Lane
from patience import PATIENCE

OWNER = {"Authorization": f"Bearer {TOKEN}"}


async def told(client: Client, hook: str, cwd: str = "", prompt: str = "") -> str:
    body = {"hook_event_name": hook, "cwd": cwd, "session_id": "s", "prompt": prompt}
    reply = await client.post("/api/hooks", json=body, headers=OWNER)
    assert reply.status == 200, await reply.text()
    context = (await reply.json())["context"]
    assert isinstance(context, str)
    return context


async def test_the_start_of_a_session_gets_what_its_project_calls_for(
    client: Client,
) -> None:
    context = await told(client, "SessionStart", "/gone/web")
    assert context.startswith('mem-search holds 4 records of earlier work on "web"')
    assert "<recalled-memory>" in context
    assert context.rstrip().endswith("</recalled-memory>")
    assert token_count.count(context) <= 1_500


async def test_an_unknown_project_and_other_events_get_nothing(client: Client) -> None:
    assert await told(client, "SessionStart", "/gone/never-seen") == ""
    assert await told(client, "Stop", "/gone/web") == ""


async def test_a_prompt_gets_a_number_and_a_short_one_nothing(client: Client) -> None:
    context = await told(client, "UserPromptSubmit", "/gone/web", "Which endpoint checks auth?")
    assert context.startswith("mem-search: ")
    assert context.splitlines()[0].endswith(' of 4 records on "web" match this prompt.')
    assert len(context.splitlines()) == 2
    assert token_count.count(context) <= 100
    assert await told(client, "UserPromptSubmit", "/gone/web", "yes") == ""


async def test_settings_choose_what_a_prompt_gets(client: Client) -> None:
    settings = lifecycle_of(client).runtime.settings
    for chosen, expected in (("records", True), ("off", False)):
        object.__setattr__(settings, "prompt_context", chosen)
        context = await told(client, "UserPromptSubmit", "/gone/web", "Which endpoint checks auth?")
        assert ("<recalled-memory>" in context, bool(context)) == (expected, expected)


async def test_a_hook_wakes_the_worker(empty: Client) -> None:
    hooks = lifecycle_of(empty).runtime.ingest.hooks
    hooks.folder.mkdir(parents=True)
    file = hooks.folder / "1.json"
    file.write_text(json.dumps({"hook_event_name": "SessionEnd"}))  # which is dropped
    hooks.wake()
    await told(empty, "Stop")
    await hooks.drain()
    assert not file.exists()


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer wrong"}])
async def test_hooks_need_the_token(empty: Client, headers: dict[str, str]) -> None:
    reply = await empty.post("/api/hooks", json={"hook_event_name": "Stop"}, headers=headers)
    assert reply.status == 401


async def test_an_event_with_content_is_kept_by_the_worker(empty: Client) -> None:
    secret_rules.load()
    event = {
        "hook_event_name": "Stop",
        "session_id": "s",
        "last_assistant_message": "Done: a\ud800b",
    }
    body = {"hook_event_name": "Stop", "event": event, "event_id": "0" * 20 + "-0123abcd"}
    reply = await empty.post("/api/hooks", json=body, headers=OWNER)
    assert (reply.status, (await reply.json())["kept"]) == (200, True)
    hooks = lifecycle_of(empty).runtime.ingest.hooks
    assert [file.stem for file in hooks.folder.iterdir()] == [body["event_id"]]
    for wrong in ({"event_id": "../up"}, {"event": {"hook_event_name": "Stop"}}):
        refused = await empty.post("/api/hooks", json={**body, **wrong}, headers=OWNER)
        assert refused.status in (400, 422), await refused.text()
        assert next(iter(wrong)) in await refused.text()


async def test_a_hook_does_not_wait_for_the_rules_of_secrets_and_keeps_its_event(
    empty: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_load = threading.Event()
    monkeypatch.setattr(secret_rules, "are_loaded", lambda: False)
    monkeypatch.setattr(secret_rules, "load", lambda: may_load.wait(PATIENCE))
    event = {"hook_event_name": "Stop", "session_id": "s", "last_assistant_message": "Done"}
    body = {"hook_event_name": "Stop", "event": event, "event_id": "0" * 20 + "-0123abcd"}
    for _ in range(20):  # more than there are threads
        reply = await empty.post("/api/hooks", json=body, headers=OWNER)
        assert (await reply.json())["kept"] is False
    assert not lifecycle_of(empty).runtime.ingest.hooks.folder.exists()
    may_load.set()


async def test_what_hooks_cost_is_counted_for_each_session(empty: Client) -> None:
    nothing = await (await empty.get("/api/context/costs")).json()
    assert (nothing["hooks"], nothing["searches_a_turn"], nothing["sessions"]) == (0, None, [])
    folder = lifecycle_of(empty).runtime.settings.home / "hooks"
    folder.mkdir(exist_ok=True)
    cost = {"at": 5, "session": "s", "agent": "codex", "event": "UserPromptSubmit", "tokens": 60}
    cost |= {"ms": 40.5, "cpu_ms": 20, "searched": False, "answered": True}
    lines = [cost, {**cost, "event": "PostToolUse", "tokens": 0, "searched": True}]
    (folder / "costs.jsonl").write_text("".join(json.dumps(each) + "\n" for each in lines))
    said = await (await empty.get("/api/context/costs")).json()
    assert (said["hooks"], said["tokens"], said["searches_a_turn"], said["p95_ms"]) == (
        2,
        60,
        1,
        40.5,
    )
    assert (said["dropped"], said["last_dropped"]) == (0, "")
    (folder / "dropped.log").write_text("2026-01-01T00:00:00Z no JSON\n")
    lost = await (await empty.get("/api/context/costs")).json()
    assert (lost["dropped"], lost["last_dropped"]) == (1, "2026-01-01T00:00:00Z no JSON")
    (session,) = said["sessions"]
    assert (session["session"], session["agent"], session["slowest_ms"]) == ("s", "codex", 40.5)
    assert (await (await empty.get("/api/context/costs?session=t")).json())["sessions"] == []


def committed(repository: Path) -> Path:
    """A file that a new repository has."""
    (repository / "src").mkdir(parents=True)
    file = repository / "src" / "auth.py"
    file.write_text("tokens = 1\n")
    git = ["git", "-C", str(repository), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-qm", "Auth"]):
        subprocess.run([*git, *words], check=True)
    return file


async def test_files_with_uncommitted_changes_are_at_hand(client: Client, tmp_path: Path) -> None:
    file = committed(repository := tmp_path / "web")
    assert changed_files(str(repository), PATIENCE) == ()
    file.write_text("tokens = 2\n")
    assert changed_files(str(repository / "src"), PATIENCE) == ("src/auth.py",)
    # The session begins with what was done to that file, although newer records are known.
    context = await told(client, "SessionStart", str(repository))
    assert "### About the files at hand\n🟣 Observation #2 - Added login endpoint" in context


async def test_a_session_in_a_hostile_repository_runs_nothing_and_gets_its_context(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = committed(repository := tmp_path / "web")
    trap = tmp_path / "trap"
    (repository / ".gitattributes").write_text("* filter=x\n")
    with (repository / ".git" / "config").open("a") as config:
        config.write(f'[filter "x"]\n\tclean = touch {trap}\n[core]\n\tfsmonitor = touch {trap}\n')
    file.write_text("tokens = 2\n")
    assert "mem-search holds 4 records" in await told(client, "SessionStart", str(repository))
    assert not trap.exists()


@pytest.mark.parametrize("name", [".git", ".git/HEAD", ".git/config", ".git/index"])
@pytest.mark.parametrize("odd", ODD)
async def test_many_hooks_from_an_odd_repository_hold_nobody(
    client: Client, tmp_path: Path, name: str, odd: str
) -> None:
    committed(repository := tmp_path / "web")
    put(repository / name, odd)
    contexts = await asyncio.gather(
        *(told(client, "SessionStart", str(repository)) for _ in range(20))
    )
    assert all('4 records of earlier work on "web"' in each for each in contexts)
    assert (await client.get("/api/stats", headers=OWNER)).status == 200


async def test_hooks_from_a_disk_that_does_not_answer_hold_nobody(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    released = threading.Event()

    def identify(cwd: str) -> Project:
        released.wait(PATIENCE)
        return Project("web", cwd)

    monkeypatch.setattr(hooks, "identify", identify)
    monkeypatch.setattr(hooks, "_LOOK_SECONDS", 0.05)
    monkeypatch.setattr(hooks, "_LOOKS", Lane("hooks", most=16))
    try:
        for number in range(20):  # more than there are threads for anything
            assert await told(client, "SessionStart", f"/dead/{number}/web")
            assert (await client.get("/api/stats", headers=OWNER)).status == 200
    finally:
        released.set()
