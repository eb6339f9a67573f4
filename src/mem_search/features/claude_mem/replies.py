"""Replies to clients of claude-mem, in the words that they read."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from mem_search.renderers.schema import Absent, Count, schema


@schema
class SessionBegun:
    """A prompt was taken; `reason` says why it was not where it was `skipped`.

    `session_db_id` is a number for the session that clients print and never send back.
    """

    session_db_id: Annotated[int, Field(serialization_alias="sessionDbId")]
    prompt_number: Annotated[int, Field(serialization_alias="promptNumber")]
    skipped: bool = False
    context_injected: Annotated[bool, Field(serialization_alias="contextInjected")] = False
    status: str = "initialized"
    reason: Absent[str] = None


@schema
class Taken:
    """What became of an event: it waits to be read, or it is left out for a `reason`."""

    status: str
    reason: Absent[str] = None


@schema
class MemorySaved:
    """The number of the observation that was stored."""

    success: bool = True
    id: int
    title: str
    project: str
    message: str


@schema
class ProcessingStatus:
    """How much waits to be embedded or indexed."""

    is_processing: Annotated[bool, Field(serialization_alias="isProcessing")]
    queue_depth: Annotated[Count, Field(serialization_alias="queueDepth")]
    parked_sessions: Annotated[Count, Field(serialization_alias="parkedSessions")] = 0


@schema
class VectorIndexStatus:
    """The state of the vector index, under the name that clients ask for."""

    status: str
    connected: bool
    timestamp: str
    details: str
    deep: bool = False


@schema
class SyncStatus:
    """claude-mem's synchronization with its cloud, which this worker does not have."""

    configured: bool = False
    enabled: bool = False


@schema
class ToolUse:
    """A call of a tool as the transcript has it. `tool_input` and `tool_response` are redacted."""

    id: str
    tool_use_id: str
    content_session_id: str
    tool_name: str
    tool_input: Any
    tool_response: Any
    cwd: str
    created_at: str


@schema
class ListedToolUse:
    """A call of a tool in a list, with sizes in bytes; null is what no transcript has."""

    id: str
    tool_use_id: str
    tool_name: str
    project: str
    content_session_id: str
    memory_session_id: str
    platform_source: str
    agent_id: str | None = None
    agent_type: str | None = None
    observation_id: int | None = None
    prompt_number: int | None = None
    created_at: str
    created_at_epoch: int
    tool_input_bytes: Count
    tool_response_bytes: Count


@schema
class ToolUses:
    """Calls of tools; `count` is the number of those in the reply."""

    count: Count
    tool_uses: Annotated[list[ListedToolUse], Field(serialization_alias="toolUses")]


@schema
class Logs:
    """The last lines of the log; `path` is the name of its file in the home's `logs`."""

    logs: str
    path: str
    exists: bool
    total_lines: Annotated[Count, Field(serialization_alias="totalLines")]
    returned_lines: Annotated[Count, Field(serialization_alias="returnedLines")]


@schema
class McpStatus:
    """Whether this worker answers MCP."""

    enabled: bool = True


@schema
class Dependency:
    """Something that does not work: what, in which way, and what to do."""

    dependency: str
    kind: str
    message: str
    remediation: str
    recorded_at_ms: Annotated[int, Field(serialization_alias="recordedAtMs")]


@schema
class DependencyHealth:
    """What the worker depends on and lacks; empty if nothing is lacking."""

    degraded: bool
    statuses: list[Dependency]


@schema
class ImportStats:
    """How many rows of each table were stored; the others were known, empty, or no rows."""

    sessions_imported: Annotated[int, Field(serialization_alias="sessionsImported")]
    sessions_skipped: Annotated[int, Field(serialization_alias="sessionsSkipped")]
    summaries_imported: Annotated[int, Field(serialization_alias="summariesImported")]
    summaries_skipped: Annotated[int, Field(serialization_alias="summariesSkipped")]
    observations_imported: Annotated[int, Field(serialization_alias="observationsImported")]
    observations_skipped: Annotated[int, Field(serialization_alias="observationsSkipped")]
    prompts_imported: Annotated[int, Field(serialization_alias="promptsImported")]
    prompts_skipped: Annotated[int, Field(serialization_alias="promptsSkipped")]


@schema
class Imported:
    """What became of an import."""

    success: bool = True
    stats: ImportStats


@schema
class CorpusDates:
    """When the oldest and the newest observation of a corpus were made."""

    earliest: str
    latest: str


@schema
class CorpusStats:
    """What is in a corpus; `token_estimate` is what all of its texts would cost."""

    observation_count: int
    token_estimate: int
    date_range: CorpusDates
    type_breakdown: dict[str, int]


@schema
class ListedCorpus:
    """A corpus in the list; it is always primed, and `session_id` names it."""

    name: str
    description: str
    stats: CorpusStats
    session_id: str


@schema
class Corpus:
    """A corpus: the filter of its observations, and what it finds now."""

    version: int = 1
    name: str
    description: str
    created_at: str
    updated_at: str
    filter: dict[str, Any]
    stats: CorpusStats
    system_prompt: str = ""
    session_id: str


@schema
class CorpusPrimed:
    """The corpus can be asked."""

    session_id: str
    name: str


@schema
class CorpusAnswer:
    """What a corpus says to a question."""

    answer: str
    session_id: str


@schema
class McpText:
    """A text in the form of MCP."""

    type: str = "text"
    text: str


@schema
class McpReply:
    """A reply that the MCP server hands on as it is."""

    content: list[McpText]


@schema
class Success:
    """It is done."""

    success: bool = True
