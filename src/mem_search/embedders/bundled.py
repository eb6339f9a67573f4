"""The models that come with mem-search, run in this process by ONNX Runtime, without a network:
all-MiniLM-L6-v2, which is the default embedder, and SPLADE-tiny, which makes sparse vectors.


Text is cut to ``max_tokens`` word pieces, run in batches padded to their longest text (padding
to the model's limit makes a query twenty times slower), mean-pooled and normalized.

Many texts are embedded by two threads. The second one works only while no question is asked, and
with a lower priority where the system has one for threads, so that searches are not slower.

Graphs share one ``fingerprint``. All have the same int8 weights, and those that are run also
compute in int8 (``weights``); the one of the package is the fallback. The cosine of .998 between
their vectors is rounding within one space, so a store made on one machine is searched on another
without embedding it again.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from mem_search.contracts import Vectors
from mem_search.embedders.weights import SHA256, model_file
from mem_search.errors import ModelUnavailable
from mem_search.install_command import install_command
from mem_search.platform import lower_thread
from mem_search.text import sparse, wordpieces
from mem_search.text.word_forms import seen

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

MAX_TOKENS: Final = 512
"""Positions of the model, including START and END."""

_BATCH_ROWS = 32
_BATCH_TOKENS = 256
"""Rows times longest row, per thread. Twice as many was slower and took 26 MB more."""

_QUIET = 1.0
"""Seconds after a question until the second thread works again."""


class BundledEmbedder:
    """Loads the model at the first ``embed``.

    ``max_tokens`` includes START and END; the rest of a text is ignored. ``threads`` is per call,
    by default half the processors, so that searching and indexing share them. Without ``int8``
    the graph of the package runs.
    """

    name: str = "all-MiniLM-L6-v2"
    dimensions: int = 384
    fingerprint: str = f"minilm-l6-v2:{SHA256[:16]}"
    frame: tuple[int, int] = (wordpieces.START, wordpieces.END)
    first_piece: int = 0
    """The number that the model gives to piece 0 of the vocabulary."""

    def __init__(
        self,
        models_dir: Path,
        *,
        max_tokens: int = 256,
        threads: int | None = None,
        int8: bool = True,
    ) -> None:
        if not 3 <= max_tokens <= MAX_TOKENS:
            raise ValueError(f"max_tokens must be in 3..{MAX_TOKENS}, not {max_tokens}")
        self._models_dir = models_dir
        self._max_tokens = max_tokens
        self._threads = threads or max(1, (os.cpu_count() or 2) // 2)
        self._int8 = int8
        self._loading = threading.Lock()
        self._session: InferenceSession | None = None
        self._asked = -_QUIET
        # Its thread starts with the first text for it.
        self._second = ThreadPoolExecutor(1, "embed-second", initializer=lower_thread)

    def embed(self, texts: Sequence[str]) -> Vectors:
        vectors = np.empty((len(texts), self.dimensions), np.float32)
        if not texts:
            return vectors
        session = self._loaded()
        pieces = [self._framed(ids) for ids in wordpieces.encode(texts)]
        most = _BATCH_TOKENS * self._threads
        left = deque(_batches([len(ids) for ids in pieces], most))

        def work(*, aside: bool) -> None:
            while left and not (aside and time.monotonic() < self._asked + _QUIET):
                try:
                    rows = left.pop()
                except IndexError:  # the other thread took the last one
                    return
                vectors[rows] = _run(session, [pieces[row] for row in rows])

        if len(left) == 1:
            self._asked = time.monotonic()
            work(aside=False)
        else:
            second = self._second.submit(work, aside=True)
            try:
                work(aside=False)
            finally:
                left.clear()
                if not second.cancel():
                    second.result()
        return vectors

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Character spans of the word pieces of ``text``; see ``text.wordpieces``."""
        return wordpieces.spans(text)

    def _framed(self, pieces: list[int]) -> list[int]:
        start, end = self.frame
        shown = pieces[: self._max_tokens - 2]
        if self.first_piece:
            shown = [piece + self.first_piece for piece in shown]
        return [start, *shown, end]

    def _graph(self) -> Path:
        """The file of the graph to run. Raises ModelUnavailable."""
        return model_file(self._models_dir, int8=self._int8)

    def load(self) -> None:
        """Load all that the first question needs. Raises ModelUnavailable."""
        self.embed(["warm up"])

    def _loaded(self) -> InferenceSession:
        if self._session is None:
            with self._loading:
                if self._session is None:
                    self._session = _open(self._graph(), self._threads)
        return self._session


SPARSE_FILE: Final = Path(__file__).parent / "data" / "splade-tiny.onnx"
SPARSE_SHA256: Final = "67daa3ccd51d4e3b1d32ff524fe65df7947324f11dd6b1d5fae76c2f1b93ff51"
"""Another file makes other vectors: whoever changes it drops those that are stored, too."""

_REMEMBERED: Final = 64
"""Questions whose vectors are kept."""


class BundledSparse:
    """SPLADE-tiny: a ``text.sparse.SparseModel``. It is loaded for the first text."""

    def __init__(self, file: Path = SPARSE_FILE, sha256: str = SPARSE_SHA256) -> None:
        self._file = file
        self._sha256 = sha256
        self._loading = threading.Lock()
        self._session: InferenceSession | None = None
        self.of_question = lru_cache(_REMEMBERED)(self._vector)

    def of_passage(self, text: str) -> bytes:
        return self._vector(text, shrink=True)

    def _vector(self, text: str, *, shrink: bool = False) -> bytes:
        """``shrink``: give back the memory of a long text, of which each piece takes 120 kB."""
        session = self._loaded()
        pieces = wordpieces.encode([seen(text)])[0][: MAX_TOKENS - 2]
        ids = np.array([wordpieces.START, *pieces, wordpieces.END], np.int64)
        options = runtime().RunOptions()
        if shrink:
            options.add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0")
        try:
            (weights,) = session.run(["weights"], {"pieces": ids}, options)
        except Exception as error:  # as in _run
            raise ModelUnavailable(f"the sparse model failed: {error}") from error
        return sparse.packed(weights)

    def _loaded(self) -> InferenceSession:
        with self._loading:
            if self._session is None:
                self._session = _open(self._content(), 1)
            return self._session

    def _content(self) -> bytes:
        again = f"run: {install_command('mem-search', '--force-reinstall')}"
        try:
            content = self._file.read_bytes()
        except OSError as error:
            raise ModelUnavailable(f"the sparse model is missing ({error}); {again}") from error
        if (digest := hashlib.sha256(content).hexdigest()) != self._sha256:
            raise ModelUnavailable(
                f"{self._file} is not the sparse model: its SHA-256 is {digest}, expected"
                f" {self._sha256}; {again}"
            )
        return content


def runtime() -> Any:
    """ONNX Runtime; it and the tokenizer are imported. Raises ModelUnavailable."""
    try:
        # Must be set before the import, which otherwise writes a telemetry database.
        os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
        import onnxruntime
        import tokenizers  # noqa: F401
    except ImportError as error:
        raise ModelUnavailable(
            f"ONNX Runtime cannot be loaded ({error}); run: {install_command('onnxruntime')}"
        ) from error
    return onnxruntime


def _open(model: Path | bytes, threads: int) -> InferenceSession:
    """``model`` is a file, or what a file holds."""
    onnxruntime = runtime()
    onnxruntime.disable_telemetry_events()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors only: its warnings are about optimizing the graph
    # Every batch has another shape, and a memory plan would be kept for each.
    options.enable_mem_pattern = False
    # Spinning saves microseconds and takes a core from the work of the agent.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        given = str(model) if isinstance(model, Path) else model
        return onnxruntime.InferenceSession(given, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # its exception classes share no base and are not public
        name = model if isinstance(model, Path) else "the sparse model"
        raise ModelUnavailable(f"ONNX Runtime cannot open {name}: {error}") from error


def _batches(lengths: Sequence[int], most: int) -> Iterator[list[int]]:
    """Row numbers grouped by similar length; at most ``most`` tokens each, padding included."""
    batch: list[int] = []
    for row in sorted(range(len(lengths)), key=lengths.__getitem__):
        full = len(batch) == _BATCH_ROWS or (len(batch) + 1) * lengths[row] > most
        if batch and full:
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch


def _run(session: InferenceSession, rows: list[list[int]]) -> Vectors:
    shape = (len(rows), max(map(len, rows)))
    ids = np.zeros(shape, np.int64)
    mask = np.zeros(shape, np.int64)
    for row, pieces in enumerate(rows):
        ids[row, : len(pieces)] = pieces
        mask[row, : len(pieces)] = 1
    try:
        (states,) = session.run(
            ["last_hidden_state"],
            {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)},
        )
    except Exception as error:  # as in _open: no public base class, and no memory is one of them
        raise ModelUnavailable(f"the embedding model failed: {error}") from error
    weights = mask[:, :, None].astype(np.float32)
    pooled = (states * weights).sum(axis=1) / weights.sum(axis=1)
    unit: Vectors = pooled / np.linalg.norm(pooled, axis=1, keepdims=True)
    return unit
