"""One fact or preference that an assistant remembers."""

from __future__ import annotations

from collections.abc import Iterable

from mem_search.model import Draft, Kind
from mem_search.records.base import BaseKind, Metadata


class Memory(BaseKind[Metadata]):
    """The ``memory`` kind. Its ``type`` (fact, insight, …) and ``user_id`` can be filtered by where
    they are strings; other programs may write other values.
    """

    name: Kind = "memory"
    plural = "memories"
    label = "Memory"
    sign = "🧠"
    origin = "own_words"
    source_type = "direct_input"
    agent_source_type = "conversation"
    genre = "Memory"
    model = Metadata

    def facets(self, draft: Draft) -> Iterable[tuple[str, str]]:
        fields = ((name, draft.metadata.get(name)) for name in ("type", "user_id"))
        return [
            *super().facets(draft),
            *((name, value.strip()) for name, value in fields
              if isinstance(value, str) and value.strip()),
        ]  # fmt: skip
