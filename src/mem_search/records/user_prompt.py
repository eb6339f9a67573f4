"""The words that a person wrote to an agent."""

from __future__ import annotations

from mem_search.model import Kind
from mem_search.records.base import BaseKind, Metadata


class UserPrompt(BaseKind[Metadata]):
    """The ``user_prompt`` kind: listed by its own words, in quotes."""

    name: Kind = "user_prompt"
    plural = "prompts"
    label = "User Prompt"
    origin = "own_words"
    coding = True
    aliases = ("prompt",)
    chat = True
    sparse_weight = 1.0
    sign = "💬"
    quoted = 80
    source_type = "conversation"
    csl_type = "personal_communication"
    genre = "Prompt"
    model = Metadata
