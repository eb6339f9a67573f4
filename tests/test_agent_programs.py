"""The installed hooks in the real programs of other agents, against a stand-in for their models.

``MEM_SEARCH_TEST_AGENTS`` names folders with the programs (``codex``, ``gemini``, …), separated as
in ``PATH``, which is looked through, too. A program that is missing is skipped. None needs an
account or the network. Those written in JavaScript need Node 22 on the ``PATH``.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from homes import Home, quick
from model_api import ModelApi, Step, model_api, tools_in
from patience import PATIENCE

NAMED = "MEM_SEARCH_TEST_AGENTS"
ASKED = "Light the lamp in the harbour, please"
AGAIN = "What did we do about the lamp in the harbour?"
SAID = "The lamp burns again now, since lamp.py sets it."
RUN = "cat lamp.log; exit 3"
FAILED = "Failed with exit code 3: Ran: cat lamp.log; exit 3"
PATCH = "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: lamp.py\n+LAMP = 1\n*** End Patch\nEOF"
ATTEMPTS = 3
"""A hook gives up after a quarter of a second, and then the model gets nothing."""
CONTEXT = ("recalled-memory", SAID)
"""What an agent gets at the start of a session."""


@dataclass(frozen=True)
class Program:
    """How one prompt is given to a program: its words before the prompt, and what it finds.

    ``events`` are those that its hooks have to tell, ``heard`` is what the model gets of their
    answers.
    """

    words: tuple[str, ...]
    environ: Callable[[str], Mapping[str, str]]
    files: Callable[[str], Mapping[str, str]]
    steps: Callable[[Path], list[Step]]
    events: frozenset[str]
    heard: tuple[str, ...] = CONTEXT


def _written(tool: str, run: str, path: str = "file_path") -> Callable[[Path], list[Step]]:
    def steps(project: Path) -> list[Step]:
        lamp = {path: str(project / "lamp.py"), "content": "LAMP = 1\n", "file_text": "LAMP = 1\n"}
        return [(run, {"command": RUN, "description": "Look at the log"}), (tool, lamp)]

    return steps


def _nothing(_: str) -> dict[str, str]:
    return {}


def _codex(url: str) -> dict[str, str]:
    lines = (
        'model = "stub"', 'model_provider = "stub"', "[model_providers.stub]", 'name = "stub"',
        f'base_url = "{url}/v1"', 'wire_api = "responses"', "",
    )  # fmt: skip
    return {".codex/config.toml": "\n".join(lines)}


def _gemini(_: str) -> dict[str, str]:
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "general": {"enableAutoUpdate": False},
        "privacy": {"usageStatisticsEnabled": False},
    }
    return {".gemini/settings.json": json.dumps(settings)}


def _opencode(url: str) -> dict[str, str]:
    model = {"name": "stub", "tool_call": True, "limit": {"context": 100_000, "output": 8_000}}
    options = {"baseURL": f"{url}/v1", "apiKey": "none"}
    stub = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": {"stub": model}}
    settings = {
        "model": "stub/stub", "small_model": "stub/stub", "provider": {"stub": stub},
        "autoupdate": False, "share": "disabled", "permission": {"*": "allow"},
    }  # fmt: skip
    return {".config/opencode/opencode.json": json.dumps(settings)}


def _pi(url: str) -> dict[str, str]:
    model = {
        "id": "stub", "name": "stub", "reasoning": False, "input": ["text"],
        "contextWindow": 100_000, "maxTokens": 8_000,
        "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0},
    }  # fmt: skip
    stub = {"baseUrl": f"{url}/v1", "api": "openai-completions", "apiKey": "none"}
    return {
        ".pi/agent/models.json": json.dumps({"providers": {"stub": {**stub, "models": [model]}}})
    }


BEGIN_AND_STOP = frozenset({"SessionStart", "UserPromptSubmit", "Stop"})
PROGRAMS: Mapping[str, Program] = {
    "codex": Program(
        ("exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust",
         "--dangerously-bypass-approvals-and-sandbox"),
        _nothing, _codex,
        lambda _: [("exec_command", {"cmd": RUN}), ("exec_command", {"cmd": PATCH})],
        BEGIN_AND_STOP,
    ),
    "gemini": Program(
        ("--yolo", "--skip-trust", "-m", "gemini-2.5-flash", "-p"),
        lambda url: {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": url},
        _gemini, _written("write_file", "run_shell_command"), BEGIN_AND_STOP | {"SessionEnd"},
    ),
    "qwen": Program(
        ("--yolo", "--auth-type", "openai", "-p"),
        lambda url: {
            "OPENAI_API_KEY": "none", "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_MODEL": "stub",
        },
        _nothing, _written("write_file", "run_shell_command"),
        # Without a terminal it tells no SessionStart, so only what a prompt gets is heard.
        frozenset({"UserPromptSubmit", "Stop"}), ("Search them",),
    ),
    "copilot": Program(
        ("--allow-all-tools", "--allow-all-paths", "--no-color", "-p"),
        lambda url: {
            "COPILOT_PROVIDER_BASE_URL": f"{url}/v1", "COPILOT_PROVIDER_API_KEY": "none",
            "COPILOT_MODEL": "stub", "COPILOT_OFFLINE": "true",
        },
        _nothing, _written("create", "bash", "path"), BEGIN_AND_STOP,
    ),
    "opencode": Program(
        ("run", "--model", "stub/stub"), _nothing, _opencode,
        _written("write", "bash", "filePath"), frozenset({"SessionStart", "Stop"}), heard=(),
    ),
    "pi": Program(
        ("--model", "stub/stub", "-p"), lambda _: {"PI_OFFLINE": "1"}, _pi,
        _written("write", "bash", "path"), frozenset({"SessionStart", "Stop"}), heard=(),
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def mem(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """One worker for all programs; its command, which their settings name, is this checkout's."""
    folder = tmp_path_factory.mktemp("agents")
    home = quick(folder)
    command = folder / "mem-search"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m mem_search "$@"\n')
    command.chmod(0o755)
    home.environ["MEM_SEARCH_COMMAND"] = str(command)
    try:
        yield home
    finally:
        home.end()


def run(program: str, mem: Home, how: Program, api: ModelApi, project: Path, prompt: str) -> None:
    """One session."""
    # OpenCode takes its directory from PWD.
    own = {"XDG_CONFIG_HOME": str(Path(mem.environ["HOME"]) / ".config"), "PWD": str(project)}
    done = subprocess.run(
        [program, *how.words, prompt],
        env=mem.environ | own | how.environ(api.url),
        cwd=project,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=4 * PATIENCE,
    )
    assert SAID in done.stdout, (done.returncode, done.stdout[-2000:], done.stderr[-2000:])


def of_project(mem: Home, project: Path) -> list[dict[str, Any]]:
    """The records of the project, as soon as there is a summary with what the agent said last."""
    deadline = time.monotonic() + PATIENCE
    while True:
        query = f"/api/search?project={project.name}&format=json&limit=50"
        refs = [each["ref"] for each in mem.call("GET", query)["results"]]
        found: list[dict[str, Any]] = [mem.call("GET", f"/api/records/{ref}") for ref in refs]
        if any(each["kind"] == "session_summary" and SAID in each["text"] for each in found):
            return found
        assert time.monotonic() < deadline, f"only {found}"
        time.sleep(0.2)


def prompts_of(mem: Home, project: Path) -> set[str]:
    """The prompts of the project, as soon as there are two sessions."""
    deadline = time.monotonic() + PATIENCE
    while True:
        query = f"/api/search/prompts?project={project.name}&format=json&limit=50"
        found = mem.call("GET", query)["results"]
        if len({each["session"] for each in found}) > 1 or time.monotonic() > deadline:
            whole = [mem.call("GET", f"/api/records/{each['ref']}")["text"] for each in found]
            return {text.strip('"') for text in whole}  # OpenCode quotes what it is given so
        time.sleep(0.2)


@pytest.mark.worker
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_session_is_stored_by_its_hooks_and_the_next_one_has_it(
    name: str, mem: Home, tmp_path: Path
) -> None:
    folders = os.pathsep.join(filter(None, (os.environ.get(NAMED), os.environ.get("PATH"))))
    program, how = shutil.which(name, path=folders), PROGRAMS[name]
    if program is None:
        pytest.skip(f"{name} is not installed: put it on the PATH, or into a folder of {NAMED}")
    project = tmp_path / f"harbour-{name}"
    project.mkdir()
    person = Path(mem.environ["HOME"])
    mem.ok("worker", "start")
    with model_api(how.steps(project), SAID) as api:
        for place, text in how.files(api.url).items():
            (person / place).parent.mkdir(parents=True, exist_ok=True)
            (person / place).write_text(text)
        mem.ok("install", name)
        run(program, mem, how, api, project, ASKED)
        found = of_project(mem, project)
        (prompt,) = [each for each in found if each["kind"] == "user_prompt"]
        assert (prompt["text"].strip('"'), prompt["source"]) == (ASKED, name)
        work = [each["metadata"] for each in found if each["kind"] == "observation"]
        assert [path for each in work for path in each["files_modified"]] == ["lamp.py"]
        (failed,) = [line for each in work for line in each.get("failed", ())]
        assert failed.startswith(FAILED)

        for _ in range(ATTEMPTS):
            api.requests.clear()
            run(program, mem, how, api, project, AGAIN)
            first = json.dumps(next(each for each in api.requests if tools_in(each)))
            if all(words in first for words in how.heard):
                break
        else:
            raise AssertionError(f"the model did not get {how.heard}: {first[-3000:]}")
        assert prompts_of(mem, project) == {ASKED, AGAIN}, "and nothing of what the hooks gave"
    costs = (mem.path / "hooks" / "costs.jsonl").read_text().splitlines()
    told = {cost["event"] for cost in map(json.loads, costs) if cost["agent"] == name}
    assert told >= how.events
    assert not (mem.path / "hooks" / "dropped.log").exists()
    mem.ok("uninstall", name)
