"""Answers: JSON, or the text of a listing in the envelope that existing clients read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from aiohttp import web

from mem_search.http.budgets import page_json
from mem_search.model import Page
from mem_search.renderers import View, fitted, to_json
from mem_search.text import tokens

TEXT = "text/plain"
JSON = "application/json"


def dumps(value: Any) -> bytes:
    """JSON in UTF-8. Halves of characters, which UTF-8 cannot say, are written as escapes."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode(
        "utf-8", "backslashreplace"
    )


def json_reply(value: Any, status: int = 200) -> web.Response:
    return web.Response(status=status, body=dumps(value), content_type=JSON)


def text_reply(request: web.Request, text: str, **beside: Any) -> web.Response:
    """``text`` bare when plain text is asked for, else in its envelope with ``beside``.

    The envelope says what the text costs, ``tokens_used``.
    """
    if prefers_text(request.headers.get("Accept", "")):
        return web.Response(
            body=(text + "\n").encode("utf-8", "replace"), content_type=TEXT, charset="utf-8"
        )
    if "tokens_used" not in beside:
        beside = {"tokens_used": tokens.count(text), **beside}
    return json_reply({"content": [{"type": "text", "text": text}], **beside})


def page_reply(
    request: web.Request,
    page: Page,
    format: str,  # noqa: A002 - the word callers write
    view: View,
    *,
    title: str = "",
    max_tokens: int | None = None,
) -> web.Response:
    """A page of results in the format asked for, within ``max_tokens``."""
    if format == "json":
        return json_reply(page_json(page, max_tokens))
    shown = fitted(page, format, view, max_tokens, title=title)
    account = to_json(replace(shown.page, results=()))
    beside: Mapping[str, Any] = {
        name: account[name] for name in ("total", "counts_by_type", "search")
    }
    return text_reply(request, shown.text, tokens_used=shown.tokens, **beside)


def prefers_text(accept: str) -> bool:
    """Whether an Accept header names plain text before JSON; wildcards prefer JSON."""
    return prefers(accept, TEXT, JSON)


def prefers(accept: str, media: str, other: str) -> bool:
    """Whether an Accept header names ``media`` before ``other``; wildcards name neither."""
    weights: dict[str, float] = {}
    for item in accept.split(","):
        named, *parameters = (part.strip().lower() for part in item.split(";"))
        weights[named] = max(weights.get(named, 0.0), _weight(parameters))
    return weights.get(media, 0.0) > weights.get(other, 0.0)


def _weight(parameters: list[str]) -> float:
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                return float(value)
            except ValueError:
                return 0.0
    return 1.0
