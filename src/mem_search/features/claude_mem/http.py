"""The routes of claude-mem's clients, one line each, and what they ask about the worker itself.

docs/contracts/claude-mem.md describes them.
"""

from __future__ import annotations

import asyncio
from collections import deque
from functools import partial
from pathlib import Path
from typing import Final, Literal

from aiohttp import web
from pydantic import Field

from mem_search.features.claude_mem import capture, corpora, reading, rows, tool_uses
from mem_search.features.claude_mem import replies as schemas
from mem_search.features.claude_mem.replies import (
    Dependency,
    DependencyHealth,
    Logs,
    McpReply,
    McpStatus,
    McpText,
    ProcessingStatus,
    SyncStatus,
    VectorIndexStatus,
)
from mem_search.features.claude_mem.rows import SessionRow
from mem_search.http import about
from mem_search.http.core.parameters import Parameters
from mem_search.http.core.replies import TEXT, json_reply
from mem_search.http.core.routing import ROUTE_TABLE, Call, Route
from mem_search.text import dates
from mem_search.text.dates import now_ms

_HEALTH: Final = {"ready": "healthy", "off": "disabled"}
_EXPLAINED: Final = """\
# How memory works here

claude-mem's clients are connected to mem-search, which stores what they tell and searches it.

- Prompts, tool calls and conclusions of a session become records without a language model. Where \
Claude Code keeps a transcript, the transcript is read.
- Everything is in one folder of this machine; secrets are removed before anything is stored.
- `mem-search context` shows what a session gets at its start, `mem-search stats` what is stored, \
`mem-search forget` removes it.
"""
_OPERATIONS: Final = {
    "search": "GET /api/search?query=WORDS finds records, best first.",
    "context": "GET /api/context/inject?project=NAME is what a session gets at its start.",
    "summarize": "A session is summarized by itself, without a language model; GET /api/summaries.",
    "import": "POST /api/import takes rows of claude-mem; mem-search import FILE any other format.",
    "export": "GET /api/search?format=json&limit=10000 gives rows; mem-search export everything.",
}
_MAX_LOG_LINES: Final = 10_000
"""Lines of the log, as many as claude-mem's worker gives."""
_LOG: Final = "worker.log"


class InstructionParameters(Parameters):
    """How to search, or how to do one thing."""

    topic: Literal["all", "workflow", "search_params", "examples"] = Field(
        default="all", description="A part of how to search"
    )
    operation: Literal["", "search", "context", "summarize", "import", "export"] = Field(
        default="", description="Instead of that, how to do this"
    )


class LogParameters(Parameters):
    """The end of the log."""

    lines: int = Field(default=1000, ge=1, le=_MAX_LOG_LINES, description="How many lines at most")


async def instructions(call: Call) -> web.StreamResponse:
    """How to search with this worker, as a text."""
    params = call.parameters(InstructionParameters)
    routes = call.request.app[ROUTE_TABLE]()
    text = _OPERATIONS.get(params.operation) or about.guide(routes, params.topic)
    return json_reply(McpReply(content=[McpText(text=text)]))


async def logs(call: Call) -> web.StreamResponse:
    """The last lines of the worker's log, which has no secrets, no bodies and no questions."""
    path = call.lifecycle.settings.logs_dir / _LOG
    reply = await asyncio.to_thread(_read, path, call.parameters(LogParameters).lines)
    return json_reply(reply)


def _read(path: Path, most: int) -> Logs:
    """The log is at most a few megabytes: it is rotated."""
    last: deque[str] = deque(maxlen=most)
    total = 0
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            for total, line in enumerate(file, 1):  # noqa: B007 - the last one is the number
                last.append(line.rstrip("\n"))
    except FileNotFoundError:
        return Logs(logs="", path=_LOG, exists=False, total_lines=0, returned_lines=0)
    return Logs(
        logs="\n".join(last), path=_LOG, exists=True,
        total_lines=total, returned_lines=len(last),
    )  # fmt: skip


async def mcp(_call: Call) -> web.StreamResponse:
    """This worker answers MCP, at ``POST /mcp``."""
    return json_reply(McpStatus())


async def dependencies(call: Call) -> web.StreamResponse:
    """What does not work of the model and of the vector index."""
    index, errors = call.runtime.index, call.runtime.ingest.indexer.errors
    broken = {
        "embedder": errors["embed"],
        "chroma": errors["index"] or (index.detail if index.state == "down" else ""),
    }
    statuses = [
        Dependency(
            dependency=name,
            kind="vector_search_unavailable",
            message=message,
            remediation="mem-search doctor says what to do; searches go on by words",
            recorded_at_ms=now_ms(),
        )
        for name, message in broken.items()
        if message
    ]
    return json_reply(DependencyHealth(degraded=bool(statuses), statuses=statuses))


async def processing(call: Call) -> web.StreamResponse:
    """Whether something waits to be embedded or indexed."""
    waiting = sum((await call.runtime.store.indexing.outbox_counts()).values())
    return json_reply(ProcessingStatus(is_processing=waiting > 0, queue_depth=waiting))


async def settings(call: Call) -> web.StreamResponse:
    """The settings that clients use, in claude-mem's names; never a key or a path."""
    known = call.lifecycle.settings
    return json_reply(
        {
            "CLAUDE_MEM_WORKER_HOST": known.host,
            "CLAUDE_MEM_WORKER_PORT": str(known.port),
            "CLAUDE_MEM_PROVIDER": "mem-search",
            "CLAUDE_MEM_CHROMA_ENABLED": str(known.chroma_url != "off").lower(),
        },
        kind=dict[str, str],
    )


async def vector_index(call: Call) -> web.StreamResponse:
    """The state of the vector index."""
    index = call.runtime.index
    status = _HEALTH.get(index.state, "unhealthy")
    return json_reply(
        VectorIndexStatus(
            status=status,
            connected=status == "healthy",
            timestamp=dates.iso(now_ms()),
            details=f"{index.state}: {index.detail}" if index.detail else index.state,
        )
    )


async def cloud(_call: Call) -> web.StreamResponse:
    """There is no synchronization with a cloud."""
    return json_reply(SyncStatus())


async def explainer(_call: Call) -> web.StreamResponse:
    """How memory works, for the skill that explains it."""
    return web.Response(text=_EXPLAINED, content_type=TEXT)


GET = partial(Route, "GET", tag="claude-mem", is_rest=False)
POST = partial(Route, "POST", tag="claude-mem", is_rest=False)
CAPTURE = partial(POST, write=True, capture=True)

# fmt: off
ROUTES = (
    CAPTURE("/api/import", rows.take, "Import rows of claude-mem", only="owner", body=rows.ExportBody, response=schemas.Imported),
    CAPTURE("/api/sessions/init", capture.begin, "Take a prompt", only="owner", body=capture.InitBody, response=schemas.SessionBegun),
    CAPTURE("/api/sessions/observations", capture.observe, "Take a call of a tool", only="owner", body=capture.ToolBody, response=schemas.Taken),
    CAPTURE("/api/sessions/summarize", capture.summarize, "Take what the agent said last", only="owner", body=capture.SummaryBody, response=schemas.Taken),
    CAPTURE("/api/sessions/session-end", capture.end, "Take the end of a session", only="owner", body=capture.SessionBody, response=schemas.Taken),
    CAPTURE("/api/sessions/complete", capture.end, "Take the end of a session", only="owner", body=capture.SessionBody, response=schemas.Taken),
    CAPTURE("/api/memory/save", capture.save, "Store a memory", body=capture.MemoryBody, response=schemas.MemorySaved),
    GET("/api/observations/by-file", reading.by_file, "List observations about a file", query=reading.ByFileParameters, response=reading.FileObservations),
    POST("/api/sdk-sessions/batch", reading.sessions, "Show sessions", body=reading.SessionsBody, response=list[SessionRow]),
    GET("/api/tool-uses", tool_uses.listed, "List calls of tools", query=tool_uses.ToolUsesParameters, response=schemas.ToolUses, private=True),
    POST("/api/tool-uses/batch", tool_uses.batch, "Show what tools were given and answered", body=tool_uses.ToolUsesBody, response=list[schemas.ToolUse], private=True),
    CAPTURE("/api/corpus", corpora.build, "Build a corpus", body=corpora.CorpusBody, response=schemas.Corpus),
    GET("/api/corpus", corpora.listed, "List corpora", response=schemas.McpReply),
    GET("/api/corpus/{name}", corpora.one, "Show a corpus", response=schemas.Corpus),
    Route("DELETE", "/api/corpus/{name}", corpora.remove, "Delete a corpus", "claude-mem", write=True, is_rest=False, response=schemas.Success),
    POST("/api/corpus/{name}/rebuild", corpora.one, "Show a corpus as it is now", response=schemas.Corpus),
    POST("/api/corpus/{name}/prime", corpora.prime, "Say that a corpus can be asked", response=schemas.CorpusPrimed),
    POST("/api/corpus/{name}/reprime", corpora.prime, "Say that a corpus can be asked", response=schemas.CorpusPrimed),
    POST("/api/corpus/{name}/query", corpora.ask, "Show what of a corpus answers a question", body=corpora.QuestionBody, response=schemas.CorpusAnswer),
    GET("/api/processing-status", processing, "Count what waits to be indexed", response=schemas.ProcessingStatus),
    GET("/api/settings", settings, "Show the settings that clients use", response=dict[str, str]),
    GET("/api/chroma/status", vector_index, "Show the state of the vector index", response=schemas.VectorIndexStatus, private=True),
    GET("/api/sync/status", cloud, "Say that there is no cloud", response=schemas.SyncStatus),
    GET("/api/onboarding/explainer", explainer, "Explain how memory works", content_type=TEXT),
    GET("/api/settings/dependency-health", dependencies, "Say what does not work of model and index", response=schemas.DependencyHealth, private=True),
    GET("/api/mcp/status", mcp, "Say that MCP is answered", response=schemas.McpStatus),
    GET("/api/logs", logs, "Show the end of the log", only="owner", query=LogParameters, response=schemas.Logs, private=True),
    GET("/api/instructions", instructions, "Explain how to search", query=InstructionParameters, response=schemas.McpReply),
    GET("/stream", reading.listen, "Send new records as they are stored", content_type="text/event-stream"),
)
# fmt: on
