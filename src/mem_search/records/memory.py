"""One fact or preference that an assistant was told, or chose, to remember."""

from __future__ import annotations

from mem_search.model import Kind
from mem_search.records.base import BaseKind, Metadata


class Memory(BaseKind[Metadata]):
    """The ``memory`` kind."""

    name: Kind = "memory"
    plural = "memories"
    label = "Memory"
    sign = "🧠"
    model = Metadata
