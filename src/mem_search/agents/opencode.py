"""OpenCode: MCP server in ``opencode.json``, a plugin that tells of sessions, and the skill."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from mem_search.agents.base import NAME, Agent, Entry, OwnFile, Part, Setup

_PLUGIN = """\
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


def _settings(setup: Setup) -> Path:
    return setup.folder("XDG_CONFIG_HOME", ".config") / "opencode"


def _parts(setup: Setup) -> Iterable[Part]:
    folder = _settings(setup)
    with_comments = folder / "opencode.jsonc"
    file = with_comments if with_comments.is_file() else folder / "opencode.json"
    server = setup.server
    value = {"type": "local", "command": [server["command"], *server["args"]], "enabled": True}
    if "env" in server:
        value["environment"] = server["env"]
    yield Entry(file, ("mcp", NAME), value)
    yield OwnFile(folder / "plugins" / f"{NAME}.js", _PLUGIN % json.dumps(setup.hook("opencode")))
    yield setup.skill(folder / "skills")


AGENT = Agent(
    name="opencode",
    title="OpenCode",
    settings=_settings,
    parts=_parts,
    resume="opencode --session {session}",
    documented="https://opencode.ai/docs/plugins",
)
