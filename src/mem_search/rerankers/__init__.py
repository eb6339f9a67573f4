"""Rerankers score the best results of a search again; the setting ``reranker`` chooses one.

None is the default. Each member imports its runtime only when it is chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final, NoReturn

from mem_search.contracts import Reranker
from mem_search.errors import InputError, ModelUnavailable

LOCAL: Final = ("onnx", "fastembed", "sentence-transformers")
FORMS: Final = (
    "onnx:DIRECTORY, fastembed[:MODEL], sentence-transformers:MODEL, cohere:MODEL[@URL], "
    "jina:MODEL[@URL], voyage:MODEL[@URL] and tei@URL"
)


class MissingReranker:
    """Replaces a reranker that cannot be opened: each search names what is missing."""

    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        self._reason = reason

    def score(self, question: str, texts: Sequence[str]) -> NoReturn:
        raise ModelUnavailable(self._reason)

    def close(self) -> None:
        """Does nothing: nothing is open."""


def open_reranker(setting: str, models_dir: Path, *, key: str = "", seconds: float) -> Reranker:
    """The reranker that ``setting`` names; blocks while a local model loads.

    ``key`` is for an endpoint, ``seconds`` how long it may take to answer. Raises InputError
    naming the setting, ModelUnavailable.
    """
    name, _, detail = setting.strip().partition(":")
    if name == "onnx" and detail:
        from mem_search.rerankers.local import OnnxReranker

        return OnnxReranker(Path(detail).expanduser())
    if name in LOCAL and (detail or name == "fastembed"):
        from mem_search.rerankers.local import FastembedReranker, SentenceTransformersReranker

        if name == "fastembed":
            return FastembedReranker(models_dir, detail)
        if name == "sentence-transformers":
            return SentenceTransformersReranker(detail)
    from mem_search.rerankers.endpoint import EndpointReranker, parse_setting

    if (shape := parse_setting(setting.strip())) is None:
        raise InputError(f"unknown reranker {setting!r}; known are {FORMS}", field="reranker")
    return EndpointReranker(*shape, key=key, seconds=seconds)
