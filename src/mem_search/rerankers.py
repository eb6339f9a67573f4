"""Reranking: the best hits of a search in the order of a model that reads question and text.

The setting ``reranker`` chooses one; none is the default. Each imports its runtime only when it is
chosen. One that fails, or takes longer than its time, is left out and named in the notices. It runs
in a thread of its own; a question that waits there is withdrawn when its time is over.

On this machine they are cross-encoders: of a directory, with the runtime that is there anyway,
and of two optional packages, by the name of a model or its directory. A directory has
``tokenizer.json`` and ``model.onnx``, or ``onnx/model.onnx``, as exports of Hugging Face models do.
Its model gives one logit a pair, or two, of which the second is relevance.

An endpoint ``/rerank`` has the shape of Cohere v2, Jina, Voyage or text-embeddings-inference (TEI),
after their API references.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, NoReturn
from urllib.error import HTTPError

import numpy as np

from mem_search.contracts import Question, Reranker
from mem_search.errors import InputError, MemSearchError, ModelUnavailable
from mem_search.install_command import install_command
from mem_search.model import Hit, SearchRequest
from mem_search.model.rankings import PassageSpan, Values
from mem_search.model_endpoint import ModelEndpoint
from mem_search.patterns import pattern
from mem_search.platform import expanded
from mem_search.settings import Settings
from mem_search.storage.sql.snapshot import SearchSnapshot

log = logging.getLogger(__name__)

DEFAULT_MODEL = "Xenova/ms-marco-MiniLM-L-6-v2"

MAX_PAIR_TOKENS = 512
"""Tokens of a pair; cross-encoders are trained with so many."""

BATCH = 16
"""Pairs a run: long ones together need memory, single ones time."""

MAX_REPLY_BYTES = 1 << 20
"""Bytes of a reply that are read; fifty scores need a few thousand."""

MAX_RERANKED_HITS = 50
"""Hits that are read again; what each costs is in docs/retrieval.md."""

MAX_TEXT_CHARS = 2_000
"""Characters of a text; a cross-encoder reads 512 tokens."""

_FORMS: Final = (
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
            name: np.asarray(columns[name], np.int64) for name in columns.keys() & self._inputs
        }
        logits = np.asarray(self._session.run(None, given)[0], np.float64).reshape(len(texts), -1)
        return logits[:, -1]

    def close(self) -> None:
        """Does nothing: the model is freed with the object."""


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
                step = "check MEM_SEARCH_RERANKER" if error.code < 500 else "try again later"
                step = f"{step}_KEY" if error.code in (401, 403) else step
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
        return OnnxReranker(Path(expanded(detail)))
    if name == "fastembed":
        return FastembedReranker(models_dir, detail)
    if name == "sentence-transformers" and detail:
        return SentenceTransformersReranker(detail)
    if (shape := parse_setting(setting.strip())) is None:
        raise InputError(f"unknown reranker {setting!r}; choose one of {_FORMS}", field="reranker")
    return EndpointReranker(*shape, key=key, seconds=seconds)


class Reranking:
    """One reranker with its thread and its time, in seconds for each search."""

    def __init__(self, reranker: Reranker, seconds: float) -> None:
        self.reranker = reranker
        self._seconds = seconds
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="rerank")

    async def order(
        self, question: str, hits: Sequence[Hit], texts: Sequence[str]
    ) -> tuple[Sequence[Hit], str]:
        """``hits`` with the first ``len(texts)`` in the new order, and a notice, which is "" when
        the reranker answered.
        """
        score, loop = self.reranker.score, asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self._seconds):
                scores = await loop.run_in_executor(self._thread, score, question, texts)
        except TimeoutError:
            return hits, self._left_out(f"no answer within {self._seconds:g} s")
        except MemSearchError as error:
            return hits, self._left_out(error.message)
        return [*reordered(hits[: len(texts)], scores), *hits[len(texts) :]], ""

    async def close(self) -> None:
        """Wait for the question at work, if there is one."""
        await asyncio.to_thread(self._thread.shutdown, wait=True, cancel_futures=True)
        self.reranker.close()

    def _left_out(self, why: str) -> str:
        name = self.reranker.name
        return f"the reranker {name} is left out ({why}); results keep their order without it"


def open_reranking(settings: Settings) -> Reranking | None:
    """What the settings choose; None for none. Blocks while a model loads.

    A reranker that cannot be opened is named by every search. Raises InputError for a setting
    that is none.
    """
    if not settings.reranker:
        return None
    reranker: Reranker
    seconds = settings.reranker_seconds
    try:
        reranker = open_reranker(
            settings.reranker, settings.models_dir, key=settings.reranker_key, seconds=seconds
        )
    except ModelUnavailable as error:
        log.warning("searches are not reranked until the next start: %s", error)
        reranker = MissingReranker(settings.reranker, error.message)
    return Reranking(reranker, seconds)


def is_reranked(query: SearchRequest, question: Question) -> bool:
    """Whether the page has hits that are read again: not of research, which is repeatable."""
    return (
        query.order == "relevance"
        and query.fusion is None
        and not question.exact
        and query.offset < MAX_RERANKED_HITS
    )


def with_first_hits(query: SearchRequest) -> SearchRequest:
    """The search for the page from the first hit on: the same are read again for every page."""
    return replace(query, offset=0, limit=max(MAX_RERANKED_HITS, query.offset + query.limit))


def texts_to_rerank(snapshot: SearchSnapshot, hits: Sequence[Hit]) -> list[str]:
    """Title and matching passage of each of the first hits; "" of one that was deleted since it was
    ranked.
    """
    hits = hits[:MAX_RERANKED_HITS]
    records = snapshot.records([hit.number for hit in hits])
    spans = snapshot.spans([hit.passage for hit in hits if hit.passage is not None])
    texts = []
    for hit in hits:
        record = records.get(hit.number)
        if record is None:
            texts.append("")
            continue
        start, end, _, above = spans.get(hit.passage or 0, PassageSpan(0, MAX_TEXT_CHARS))
        passage = record.text[start : min(end, start + MAX_TEXT_CHARS)]
        texts.append("\n".join(filter(None, (record.title, above, passage))).strip())
    return texts


def reordered(hits: Sequence[Hit], scores: Values) -> list[Hit]:
    """``hits`` by ``scores``, best first, equal ones in their order.

    The fused scores stay with the places, so that they fall along the page and on to the next.
    """
    order = np.argsort(-scores, kind="stable").tolist()
    said = [{**hits[row].scores, "reranker": float(scores[row])} for row in order]
    return [
        hits[row]._replace(score=hits[place].score, scores=said[place])
        for place, row in enumerate(order)
    ]
