"""Replies with what an agent gets from memory."""

from __future__ import annotations

from mem_search.renderers.schema import Count, Time, schema


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


@schema
class SessionCost:
    """What the hooks of a session cost: how many, the tokens that the agent got, and their times.

    `turns` are prompts, `searches` how often the agent searched its memory. `unanswered` hooks met
    no worker in time. `ms` and `cpu_ms` are the median hook, `slowest_ms` the slowest.
    """

    session: str
    agent: str
    first: Time
    last: Time
    hooks: Count
    unanswered: Count
    turns: Count
    searches: Count
    tokens: Count
    ms: float
    slowest_ms: float
    cpu_ms: float


@schema
class HookCosts:
    """The hooks of all sessions together, and each of the latest sessions, the latest first.

    `p95_ms` and `p95_cpu_ms` are of single hooks; `searches_a_turn` is null without a prompt.
    `dropped` events could not be used; `last_dropped` is when and why the last of them was dropped.
    """

    hooks: Count
    unanswered: Count
    turns: Count
    searches: Count
    searches_a_turn: float | None
    tokens: Count
    p95_ms: float
    p95_cpu_ms: float
    dropped: Count
    last_dropped: str
    sessions: list[SessionCost]
