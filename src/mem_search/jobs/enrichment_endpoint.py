"""A language model behind an endpoint: OpenAI-compatible chat completions, or Anthropic messages.

The rules for the address are those of the openai embedder: http(s) without a user name, redirects
are refused because following one would send the key elsewhere, and loopback uses no proxy. The key
is in no message. Sources: the API references of OpenAI (JSON mode) and Anthropic (tool use).
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any, Final
from urllib.error import HTTPError
from urllib.request import ProxyHandler, Request, build_opener

from mem_search.embedders.openai import NoRedirect, checked_host
from mem_search.errors import InputError, ModelUnavailable
from mem_search.metadata import enrichment

BASES: Final = {
    "openai": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com/v1",
}
MOST_REPLY: Final = 1 << 20
"""Bytes of a reply that are read; the facts of a document need a few hundred."""
_MOST_TOKENS: Final = 1_000
"""Of a reply."""
_TOOL: Final = "state_facts"
_SETTING: Final = re.compile(
    r"(?P<shape>openai|anthropic):(?P<model>[^\s@]+)(?:@(?P<base>https?://\S+))?"
)


@dataclass(frozen=True, slots=True)
class Answer:
    """The reply of the model (an object or a text), and the tokens that it cost."""

    reply: object
    tokens: int


class Refused(ModelUnavailable):
    """The endpoint refuses this one document; the next one may be answered."""


class EnrichmentEndpoint:
    """Asks about one document at a time, from any thread.

    ``setting`` is ``openai:MODEL[@BASE_URL]`` or ``anthropic:MODEL[@BASE_URL]``. Raises InputError
    naming the setting.
    """

    def __init__(self, setting: str, *, key: str = "", seconds: float = 60.0) -> None:
        match = _SETTING.fullmatch(setting.strip())
        if match is None:
            raise InputError(
                f"unknown model {setting!r}; write openai:MODEL[@BASE_URL] or"
                " anthropic:MODEL[@BASE_URL]",
                field="enrich",
            )
        self._shape, self._model = match["shape"], match["model"]
        base = match["base"] or BASES[self._shape]
        host, loopback = checked_host(base, of="the enriching model", field="enrich")
        self.name = f"{self._model}@{host}"
        path = "/chat/completions" if self._shape == "openai" else "/messages"
        self._url = base.rstrip("/") + path
        self._key = key
        self._seconds = seconds
        self._opener = build_opener(NoRedirect(), *([ProxyHandler({})] if loopback else []))

    def ask(self, question: str) -> Answer:
        """One request, which is not repeated: the job asks again later.

        Raises ModelUnavailable, and Refused when only this document is the reason.
        """
        said = self._post(self._body(question))
        try:
            return _openai(said) if self._shape == "openai" else _anthropic(said)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise Refused("the model gave a reply without facts", field="enrich") from error

    def _body(self, question: str) -> dict[str, Any]:
        if self._shape == "anthropic":
            return {
                "model": self._model,
                "max_tokens": _MOST_TOKENS,
                "system": enrichment.INSTRUCTIONS,
                "messages": [{"role": "user", "content": question}],
                "tools": [
                    {
                        "name": _TOOL,
                        "description": "State the facts of the document.",
                        "input_schema": enrichment.schema(),
                    }
                ],
                "tool_choice": {"type": "tool", "name": _TOOL},
            }
        schema = json.dumps(enrichment.schema())
        return {
            "model": self._model,
            "max_tokens": _MOST_TOKENS,
            "temperature": 0,
            "response_format": {"type": "json_object"},
            "messages": [
                {"role": "system", "content": f"{enrichment.INSTRUCTIONS} JSON schema: {schema}"},
                {"role": "user", "content": question},
            ],
        }

    def _post(self, body: dict[str, Any]) -> Any:
        headers = {"Content-Type": "application/json", "User-Agent": "mem-search"}
        if self._shape == "anthropic":
            headers |= {"anthropic-version": "2023-06-01", "x-api-key": self._key}
        elif self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        content = json.dumps(body).encode("utf-8", "replace")
        request = Request(self._url, content, headers)  # noqa: S310  http(s) only: see __init__
        try:
            with self._opener.open(request, timeout=self._seconds) as reply:
                return json.loads(reply.read(MOST_REPLY))
        except HTTPError as error:
            with error:
                code = error.code
            if code in (400, 413, 422):
                raise self._failure(f"status {code} for this document", Refused) from error
            step = "check MEM_SEARCH_ENRICH_KEY" if code in (401, 403) else "try again later"
            raise self._failure(f"status {code}; {step}") from error
        except (OSError, HTTPException, ValueError, RecursionError) as error:
            raise self._failure(f"no usable answer: {error}") from error

    def _failure(self, what: str, sort: type[ModelUnavailable] = ModelUnavailable) -> Exception:
        text = f"the model at {self._url} gave {what}"
        return sort(text.replace(self._key, "…") if self._key else text, field="enrich")


def _openai(said: Any) -> Answer:
    tokens = int((said.get("usage") or {}).get("total_tokens") or 0)
    return Answer(said["choices"][0]["message"]["content"], tokens)


def _anthropic(said: Any) -> Answer:
    usage = said.get("usage") or {}
    tokens = int(usage.get("input_tokens") or 0) + int(usage.get("output_tokens") or 0)
    found = [each["input"] for each in said["content"] if each.get("type") == "tool_use"]
    return Answer(found[0], tokens)
