"""Embedders turn text into unit vectors; the setting ``embedder`` chooses one.

Each has a module, which is imported only when it is chosen, because it imports its runtime.
``weights`` belongs to ``bundled``, of which ``large`` is another size.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Final, NoReturn

from mem_search.contracts import Embedder
from mem_search.errors import InputError, ModelUnavailable

MEMBERS: Final = ("bundled", "large", "hashing", "chroma-default", "fastembed", "openai")
_WITH_DETAIL: Final = ("hashing", "fastembed", "openai")


class MissingEmbedder:
    """Replaces an embedder that cannot be opened: ``embed`` raises ModelUnavailable.

    A worker without its model still searches words, and says in every reply what is missing.
    """

    dimensions: int = 0
    fingerprint: str = "missing"

    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        self._reason = reason

    def embed(self, texts: Sequence[str]) -> NoReturn:
        raise ModelUnavailable(self._reason)


def parse_embedder_setting(setting: str) -> tuple[str, str]:
    """The name in ``setting`` and what follows it. Raises InputError for an unknown name."""
    name, colon, detail = setting.strip().partition(":")
    if name not in MEMBERS or (colon and name not in _WITH_DETAIL):
        raise InputError(
            f"unknown embedder {setting[:200]!r}; choose one of bundled, large,"
            " hashing[:DIMENSIONS], chroma-default, fastembed[:MODEL] and openai:MODEL[@BASE_URL]",
            field="embedder",
        )
    return name, detail


def open_embedder(
    setting: str, models_dir: Path, environ: Mapping[str, str] | None = None
) -> Embedder:
    """The embedder that ``setting`` names (see ``settings``).

    Blocks: ``openai`` sends a request and ``fastembed`` loads its model to learn the dimensions;
    the others load at their first ``embed``. Files are kept in ``models_dir``; the key of
    ``openai`` comes from ``environ``. Raises InputError, ModelUnavailable.
    """
    environ = os.environ if environ is None else environ
    name, detail = parse_embedder_setting(setting)
    match name:
        case "large":
            from mem_search.embedders.large import LargeEmbedder

            return LargeEmbedder(models_dir)
        case "hashing":
            from mem_search.embedders.hashing import HashingEmbedder

            return HashingEmbedder(detail)
        case "chroma-default":
            from mem_search.embedders.chroma_default import ChromaDefaultEmbedder

            return ChromaDefaultEmbedder()
        case "fastembed":
            from mem_search.embedders.fastembed import DEFAULT_MODEL, FastembedEmbedder

            return FastembedEmbedder(models_dir, detail or DEFAULT_MODEL)
        case "openai":
            from mem_search.embedders.openai import OpenAIEmbedder, parse_setting

            model, base = parse_setting(detail)
            return OpenAIEmbedder.connect(model, base, api_key=environ.get("OPENAI_API_KEY", ""))
        case _:
            from mem_search.embedders.bundled import BundledEmbedder

            return BundledEmbedder(models_dir)


Opener = Callable[[str, Path], Embedder]
"""``open_embedder``, or what stands for it."""


def open_early(setting: str, models_dir: Path) -> Opener:
    """``open_embedder``, with the bundled model loading in a thread from now on if ``setting`` is
    that; the first call gives it, or drops it where the store wants another one.

    What the thread needs is imported here, because imports of two threads may wait for each other.
    """
    loading: list[Embedder] = []
    # A setting or a model that is no good is reported by whoever opens it.
    with suppress(InputError, ModelUnavailable):
        if parse_embedder_setting(setting)[0] == "bundled":
            from mem_search.embedders import bundled

            bundled.runtime()
            embedder = bundled.BundledEmbedder(models_dir)
            ThreadPoolExecutor(1, "load-model").submit(embedder.load)
            loading.append(embedder)

    def opener(wanted: str, models_dir: Path) -> Embedder:
        early = loading.pop() if loading else None
        return early if early and wanted == setting else open_embedder(wanted, models_dir)

    return opener
