"""Text to unit vectors: one file a member, chosen by the setting ``embedder``.

Every member is imported only when it is chosen: an embedder brings its runtime with it.
``quantize`` and ``weights`` belong to ``bundled`` and are no members.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from mem_search.contracts import Embedder
from mem_search.errors import InputError

MEMBERS: Final = ("bundled", "hashing", "chroma-default", "fastembed", "openai")
_WITH_DETAIL: Final = ("fastembed", "openai")


def open_embedder(
    setting: str, models_dir: Path, environ: Mapping[str, str] | None = None
) -> Embedder:
    """The embedder that ``setting`` (see ``settings``) names.

    Blocking: ``openai`` asks its endpoint and ``fastembed`` loads its model, to learn their
    dimensions; the others load at their first ``embed``. ``models_dir`` is where a member may
    keep files; ``environ`` is where it finds its key. Raises InputError, ModelUnavailable.
    """
    environ = os.environ if environ is None else environ
    name, colon, detail = setting.strip().partition(":")
    if name not in MEMBERS or (colon and name not in _WITH_DETAIL):
        raise InputError(
            f"unknown embedder {setting!r}; known are bundled, hashing, chroma-default, "
            "fastembed[:MODEL] and openai:MODEL[@BASE_URL]",
            field="embedder",
        )
    match name:
        case "hashing":
            from mem_search.embedders.hashing import HashingEmbedder

            return HashingEmbedder()
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
