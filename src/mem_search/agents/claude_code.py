"""Claude Code, without its plugin system: MCP server, hooks and skill in the settings."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from mem_search.agents.base import NAME, Agent, Entry, Part, Setup
from mem_search.agents.json_text import at, read
from mem_search.regular_file import MAX_SETTINGS, read_regular_file


def _settings(setup: Setup) -> Path:
    return setup.folder("CLAUDE_CONFIG_DIR", ".claude")


def _parts(setup: Setup) -> Iterable[Part]:
    folder = _settings(setup)
    state = folder if setup.environ.get("CLAUDE_CONFIG_DIR") else setup.home
    yield Entry(state / ".claude.json", ("mcpServers", NAME), {"type": "stdio", **setup.server})
    for event, entry in setup.plugin_hooks():
        yield Entry(folder / "settings.json", ("hooks", event), entry, in_list=True)
    yield setup.skill(folder / "skills")


def _has_plugin(setup: Setup) -> str:
    """The plugin has the same hooks: with both, each event would come twice."""
    try:
        settings = read_regular_file(_settings(setup) / "settings.json", MAX_SETTINGS)
        content = read(settings.decode("utf-8"))
    except (OSError, ValueError):  # writing to it says what is wrong with it
        return ""
    plugins = at(content, ("enabledPlugins",))
    enabled = plugins if isinstance(plugins, dict) else {}
    if not any(name.startswith(f"{NAME}@") and on for name, on in enabled.items()):
        return ""
    return (
        "the plugin mem-search is enabled in Claude Code and has all of this; nothing was written"
    )


AGENT = Agent(
    name="claude-code",
    title="Claude Code",
    settings=_settings,
    parts=_parts,
    resume="claude --resume {session}",
    refuses=_has_plugin,
    documented="https://code.claude.com/docs/en/hooks",
)
