"""Every snippet and annotation is exactly the piece of the record that its span names.

Records are made at random of everything that makes offsets go wrong: several scripts, characters
outside the basic plane, combining marks, line ends, and what is redacted or cleaned when stored.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

from http_worker import AUTHORIZED, Client, lifecycle_of

from mem_search.model import Draft
from mem_search.records.registry import installed_kinds
from runtimes import fill

KINDS = installed_kinds().names

WORDS = (
    "lantern harbour tide anchor running indexes createTable snake_case naïve Ünïcode İstanbul"
    " 検索 認証を改善する 데이터 поиск 🚢 👩‍👩‍👧 e\u0301te\u0301 ﬁne 10.5 C++ a/b.py"
).split()
ODD = ("\r\n", "\n\n", "\t", "\x00", "\ufeff", "\u200b", "\u2028", "password = hunter2hunter2",
       "<private>not for you</private>", "  ", "…", '"', "<b>", "\x1b[0m")  # fmt: skip
LENGTHS = (1, 5, 30, 200, 600, 1500)
RECORDS = 150
LEAST = int(os.environ.get("SPANS", "1500"))
"""Spans that are held against their records."""


def text_of(rng: random.Random, length: int) -> str:
    pieces = (rng.choice(ODD) if rng.random() < 0.08 else rng.choice(WORDS) for _ in range(length))
    return " ".join(pieces)


def drafts(rng: random.Random) -> Iterator[Draft]:
    for n in range(RECORDS):
        length = rng.choices(LENGTHS, weights=(4, 6, 8, 4, 2, 1))[0]
        facts = [text_of(rng, 4) for _ in range(n % 3)]
        yield Draft(
            KINDS[n % len(KINDS)], "test", f"r{n}", f"lantern {text_of(rng, length)}",
            text_of(rng, n % 5), metadata={"facts": facts, "learned": text_of(rng, 3)},
        )  # fmt: skip


async def test_thousands_of_spans_prove_themselves(empty: Client) -> None:
    rng = random.Random(20261122)
    await fill(lifecycle_of(empty).runtime, *drafts(rng))
    texts: dict[str, str] = {}
    seen = 0

    async def holds(ref: str, text: str, start: int, end: int, digest: str) -> None:
        nonlocal seen
        whole = texts.get(ref.removeprefix("local:"))
        if whole is None:
            whole = (await json(await empty.get(f"/api/records/{ref}")))["text"]
            fetched = await json(await empty.post("/api/v1/mcp/fetch", json={"id": ref}))
            assert fetched["text"] == fetched["content"] == whole
            texts[ref.removeprefix("local:")] = whole
        assert whole[start:end] == text
        assert sha256(text.encode()).hexdigest() == digest
        seen += 1

    async def span_holds(ref: str, text: str, span: dict[str, Any]) -> None:
        await holds(ref, text, span["start"], span["end"], span["sha256"])

    while seen < LEAST:
        query = f"lantern {rng.choice(WORDS)} {rng.choice(WORDS)}"
        length = rng.choice((40, 41, 77, 200, 2000))
        body = {
            "query": query, "limit": 100, "offset": rng.randrange(0, 200, 50),
            "search_type": rng.choice(("keyword", "semantic", "hybrid")),
            "mode": rng.choice(("basic", "deep_research")), "snippet_length": length,
        }  # fmt: skip
        for item in (await json(await empty.post("/api/v1/search", json=body, headers=AUTHORIZED)))[
            "items"
        ]:
            await span_holds(item["id"], item["snippet"], item["snippet_span"])
            assert len(item["snippet"]) <= length
            for noted in item["annotations"] or ():
                await holds(
                    noted["source_id"], noted["text"], noted["start_index"], noted["end_index"],
                    noted["sha256"],
                )  # fmt: skip
        asked = {"query": query, "limit": 100}
        for found in (await json(await empty.post("/api/v1/mcp/search", json=asked)))["results"]:
            await span_holds(found["id"], found["text"], found["snippet_span"])
        unified = {"query": query, "limit": "100", "format": "json"}
        for route in ("/api/search/unified", "/api/search"):
            reply = await json(await empty.get(route, params=unified))
            for result in reply["results"]:
                await span_holds(result["ref"], result["snippet"], result["snippet_span"])
        weighted = await json(await empty.post("/api/v2/search/hybrid", json=asked))
        for item in weighted["data"]["items"]:
            await span_holds(item["id"], item["snippet"], item["snippet_span"])


async def json(reply: Any) -> Any:
    assert reply.status == 200, await reply.text()
    return await reply.json()
