"""``install``, ``uninstall`` and ``resume`` as a person types them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from homes import Home
from mem_search.cli.local_checks import agents
from mem_search.settings import Settings
from source_samples import claude_mem

SESSION = "5e551040-0000-4000-8000-000000000001"


def rollout(folder: Path, session: str) -> None:
    """A session of Codex with one prompt."""
    folder.mkdir(parents=True, exist_ok=True)
    content = [{"type": "input_text", "text": f"Deepen the harbour basin {session}"}]
    message = {"type": "message", "role": "user", "content": content}
    lines = [
        {"type": "session_meta", "payload": {"id": session, "cwd": "/gone/the harbour"}},
        {"type": "response_item", "payload": message},
    ]
    file = folder / f"rollout-{abs(hash(session))}.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_an_agent_is_installed_and_taken_out_again(mem: Home) -> None:
    person = Path(mem.environ["HOME"])
    (person / ".codex").mkdir()
    config = person / ".codex" / "config.toml"
    config.write_text('model = "m" # mine\n')
    assert "codex        found      Codex CLI" in mem.ok("install")
    assert f"codex: {config}: would be changed" in mem.ok("install", "codex", "--dry-run")
    said = mem.ok("install", "codex")
    assert f"codex: {config}: changed" in said
    assert "codex: Codex runs new hooks when you have trusted them" in said
    assert "codex        installed  Codex CLI" in mem.ok("install")
    assert "unchanged" in mem.ok("install", "codex")
    assert f"codex: {config}: as it was before" in mem.ok("uninstall")
    assert config.read_text() == 'model = "m" # mine\n'
    assert mem.run("uninstall", "codex").stderr == "codex: nothing is installed\n"
    assert not mem.path.joinpath("worker.json").exists()


def test_the_doctor_names_what_is_not_as_this_version_writes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("MEM_SEARCH_COMMAND", "/opt/mem-search")
    settings = replace(Settings.read(), home=tmp_path / "store")
    assert list(agents(settings)) == []
    from mem_search.agents.base import Setup
    from mem_search.agents.installing import Installation
    from mem_search.agents.known import by_name

    Installation(by_name("cursor"), Setup.here(settings.home), settings.home).install()
    (finding,) = agents(settings)
    assert (finding.name, finding.state) == ("agent cursor", "ok")
    monkeypatch.setenv("MEM_SEARCH_COMMAND", "/new/mem-search")
    (finding,) = agents(settings)
    assert (finding.state, finding.fix) == ("advice", "mem-search install cursor")
    assert "mcp.json" in finding.detail


def test_resume_prints_the_command_that_opens_the_session_again(mem: Home, tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    rollout(folder, SESSION)
    rollout(folder, "--dangerously-trust-everything")
    mem.ok("sync", "codex", str(folder))
    tabs = {"kind": "note", "text": "tabs", "session": SESSION}
    mem.ok("import", "jsonl", "-", given=json.dumps(tabs) + "\n")
    found = json.loads(mem.ok("search", f"session:{SESSION}", "--kind", "user_prompt", "--json"))
    assert [each["session"] for each in found["results"]] == [SESSION]
    said = mem.ok("resume", found["results"][0]["ref"])
    assert said == f"cd '/gone/the harbour' && codex resume {SESSION}\n"
    store = claude_mem(tmp_path)
    mem.ok("sync", "claude-mem", str(store))
    found = json.loads(mem.ok("search", "session:c1", "--kind", "observation", "--json"))
    assert mem.ok("resume", found["results"][0]["ref"]) == "claude --resume c1\n"
    hostile = json.loads(mem.ok("prompts", "dangerously", "--json"))["results"][0]["ref"]
    note = json.loads(mem.ok("notes", "tabs", "--json"))["results"][0]["ref"]
    for ref, why in ((note, "it is from jsonl"), (hostile, "it names none")):
        refused = mem.run("resume", ref)
        assert refused.returncode == 4
        assert why in refused.stderr
