"""The line that shows why a record was found."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from mem_search.http.core.replies import WIDTH, why_found
from mem_search.model import (
    Analyzed,
    Record,
    Result,
    SearchPage,
    SearchReport,
    SearchRequest,
    Snippet,
)
from mem_search.records.registry import installed_kinds
from mem_search.renderers.listing import render
from mem_search.renderers.record_line import DisplayOptions

TEXT = "The certificate of the mail server expired in the night. Files: src/auth.py, src/mail.py"


def why(
    words: tuple[str, ...], *, title: str = "Outage", mode: str = "hybrid",
    page_number: int | None = None, **fields: Any,
) -> str:  # fmt: skip
    record = Record(
        number=1, kind="observation", source="s", source_id="i", title=title,
        text=fields.pop("text", TEXT), created_at=0, updated_at=0,
        metadata={"files_read": ["src/auth.py"], **fields.pop("metadata", {})}, **fields,
    )  # fmt: skip
    result = Result(record, 1.0, Snippet(record.text, 0, len(record.text), page_number))
    report = SearchReport("hybrid", mode, analyzed=Analyzed(words=words))  # type: ignore[arg-type]
    page = SearchPage(SearchRequest("q"), (result,), 1, {"observation": 1}, report)
    line = why_found(page)(result)
    assert len(line) <= WIDTH
    display = DisplayOptions(installed_kinds().get, UTC, datetime(2025, 1, 1, tzinfo=UTC))
    assert "The certificate" not in render(page, "index", display)
    assert f"\n    {line}\n" in render(page, "index", replace(display, why=lambda _: line))
    return line


def test_words_in_the_title_need_no_reason() -> None:
    assert why(("outage",)) == TEXT[: len(why(("outage",)))]


def test_words_elsewhere_have_one() -> None:
    assert why(("expired",)).startswith("in the text: mail server expired")
    assert why(("auth",)).startswith("in a file name, src/auth.py: The certificate")
    assert why(("downtime",)).startswith("by meaning: The certificate")
    assert why(("auth", "expired")).startswith("in the text: ")


def test_the_line_names_the_page_of_a_document_with_several() -> None:
    pages = {"pages": 9}
    assert why(("expired",), page_number=4, metadata=pages).startswith("on page 4: mail server")
    assert why(("downtime",), page_number=4, metadata=pages).startswith("by meaning, page 4: ")
    assert why(("outage",), page_number=4, metadata=pages).startswith("page 4: ")
    assert why(("expired",), page_number=1, metadata={"pages": 1}).startswith("in the text: ")


def test_the_line_repeats_neither_the_title_nor_a_file_name() -> None:
    prompt = "Why did the mail server stop in the night, and what is to be done now?"
    assert why(("downtime",), title=prompt, text=prompt) == "by meaning"
    assert why(("auth",), text=f"Outage\n{TEXT}").count("src/auth.py") == 1


def test_the_line_does_not_begin_in_the_middle_of_a_list() -> None:
    text = f"{'word ' * 60}end. - Step 5: needle {'word ' * 60}"
    found = why(("needle",), text=text)
    assert found.startswith("in the text: ")
    assert found.removeprefix("in the text: ")[0].isalnum()


def test_a_snippet_shows_the_words() -> None:
    text = f"{'word ' * 100}needle {'word ' * 100}"
    assert "needle" in why(("needle",), text=text)


def test_filters_alone_have_no_reason() -> None:
    assert why(("downtime",), mode="filter").startswith("The certificate")
