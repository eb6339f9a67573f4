"""The vector index over Chroma. No other package of the store uses Chroma.

    index ── server ┬─ process ── launch ── child      a Chroma that the worker owns
      │             │     └────── directory            its folder: lock, quarantine
      │             └─ remote                          a server that somebody else runs
      └── connection ┬─ lean ── wire                   the client for the owned one
                     └─ official ── faults             the client for other servers

The index is derived data: SQLite holds every vector, so the index can always be rebuilt. Other
packages call ``open_index``.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from mem_search.storage.chroma.index import ChromaIndex
from mem_search.storage.chroma.off import NO_MODEL, OffIndex
from mem_search.storage.chroma.process import ChromaProcess
from mem_search.storage.chroma.remote import RemoteChroma

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
    """The index that the setting ``chroma_url`` selects, not started yet.

    An empty setting means a child process over ``chroma_dir`` that logs to
    ``logs_dir/chroma.log``, ``off`` means none, anything else is the address of a server, with
    ``token`` if it needs one. Raises InputError.
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
    return ChromaIndex(server, fingerprint, dimensions, on_reset=on_reset)
