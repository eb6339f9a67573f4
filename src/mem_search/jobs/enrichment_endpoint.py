"""A language model behind an endpoint: OpenAI-compatible chat completions, or Anthropic messages.

Sources: the API references of OpenAI (JSON mode) and Anthropic (tool use).
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Final
from urllib.error import HTTPError

from mem_search.errors import InputError, ModelUnavailable
from mem_search.metadata import enrichment
from mem_search.model_endpoint import ModelEndpoint

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
        path = "/chat/completions" if self._shape == "openai" else "/messages"
        self._endpoint = ModelEndpoint(
            base.rstrip("/") + path, key,
            title="the model at", of="the enriching model", field="enrich",
        )  # fmt: skip
        self.name = f"{self._model}@{self._endpoint.host}"
        self._headers = {"anthropic-version": "2023-06-01", "x-api-key": key}
        self._seconds = seconds

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
        headers = self._headers if self._shape == "anthropic" else None
        try:
            return self._endpoint.post(body, self._seconds, most=MOST_REPLY, headers=headers)
        except HTTPError as error:
            with error:
                code = error.code
            if code in (400, 413, 422):
                raise self._failure(f"status {code} for this document", Refused) from error
            step = "check MEM_SEARCH_ENRICH_KEY" if code in (401, 403) else "try again later"
            raise self._failure(f"status {code}; {step}") from error
        except ModelUnavailable as error:
            error.field = "enrich"
            raise

    def _failure(self, what: str, sort: type[ModelUnavailable] = ModelUnavailable) -> Exception:
        return sort(self._endpoint.message(what), field="enrich")


def _openai(said: Any) -> Answer:
    tokens = int((said.get("usage") or {}).get("total_tokens") or 0)
    return Answer(said["choices"][0]["message"]["content"], tokens)


def _anthropic(said: Any) -> Answer:
    usage = said.get("usage") or {}
    tokens = int(usage.get("input_tokens") or 0) + int(usage.get("output_tokens") or 0)
    found = [each["input"] for each in said["content"] if each.get("type") == "tool_use"]
    return Answer(found[0], tokens)
