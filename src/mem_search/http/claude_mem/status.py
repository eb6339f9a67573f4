"""What clients of claude-mem ask about the worker itself."""

from __future__ import annotations

from typing import Final

from aiohttp import web

from mem_search.http.core.replies import TEXT, json_reply
from mem_search.http.core.routing import Call
from mem_search.http.schemas.claude_mem import ProcessingStatus, SyncStatus, VectorIndexStatus
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
