"""``explain=true`` on the searches of ``/api/search``: every part of every score."""

from __future__ import annotations

import pytest
from http_worker import Client, Get


async def test_json_explains_every_part_of_every_leg(get: Get) -> None:
    reply = await get("/api/search", query="auth login", format="json", explain="true")
    legs = [leg["name"] for leg in reply["search"]["legs"] if leg["state"] != "failed"]
    for result in reply["results"]:
        scores = result["scores"]
        parts = [
            scores[f"{leg}.weight"] * (scores[f"{leg}.z"] + scores[f"{leg}.bonus"]) for leg in legs
        ]
        assert sum(parts) == pytest.approx(scores["fused"])
        for leg in legs:
            rank = scores.get(f"{leg}.rank")
            assert scores[f"{leg}.bonus"] == (1 / rank if rank else 0)


async def test_a_listing_has_a_line_of_reasons_below_each_result(get: Get) -> None:
    for format in ("index", "full"):  # noqa: A001 - the parameter's name
        asked = {"query": "auth", "types": "notes,prompts", "format": format}
        plain = (await get("/api/search/unified", **asked))["content"][0]["text"]
        text = (await get("/api/search/unified", **asked, explain="1"))["content"][0]["text"]
        reasons = [line for line in text.splitlines() if line.startswith("    why: ")]
        assert len(reasons) == 2
        assert all("keyword" in line for line in reasons)
        assert "why:" not in plain


async def test_scores_without_it_are_as_short_as_before(get: Get) -> None:
    reply = await get("/api/search", query="auth", format="json")
    assert not any("." in name for result in reply["results"] for name in result["scores"])


async def test_browsing_has_nothing_to_explain_and_answers(get: Get) -> None:
    assert (await get("/api/decisions", explain="true"))["total"] == 2


async def test_it_is_true_or_false(client: Client) -> None:
    reply = await client.get("/api/search?query=auth&explain=perhaps")
    assert reply.status == 422
    assert (await reply.json())["field"] == "explain"
