"""pi: an extension that tells of sessions, and the skill. pi has no MCP of its own."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from mem_search.agents.base import NAME, Agent, OwnFile, Part, Setup

_EXTENSION = """\
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


def _settings(setup: Setup) -> Path:
    return setup.folder("PI_CODING_AGENT_DIR", ".pi/agent")


def _parts(setup: Setup) -> Iterable[Part]:
    folder = _settings(setup)
    yield OwnFile(folder / "extensions" / f"{NAME}.ts", _EXTENSION % json.dumps(setup.hook("pi")))
    yield setup.skill(folder / "skills")


AGENT = Agent(
    name="pi",
    title="pi",
    settings=_settings,
    parts=_parts,
    resume="pi --session {session}",
    documented="https://github.com/badlogic/pi-mono/tree/main/packages/coding-agent/docs",
)
