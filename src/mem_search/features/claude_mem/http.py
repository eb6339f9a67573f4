"""The routes of claude-mem's clients, one line each; docs/contracts/claude-mem.md describes them."""

from __future__ import annotations

from functools import partial

from mem_search.features.claude_mem import capture, corpora, reading, rows, status, tool_uses
from mem_search.features.claude_mem import replies as schemas
from mem_search.features.claude_mem.rows import SessionRow
from mem_search.http.core.replies import TEXT
from mem_search.http.core.routing import Route

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
    GET("/api/processing-status", status.processing, "Count what waits to be indexed", response=schemas.ProcessingStatus),
    GET("/api/settings", status.settings, "Show the settings that clients use", response=dict[str, str]),
    GET("/api/chroma/status", status.vector_index, "Show the state of the vector index", response=schemas.VectorIndexStatus, private=True),
    GET("/api/sync/status", status.cloud, "Say that there is no cloud", response=schemas.SyncStatus),
    GET("/api/onboarding/explainer", status.explainer, "Explain how memory works", content_type=TEXT),
    GET("/api/settings/dependency-health", status.dependencies, "Say what does not work of model and index", response=schemas.DependencyHealth, private=True),
    GET("/api/mcp/status", status.mcp, "Say that MCP is answered", response=schemas.McpStatus),
    GET("/api/logs", status.logs, "Show the end of the log", only="owner", query=status.LogParameters, response=schemas.Logs, private=True),
    GET("/api/instructions", status.instructions, "Explain how to search", query=status.InstructionParameters, response=schemas.McpReply),
    GET("/stream", reading.listen, "Send new records as they are stored", content_type="text/event-stream"),
)
# fmt: on
