"""``/api/learned``: openings after searches are noted, learned from where that wins, undone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from http_worker import AUTHORIZED, Client, lifecycle_of

from mem_search.features.learning.service import (
    Question,
    fit_weights,
    is_held_out,
    judged,
    sign_test_p_value,
)
from mem_search.model import Draft
from mem_search.search.stages.learned import FEATURES, file_of, read_file
from mem_search.settings import Settings

LEARNED = "/api/learned"
DAY = 86_400_000
TOPICS = [f"topic{number:02}" for number in range(60)]
STORED = tuple(
    Draft("note", "test", f"{topic}-{n}", f"About {topic} and more words of it. {'x' * n}",
          f"Note {n}", created_at=(20_000 - 60 * n) * DAY, updated_at=1)
    for topic in TOPICS for n in range(4)
)  # fmt: skip
"""Of each topic four notes, of which the older ones stand as near to the question."""


async def search(client: Client, query: str, **headers: str) -> list[str]:
    params = {"query": query, "limit": "20", "format": "json"}
    reply = await client.get("/api/search", params=params, headers={**AUTHORIZED, **headers})
    assert reply.status == 200, await reply.text()
    return [f"{each['kind']}:{each['number']}" for each in (await reply.json())["results"]]


async def learned(client: Client, method: str = "GET") -> Any:
    reply = await client.request(method, LEARNED, headers=AUTHORIZED)
    assert reply.status == 200, await reply.text()
    return await reply.json()


async def open_(client: Client, ref: str) -> None:
    reply = await client.get(f"/api/records/{ref}", headers=AUTHORIZED)
    assert reply.status == 200


async def clicks(client: Client) -> list[tuple[str, int]]:
    runtime = lifecycle_of(client).runtime
    await runtime.search.service.log.flush()
    return [(each.query, each.number) for each in await runtime.store.search_log.clicks()]


async def test_an_opening_after_a_search_is_noted_and_goes_with_its_record(filled: Client) -> None:
    found = await search(filled, TOPICS[0])
    await open_(filled, found[1])
    await open_(filled, found[1])  # the same choice
    other = (await search(filled, TOPICS[1]))[0]
    await search(filled, f"{TOPICS[1]} kind:note")  # with a field
    for path in (f"/api/records/{other}", "/api/records/note:1"):
        await filled.get(path)  # without a token nothing is noted
    number = int(found[1].partition(":")[2])
    assert await clicks(filled) == [(TOPICS[0], number)]
    message = {
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "fetch", "arguments": {"id": other}},
    }  # fmt: skip
    accept = {**AUTHORIZED, "Accept": "application/json, text/event-stream"}
    await filled.post("/mcp", json=message, headers=accept)  # an agent's, not the person's
    assert len(await clicks(filled)) == 1
    assert (await filled.delete(f"/api/records/{found[1]}", headers=AUTHORIZED)).status == 200
    assert await clicks(filled) == []


async def test_a_citation_that_a_person_copies_counts_and_the_log_forgets_it(
    filled: Client,
) -> None:
    found = await search(filled, TOPICS[0])
    params = {"refs": found[2]}
    await filled.get(
        "/api/citations", params=params, headers=AUTHORIZED
    )  # a page shows one unasked
    assert await clicks(filled) == []
    cli = {"User-Agent": "mem-search", **AUTHORIZED}
    assert (await filled.get("/api/citations", params=params, headers=cli)).status == 200
    assert len(await clicks(filled)) == 1
    assert (await filled.delete("/api/search/log", headers=AUTHORIZED)).status == 200
    assert await clicks(filled) == []


async def test_a_question_with_a_secret_is_no_click(filled: Client) -> None:
    found = await search(filled, f"{TOPICS[0]} password=hunter2xyzzy!")
    await open_(filled, found[0])
    assert await clicks(filled) == []


async def test_what_a_person_opens_raises_the_like_and_can_be_undone(filled: Client) -> None:
    few = await learned(filled, "POST")
    assert (few["last"]["kept"], few["weights"]) == (False, None)
    assert "too few" in few["last"]["reason"]
    first = {topic: await search(filled, topic) for topic in TOPICS}
    for topic in TOPICS:
        oldest = max(await search(filled, topic), key=lambda ref: int(ref.partition(":")[2]))
        await open_(filled, oldest)  # this person wants what is old
    said = await learned(filled, "POST")
    last = said["last"]
    assert last["training"] + last["held_out"] == len(TOPICS)
    assert last["held_out"] == sum(map(is_held_out, TOPICS))
    assert last["kept"]
    assert last["after"] > last["before"]
    assert last["better"] > last["worse"]
    assert said["weights"]["recent"] < 0
    after = {topic: await search(filled, topic) for topic in TOPICS}
    assert {tuple(sorted(refs)) for refs in after.values()} == {
        tuple(sorted(refs)) for refs in first.values()
    }  # another order, and nothing else
    assert after != first
    again = await learned(filled, "POST")
    assert not again["last"]["kept"]  # it does not beat itself
    assert again["weights"] == said["weights"]
    assert file_of(lifecycle_of(filled).runtime.settings.home).exists()
    gone = await learned(filled, "DELETE")
    assert gone["weights"] is None
    assert {topic: await search(filled, topic) for topic in TOPICS} == first
    assert gone["clicks"] == len(TOPICS)


@pytest.fixture
async def quiet(settings: Settings) -> AsyncIterator[Client]:
    from aiohttp.test_utils import TestClient, TestServer

    from mem_search.http.core.app import build_app
    from runtimes import fill

    async with TestClient(TestServer(build_app(replace(settings, clicks=False)))) as client:
        await lifecycle_of(client).ready()
        await fill(lifecycle_of(client).runtime, *STORED[:4])
        yield client


async def test_a_setting_turns_it_off(quiet: Client) -> None:
    await open_(quiet, (await search(quiet, TOPICS[0]))[0])
    assert await clicks(quiet) == []
    assert (await learned(quiet))["on"] is False


async def test_who_may_only_read_learns_nothing(filled: Client) -> None:
    assert (await filled.post(LEARNED)).status == 401
    assert (await filled.delete(LEARNED)).status == 401


def questions(count: int, wanted: int, seed: int) -> list[Question]:
    """Ten records each; what is opened is the best by the feature ``wanted``, and by chance."""
    chances = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        features = chances.normal(size=(10, len(FEATURES)))
        base = chances.normal(size=10)
        opened = np.zeros(10, np.bool_)
        opened[np.argmax(base + 2.0 * features[:, wanted])] = True
        made.append(Question(base, features, opened))
    return made


@pytest.mark.parametrize("wanted", range(len(FEATURES)))
def test_the_weight_that_explains_the_openings_is_found(wanted: int) -> None:
    weights = fit_weights(questions(60, wanted, 1))
    assert np.argmax(np.abs(weights)) == wanted
    outcome, _ = judged(questions(60, wanted, 1), questions(30, wanted, 2), np.zeros(len(FEATURES)))
    assert outcome.kept
    assert outcome.before is not None
    assert outcome.after is not None
    assert outcome.after > outcome.before


def test_openings_by_chance_change_nothing() -> None:
    chances = np.random.default_rng(3)

    def made(count: int) -> list[Question]:
        found = questions(count, 0, int(chances.integers(1000)))
        for each in found:
            each.opened[:] = False
            each.opened[chances.integers(10)] = True
        return found

    kept = [judged(made(60), made(30), np.zeros(len(FEATURES)))[0].kept for _ in range(20)]
    assert sum(kept) <= 4


def test_what_was_learned_before_has_to_be_beaten() -> None:
    training, held_out = questions(60, 1, 1), questions(30, 1, 2)
    _, weights = judged(training, held_out, np.zeros(len(FEATURES)))
    again, same = judged(training, held_out, weights)
    assert not again.kept
    assert np.allclose(same, weights)


def test_a_tie_is_no_win() -> None:
    assert sign_test_p_value(0, 0) == 1.0
    assert sign_test_p_value(5, 0) == 1 / 32


@pytest.mark.parametrize(
    "content", ["", "[]", "{", '{"weights": [1]}', '{"weights": [9, 9, 9, 9, 9]}', "[" * 50_000]
)
def test_a_file_that_cannot_be_used_is_left_out(tmp_path: Path, content: str) -> None:
    file_of(tmp_path).write_text(content, "utf-8")
    assert read_file(tmp_path) is None
