"""The vector index, and the only home of Chroma.

    index ── server ┬─ process ── launch ── child      a Chroma that the worker owns
      │             │     └────── directory            its folder: lock, quarantine
      │             └─ remote                          somebody else's
      └───── connection ── faults                      the official client, its errors

Derived data only: SQLite holds every vector, so nothing in here is precious. What the
outside uses is ``open_index``.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from mem_search.storage.chroma.index import ChromaIndex
from mem_search.storage.chroma.off import NO_MODEL, OffIndex
from mem_search.storage.chroma.process import ChromaProcess
from mem_search.storage.chroma.remote import RemoteChroma, token_headers

__all__ = ["ChromaIndex", "ChromaProcess", "OffIndex", "RemoteChroma", "open_index"]


def open_index(
    chroma_url: str,
    *,
    chroma_dir: Path,
    logs_dir: Path,
    fingerprint: str,
    dimensions: int,
    token: str = "",
    on_reset: Callable[[], None] | None = None,
) -> ChromaIndex | OffIndex:
    """The index that the setting ``chroma_url`` asks for, not started yet.

    Empty is a child over ``chroma_dir`` logging to ``logs_dir/chroma.log``, ``off`` is none,
    anything else the address of a server, with ``token`` if it wants one. Raises InputError.
    """
    if chroma_url == "off":
        return OffIndex()
    if not dimensions:
        return OffIndex(NO_MODEL)
    server = (
        RemoteChroma(chroma_url, token)
        if chroma_url
        else ChromaProcess(chroma_dir, logs_dir / "chroma.log")
    )
    headers = token_headers(token) if chroma_url else {}
    return ChromaIndex(server, fingerprint, dimensions, headers=headers, on_reset=on_reset)
