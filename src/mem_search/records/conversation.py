"""A conversation with an assistant or between people, stored as one text."""

from __future__ import annotations

from mem_search.model import Kind
from mem_search.records.base import BaseKind, Metadata


class Conversation(BaseKind[Metadata]):
    """The ``conversation`` kind."""

    name: Kind = "conversation"
    plural = "conversations"
    label = "Conversation"
    chat = True
    sparse_weight = 1.0
    sign = "🗨️"
    source_type = "conversation"
    csl_type = "personal_communication"
    genre = "Conversation"
    model = Metadata
