"""What documents state, by their type: a model in ``types``, and a line in ``MODELS``, for each.

``source_type`` and ``document_type`` name a type. ``check`` is for what people and programs give;
``extraction`` finds the same fields in a text, ``enrichment`` asks a language model.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic import ValidationError

from mem_search.metadata.types import (
    Chat,
    Contract,
    DocumentMetadata,
    Email,
    EventTicket,
    Image,
    Invoice,
    Letter,
    Note,
    Pdf,
    Receipt,
    Statement,
    WebPage,
)
from mem_search.text.search_fields import FROM_TEXT

MODELS: Final[tuple[type[DocumentMetadata], ...]] = (
    Invoice, Receipt, EventTicket, Statement, Contract, Letter, Email, Pdf, Image, WebPage, Note,
    Chat,
)  # fmt: skip
"""The first whose headings and evidence a text has is what the text is."""

_BY_NAME: Final = {name: model for model in MODELS for name in (model.type_name, *model.also)}


def model_of(name: str) -> type[DocumentMetadata]:
    """The model of the type that people call ``name``; the common fields for an unknown one."""
    return _BY_NAME.get(name.strip().lower().replace(" ", "_"), DocumentMetadata)


def document_type_of(metadata: Mapping[str, Any]) -> str:
    """``invoice``, ``letter``, …: what somebody says the document is, else what its text shows."""
    facts = metadata.get(FROM_TEXT)
    for type_name in (
        metadata.get("document_type"),
        metadata.get("source_type"),
        facts.get("document_type") if isinstance(facts, Mapping) else None,
    ):
        model = model_of(type_name) if isinstance(type_name, str) else DocumentMetadata
        if model.is_content:
            return model.type_name
    return ""


def faults(source_type: str, metadata: Mapping[str, Any]) -> list[tuple[str, str]]:
    """(``metadata.FIELD``, what is wrong) for each value that is not as its type has it."""
    try:
        model_of(source_type).model_validate(dict(metadata))
    except ValidationError as error:
        return [
            (".".join(map(str, ("metadata", *item["loc"]))), item["msg"])
            for item in error.errors(include_url=False, include_context=False, include_input=False)
        ]
    return []
