"""The vectors of questions: each is embedded once, whoever needs it first.

One question is ranked and then scored, in different threads, and often asked again for the next
page.
"""

from __future__ import annotations

import threading
from concurrent.futures import Future

from mem_search.contracts import Embedder, Vectors

REMEMBERED = 64
"""Questions whose vectors are kept."""


class QuestionVectors:
    """Blocking and thread-safe; whoever asks for a question that is being embedded waits."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._recent: dict[str, Future[Vectors]] = {}
        self._lock = threading.Lock()

    def vector(self, text: str) -> Vectors:
        """Shape (1, dimensions). Raises ModelUnavailable."""
        with self._lock:
            known = self._recent.get(text)
            if known is None:
                own = self._recent[text] = Future()
                while len(self._recent) > REMEMBERED:
                    del self._recent[next(iter(self._recent))]
        if known is not None:
            return known.result()
        try:
            own.set_result(self._embedder.embed([text]))
        except BaseException as error:
            own.set_exception(error)
            with self._lock:
                self._recent.pop(text, None)
            raise
        return own.result()
