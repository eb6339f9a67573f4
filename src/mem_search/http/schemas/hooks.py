"""Replies to hooks of agents."""

from __future__ import annotations

from mem_search.renderers.schema import Count, schema


@schema
class HookReply:
    """`context` is for the agent of a session that starts, or of a prompt; else it is empty.

    It has so many `tokens`. `kept`: the event that came with the request is on the disk, redacted.
    A worker that has just started does not keep it yet: then the hook has to.
    """

    context: str
    tokens: Count
    kept: bool
