"""claude-mem's own programs against this worker: its MCP server under Node, its hooks under Bun,
and its plug-ins for OpenCode and OpenClaw, called by a stand-in for these programs.

``MEM_SEARCH_CLAUDE_MEM`` names the folder of the unpacked ``claude-mem@13.25.3`` (``npm pack``);
``node`` and ``bun`` are on the PATH. Without them these tests are skipped.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from http_worker import AUTHORIZED, Client, lifecycle_of

from mem_search.features.capture.service import GRACE_SECONDS
from mem_search.model import Filters
from patience import PATIENCE

PACKAGE = Path(os.environ.get("MEM_SEARCH_CLAUDE_MEM") or "/nowhere")
SCRIPTS = PACKAGE / "plugin" / "scripts"
OF_THE_WORKER = {
    "search", "timeline", "get_observations", "get_tool_uses", "session_start_context",
    "build_corpus", "list_corpora", "prime_corpus", "query_corpus", "rebuild_corpus",
    "reprime_corpus",
}  # fmt: skip
"""The tools that ask the worker."""
ALONE = {"important_workflow", "smart_search", "smart_unfold", "smart_outline"}
LAST = "The tide gauge counts every wave now."
SESSION = "6b0e3f5c-51c1-4f1c-9d2e-000000000001"

pytestmark = [
    pytest.mark.skipif(
        not (SCRIPTS / "mcp-server.cjs").is_file(),
        reason="MEM_SEARCH_CLAUDE_MEM names no unpacked package of claude-mem",
    ),
    pytest.mark.skipif(
        shutil.which("node") is None or shutil.which("bun") is None,
        reason="node and bun are not installed",
    ),
]


@pytest.fixture
def surroundings(client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The environment of claude-mem's programs: an empty home, and our port in the settings."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    data = tmp_path / "theirs" / ".claude-mem"
    data.mkdir(parents=True)
    settings = {
        "CLAUDE_MEM_WORKER_PORT": str(client.port), "CLAUDE_MEM_SEMANTIC_INJECT": "true",
    }  # fmt: skip
    (data / "settings.json").write_text(json.dumps(settings))
    patient = {"CLAUDE_MEM_HEALTH_TIMEOUT_MS": "60000", "CLAUDE_MEM_API_TIMEOUT_MS": "60000"}
    home = {"HOME": str(tmp_path / "theirs"), "CLAUDE_MEM_DATA_DIR": str(data)}
    return {**os.environ, **patient, **home}


class McpServer:
    """claude-mem's MCP server, asked over standard input."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._asked = 0

    async def ask(self, method: str, **params: Any) -> dict[str, Any]:
        self._asked += 1
        await self._send({"id": self._asked, "method": method, "params": params})
        assert self._process.stdout is not None
        async with asyncio.timeout(PATIENCE):
            while True:
                reply = json.loads(await self._process.stdout.readline())
                if reply.get("id") == self._asked:
                    result: dict[str, Any] = reply["result"]
                    return result

    async def begin(self) -> None:
        who = {"name": "test", "version": "1"}
        await self.ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=who)
        await self._send({"method": "notifications/initialized"})

    async def tool(self, tool: str, /, **arguments: Any) -> str:
        """What the tool says; an error is an error here, too."""
        result = await self.ask("tools/call", name=tool, arguments=arguments)
        text: str = result["content"][0]["text"]
        assert not result.get("isError"), text
        return text

    async def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        await self._process.stdin.drain()


@pytest.fixture
async def mcp(surroundings: dict[str, str]) -> AsyncIterator[McpServer]:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        "node", str(SCRIPTS / "mcp-server.cjs"),
        stdin=pipe, stdout=pipe, stderr=asyncio.subprocess.DEVNULL,
        env=surroundings, limit=2**24,
    )  # fmt: skip
    server = McpServer(process)
    try:
        await server.begin()
        yield server
    finally:
        process.kill()
        await process.wait()


async def test_every_tool_of_its_mcp_server_works(mcp: McpServer, numbers: dict[str, int]) -> None:
    tools = {each["name"] for each in (await mcp.ask("tools/list"))["tools"]}
    assert tools == OF_THE_WORKER | ALONE
    for more in ({}, {"limit": 200, "orderBy": "date_desc", "nonsense": [1, 2]}):
        assert "Added login endpoint" in await mcp.tool("search", query="auth", **more)
    assert "rows" in await mcp.tool("search", query="auth", limit=999, format="json")
    for arguments in ({"anchor": numbers["o1"]}, {"query": "login endpoint"}):
        told = await mcp.tool("timeline", **arguments, depth_before=99, depth_after=1)
        assert "Added login endpoint" in told
    ids = [numbers["o1"], numbers["p1"], 10**9]
    opened = json.loads(await mcp.tool("get_observations", ids=ids, orderBy="date_asc"))
    assert [each["number"] for each in opened] == ids[:2]
    assert json.loads(await mcp.tool("get_tool_uses", ids=["toolu_1", 7])) == []
    context = await mcp.tool(
        "session_start_context", projects=["api", "web"], full=True, colors=True
    )
    assert "<recalled-memory>" in context
    corpus = {"name": "login", "description": "d", "project": "web", "types": "decision"}
    built = json.loads(await mcp.tool("build_corpus", **corpus, limit=20))
    assert built["stats"]["observation_count"] == 1
    (listed,) = json.loads(await mcp.tool("list_corpora"))
    assert (listed["name"], listed["stats"]) == ("login", built["stats"])
    for name in ("prime_corpus", "reprime_corpus"):
        assert json.loads(await mcp.tool(name, name="login"))["session_id"]
    assert json.loads(await mcp.tool("rebuild_corpus", name="login"))["name"] == "login"
    question = "why tokens and not sessions?"
    said = json.loads(await mcp.tool("query_corpus", name="login", question=question))
    assert "Chose JWT over sessions" in said["answer"]


async def hook(surroundings: dict[str, str], name: str, **event: Any) -> dict[str, Any]:
    """Run a hook of claude-mem as Claude Code does; returns what it prints."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        "bun", str(SCRIPTS / "worker-service.cjs"), "hook", "claude-code", name,
        stdin=pipe, stdout=pipe, stderr=pipe, env=surroundings,
    )  # fmt: skip
    said, errors = await process.communicate(json.dumps({"session_id": SESSION, **event}).encode())
    assert process.returncode == 0, errors.decode()
    printed: dict[str, Any] = json.loads(said or b"{}")
    return printed


async def test_a_session_that_its_hooks_tell_is_stored_and_comes_back(
    client: Client, surroundings: dict[str, str], tmp_path: Path
) -> None:
    place = tmp_path / "harbour"
    place.mkdir()
    gauge = place / "gauge.py"
    gauge.write_text("# counts waves\n" * 200)
    os.utime(gauge, (1_700_000_000, 1_700_000_000))  # older than what is told about it
    said = {"role": "assistant", "content": [{"type": "text", "text": LAST}]}
    transcript = tmp_path / "transcript.jsonl"  # not where Claude Code keeps them
    transcript.write_text(json.dumps({"type": "assistant", "message": said}) + "\n")
    here = {"cwd": str(place), "transcript_path": str(transcript)}
    prompt = "How do we handle auth in the login of the tide gauge?"
    for name, event in (
        ("session-init", {"hook_event_name": "UserPromptSubmit", "prompt": prompt}),
        ("observation", {
            "hook_event_name": "PostToolUse", "tool_name": "Edit", "tool_use_id": "toolu_1",
            "tool_input": {"file_path": str(gauge), "old_string": "a", "new_string": "b"},
            "tool_response": {"filePath": str(gauge)},
        }),
        ("summarize", {
            "hook_event_name": "Stop", "stop_hook_active": False,
            "last_assistant_message": LAST,
        }),
        ("session-end", {"hook_event_name": "SessionEnd", "reason": "other"}),
    ):  # fmt: skip
        await hook(surroundings, name, **here, **event)
    runtime = lifecycle_of(client).runtime
    await runtime.ingest.hooks.drain(time.time() + GRACE_SECONDS + 1)
    page, _ = await runtime.store.records.page(Filters(session=SESSION), "date_asc", 9, 0)
    records = [record for record, _ in page]
    assert {each.kind for each in records} == {"user_prompt", "observation", "session_summary"}
    assert {each.project for each in records} == {"harbour"}
    assert next(each.text for each in records if each.kind == "user_prompt") == prompt

    started = await hook(
        surroundings, "context", **here, hook_event_name="SessionStart", source="startup"
    )
    context = started["hookSpecificOutput"]["additionalContext"]
    assert LAST in context, context
    read = {"tool_name": "Read", "tool_input": {"file_path": str(gauge)}}
    told = await hook(surroundings, "file-context", **here, hook_event_name="PreToolUse", **read)
    assert "prior observations" in told["hookSpecificOutput"]["additionalContext"]
    again = {
        "hook_event_name": "UserPromptSubmit",
        "prompt": "Why did the tide gauge stop?",
    }
    asked = await hook(surroundings, "session-init", **here, **again)
    assert "tide gauge" in asked["hookSpecificOutput"]["additionalContext"]
    jobs = await (await client.get("/api/jobs?state=failed", headers=AUTHORIZED)).json()
    assert jobs["jobs"] == []


OPENCODE = """
const { default: plugin } = await import(process.argv[2])
const hooks = await plugin({ project: { name: "harbour" }, directory: "/gone/harbour" })
const sessionID = "ses_1"
await hooks["tool.execute.after"](
  { sessionID, tool: "edit", args: { filePath: "/gone/harbour/gauge.py" } }, { output: "done" })
const parts = [{ type: "text", text: process.argv[3] }]
await hooks["chat.message"]({}, { message: { sessionID, role: "assistant" }, parts })
await hooks["experimental.session.compacting"]({ sessionID })
await hooks.event({ event: { type: "session.idle", properties: { sessionID } } })
await hooks.event({ event: { type: "session.deleted", properties: { sessionID } } })
console.log("FOUND " + await hooks.tool.claude_mem_search.execute({ query: "login endpoint" }))
"""
"""What OpenCode does with the plug-in in a session."""

OPENCLAW = """
const { default: plugin } = await import(process.argv[2])
const on = {}, commands = {}, services = []
const logger = { info() {}, warn: console.error, error: console.error }
const sent = []
plugin({
  pluginConfig: {
    workerPort: Number(process.argv[4]), project: "web",
    observationFeed: { enabled: true, channel: "telegram", to: "7" },
  },
  logger,
  runtime: { channel: { telegram: { sendMessageTelegram: async (to, text) => sent.push(text) } } },
  on: (name, handler) => { on[name] = handler },
  registerService: (service) => services.push(service),
  registerCommand: (command) => { commands[command.name] = command.handler },
})
await services[0].start({})
const ctx = { sessionKey: "main", workspaceDir: "/gone/harbour" }
await on.gateway_start({}, ctx)
await on.session_start({}, ctx)
await on.before_agent_start({ prompt: "Please mend the tide gauge of the pier" }, ctx)
const context = await on.before_prompt_build({}, ctx)
const message = { content: [{ type: "text", text: "done" }] }
const params = { path: "/gone/harbour/gauge.py" }
on.tool_result_persist({ toolName: "write", params, message }, ctx)
await on.agent_end({ messages: [{ role: "assistant", content: process.argv[3] }] }, ctx)
const said = {}
for (const [name, args] of [["claude-mem-search", "login 5"], ["claude-mem-recent", "web"],
                            ["claude-mem-timeline", "login"], ["claude_mem_status", ""]])
  said[name] = await commands[name]({ args })
const url = `http://127.0.0.1:${process.argv[4]}/api/memory/save`
const body = JSON.stringify({ text: "The pier has a new gauge.", project: "harbour" })
const begun = Date.now()
while (!sent.length && Date.now() - begun < 60000) {
  if (Date.now() - begun < 100)
    await fetch(url, { method: "POST", headers: { "Content-Type": "application/json" }, body })
  await new Promise((go) => setTimeout(go, 200))
}
await services[0].stop({})
await on.session_end({}, ctx)
console.log("FOUND " + JSON.stringify({ said, context, sent }))
process.exit(0)
"""
"""What OpenClaw's gateway does with the plug-in in a session."""


async def plug_in(surroundings: dict[str, str], program: str, *words: str) -> str:
    """Run a driver under Bun; what it says that it found. Nothing may be warned of."""
    pipe = asyncio.subprocess.PIPE
    folder = Path(surroundings["HOME"])
    (folder / "driver.mjs").write_text(program)
    process = await asyncio.create_subprocess_exec(
        "bun", str(folder / "driver.mjs"), *words,
        stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=pipe, env=surroundings,
    )  # fmt: skip
    said, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()
    assert errors == b""
    return said.decode().partition("FOUND ")[2]


async def records_of(client: Client, project: str) -> dict[str, list[Any]]:
    """The records of a project by kind, after every event was taken."""
    runtime = lifecycle_of(client).runtime
    await runtime.ingest.hooks.drain(time.time() + GRACE_SECONDS + 1)
    page, _ = await runtime.store.records.page(Filters(project=project), "date_asc", 50, 0)
    kinds: dict[str, list[Any]] = {}
    for record, _ in page:
        kinds.setdefault(record.kind, []).append(record)
    return kinds


async def test_its_plug_in_for_opencode_tells_and_searches(
    client: Client, surroundings: dict[str, str]
) -> None:
    plugin = str(PACKAGE / "dist" / "opencode-plugin" / "index.js")
    assert "Added login endpoint" in await plug_in(surroundings, OPENCODE, plugin, LAST)
    found = await records_of(client, "harbour")
    assert found.keys() == {"observation", "session_summary"}
    (work,) = found["observation"]
    assert (work.metadata["files_modified"], work.metadata["narrative"]) == (["gauge.py"], LAST)
    assert work.metadata["platform"] == "opencode"


async def test_its_plug_in_for_openclaw_tells_searches_and_feeds(
    client: Client, surroundings: dict[str, str]
) -> None:
    plugin = str(PACKAGE / "openclaw" / "dist" / "index.js")
    answer = json.loads(await plug_in(surroundings, OPENCLAW, plugin, LAST, str(client.port)))
    assert "<recalled-memory>" in answer["context"]["appendSystemContext"], answer["context"]
    assert [text for text in answer["sent"] if "The pier has a new gauge." in text]
    assert "Status: ok" in answer["said"]["claude_mem_status"]["text"]
    assert "Claude-Mem Search" in answer["said"]["claude-mem-search"]
    found = await records_of(client, "web")
    prompts = {each.text for each in found["user_prompt"]}
    assert "Please mend the tide gauge of the pier" in prompts
    assert "session start" not in prompts, "nobody wrote it"
    assert ["gauge.py"] in [each.metadata.get("files_modified") for each in found["observation"]]
    assert any(LAST in each.text for each in found["session_summary"])
