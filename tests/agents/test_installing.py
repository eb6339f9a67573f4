"""Installing into an agent and taking it back: one suite for every agent."""

from __future__ import annotations

import json
import os
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest

from mem_search.agents import installing
from mem_search.agents.base import MARK, Agent, Entry, OwnFile, Setup, plugin_folder
from mem_search.agents.installing import BACKUP, Installation
from mem_search.agents.known import AGENTS, by_name, of_session
from mem_search.agents.settings_text import at, read
from mem_search.errors import Conflict, InputError, StorageError
from mem_search.sources import built_in

each_agent = pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.name)

BY_HAND = """{
    // a line of mine
    "theme": "dark", /* and this */
    "mcpServers": { "other": { "command": "x" } },
}
"""
TOML_BY_HAND = """# a line of mine
model = "m" # and this

[mcp_servers.other]
command = "x"
"""


@pytest.fixture
def setup(tmp_path: Path) -> Setup:
    home = tmp_path / "person"
    home.mkdir()
    return Setup(home, {}, "/opt/bin/mem-search", "/opt/bin/python3", plugin_folder())


def installation(agent: Agent, setup: Setup) -> Installation:
    return Installation(agent, setup, setup.home / ".mem-search")


def tree(setup: Setup) -> dict[str, bytes | None]:
    """Each file and folder of the person, except what mem-search remembers."""
    found = {}
    for place in sorted(setup.home.rglob("*")):
        name = str(place.relative_to(setup.home))
        if not name.startswith(".mem-search"):
            found[name] = place.read_bytes() if place.is_file() else None
    return found


def settings_by_hand(agent: Agent, setup: Setup) -> list[Path]:
    """Write a file of the person's own in the place of each that has entries of ours."""
    files = {part.file for part in agent.wanted(setup) if isinstance(part, Entry)}
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(TOML_BY_HAND if file.suffix == ".toml" else BY_HAND)
        file.chmod(0o600)
    return sorted(files)


def content(file: Path) -> Any:
    text = file.read_text("utf-8")
    return tomllib.loads(text) if file.suffix == ".toml" else read(text)


@each_agent
def test_everything_is_written_where_there_was_nothing(agent: Agent, setup: Setup) -> None:
    state = installation(agent, setup)
    changes = state.install()
    assert {change.what for change in changes} == {"written"}
    for part in agent.wanted(setup):
        if isinstance(part, OwnFile):
            assert part.file.read_text("utf-8") == part.text
        else:
            found = at(content(part.file), part.path)
            assert part.value in found if part.in_list else found == part.value
    assert state.is_installed
    assert state.is_found


@each_agent
def test_doing_it_twice_changes_nothing(agent: Agent, setup: Setup) -> None:
    settings_by_hand(agent, setup)
    installation(agent, setup).install()
    once = tree(setup)
    assert {change.what for change in installation(agent, setup).install()} == {"unchanged"}
    assert tree(setup) == once
    assert installation(agent, setup).outdated() == []


@each_agent
def test_taking_it_back_restores_every_byte(agent: Agent, setup: Setup) -> None:
    settings_by_hand(agent, setup)
    before = tree(setup)
    installation(agent, setup).install()
    installation(agent, setup).install()
    assert tree(setup) != before
    installation(agent, setup).uninstall()
    assert tree(setup) == before
    assert not installation(agent, setup).is_installed


@each_agent
@pytest.mark.parametrize("in_between", [True, False])
def test_a_copy_of_an_earlier_installation_does_not_undo_what_came_after_it(
    agent: Agent, setup: Setup, in_between: bool
) -> None:
    """What mem-search remembered went with its home, and the copies stayed."""
    files = settings_by_hand(agent, setup)
    before = tree(setup)
    installation(agent, setup).install()
    shutil.rmtree(setup.home / ".mem-search")
    for file in files if in_between else ():
        mine = "# later\n" if file.suffix == ".toml" else "// later\n"
        file.write_text(file.read_text("utf-8") + mine)
    installation(agent, setup).install()
    installation(agent, setup).uninstall()
    after = tree(setup)
    for file in files:
        text = file.read_text("utf-8")
        assert ("later" in text) == in_between
        assert setup.hook_line(agent.name) not in text.replace('\\"', '"')
        name = str(file.relative_to(setup.home))
        assert after.pop(f"{name}{BACKUP}") == before[name]
    assert {name for name in after if after[name] is not None} <= before.keys()


@each_agent
def test_a_copy_that_somebody_removed_is_not_needed(agent: Agent, setup: Setup) -> None:
    files = settings_by_hand(agent, setup)
    before = {file: content(file) for file in files}
    installation(agent, setup).install()
    for file in files:
        file.with_name(file.name + BACKUP).unlink()
    installation(agent, setup).uninstall()
    assert {file: content(file) for file in files} == before


@each_agent
def test_what_a_killed_installation_wrote_is_taken_back(
    agent: Agent, setup: Setup, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = settings_by_hand(agent, setup)
    before = {file: content(file) for file in files}
    parts = [part.file for part in agent.wanted(setup)]
    real = installing._replace

    def killed(file: Path, new: bytes, *more: Any, **named: Any) -> None:
        if file == parts[-1]:
            raise KeyboardInterrupt
        real(file, new, *more, **named)

    monkeypatch.setattr(installing, "_replace", killed)
    with pytest.raises(KeyboardInterrupt):
        installation(agent, setup).install()
    monkeypatch.setattr(installing, "_replace", real)
    installation(agent, setup).uninstall()
    assert {file: content(file) for file in files} == before
    assert not any(place.name.startswith("mem-search") for place in setup.home.rglob("*"))


@each_agent
def test_no_line_and_no_mode_of_a_hand_edited_file_is_lost(agent: Agent, setup: Setup) -> None:
    files = settings_by_hand(agent, setup)
    before = {file: content(file) for file in files}
    installation(agent, setup).install()
    for file in files:
        new = file.read_text("utf-8")
        for line in (TOML_BY_HAND if file.suffix == ".toml" else BY_HAND).splitlines():
            assert line.split("}")[0].rstrip() in new
        assert {**content(file), **before[file]}.keys() >= before[file].keys()
        assert (file.stat().st_mode & 0o777) == 0o600
        assert (file.with_name(file.name + BACKUP).stat().st_mode & 0o777) == 0o600


@each_agent
def test_what_somebody_changes_later_stays(agent: Agent, setup: Setup) -> None:
    files = settings_by_hand(agent, setup)
    installation(agent, setup).install()
    for file in files:
        text = file.read_text("utf-8")
        added = (
            "later = 1\n" + text if file.suffix == ".toml" else text.replace("{", '{"later": 1,', 1)
        )
        file.write_text(added)
    installation(agent, setup).uninstall()
    for file in files:
        by_hand = TOML_BY_HAND if file.suffix == ".toml" else BY_HAND
        expected = tomllib.loads(by_hand) if file.suffix == ".toml" else read(by_hand)
        assert content(file) == {"later": 1, **expected}
        assert "a line of mine" in file.read_text("utf-8")


@each_agent
def test_a_new_place_of_mem_search_replaces_the_old_one(agent: Agent, setup: Setup) -> None:
    settings_by_hand(agent, setup)
    before = tree(setup)
    installation(agent, setup).install()
    moved = Setup(setup.home, {}, "/new/mem-search", "/new/python3", setup.plugin, "/a/store")
    assert agent.name == "pi" or installation(agent, moved).outdated()
    installation(agent, moved).install()
    said = b"".join(
        filter(None, (data for name, data in tree(setup).items() if not name.endswith(BACKUP)))
    ).decode()
    assert "/opt/bin" not in said
    assert "/a/store" in said
    installation(agent, moved).uninstall()
    assert tree(setup) == before


@each_agent
def test_settings_that_are_damaged_are_named_and_nothing_is_written(
    agent: Agent, setup: Setup
) -> None:
    files = settings_by_hand(agent, setup)
    if not files:
        return
    files[-1].write_text('{"a": \n')
    before = tree(setup)
    with pytest.raises(Conflict, match=f"{files[-1].name}: .*nothing was changed"):
        installation(agent, setup).install()
    assert tree(setup) == before


@each_agent
def test_a_dry_run_writes_nothing(agent: Agent, setup: Setup) -> None:
    settings_by_hand(agent, setup)
    before = tree(setup)
    state = installation(agent, setup)
    assert {change.what for change in state.install(dry=True)} <= {"written", "changed"}
    assert tree(setup) == before
    assert not state.is_installed


@each_agent
def test_hooks_say_whose_they_are(agent: Agent, setup: Setup) -> None:
    said = json.dumps(
        [getattr(part, "value", getattr(part, "text", "")) for part in agent.wanted(setup)]
    )
    if "hook.py" in said:
        assert f"{MARK}{agent.name}" in said


@each_agent
def test_its_sessions_have_a_source_and_a_way_back(agent: Agent, setup: Setup) -> None:
    assert agent.resume.count("{session}") == 1
    assert of_session(agent.sessions, "") is agent
    assert agent.documented.startswith("https://")


def test_an_entry_of_the_persons_own_is_left(setup: Setup) -> None:
    file = setup.home / ".cursor" / "mcp.json"
    file.parent.mkdir()
    own = '{"mcpServers": {"mem-search": {"url": "http://127.0.0.1:1/mcp"}}}'
    file.write_text(own)
    changes = installation(by_name("cursor"), setup).install()
    reasons = [change.what for change in changes if change.file == file]
    assert reasons == [
        "left as it is: mcpServers.mem-search is not from here; remove it to have ours"
    ]
    installation(by_name("cursor"), setup).uninstall()
    assert file.read_text() == own


def test_an_entry_that_was_changed_by_hand_is_left_and_named(setup: Setup) -> None:
    state = installation(by_name("qwen"), setup)
    state.install()
    file = setup.home / ".qwen" / "settings.json"
    file.write_text(file.read_text().replace("/opt/bin/mem-search", "/elsewhere/mem-search"))
    changes = installation(by_name("qwen"), setup).uninstall()
    assert "left as it is: mcpServers.mem-search was changed by hand" in [c.what for c in changes]
    assert at(content(file), ("mcpServers", "mem-search", "command")) == "/elsewhere/mem-search"
    assert "hooks" not in content(file)


def test_a_switch_that_the_agent_adds_to_our_entry_goes_with_it(setup: Setup) -> None:
    installation(by_name("cursor"), setup).install()
    file = setup.home / ".cursor" / "mcp.json"
    given = json.loads(file.read_text())
    given["mcpServers"]["mem-search"]["disabled"] = True
    file.write_text(json.dumps(given))
    installation(by_name("cursor"), setup).uninstall()
    assert not file.exists()


def test_a_file_of_ours_that_was_changed_is_kept_under_another_name(setup: Setup) -> None:
    installation(by_name("opencode"), setup).install()
    plugin = setup.home / ".config" / "opencode" / "plugins" / "mem-search.js"
    plugin.write_text("// mine now\n")
    changes = {
        change.file: change.what for change in installation(by_name("opencode"), setup).install()
    }
    assert (
        changes[plugin] == "left as it is: you have changed it; remove it to have it written again"
    )
    installation(by_name("opencode"), setup).uninstall()
    assert not plugin.exists()
    assert plugin.with_name("mem-search.js.edited").read_text() == "// mine now\n"


def test_a_file_that_is_not_ours_is_not_overwritten(setup: Setup) -> None:
    file = setup.home / ".copilot" / "hooks" / "mem-search.json"
    file.parent.mkdir(parents=True)
    file.write_text("{}")
    with pytest.raises(Conflict, match="was not written by mem-search"):
        installation(by_name("copilot"), setup).install()
    assert file.read_text() == "{}"
    assert not (setup.home / ".copilot" / "mcp-config.json").exists()


def test_a_linked_file_stays_a_link(setup: Setup) -> None:
    kept = setup.home / "dotfiles"
    kept.mkdir()
    (kept / "settings.json").write_text(BY_HAND)
    (setup.home / ".gemini").mkdir()
    link = setup.home / ".gemini" / "settings.json"
    link.symlink_to(kept / "settings.json")
    installation(by_name("gemini"), setup).install()
    assert link.is_symlink()
    assert "mem-search" in (kept / "settings.json").read_text()
    installation(by_name("gemini"), setup).uninstall()
    assert link.is_symlink()
    assert (kept / "settings.json").read_text() == BY_HAND


def test_the_plugin_of_claude_code_is_enough(setup: Setup) -> None:
    file = setup.home / ".claude" / "settings.json"
    file.parent.mkdir()
    file.write_text('{"enabledPlugins": {"mem-search@mem-search": true}}')
    with pytest.raises(Conflict, match="the plugin mem-search is enabled"):
        installation(by_name("claude-code"), setup).install()


def test_hooks_of_claude_code_are_those_of_the_plugin(setup: Setup) -> None:
    installation(by_name("claude-code"), setup).install()
    hooks = json.loads((setup.home / ".claude" / "settings.json").read_text())["hooks"]
    plugin = json.loads((setup.plugin / "hooks" / "hooks.json").read_text())["hooks"]
    assert hooks.keys() == plugin.keys()
    script = str(setup.plugin / "bin" / "hook.py")
    for event, entries in hooks.items():
        (hook,) = entries[0]["hooks"]
        assert hook["args"] == ["-I", "-S", script, f"{MARK}claude-code"]
        assert hook.get("async") == plugin[event][0]["hooks"][0].get("async")


def test_a_disk_that_takes_no_more_leaves_everything_as_it_was(
    setup: Setup, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings_by_hand(by_name("claude-code"), setup)
    before = tree(setup)
    real, calls = os.fsync, []

    def full(handle: int) -> None:
        calls.append(handle)
        if len(calls) == 4:
            raise OSError(28, "No space left on device", "settings.json")
        real(handle)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageError, match="No space left on device; nothing was changed"):
        installation(by_name("claude-code"), setup).install()
    after = {name: data for name, data in tree(setup).items() if not name.endswith(BACKUP)}
    assert {name: data for name, data in after.items() if data is not None} == {
        name: data for name, data in before.items() if data is not None
    }


def test_an_unknown_agent_is_told_with_the_known_ones() -> None:
    with pytest.raises(
        InputError,
        match="'emacs' is not an agent that can be installed; choose one of claude-code, codex",
    ):
        by_name("emacs")


def test_every_source_of_sessions_belongs_to_an_agent() -> None:
    names = {source.name for source in built_in()}
    assert {"claude-code", "codex", "gemini"} <= {agent.sessions for agent in AGENTS} & names
