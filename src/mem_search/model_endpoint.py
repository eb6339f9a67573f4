"""An endpoint of a model: requests and replies in JSON, and a key that reaches nobody else.

Redirects are refused, because following one would send the key to another host. Loopback uses no
proxy. The key is removed from every message. ``ChatEndpoint`` asks a language model for facts, by
OpenAI-compatible chat completions or Anthropic messages (API references: JSON mode, tool use).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.client import HTTPException, HTTPMessage
from typing import IO, Any, Final
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

from mem_search.errors import InputError, ModelUnavailable
from mem_search.patterns import pattern

MAX_REPLY_BYTES: Final = 64 << 20
"""Bytes of a reply that are read."""

_LOOPBACK: Final = {"localhost", "127.0.0.1", "::1"}


class ModelEndpoint:
    """``url`` with its ``key``. ``title`` begins every message about it, ``of`` and ``field`` name
    the setting. Raises InputError for a URL that is not http(s) or has a user name.
    """

    def __init__(self, url: str, key: str = "", *, title: str, of: str, field: str) -> None:
        self.host, loopback = checked_host(url, of=of, field=field)
        self.url = url
        self._key = key
        self._title = title
        self._opener = build_opener(_NoRedirect(), *([ProxyHandler({})] if loopback else []))

    def post(
        self,
        body: Mapping[str, Any],
        seconds: float,
        *,
        most: int = MAX_REPLY_BYTES,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """The reply to one request, at most ``most`` bytes of it.

        ``headers`` replace the one with the key. Raises HTTPError for a status that is no success,
        ModelUnavailable without a usable answer.
        """
        if headers is None:
            headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        request = Request(  # noqa: S310  http(s) only: see __init__
            self.url,
            json.dumps(body).encode("utf-8", "replace"),
            {"Content-Type": "application/json", "User-Agent": "mem-search", **headers},
        )
        try:
            with self._opener.open(request, timeout=seconds) as reply:
                return json.loads(reply.read(most))
        except HTTPError:
            raise
        except (OSError, HTTPException, ValueError, RecursionError) as error:
            raise ModelUnavailable(self.message(f"no usable answer: {error}")) from error

    def message(self, what: str) -> str:
        """What the endpoint gave, without the key."""
        text = f"{self._title} {self.url} gave {what}"
        return text.replace(self._key, "…") if self._key else text


def checked_host(url: str, *, of: str, field: str) -> tuple[str, bool]:
    """host[:port] of a URL, and whether it is loopback. Raises InputError."""
    try:
        parts = urlsplit(url)
        port = "" if parts.port is None else f":{parts.port}"
    except ValueError:
        parts, port = urlsplit(""), ""
    if parts.scheme not in {"http", "https"} or not parts.hostname or "@" in parts.netloc:
        raise InputError(
            f"the base URL of {of} must be http(s)://host[:port]/path, without a user name",
            field=field,
        )
    return parts.hostname + port, parts.hostname in _LOOPBACK


class _NoRedirect(HTTPRedirectHandler):
    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> None:
        """Refuse the redirect: its status becomes an HTTPError."""


BASES: Final = {
    "openai": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com/v1",
}
MAX_ANSWER_BYTES: Final = 1 << 20
"""Bytes of an answer that are read; facts need a few hundred."""
_MAX_TOKENS: Final = 1_000
"""Of a reply."""
_TOOL: Final = "state_facts"
_SETTING: Final = pattern(
    r"(?P<shape>openai|anthropic):(?P<model>[^\s@]+)(?:@(?P<base>https?://\S+))?"
)


@dataclass(frozen=True, slots=True)
class ChatTask:
    """What a language model is asked for about each ``thing``, such as a document.

    ``field`` is the setting that names the model, ``schema`` gives the JSON schema of an answer:
    it is made when a model is asked, because most workers ask none.
    """

    field: str
    thing: str
    instructions: str
    schema: Callable[[], Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Answer:
    """The reply of the model (an object or a text), and the tokens that it cost."""

    reply: object
    tokens: int


class Refused(ModelUnavailable):
    """The endpoint refuses this one question; the next one may be answered."""


class ChatEndpoint:
    """Asks about one thing at a time, from any thread.

    ``setting`` is ``openai:MODEL[@BASE_URL]`` or ``anthropic:MODEL[@BASE_URL]``. Raises InputError
    naming the setting.
    """

    def __init__(
        self, setting: str, task: ChatTask, *, key: str = "", seconds: float = 60.0
    ) -> None:
        match = _SETTING.fullmatch(setting.strip())
        if match is None:
            raise InputError(
                f"unknown model {setting!r}; write openai:MODEL[@BASE_URL] or"
                " anthropic:MODEL[@BASE_URL]",
                field=task.field,
            )
        self._task = task
        self._shape, self._model = match["shape"], match["model"]
        base = match["base"] or BASES[self._shape]
        path = "/chat/completions" if self._shape == "openai" else "/messages"
        self._endpoint = ModelEndpoint(
            base.rstrip("/") + path, key,
            title="the model at", of=f"the setting {task.field}", field=task.field,
        )  # fmt: skip
        self.name = f"{self._model}@{self._endpoint.host}"
        self._headers = {"anthropic-version": "2023-06-01", "x-api-key": key}
        self._seconds = seconds

    def ask(self, question: str) -> Answer:
        """One request, which is not repeated.

        Raises ModelUnavailable, and Refused when only this question is the reason.
        """
        said = self._post(self._body(question))
        try:
            return _openai(said) if self._shape == "openai" else _anthropic(said)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise Refused("the model gave a reply without facts", field=self._task.field) from error

    def _body(self, question: str) -> dict[str, Any]:
        if self._shape == "anthropic":
            return {
                "model": self._model,
                "max_tokens": _MAX_TOKENS,
                "system": self._task.instructions,
                "messages": [{"role": "user", "content": question}],
                "tools": [
                    {
                        "name": _TOOL,
                        "description": f"State the facts of the {self._task.thing}.",
                        "input_schema": dict(self._task.schema()),
                    }
                ],
                "tool_choice": {"type": "tool", "name": _TOOL},
            }
        schema = json.dumps(dict(self._task.schema()))
        return {
            "model": self._model,
            "max_tokens": _MAX_TOKENS,
            "temperature": 0,
            "response_format": {"type": "json_object"},
            "messages": [
                {"role": "system", "content": f"{self._task.instructions} JSON schema: {schema}"},
                {"role": "user", "content": question},
            ],
        }

    def _post(self, body: dict[str, Any]) -> Any:
        headers = self._headers if self._shape == "anthropic" else None
        try:
            return self._endpoint.post(body, self._seconds, most=MAX_ANSWER_BYTES, headers=headers)
        except HTTPError as error:
            with error:
                code = error.code
            if code in (400, 413, 422):
                raise self._failure(
                    f"status {code} for this {self._task.thing}", Refused
                ) from error
            step = (
                f"check MEM_SEARCH_{self._task.field.upper()}_KEY"
                if code in (401, 403)
                else "try again later"
            )
            raise self._failure(f"status {code}; {step}") from error
        except ModelUnavailable as error:
            error.field = self._task.field
            raise

    def _failure(self, what: str, sort: type[ModelUnavailable] = ModelUnavailable) -> Exception:
        return sort(self._endpoint.message(what), field=self._task.field)


def json_object(reply: object) -> Mapping[str, Any]:
    """The object of a reply: itself, or from its JSON, perhaps in a Markdown block.

    Raises ValueError.
    """
    if isinstance(reply, str):
        text = reply[reply.find("{") : reply.rfind("}") + 1]
        try:
            reply = json.loads(text)
        except RecursionError:
            raise ValueError("its reply is nested too deeply") from None
        except ValueError:
            raise ValueError("its reply is not a JSON object") from None
    if not isinstance(reply, Mapping):
        raise ValueError("its reply is not a JSON object")
    return reply


def _openai(said: Any) -> Answer:
    tokens = int((said.get("usage") or {}).get("total_tokens") or 0)
    return Answer(said["choices"][0]["message"]["content"], tokens)


def _anthropic(said: Any) -> Answer:
    usage = said.get("usage") or {}
    tokens = int(usage.get("input_tokens") or 0) + int(usage.get("output_tokens") or 0)
    inputs = [each["input"] for each in said["content"] if each.get("type") == "tool_use"]
    return Answer(inputs[0], tokens)
