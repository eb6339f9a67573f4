"""Replies with what an agent gets from memory."""

from __future__ import annotations

from mem_search.renderers.schema import Count, schema


@schema
class BriefedRecord:
    """A record of a briefing; `reasons` say why it is in it, the heaviest first."""

    ref: str
    title: str
    score: float
    reasons: list[str]


@schema
class BriefingReply:
    """`context` is what the agent gets: `tokens_used` of at most `max_tokens`.

    `total` records are known of the projects, `on_branch` of them of the branch, and `matching`
    match the prompt (null without one). `left_out` further records were read and not shown.
    """

    context: str
    tokens_used: Count
    max_tokens: Count
    total: Count
    on_branch: Count
    matching: Count | None
    records: list[BriefedRecord]
    left_out: Count


@schema
class SemanticContext:
    """The records that match a prompt, as text, and how many they are."""

    context: str
    count: Count
    tokens_used: Count
