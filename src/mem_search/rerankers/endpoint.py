"""A ``/rerank`` endpoint in the shape of Cohere, Jina, Voyage or text-embeddings-inference (TEI).

Sources: the API references of Cohere v2, Jina, Voyage and TEI.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.error import HTTPError

import numpy as np

from mem_search.errors import ModelUnavailable
from mem_search.model.rankings import Values
from mem_search.model_endpoint import ModelEndpoint
from mem_search.patterns import pattern

MAX_REPLY_BYTES = 1 << 20
"""Bytes of a reply that are read; fifty scores need a few thousand."""


@dataclass(frozen=True, slots=True)
class Shape:
    """One wire format: the names of its fields. ``rows`` is "" where the reply is the list."""

    url: str
    texts: str = "documents"
    count: str = "top_n"
    rows: str = "results"
    score: str = "relevance_score"
    extra: tuple[tuple[str, Any], ...] = ()


SHAPES: Final[Mapping[str, Shape]] = {
    "cohere": Shape("https://api.cohere.com/v2/rerank"),
    "jina": Shape("https://api.jina.ai/v1/rerank", extra=(("return_documents", False),)),
    "voyage": Shape("https://api.voyageai.com/v1/rerank", count="top_k", rows="data"),
    "tei": Shape("", "texts", "", "", "score", (("truncate", True),)),
}
_SETTING = pattern(
    r"(?P<shape>cohere|jina|voyage|tei)(?::(?P<model>[^\s@]+))?(?:@(?P<url>https?://\S+))?"
)


def parse_setting(text: str) -> tuple[str, str, str] | None:
    """(shape, model, URL) of a setting; None where it is none."""
    found = _SETTING.fullmatch(text)
    if found is None or not (found["model"] or found["shape"] == "tei"):
        return None
    url = found["url"] or SHAPES[found["shape"]].url
    return (found["shape"], found["model"] or "", url) if url else None


class EndpointReranker:
    """Sends the question and the texts in one request, which is not repeated: there is no time."""

    def __init__(self, shape: str, model: str, url: str, *, key: str = "", seconds: float) -> None:
        self._endpoint = ModelEndpoint(
            url, key, title="the endpoint", of="the reranker", field="reranker"
        )
        self.name = f"{shape}:{model or self._endpoint.host}"
        self._shape = SHAPES[shape]
        self._model = model
        self._seconds = seconds

    def score(self, question: str, texts: Sequence[str]) -> Values:
        shape = self._shape
        body: dict[str, Any] = {"query": question, shape.texts: list(texts), **dict(shape.extra)}
        if self._model:
            body["model"] = self._model
        if shape.count:
            body[shape.count] = len(texts)
        reply = self._post(body)
        scores = np.full(len(texts), np.nan)
        try:
            for row in reply[shape.rows] if shape.rows else reply:
                if not 0 <= int(row["index"]) < len(texts):
                    raise IndexError("an index outside of the texts")
                scores[int(row["index"])] = float(row[shape.score])
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise self._failure("a reply without a score for each text") from error
        if not np.isfinite(scores).all():
            raise self._failure("a reply without a score for each text")
        return scores

    def close(self) -> None:
        """Does nothing: each request closes its connection."""

    def _post(self, body: Mapping[str, Any]) -> Any:
        try:
            return self._endpoint.post(body, self._seconds, most=MAX_REPLY_BYTES)
        except HTTPError as error:
            with error:
                step = (
                    "check MEM_SEARCH_RERANKER_KEY"
                    if error.code in (401, 403)
                    else ("check MEM_SEARCH_RERANKER" if error.code < 500 else "try again later")
                )
                raise self._failure(f"status {error.code}; {step}") from error

    def _failure(self, what: str) -> ModelUnavailable:
        return ModelUnavailable(self._endpoint.message(what))
