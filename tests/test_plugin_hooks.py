"""The hook of the plugin: leaves events, wakes the worker, and never harms the agent."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
import tomllib
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import mem_search.text
from patience import PATIENCE, until
from standin_worker import Standin, standing_in

PLUGIN = Path(__file__).parent.parent / "plugin"
HOOK = PLUGIN / "bin" / "hook.py"
SESSION = "5e551040-0000-4000-8000-000000000001"
START = {"hook_event_name": "SessionStart", "session_id": SESSION, "cwd": "/gone/harbour"}
PATIENTLY = f"""
import importlib.util, sys
spec = importlib.util.spec_from_file_location("hook", sys.argv.pop(1))
hook = importlib.util.module_from_spec(spec)
spec.loader.exec_module(hook)
hook.SECONDS, hook.OTHERS_SECONDS = {{}}, {PATIENCE}
hook.main()
"""
"""The hook, which waits for a worker that a busy machine keeps from answering."""

PROMPT = {"hook_event_name": "UserPromptSubmit", "session_id": SESSION, "prompt": "Mend it"}


def run(
    home: Path, event: Any, agent: str = "", *, patiently: bool = False, **environ: str
) -> tuple[str, list[dict[str, Any]]]:
    """What the hook printed, and the events that it left; it must end well and say nothing else."""
    hook = ["-c", PATIENTLY, str(HOOK)] if patiently else [str(HOOK)]
    whose = [f"--mem-search={agent}"] if agent else []
    given = event if isinstance(event, bytes) else json.dumps(event).encode()
    done = subprocess.run(
        [sys.executable, "-I", "-S", *hook, *whose],
        input=given,
        env={"PATH": os.defpath, "HOME": str(home.parent), "MEM_SEARCH_HOME": str(home), **environ},
        capture_output=True,
        timeout=PATIENCE,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    left = sorted((home / "hooks" / "events").glob("*")) if home.is_dir() else []
    return done.stdout.decode(), [json.loads(file.read_text()) for file in left]


def dropped(home: Path) -> list[str]:
    file = home / "hooks" / "dropped.log"
    return file.read_text().splitlines() if file.exists() else []


class Worker(Standin):
    """Answers hooks, and remembers what it was told."""

    told: list[tuple[str, dict[str, Any]]]
    keeps = True

    def do_POST(self) -> None:
        self.told.append((self.headers["Authorization"], json.loads(self.given())))
        answer = {"context": "earlier: the gauge", "tokens": 5, "kept": self.keeps}
        self.reply(json.dumps(answer).encode())


def worker(key: str = Standin.key, *, keeps: bool = True) -> type[Worker]:
    return type("AWorker", (Worker,), {"told": [], "key": key, "keeps": keeps})


def event_of(told: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the worker was told, and the event in it that it is to keep."""
    assert re.fullmatch(r"[0-9]{20}-[0-9a-f]{8}", told["event_id"])
    return {key: told[key] for key in told if not key.startswith("event")}, told["event"]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    (home / "token").write_text("the-token\n")
    return home


@pytest.mark.parametrize("agent", ["", "codex"])
def test_an_event_says_where_the_environment_puts_the_folders_of_agents(
    agent: str, home: Path
) -> None:
    """Only variables that the worker knows, and only paths."""
    transcript = home.parent / f"{SESSION}.jsonl"
    transcript.touch()
    event = {**PROMPT, "transcript_path": str(transcript), "environ": {"CODEX_HOME": "/x"}}
    given = {"CLAUDE_CONFIG_DIR": "/srv/claude", "CODEX_HOME": "~/codex", "QWEN_HOME": "here",
             "KIRO_HOME": "/" + "k" * 5000, "COPILOT_HOME": "", "SECRET_DIR": "/srv/x"}  # fmt: skip
    _, (left,) = run(home, event, agent, **given)
    assert left["environ"] == {"CLAUDE_CONFIG_DIR": "/srv/claude", "CODEX_HOME": "~/codex"}


def test_a_session_that_starts_gets_its_context(home: Path) -> None:
    kind = worker()
    with standing_in(home, kind):
        said, left = run(home, START, patiently=True)
    assert json.loads(said) == {
        "hookSpecificOutput": {
            "hookEventName": "SessionStart",
            "additionalContext": "earlier: the gauge",
        }
    }
    told = {"hook_event_name": "SessionStart", "session_id": SESSION, "cwd": "/gone/harbour"}
    assert kind.told == [("Bearer the-token", told)]
    assert left == []


def test_a_prompt_gets_its_context_and_the_worker_keeps_it(home: Path) -> None:
    kind = worker()
    long = {**PROMPT, "prompt": "x" * 9_000, "permission_mode": "plan"}
    with standing_in(home, kind):
        said, left = run(home, long, patiently=True)
    heard = {"hookEventName": "UserPromptSubmit", "additionalContext": "earlier: the gauge"}
    assert json.loads(said) == {"hookSpecificOutput": heard}
    assert left == []
    ((_, body),) = kind.told
    told, event = event_of(body)
    assert told == {**PROMPT, "cwd": "", "prompt": "x" * 2_000}
    assert event == {**PROMPT, "prompt": "x" * 9_000}


def test_other_events_go_to_the_worker_and_say_nothing(home: Path) -> None:
    kind = worker()
    said = {"hook_event_name": "SubagentStop", "session_id": SESSION, "agent_id": "a1"}
    said["last_assistant_message"] = "Done"
    with standing_in(home, kind):
        assert run(home, said, patiently=True) == ("", [])
    ((_, body),) = kind.told
    assert event_of(body) == ({"hook_event_name": "SubagentStop", "cwd": ""}, said)


def test_an_event_that_the_worker_does_not_keep_is_left_under_the_same_id(home: Path) -> None:
    kind = worker(keeps=False)
    with standing_in(home, kind):
        assert run(home, PROMPT, patiently=True)[1] == [PROMPT]
    (file,) = (home / "hooks" / "events").iterdir()
    assert file.stem == kind.told[0][1]["event_id"]


def test_without_a_worker_an_event_is_left_without_the_secrets_that_the_hook_knows(
    home: Path,
) -> None:
    secrets = [prefix + "q7Zk3" * 12 for prefix in known_prefixes()]
    secrets += ["hunter22wave", "s3cretwave", "MIIEbase64wave", "quiet wave", "p4ssw0rdwave"]
    words = (
        f"Mend the gauge {' '.join(secrets[:-5])} DB_PASSWORD='hunter22wave' and"
        " https://me:s3cretwave@harbour.example/ then -----BEGIN RSA PRIVATE KEY-----\n"
        "MIIEbase64wave\n-----END RSA PRIVATE KEY----- <private>quiet wave</private>"
        " Authorization: Bearer p4ssw0rdwave of the pier"
    )
    call = {
        "hook_event_name": "PostToolUse",
        "session_id": SESSION,
        "tool_name": "Bash",
        "tool_input": {"command": words, "list": [words, 3, None]},
        "tool_response": {"stdout": "x" * 200_000 + words},
    }
    (kept,) = run(home, call)[1]
    (file,) = (home / "hooks" / "events").iterdir()
    assert [each for each in secrets if each in file.read_text()] == []
    assert kept["tool_input"]["command"].startswith("Mend the gauge [redacted:secret] ")
    assert kept["tool_input"]["command"].endswith(" of the pier")
    assert kept["tool_input"]["list"][1:] == [3, None]
    assert kept["tool_response"]["stdout"].endswith(" of the pier")
    assert file.stat().st_size < 100_000


def known_prefixes() -> list[str]:
    """The beginnings of the tokens that the worker knows by their shape.

    Those below four letters, and ``key-``, ``pat-``, ``dose``, also begin ordinary words.
    """
    rules = tomllib.loads(
        (Path(mem_search.text.__file__).parent / "data" / "tokens.toml").read_text("utf-8")
    )["rules"]
    written = (re.match(r"\(?((?:[\w/:-]|\\[.-])+)", _behind(each["regex"])) for each in rules)
    found = {begins[1].replace("\\", "") for begins in written if begins}
    known = {each for each in found if len(each) >= 4} - {"key-", "pat-", "dose"}
    assert len(known) > 40
    return sorted(known)


def _behind(regex: str) -> str:
    """The part behind what may stand before a token."""
    return regex.rpartition(r"\\[nrt])")[2]


def test_the_redaction_of_a_hook_is_linear(home: Path) -> None:
    for words in ("token=" * 10_000, "<private>" * 7_000, "sk-" * 20_000, "-----BEGIN " * 5_000):
        started = os.times().children_user
        run(home, {**PROMPT, "prompt": words})
        assert os.times().children_user - started < PATIENCE / 10


def costs(home: Path) -> list[dict[str, Any]]:
    lines = (home / "hooks" / "costs.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def test_each_hook_says_what_it_cost_and_whether_the_agent_searched(home: Path) -> None:
    used = {"hook_event_name": "PostToolUse", "session_id": SESSION, "tool_input": {}}
    with standing_in(home, worker()):
        run(home, PROMPT, patiently=True)
        searched = {**used, "tool_name": "mcp__plugin_mem-search_mem-search__search"}
        run(home, searched, patiently=True)
    run(home, {**used, "tool_name": "Bash", "tool_input": {"command": "mem-search get 4"}})
    run(home, {**used, "tool_name": "Bash", "tool_input": {"command": "make"}})
    noted = costs(home)
    assert [
        (each["event"], each["tokens"], each["searched"], each["answered"]) for each in noted
    ] == [
        ("UserPromptSubmit", 5, False, True),
        ("PostToolUse", 5, True, True),
        ("PostToolUse", 0, True, False),
        ("PostToolUse", 0, False, False),
    ]
    assert {each["session"] for each in noted} == {SESSION}
    assert all(each["cpu_ms"] > 0 for each in noted)
    assert all(each["ms"] > 0 for each in noted)


def test_an_event_has_no_content_where_there_is_a_transcript(home: Path) -> None:
    transcript = home.parent / "session.jsonl"
    transcript.touch()
    for _ in range(3):
        _, left = run(home, {**PROMPT, "transcript_path": str(transcript)})
    assert left == [
        {key: PROMPT[key] for key in ("hook_event_name", "session_id")}
        | {"transcript_path": str(transcript)}
    ]


@pytest.mark.parametrize(
    ("agent", "event", "name"),
    [
        ("codex", {**PROMPT, "transcript_path": None}, "UserPromptSubmit"),
        ("gemini", {**PROMPT, "hook_event_name": "BeforeAgent"}, "UserPromptSubmit"),
        ("gemini", {"hook_event_name": "AfterAgent", "session_id": SESSION}, "Stop"),
        (
            "cursor",
            {
                "hook_event_name": "beforeSubmitPrompt",
                "conversation_id": SESSION,
                "prompt": "Mend it",
                "workspace_roots": ["/gone/harbour"],
            },
            "UserPromptSubmit",
        ),
        ("copilot", {"hook_event_name": "Stop", "sessionId": SESSION}, "Stop"),
    ],
)
def test_events_of_other_agents_say_only_that_a_session_went_on(
    home: Path, agent: str, event: dict[str, Any], name: str
) -> None:
    for _ in range(2):
        said, left = run(home, event, agent)
    assert said == ""
    (kept,) = left
    assert kept.pop("transcript_path", None) is None
    cwd = event.get("cwd") or (event.get("workspace_roots") or [""])[0]
    assert kept == {"hook_event_name": name, "session_id": SESSION, "cwd": cwd, "agent": agent}


@pytest.mark.parametrize(
    ("agent", "start", "reply"),
    [
        ("cursor", "sessionStart", {"additional_context": "earlier: the gauge"}),
        ("copilot", "SessionStart", {"additionalContext": "earlier: the gauge"}),
        (
            "gemini",
            "SessionStart",
            {
                "hookSpecificOutput": {
                    "hookEventName": "SessionStart",
                    "additionalContext": "earlier: the gauge",
                }
            },
        ),
        (
            "qwen",
            "SessionStart",
            {
                "hookSpecificOutput": {
                    "hookEventName": "SessionStart",
                    # It stores what it gets with the prompt, and the source leaves this out again.
                    "additionalContext": "<hook_context>\nearlier: the gauge\n</hook_context>",
                }
            },
        ),
    ],
)
def test_each_agent_gets_the_context_in_its_own_form(
    home: Path, agent: str, start: str, reply: dict[str, Any]
) -> None:
    with standing_in(home, worker()):
        said, _ = run(home, {**START, "hook_event_name": start}, agent, patiently=True)
    assert json.loads(said) == reply


def test_without_a_worker_events_wait_and_a_session_starts_one(home: Path) -> None:
    command = home.parent / "mem-search"
    started = home.parent / "started"
    command.write_text(f'#!/bin/sh\necho "$@" >> "{started}"\n')
    command.chmod(0o755)
    environ = {"MEM_SEARCH_COMMAND": str(command)}
    assert run(home, PROMPT, **environ) == ("", [PROMPT])
    assert not started.exists()
    assert run(home, START, **environ)[0] == ""
    until(lambda: started.exists() and started.read_text())
    assert started.read_text() == "worker start\n"
    # Many sessions can begin before that worker answers.
    assert run(home, START, **environ)[0] == ""
    note = home / "hooks" / "worker-started"
    os.utime(note, (time.time() - 60, time.time() - 60))
    assert run(home, START, **environ)[0] == ""
    until(lambda: started.read_text().count("\n") > 1)
    assert started.read_text() == "worker start\n" * 2


def test_a_worker_that_hangs_delays_nobody(home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        (home / "worker.json").write_text(json.dumps({"url": url, "key": Standin.key}))
        before = os.times()
        started = time.monotonic()
        assert run(home, PROMPT) == ("", [PROMPT])
        took = time.monotonic() - started
        spent = os.times().children_user - before.children_user
    assert took - spent < PATIENCE / 20
    assert spent < 5


class Upgrading(Worker):
    """Answers as a worker does that still migrates its store."""

    def do_POST(self) -> None:
        self.given()
        self.reply(b"", 503)


class Slow(Worker):
    """Sends its reply a byte at a time, and never the whole of it."""

    def do_POST(self) -> None:
        self.given()
        with suppress(OSError):
            while True:
                self.wfile.write(b"H")
                time.sleep(0.02)


@pytest.mark.parametrize("kind", [Upgrading, Slow])
def test_a_worker_that_is_not_ready_costs_no_event_and_no_time(
    home: Path, kind: type[Worker]
) -> None:
    with standing_in(home, kind):
        started, before = time.monotonic(), os.times().children_user
        assert run(home, PROMPT) == ("", [PROMPT])
        took = time.monotonic() - started
    assert took - (os.times().children_user - before) < PATIENCE / 20


def test_a_full_disk_and_an_agent_that_has_gone_fail_no_prompt(home: Path) -> None:
    hook = [sys.executable, "-I", "-S", str(HOOK)]
    environ = {"PATH": os.defpath, "HOME": str(home.parent), "MEM_SEARCH_HOME": str(home)}
    full = ["/bin/sh", "-c", 'ulimit -f 0; exec "$@"', "sh", *hook]
    said = json.dumps(PROMPT).encode()
    done = subprocess.run(full, input=said, env=environ, capture_output=True, timeout=PATIENCE)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert list((home / "hooks" / "events").iterdir()) == []
    with standing_in(home, worker()):
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        with subprocess.Popen(hook, env=environ, **pipes) as gone:
            assert gone.stdin is not None
            assert gone.stdout is not None
            gone.stdout.close()
            gone.stdin.write(said)
            gone.stdin.close()
            assert gone.wait(PATIENCE) == 0


@pytest.mark.parametrize(
    ("said", "events", "lines"),
    [
        (json.dumps(PROMPT).encode(), [PROMPT], 0),
        (json.dumps(PROMPT, indent=1).encode() + b"\n", [PROMPT], 0),
        (json.dumps({**PROMPT, "prompt": "x" * 200_000 + "}"}).encode(), None, 0),
        (json.dumps(PROMPT).encode()[:-9], [], 1),
        (b"", [], 1),
    ],
    ids=["an event", "an event in lines", "a long event", "half an event", "nothing"],
)
def test_an_agent_that_keeps_its_end_open_is_not_waited_for(
    home: Path, said: bytes, events: list[Any] | None, lines: int
) -> None:
    environ = {"PATH": os.defpath, "HOME": str(home.parent), "MEM_SEARCH_HOME": str(home)}
    hook = [sys.executable, "-I", "-S", str(HOOK)]
    with subprocess.Popen(
        hook, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write(said)
        process.stdin.flush()
        assert process.wait(PATIENCE) == 0  # our end is still open
        assert process.stderr.read() == b""
    left = [json.loads(each.read_text()) for each in (home / "hooks" / "events").glob("*")]
    assert left == events if events is not None else len(left) == 1
    assert len(dropped(home)) == lines
    assert all("its end did not come within 0.25 s" in each for each in dropped(home))


def test_another_program_on_the_port_gets_neither_token_nor_event(home: Path) -> None:
    kind = worker(key="other")
    with standing_in(home, kind):
        assert run(home, PROMPT) == ("", [PROMPT])
    assert kind.told == []


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        (b"{", "no JSON"),
        (b"[" * 100_000, "no JSON"),
        (b"[]", "no JSON object"),
        ({"hook_event_name": "Teleport", "session_id": SESSION}, "unknown event 'Teleport'"),
        ({"hook_event_name": "Stop"}, "no session_id"),
        ({"hook_event_name": "Stop", "session_id": 5}, "no session_id"),
        ({"hook_event_name": ["Stop"], "session_id": SESSION}, "unknown event ['Stop']"),
        ({"hook_event_name": None, "session_id": SESSION}, "unknown event None"),
        (b"\xff\xfe{", "no JSON"),
        (b'{"session_id": ' + b"9" * 5_000 + b"}", "no JSON"),
        (b"", "no JSON"),
        (b'"' + b"x" * (10 * 1024 * 1024 + 1), "longer than 10485760 bytes"),
    ],
)
def test_what_is_no_event_is_dropped_with_a_line(home: Path, event: Any, reason: str) -> None:
    assert run(home, event) == ("", [])
    (line,) = dropped(home)
    assert line.endswith(f"Z {reason}")


def test_an_event_of_ten_megabytes_is_kept_without_most_of_it(home: Path) -> None:
    call = {"hook_event_name": "PostToolUse", "session_id": SESSION, "cwd": "/gone/harbour"}
    used = {"tool_name": "Bash", "tool_input": {"command": "make"}}
    for answer in ({f"out{n}": "token=abc1 " * 5_500 for n in range(160)}, ["wave"] * 900_000):
        started = os.times().children_user
        kept = run(home, {**call, **used, "tool_response": answer})[1][-1]
        assert os.times().children_user - started < PATIENCE / 100
        assert {name: kept[name] for name in used} == used
        assert type(kept["tool_response"]) is type(answer)
        assert len(json.dumps(kept)) < 1_000_000
    assert dropped(home) == []


def test_a_home_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.write_text("a file")
    assert run(home, PROMPT) == ("", [])


def test_hooks_can_be_turned_off(home: Path) -> None:
    assert run(home, PROMPT, MEM_SEARCH_HOOKS="off") == ("", [])


def test_a_hook_imports_little(home: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-X", "importtime", str(HOOK)],
        input=json.dumps(PROMPT).encode(),
        env={"PATH": os.defpath, "HOME": str(home), "MEM_SEARCH_HOME": str(home)},
        capture_output=True,
        timeout=PATIENCE,
    )
    imported = {line.rpartition(b"|")[2].strip().decode() for line in done.stderr.splitlines()}
    assert "json" in imported
    assert not imported & {
        "pathlib",
        "socket",
        "subprocess",
        "http.client",
        "hashlib",
        "ssl",
        "urllib.request",
    }


def test_hooks_are_in_exec_form_and_those_within_a_turn_are_not_waited_for() -> None:
    """A program that ends after its turn kills the hooks that it does not wait for."""
    hooks = json.loads((PLUGIN / "hooks" / "hooks.json").read_text())["hooks"]
    assert {"SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "PostCompact"} <= set(hooks)
    for name, ((each,),) in (
        (name, [entry["hooks"] for entry in of]) for name, of in hooks.items()
    ):
        assert (each["type"], each["command"]) == ("command", "python3")
        assert each["args"] == ["-I", "-S", "${CLAUDE_PLUGIN_ROOT}/bin/hook.py"]
        within = name in ("PostToolUse", "PostToolUseFailure", "SubagentStop")
        assert each.get("async", False) == within
        assert each["timeout"] <= 10
