"""The agents that mem-search can be installed into: for each, where it is set up and with what; and
the sources of sessions.

An agent is data: a function that yields the parts to write, and a line in ``AGENTS``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

from mem_search.agents.base import NAME, Agent, Entry, OwnFile, Part, Setup
from mem_search.agents.neighbours import NEIGHBOURS
from mem_search.agents.settings_text import at, read
from mem_search.errors import InputError
from mem_search.regular_file import MAX_SETTINGS, read_regular_file

_MS: Final = 1000
"""Gemini CLI and Qwen Code have times in milliseconds."""

_ONE_FILE: Final = ("settings.json", "settings.json")
_SECONDS: Final = {"SessionStart": 10, "UserPromptSubmit": 5, "Stop": 5}
_GEMINI_SECONDS: Final = {"SessionStart": 10, "BeforeAgent": 5, "AfterAgent": 5, "SessionEnd": 2}
_COPILOT_SECONDS: Final = {**_SECONDS, "SessionEnd": 5}
"""Events with a capital have the fields that Claude Code has."""

_CURSOR_EVENTS: Final = ("sessionStart", "beforeSubmitPrompt", "stop", "sessionEnd")

_OPENCODE_PLUGIN: Final = """\
// Tells mem-search that a session of OpenCode began or went on, so that it is read.
// Written by: mem-search install opencode. Taken back by: mem-search uninstall opencode.
import { spawn } from "node:child_process"

const [program, ...words] = %s
const NAMES = { "session.created": "SessionStart", "session.idle": "Stop" }

export const MemSearch = async ({ directory }) => ({
  event: async ({ event }) => {
    const name = NAMES[event.type]
    const session = event.properties?.sessionID ?? event.properties?.info?.id
    if (!name || !session) return
    const hook = spawn(program, words, { stdio: ["pipe", "ignore", "ignore"], detached: true })
    hook.on("error", () => {})
    hook.stdin.on("error", () => {})
    hook.stdin.end(JSON.stringify({ hook_event_name: name, session_id: session, cwd: directory }))
    hook.unref()
  },
})
"""
_PI_EXTENSION: Final = """\
// Tells mem-search that a session of pi began or went on, so that it is read.
// Written by: mem-search install pi. Taken back by: mem-search uninstall pi.
import { spawn } from "node:child_process";

const [program, ...words] = %s;

export default function (pi: any) {
  const tell = (name: string) => (_event: unknown, ctx: any) => {
    const said = {
      hook_event_name: name,
      session_id: ctx.sessionManager.getSessionId(),
      transcript_path: ctx.sessionManager.getSessionFile(),
      cwd: ctx.cwd,
    };
    const hook = spawn(program, words, { stdio: ["pipe", "ignore", "ignore"], detached: true });
    hook.on("error", () => {});
    hook.stdin.on("error", () => {});
    hook.stdin.end(JSON.stringify(said));
    hook.unref();
  };
  pi.on("session_start", tell("SessionStart"));
  pi.on("agent_end", tell("Stop"));
  pi.on("session_shutdown", tell("SessionEnd"));
}
"""


def _folder(variable: str, usual: str) -> Callable[[Setup], Path]:
    """The folder of settings that the variable names, else ``usual`` in the person's home."""
    return lambda setup: setup.folder(variable, usual)


def _hooked(
    name: str, file: str, hooks: str, seconds: Mapping[str, int], unit: int = 1
) -> Callable[[Setup, Path], Iterable[Part]]:
    """MCP server in ``file``, and hooks as Claude Code writes them."""
    servers = "mcp_servers" if file.endswith(".toml") else "mcpServers"

    def parts(setup: Setup, folder: Path) -> Iterable[Part]:
        yield Entry(folder / file, (servers, NAME), setup.server)
        yield from setup.hooks(name, folder / hooks, seconds, unit)

    return parts


def _claude_code(setup: Setup, folder: Path) -> Iterable[Part]:
    """MCP server and hooks in the settings, without the plugin system."""
    state = folder if setup.environ.get("CLAUDE_CONFIG_DIR") else setup.home
    yield Entry(state / ".claude.json", ("mcpServers", NAME), {"type": "stdio", **setup.server})
    for event, entry in setup.plugin_hooks():
        yield Entry(folder / "settings.json", ("hooks", event), entry, in_list=True)


def _has_plugin(setup: Setup) -> str:
    """The plugin has the same hooks: with both, each event would come twice."""
    try:
        settings = read_regular_file(CLAUDE_CODE.settings(setup) / "settings.json", MAX_SETTINGS)
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


CLAUDE_CODE: Final = Agent(
    name="claude-code",
    title="Claude Code",
    settings=_folder("CLAUDE_CONFIG_DIR", ".claude"),
    parts=_claude_code,
    resume="claude --resume {session}",
    refuses=_has_plugin,
    documented="https://code.claude.com/docs/en/hooks",
)


CODEX: Final = Agent(
    name="codex",
    title="Codex CLI",
    settings=_folder("CODEX_HOME", ".codex"),
    parts=_hooked("codex", "config.toml", "hooks.json", _SECONDS),
    resume="codex resume {session}",
    documented="https://developers.openai.com/codex/hooks",
    afterwards="Codex runs new hooks when you have trusted them: type /hooks in Codex",
)


GEMINI: Final = Agent(
    name="gemini",
    title="Gemini CLI",
    settings=lambda setup: setup.home / ".gemini",
    parts=_hooked("gemini", *_ONE_FILE, _GEMINI_SECONDS, _MS),
    resume="gemini --resume {session}",
    documented="https://geminicli.com/docs/hooks/reference",
)


def _cursor(setup: Setup, folder: Path) -> Iterable[Part]:
    """The editor and its CLI: MCP server and hooks."""
    yield Entry(folder / "mcp.json", ("mcpServers", NAME), setup.server)
    hooks = folder / "hooks.json"
    yield Entry(hooks, ("version",), 1)
    for event in _CURSOR_EVENTS:
        yield Entry(hooks, ("hooks", event), {"command": setup.hook_line("cursor")}, in_list=True)


CURSOR: Final = Agent(
    name="cursor",
    title="Cursor",
    settings=lambda setup: setup.home / ".cursor",
    parts=_cursor,
    resume="cursor-agent --resume={session}",
    documented="https://cursor.com/docs/hooks",
)


def _opencode(setup: Setup, folder: Path) -> Iterable[Part]:
    """MCP server in ``opencode.json``, and a plugin that tells of sessions."""
    with_comments = folder / "opencode.jsonc"
    file = with_comments if with_comments.is_file() else folder / "opencode.json"
    server = setup.server
    value = {"type": "local", "command": [server["command"], *server["args"]], "enabled": True}
    if "env" in server:
        value["environment"] = server["env"]
    yield Entry(file, ("mcp", NAME), value)
    plugin = _OPENCODE_PLUGIN % json.dumps(setup.hook("opencode"))
    yield OwnFile(folder / "plugins" / f"{NAME}.js", plugin)


OPENCODE: Final = Agent(
    name="opencode",
    title="OpenCode",
    settings=lambda setup: setup.folder("XDG_CONFIG_HOME", ".config") / "opencode",
    parts=_opencode,
    resume="opencode --session {session}",
    documented="https://opencode.ai/docs/plugins",
)


def _copilot(setup: Setup, folder: Path) -> Iterable[Part]:
    """MCP server, and hooks in a file of their own."""
    server = {"type": "local", **setup.server, "tools": ["*"]}
    yield Entry(folder / "mcp-config.json", ("mcpServers", NAME), server)
    program, *words = setup.hook("copilot")
    hooks = {
        event: [{"type": "command", "exec": program, "args": words, "timeoutSec": seconds}]
        for event, seconds in _COPILOT_SECONDS.items()
    }
    text = json.dumps({"version": 1, "hooks": hooks}, indent=2) + "\n"
    yield OwnFile(folder / "hooks" / f"{NAME}.json", text)


COPILOT: Final = Agent(
    name="copilot",
    title="Copilot CLI",
    settings=_folder("COPILOT_HOME", ".copilot"),
    parts=_copilot,
    resume="copilot --resume={session}",
    documented="https://docs.github.com/en/copilot/reference/hooks-reference",
)


QWEN: Final = Agent(
    name="qwen",
    title="Qwen Code",
    settings=_folder("QWEN_HOME", ".qwen"),
    parts=_hooked("qwen", *_ONE_FILE, {**_SECONDS, "SessionEnd": 2}, _MS),
    resume="qwen --resume {session}",
    documented="https://qwenlm.github.io/qwen-code-docs/en/users/features/hooks",
)


def _pi(setup: Setup, folder: Path) -> Iterable[Part]:
    """An extension that tells of sessions. pi has no MCP of its own."""
    extension = _PI_EXTENSION % json.dumps(setup.hook("pi"))
    yield OwnFile(folder / "extensions" / f"{NAME}.ts", extension)


PI: Final = Agent(
    name="pi",
    title="pi",
    settings=_folder("PI_CODING_AGENT_DIR", ".pi/agent"),
    parts=_pi,
    resume="pi --session {session}",
    documented="https://github.com/badlogic/pi-mono/tree/main/packages/coding-agent/docs",
)


def _openclaw(setup: Setup, folder: Path) -> Iterable[Part]:
    """MCP server in ``openclaw.json``, which is JSON5."""
    yield Entry(folder / "openclaw.json", ("mcp", "servers", NAME), setup.server)


OPENCLAW: Final = Agent(
    name="openclaw",
    title="OpenClaw",
    settings=_folder("OPENCLAW_STATE_DIR", ".openclaw"),
    parts=_openclaw,
    resume="openclaw agent --session-id {session} --message TEXT",
    documented="https://docs.openclaw.ai/cli/mcp",
)

AGENTS: Final[tuple[Agent, ...]] = (
    CLAUDE_CODE,
    CODEX,
    GEMINI,
    CURSOR,
    OPENCODE,
    COPILOT,
    QWEN,
    PI,
    OPENCLAW,
)

ONLY_READ: Final = ("aider", "cline", "roo-code", "copilot-chat", "continue", "amp", "droid")
"""Sources of agents that nothing is installed into."""

SESSION_SOURCES: Final = (
    *(each.name for each in NEIGHBOURS),
    *(agent.sessions for agent in AGENTS),
    *ONLY_READ,
)
"""Sources that read sessions of an agent."""


def by_name(name: str) -> Agent:
    """The agent called ``codex``, ...; raises InputError listing the names."""
    known = {agent.name: agent for agent in AGENTS}
    if name.lower() in known:
        return known[name.lower()]
    raise InputError(
        f"{name!r} is not an agent that can be installed; choose one of {', '.join(known)}",
        field="agent",
    )


def of_session(source: str, platform: str) -> Agent | None:
    """The agent that had a session: that of the ``platform``, as records name it, where a
    record says so, else that whose sessions the ``source`` reads; None for neither.
    """
    own = {"claude": "claude-code"}.get(platform, platform.removesuffix("-cli"))
    named = next((agent for agent in AGENTS if agent.name == own), None)
    return named or next((agent for agent in AGENTS if agent.sessions == source), None)
