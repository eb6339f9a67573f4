"""The conformance suite runs on the product's own server; the expected failures are listed."""

from __future__ import annotations

from pathlib import Path

import fixtures
import pytest

from mem_search.mcp import server as product

HERE = Path(__file__).parent
NOT_OFFERED = (
    "completion-", "prompts-", "logging-", "input-required-", "elicitation-",
    "tools-call-with-", "tools-call-sampling", "tools-call-elicitation",
    "resources-subscribe", "resources-unsubscribe", "server-sse-", "caching",
)  # fmt: skip
"""Prompts, completion, logging, progress, subscriptions, streams, questions to the client."""
REFUSED = ("dns-rebinding-protection",)
"""The suite sends a page's Origin without a token and awaits an answer: ADR 0033 refuses it."""


def methods(server: object) -> set[str]:
    return set(server._request_handlers)  # type: ignore[attr-defined]


def test_the_fixtures_add_no_capability() -> None:
    own, other = product.build(), fixtures.build()
    assert methods(own) == methods(other)
    assert own.get_capabilities() == other.get_capabilities()
    assert own.instructions == other.instructions


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_only_what_is_not_offered_may_fail(revision: str) -> None:
    lines = (HERE / f"{revision}.yml").read_text("utf-8").splitlines()
    entries = [line.split("#")[0].strip()[2:].strip() for line in lines if line.startswith("  - ")]
    assert len(entries) > 10
    assert [entry for entry in entries if not entry.startswith(NOT_OFFERED + REFUSED)] == []


def test_exactly_tools_and_resources_are_offered() -> None:
    offered = product.build().get_capabilities().model_dump(exclude_none=True)
    assert set(offered) == {"tools", "resources"}
