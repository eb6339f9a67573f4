"""A language model is asked about documents: what it says is validated, kept apart, and bounded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from chat_model import Model, chat, model
from drafts import draft
from mem_search.errors import InputError, ModelUnavailable
from mem_search.jobs import enriching
from mem_search.jobs.enriching import EnrichJob
from mem_search.model import Record, SearchRequest
from mem_search.model_endpoint import ChatEndpoint, Refused
from mem_search.wiring import Runtime, open_runtime
from patience import becomes
from runtimes import fill, small

__all__ = ["model"]

KEY = "enrich-key-1234"
FACTS = {"document_type": "invoice", "vendor": "Quay", "amount": 12.5, "category": "light"}


def endpoint_of(model: Model, shape: str = "openai") -> ChatEndpoint:
    return ChatEndpoint(f"{shape}:small@{model.base}", enriching.TASK, key=KEY, seconds=5)


@pytest.fixture(autouse=True)
def _answers_with_facts(model: Model) -> None:
    model.answer = lambda _: chat(FACTS)


def job(runtime: Runtime, model: Model, **limits: int) -> EnrichJob:
    return EnrichJob(
        runtime.store, endpoint_of(model), runtime.search.store.changed,
        **{"per_minute": 1_000_000, "tokens": 1_000_000, **limits},
    )  # fmt: skip


def left(tokens: int) -> dict[str, int]:
    return {"tokens_left_today": tokens}


async def report(done: int, total: int, message: str, *, begins: bool = False) -> None:
    """Nobody looks."""


async def stored(runtime: Runtime, source_id: str) -> Record:
    record = await runtime.store.records.named("test", source_id)
    assert record is not None
    return record


BILL = draft("bill", "The lamp costs twelve pounds and fifty pence.", kind="file", title="scan 7")
LETTER = draft("letter", "From the council, about the lamp.", kind="file", title="scan 8")
CHAT = draft("chat", "What does the lamp cost?", kind="user_prompt")


async def test_what_it_says_is_kept_apart_and_filtered_by(runtime: Runtime, model: Model) -> None:
    await fill(runtime, BILL, CHAT)
    before = (await stored(runtime, "bill")).updated_at
    assert await job(runtime, model).run({}, report) == {
        "enriched": 1, "refused": 0, **left(999_900),
    }  # fmt: skip
    record = await stored(runtime, "bill")
    assert record.metadata == {
        "from_model": {**FACTS, "by": endpoint_of(model).name}
    }  # fmt: skip
    assert record.updated_at == before
    for query in ("amount>12", "document_type:invoice", "category:light", "vendor:qua"):
        page = await runtime.search.service.search(SearchRequest(query), "test")
        assert [result.record.source_id for result in page.results] == ["bill"], query
    path, body, headers = model.asked[0]
    assert (path, headers["Authorization"]) == ("/v1/chat/completions", f"Bearer {KEY}")
    assert body["response_format"] == {"type": "json_object"}
    assert "twelve pounds" in body["messages"][1]["content"]


async def test_each_document_is_asked_about_once_also_when_it_is_read_again(
    runtime: Runtime, model: Model
) -> None:
    await fill(runtime, BILL)
    await job(runtime, model).run({}, report)
    await fill(runtime, BILL)  # unchanged: what the model said stays
    assert (await stored(runtime, "bill")).metadata["from_model"]["amount"] == 12.5
    await job(runtime, model).run({}, report)
    assert len(model.asked) == 1


async def test_a_person_and_the_text_are_heard_before_the_model(
    runtime: Runtime, model: Model
) -> None:
    given = draft("given", "Total due: 96.00 GBP", kind="file", metadata={"vendor": "Ann's"})
    await fill(runtime, given)
    await job(runtime, model).run({}, report)
    record = await stored(runtime, "given")
    assert (record.metadata["vendor"], record.metadata["from_text"]["amount"]) == ("Ann's", 96.0)
    assert record.metadata["from_model"].keys() == {"document_type", "category", "by"}


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (chat("no idea"), "not a JSON object"),
        (chat("[1]"), "not a JSON object"),
        ((200, {"choices": []}), "without facts"),
        ((400, {"error": "too long"}), "status 400 for this document"),
    ],
)
async def test_a_refusal_is_a_line_of_the_ledger_and_the_others_go_on(
    runtime: Runtime, model: Model, answer: tuple[int, object], reason: str
) -> None:
    await fill(runtime, BILL, LETTER)
    model.answer = lambda body: answer if "council" in str(body) else chat(FACTS)
    asking = job(runtime, model)
    done = await asking.run({}, report)
    assert (done["enriched"], done["refused"]) == (1, 1)
    (line,) = await runtime.store.ingest.ledger("enrichment", "", 10, 0)
    assert (line.outcome, line.item) == ("failed", str((await stored(runtime, "letter")).ref))
    assert reason in line.reason
    assert await asking.waiting() == []
    assert "from_model" not in (await stored(runtime, "letter")).metadata


@pytest.mark.parametrize("status", [401, 429, 500, 302])
async def test_an_endpoint_that_does_not_answer_fails_the_job_without_the_key(
    runtime: Runtime, model: Model, status: int
) -> None:
    await fill(runtime, BILL)
    model.answer = lambda _: (status, {"error": KEY})
    with pytest.raises(ModelUnavailable, match=f"status {status}") as failed:
        await job(runtime, model).run({}, report)
    assert KEY not in failed.value.message
    assert len(await job(runtime, model).waiting()) == 1


async def test_the_tokens_of_a_day_are_an_upper_limit(runtime: Runtime, model: Model) -> None:
    await fill(runtime, BILL, LETTER)
    done = await job(runtime, model, tokens=100).run({}, report)
    assert done == {"enriched": 1, "refused": 0, **left(0)}
    again = await job(runtime, model, tokens=100).run({}, report)  # as the next worker does
    assert again == {"enriched": 0, "refused": 0, **left(0)}
    assert len(model.asked) == 1


async def test_no_secret_leaves_the_machine_and_none_comes_back(
    runtime: Runtime, model: Model
) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    await fill(runtime, draft("secret", f"The token is {secret} today", kind="note"))
    model.answer = lambda _: chat({"vendor": f"token {secret}"})
    await job(runtime, model).run({}, report)
    assert secret not in str(model.asked)
    assert secret not in str((await stored(runtime, "secret")).metadata)


def test_the_messages_of_anthropic_have_a_tool(model: Model) -> None:
    used = {"type": "tool_use", "input": FACTS}
    usage = {"input_tokens": 7, "output_tokens": 5}
    model.answer = lambda _: (200, {"content": [{"type": "text"}, used], "usage": usage})
    answer = endpoint_of(model, "anthropic").ask("a question")
    assert (answer.reply, answer.tokens) == (FACTS, 12)
    path, body, headers = model.asked[0]
    sent = {name.lower(): value for name, value in headers.items()}
    assert (path, sent["x-api-key"], "anthropic-version" in sent) == ("/v1/messages", KEY, True)
    assert body["tool_choice"]["name"] == body["tools"][0]["name"]
    model.answer = lambda _: (200, {"content": []})
    with pytest.raises(Refused, match="without facts"):
        endpoint_of(model, "anthropic").ask("a question")


def test_of_a_reply_only_what_its_type_knows_counts() -> None:
    reply = {
        "document_type": "bill", "amount": "12", "due_date": "soon", "vendor": "Quay",
        "invoice_number": "7", "seat_number": "1A", "archived": True, "from_text": {"x": 1},
        "tags": ["a"], "sender": "Ann", "location": None,
    }  # fmt: skip
    kept = {"document_type": "invoice", "vendor": "Quay", "invoice_number": "7", "sender": ["Ann"]}
    assert enriching.facts_in(reply) == kept
    assert enriching.facts_in(f"```json\n{json.dumps(reply)}\n```") == kept
    assert enriching.facts_in({"document_type": "poem", "vendor": "x"}) == {"vendor": "x"}
    for wrong in ("", "{", "[]", 7, None, "[" * 100_000 + "{}"):
        with pytest.raises(ValueError, match="not a JSON object"):
            enriching.facts_in(wrong if wrong != "[" * 100_000 + "{}" else "{" + "[" * 9)


@pytest.mark.parametrize(
    "setting",
    ["gpt", "openai:", "openai:m@ftp://x", "cohere:m", "openai:m@http://ann:x@host/v1"],
)
def test_a_setting_that_names_no_model_is_refused(setting: str) -> None:
    with pytest.raises(InputError) as refused:
        ChatEndpoint(setting, enriching.TASK)
    assert refused.value.field == "enrich"


async def test_the_worker_asks_about_what_comes_in(
    tmp_path: Path, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mem_search.jobs.enriching._PAUSE", 0.05)
    settings = small(
        tmp_path, enrich=f"openai:small@{model.base}", enrich_key=KEY, enrich_per_minute=100_000
    )
    async with open_runtime(settings) as runtime:
        await fill(runtime, BILL)
        await becomes(lambda: stored(runtime, "bill"), lambda bill: "from_model" in bill.metadata)
    assert len(model.asked) == 1
