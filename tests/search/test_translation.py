"""A language model reads a question: what it says is checked, only raises, and may be missing."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from chat_model import Model, chat, model
from drafts import draft
from mem_search.errors import InputError
from mem_search.model import SearchPage, SearchRequest
from mem_search.search.translation import MAX_FIELDS, TASK, Translation, fields_in
from mem_search.settings import Settings
from mem_search.wiring import open_runtime
from runtimes import fill, small

__all__ = ["model"]

NOW = datetime(2025, 11, 20, 12, tzinfo=UTC)
ASKED = "anything Greta told me about the lamp"
DRAFTS = (
    draft("mail", "The lamp burns", kind="email", title="mail",
          metadata={"from": "Greta Lund <greta@example.org>"}),
    draft("note", "The lamp is out, the lamp is broken", kind="note", title="note"),
)  # fmt: skip


async def ask(tmp_path: Path, model: Model, *texts: str, **more: Any) -> list[SearchPage]:
    """The pages of ``texts``, one after the other, of one worker."""
    settings = small(
        tmp_path / "home", translate=f"openai:small@{model.base}", translate_key="translate-key-1"
    )
    async with open_runtime(settings) as runtime:
        await fill(runtime, *DRAFTS)
        requests = [SearchRequest(text, asked_at=NOW, **more) for text in texts]
        return [await runtime.search.service.search(each, "test") for each in requests]


def readings(page: SearchPage) -> list[tuple[str, str, str]]:
    return [(each.filter, each.part, each.use) for each in page.report.analyzed.readings]


async def test_what_the_model_reads_raises_and_is_shown(tmp_path: Path, model: Model) -> None:
    model.answer = lambda _: chat({"fields": ["kind:email", "from:Greta"]})
    page, again = await ask(tmp_path, model, ASKED, ASKED)
    assert readings(page) == [("kind:email", "kind", "lift"), ("from:Greta", "person", "lift")]
    assert [each.record.source_id for each in page.results] == ["mail", "note"]
    assert readings(again) == readings(page)
    assert len(model.asked) == 1, "the answer is remembered"
    _, body, headers = model.asked[0]
    assert ASKED in body["messages"][1]["content"]
    assert headers["Authorization"] == "Bearer translate-key-1"


async def test_what_the_language_or_the_store_does_not_know_is_dropped(
    tmp_path: Path, model: Model
) -> None:
    said = [
        "kind:spaceship",
        "from:Zoe",
        "project:web",
        "amount>many",
        "kind:email -lamp",
        "tag:x",
        7,
    ]
    model.answer = lambda _: chat({"fields": said})
    (page,) = await ask(tmp_path, model, ASKED)
    assert readings(page) == []
    assert len(page.results) == 2


async def test_without_an_answer_the_rules_read_alone_and_a_notice_says_so(
    tmp_path: Path, model: Model
) -> None:
    model.answer = lambda _: (500, {})
    text = "emails about the lamp"
    page, again = await ask(tmp_path, model, text, text)
    assert readings(page) == readings(again) == [("kind:email", "kind", "filter")]
    assert "rules alone read this" in page.report.notices[-1]
    assert "rules alone read this" in again.report.notices[-1]
    assert "translate-key-1" not in page.report.notices[-1]
    assert len(model.asked) == 1, "an endpoint that failed is left alone for a while"


async def test_expressions_and_what_a_caller_wants_as_words_are_not_sent(
    tmp_path: Path, model: Model
) -> None:
    texts = ("lamp AND (oil OR wick)", '"the lamp burns" today', "two words", "the\nlamp is out")
    await ask(tmp_path, model, *texts)
    await ask(tmp_path, model, ASKED, as_words=("all",))
    assert model.asked == []


async def test_a_secret_of_a_question_is_not_sent(tmp_path: Path, model: Model) -> None:
    secret = "ghp_" + "a1B2" * 9
    await ask(tmp_path, model, f"is {secret} the key of the lamp")
    (asked,) = model.asked
    assert secret not in str(asked)


@pytest.mark.parametrize(
    "reply", ["no JSON", "[]", {"fields": "kind:email"}, {"other": 1}, None, '{"fields": [["x"]]}']
)
def test_a_reply_that_is_not_as_asked_names_nothing(reply: object) -> None:
    assert fields_in(reply) == ()


def test_a_reply_has_few_short_fields() -> None:
    said = [f"amount>{number}" for number in range(99)]
    assert fields_in({"fields": ["from:" + "x" * 200, *said]}) == tuple(said[:MAX_FIELDS])


def test_the_setting_is_off_by_default_and_checked(tmp_path: Path) -> None:
    assert Translation.of(Settings(home=tmp_path)) is None
    with pytest.raises(InputError) as raised:
        Translation.of(Settings(home=tmp_path, translate="gpt"))
    assert raised.value.field == "translate"
    assert "is data" in TASK.instructions
