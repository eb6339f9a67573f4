"""Embeddings from an OpenAI-compatible endpoint, ``POST {base}/embeddings``.

The vector space is named by model, host and dimensions, because the weights behind an endpoint
cannot be hashed.
"""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Sequence
from email.message import Message
from http.client import HTTPException
from typing import Any, Final
from urllib.error import HTTPError

import numpy as np

from mem_search.contracts import Vectors
from mem_search.errors import InputError, ModelUnavailable
from mem_search.model_endpoint import ModelEndpoint
from mem_search.patterns import pattern

DEFAULT_BASE: Final = "https://api.openai.com/v1"

_SETTING = pattern(r"(?P<model>@?[^\s@]+)(?:@(?P<base>https?://\S+))?")  # @cf/… is a model
_BATCH = 64
_TRY_AGAIN = {408, 409, 425, 429, 500, 502, 503, 504, 529}

_OPENING_PATIENCE = 3.0
"""Seconds. A starting worker does not wait longer for its endpoint, and starts without it."""


class OpenAIEmbedder:
    """``connect`` makes one, and learns the dimensions from a first reply.

    ``patience`` limits the seconds for one batch, including all retries and waits.
    """

    def __init__(
        self, model: str, base: str = DEFAULT_BASE, *, api_key: str = "", patience: float = 60.0
    ) -> None:
        self._endpoint = ModelEndpoint(
            base.rstrip("/") + "/embeddings", api_key,
            title="the embedding endpoint", of="the openai embedder", field="embedder",
        )  # fmt: skip
        self.name: str = model
        self.dimensions: int = 0
        self.fingerprint: str = f"openai:{model}@{self._endpoint.host}"
        self._patience = patience

    @classmethod
    def connect(
        cls, model: str, base: str = DEFAULT_BASE, *, api_key: str = "", patience: float = 60.0
    ) -> OpenAIEmbedder:
        """Request one embedding. Raises ModelUnavailable when the endpoint returns none."""
        if base == DEFAULT_BASE and not api_key:
            raise ModelUnavailable(f"{DEFAULT_BASE} needs a key; set OPENAI_API_KEY")
        embedder = cls(model, base, api_key=api_key, patience=min(patience, _OPENING_PATIENCE))
        embedder.dimensions = int(embedder.embed(["dimensions"]).shape[1])
        embedder._patience = patience
        embedder.fingerprint += f":{embedder.dimensions}"
        return embedder

    def embed(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.zeros((0, self.dimensions), np.float32)
        starts = range(0, len(texts), _BATCH)
        return np.concatenate([self._batch(texts[at : at + _BATCH]) for at in starts])

    def _batch(self, texts: Sequence[str]) -> Vectors:
        # Endpoints refuse empty strings but take a space.
        wanted = [text if text.strip() else " " for text in texts]
        reply = self._post({"model": self.name, "input": wanted, "encoding_format": "float"})
        try:
            rows = sorted(reply["data"], key=lambda row: int(row["index"]))
            vectors = np.asarray([row["embedding"] for row in rows], np.float32)
        except (KeyError, TypeError, ValueError) as error:
            raise self._failure("a reply without a list of embeddings") from error
        known = self.dimensions or (vectors.shape[1] if vectors.ndim == 2 else -1)
        if vectors.shape != (len(texts), known) or known < 1:
            raise self._failure(
                f"embeddings of shape {vectors.shape} instead of {(len(texts), known)}; "
                "if its model changed, restart mem-search to index with the new one"
            )
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not np.isfinite(lengths).all() or not lengths.all():
            raise self._failure("vectors without a direction (zero or not finite)")
        unit: Vectors = vectors / lengths
        return unit

    def _post(self, body: dict[str, Any]) -> Any:
        deadline = time.monotonic() + self._patience
        wait = 0.5
        while True:
            left = deadline - time.monotonic()
            try:
                return self._endpoint.post(body, max(0.1, min(30.0, left)))
            except HTTPError as error:
                with error:
                    failure = self._failure(_explain(error))
                if error.code not in _TRY_AGAIN:
                    raise failure from error
                pause = max(wait, _retry_after(error.headers))
            except ModelUnavailable as error:
                failure, pause = error, wait
            pause *= random.uniform(1.0, 1.25)
            if time.monotonic() + pause >= deadline:
                raise failure
            time.sleep(pause)
            wait = min(wait * 2, 8.0)

    def _failure(self, what: str) -> ModelUnavailable:
        return ModelUnavailable(self._endpoint.message(what))


def parse_setting(detail: str) -> tuple[str, str]:
    """``MODEL[@BASE_URL]`` as (model, base URL). Raises InputError."""
    match = _SETTING.fullmatch(detail)
    if match is None:
        raise InputError(
            "write the openai embedder as openai:MODEL or openai:MODEL@http(s)://host/path",
            field="embedder",
        )
    return match["model"], match["base"] or DEFAULT_BASE


def _explain(error: HTTPError) -> str:
    """The status, the message of the endpoint, and what to do."""
    try:
        reason = json.loads(error.read(65_536))["error"]
        reason = reason["message"] if isinstance(reason, dict) else reason
    except (OSError, HTTPException, ValueError, KeyError, TypeError):
        reason = error.reason
    match error.code:
        case 401 | 403:
            step = "check OPENAI_API_KEY"
        case 429:
            step = "wait, or raise the limit of the account"
        case code if 300 <= code < 400:
            step = "redirects are not followed; set the final address in MEM_SEARCH_EMBEDDER"
        case code if code < 500:
            step = "check the model and the base URL in MEM_SEARCH_EMBEDDER"
        case _:
            step = "try again later"
    return f"status {error.code} ({str(reason)[:200]}); {step}"


def _retry_after(headers: Message) -> float:
    """Seconds from the Retry-After header; 0 without one, or for a date, which is rare."""
    value = headers.get("Retry-After", "")
    return float(value) if re.fullmatch(r"\d{1,4}(\.\d+)?", value) else 0.0
