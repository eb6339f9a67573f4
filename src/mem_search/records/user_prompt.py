"""What a person asked an agent, word for word."""

from __future__ import annotations

from mem_search.model import Kind, Record
from mem_search.records.base import BaseKind, Metadata
from mem_search.records.canonical_text import cut, fold

QUOTED_LENGTH = 80


class UserPrompt(BaseKind[Metadata]):
    """The ``user_prompt`` kind: listed by its own words, in quotes."""

    name: Kind = "user_prompt"
    plural = "prompts"
    label = "User Prompt"
    coding = True
    aliases = ("prompt",)
    chat = True
    sign = "💬"
    source_type = "conversation"
    csl_type = "personal_communication"
    genre = "Prompt"
    model = Metadata

    def title(self, record: Record) -> str:
        words = fold(record.text) or record.title
        return f'"{cut(words, QUOTED_LENGTH)}"' if words else super().title(record)
