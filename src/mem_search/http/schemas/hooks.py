"""Replies to hooks of agents."""

from __future__ import annotations

from mem_search.renderers.schema import schema


@schema
class HookReply:
    """`context` is for the agent of a session that starts, or of a prompt; else it is empty."""

    context: str
