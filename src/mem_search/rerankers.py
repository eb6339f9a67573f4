"""Rerankers score the best results of a search again; the setting ``reranker`` chooses one.

None is the default. Each imports its runtime only when it is chosen.

On this machine they are cross-encoders: of a directory, with the runtime that is there anyway,
and of two optional packages, by the name of a model or its directory. A directory has
``tokenizer.json`` and ``model.onnx``, or ``onnx/model.onnx``, as exports of Hugging Face models do.
Its model gives one logit a pair, or two, of which the second is relevance.

An endpoint ``/rerank`` has the shape of Cohere v2, Jina, Voyage or text-embeddings-inference (TEI),
after their API references.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NoReturn
from urllib.error import HTTPError

import numpy as np

from mem_search.contracts import Reranker
from mem_search.errors import InputError, ModelUnavailable
from mem_search.install_command import install_command
from mem_search.model.rankings import Values
from mem_search.model_endpoint import ModelEndpoint
from mem_search.patterns import pattern

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


DEFAULT_MODEL = "Xenova/ms-marco-MiniLM-L-6-v2"


class _Packaged(ABC):
    """What both have in common: one model, one caller at a time, failures as ours."""

    _model: Any

    def __init__(self, name: str) -> None:
        self.name = name
        self._running = threading.Lock()

    def score(self, question: str, texts: Sequence[str]) -> Values:
        try:
            with self._running:
                return np.asarray(self._scores(question, texts), np.float64).reshape(len(texts))
        except Exception as error:  # each package and its runtime have classes of their own
            raise ModelUnavailable(f"{self.name} cannot score: {error}") from error

    @abstractmethod
    def _scores(self, question: str, texts: Sequence[str]) -> Any:
        """One score for each text, as the package returns them."""

    def close(self) -> None:
        """Free the model."""
        self._model = None


class FastembedReranker(_Packaged):
    """``fastembed.rerank.cross_encoder.TextCrossEncoder``; files are kept in ``models_dir``."""

    def __init__(self, models_dir: Path, model: str = "") -> None:
        super().__init__(f"fastembed:{model or DEFAULT_MODEL}")
        try:
            from fastembed.rerank.cross_encoder import TextCrossEncoder
        except ImportError as error:
            raise _missing("fastembed", "mem-search[fastembed]", error) from error
        try:
            self._model = TextCrossEncoder(
                model or DEFAULT_MODEL, cache_dir=str(models_dir / "fastembed")
            )
        except Exception as error:  # hub, disk and ONNX have classes of their own
            raise ModelUnavailable(f"{self.name} cannot be loaded: {error}") from error

    def _scores(self, question: str, texts: Sequence[str]) -> Any:
        return list(self._model.rerank(question, list(texts)))


class SentenceTransformersReranker(_Packaged):
    """``sentence_transformers.CrossEncoder``."""

    def __init__(self, model: str) -> None:
        super().__init__(f"sentence-transformers:{model}")
        try:
            from sentence_transformers import CrossEncoder
        except ImportError as error:
            raise _missing("sentence-transformers", "sentence-transformers", error) from error
        try:
            self._model = CrossEncoder(model)
        except Exception as error:  # as above
            raise ModelUnavailable(f"{self.name} cannot be loaded: {error}") from error

    def _scores(self, question: str, texts: Sequence[str]) -> Any:
        return self._model.predict([(question, text) for text in texts], show_progress_bar=False)


def _missing(package: str, install: str, error: ImportError) -> ModelUnavailable:
    return ModelUnavailable(
        f"{package} cannot be loaded ({error}); run: {install_command(install)}"
    )


MAX_PAIR_TOKENS = 512
"""Tokens of a pair; cross-encoders are trained with so many."""

BATCH = 16
"""Pairs a run: long ones together need memory, single ones time."""


class OnnxReranker:
    """Loads the files at once, so that a wrong directory is told at the start."""

    def __init__(self, directory: Path) -> None:
        import onnxruntime
        from tokenizers import Tokenizer

        self.name = f"onnx:{directory.name}"
        files = (directory / "model.onnx", directory / "onnx" / "model.onnx")
        model = next((file for file in files if file.is_file()), None)
        if model is None or not (directory / "tokenizer.json").is_file():
            raise ModelUnavailable(
                f"{directory} has no cross-encoder; it needs model.onnx and tokenizer.json"
            )
        try:
            self._session = onnxruntime.InferenceSession(
                str(model), providers=["CPUExecutionProvider"]
            )
            self._tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
        except Exception as error:  # both have classes of their own
            raise ModelUnavailable(f"{directory} cannot be loaded: {error}") from error
        self._tokenizer.enable_truncation(MAX_PAIR_TOKENS, strategy="only_second")
        self._tokenizer.enable_padding()
        self._inputs = {given.name for given in self._session.get_inputs()}

    def score(self, question: str, texts: Sequence[str]) -> Values:
        # Texts of like length run together: the pairs of a run are padded to the longest.
        order = sorted(range(len(texts)), key=lambda at: len(texts[at]))
        scores = np.zeros(len(texts))
        try:
            for first in range(0, len(texts), BATCH):
                rows = order[first : first + BATCH]
                scores[rows] = self._batch(question, [texts[row] for row in rows])
        except Exception as error:  # as above; a question may be too long for a pair, too
            raise ModelUnavailable(f"{self.name} cannot score: {error}") from error
        return scores

    def _batch(self, question: str, texts: Sequence[str]) -> Values:
        pairs = self._tokenizer.encode_batch([(question, text) for text in texts])
        columns = {
            "input_ids": [pair.ids for pair in pairs],
            "attention_mask": [pair.attention_mask for pair in pairs],
            "token_type_ids": [pair.type_ids for pair in pairs],
        }
        given = {
            name: np.asarray(rows, np.int64)
            for name, rows in columns.items()
            if name in self._inputs
        }
        logits = np.asarray(self._session.run(None, given)[0], np.float64).reshape(len(texts), -1)
        return logits[:, -1]

    def close(self) -> None:
        """Does nothing: the model is freed with the object."""


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
    parts = _SETTING.fullmatch(text)
    if parts is None or not (parts["model"] or parts["shape"] == "tei"):
        return None
    url = parts["url"] or SHAPES[parts["shape"]].url
    return (parts["shape"], parts["model"] or "", url) if url else None


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


def open_reranker(setting: str, models_dir: Path, *, key: str = "", seconds: float) -> Reranker:
    """The reranker that ``setting`` names; blocks while a local model loads.

    ``key`` is for an endpoint, ``seconds`` how long it may take to answer. Raises InputError
    naming the setting, ModelUnavailable.
    """
    name, _, detail = setting.strip().partition(":")
    if name == "onnx" and detail:
        return OnnxReranker(Path(detail).expanduser())
    if name in LOCAL and (detail or name == "fastembed"):
        if name == "fastembed":
            return FastembedReranker(models_dir, detail)
        if name == "sentence-transformers":
            return SentenceTransformersReranker(detail)
    if (shape := parse_setting(setting.strip())) is None:
        raise InputError(f"unknown reranker {setting!r}; choose one of {FORMS}", field="reranker")
    return EndpointReranker(*shape, key=key, seconds=seconds)
